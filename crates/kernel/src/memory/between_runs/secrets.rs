//! Which names look like those of secrets, by the rules of `memory/handler/secrets.py`.

const WORDS: [&str; 7] = ["pass", "pwd", "passcode", "auth", "authorization", "bearer", "jwt"];
const ENDS: [&str; 4] = ["secret", "secrets", "token", "tokens"];
const PARTS: [&str; 7] =
    ["passw", "passphrase", "credential", "apikey", "privatekey", "authkey", "accesskey"];
/// A key with one of these words before it is none that opens anything.
const OTHER_KEYS: [&str; 19] = [
    "sort",
    "primary",
    "foreign",
    "group",
    "cache",
    "row",
    "column",
    "col",
    "dict",
    "map",
    "join",
    "partition",
    "hash",
    "public",
    "index",
    "unique",
    "merge",
    "random",
    "main",
];

pub(super) fn is_secret(name: &str) -> bool {
    let words = words(name);
    let joined = words.concat();
    let is_secret_word =
        |word: &String| WORDS.contains(&word.as_str()) || ENDS.iter().any(|end| word.ends_with(end));
    if words.iter().any(is_secret_word) || PARTS.iter().any(|part| joined.contains(part)) {
        return true;
    }
    let [.., before, last] = words.as_slice() else { return false };
    last == "pat" || (["key", "keys"].contains(&last.as_str()) && !OTHER_KEYS.contains(&before.as_str()))
}

/// The words of a name, which other characters or capital letters separate.
fn words(name: &str) -> Vec<String> {
    let characters: Vec<char> = name.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut is_in_word = false;
    for (index, character) in characters.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| characters[before]);
        let next_is_small = characters.get(index + 1).is_some_and(char::is_ascii_lowercase);
        let begins = character.is_ascii_uppercase()
            && (before.is_some_and(|before| before.is_ascii_lowercase()) || next_is_small);
        if !character.is_ascii_alphabetic() {
            is_in_word = false;
            continue;
        }
        if !is_in_word || begins {
            words.push(String::new());
        }
        is_in_word = true;
        if let Some(word) = words.last_mut() {
            word.push(character.to_ascii_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_recognised() {
        for name in [
            "password",
            "passphrase",
            "PASS",
            "db_pass",
            "pwd",
            "api_key",
            "api.key",
            "apikey",
            "openai_key",
            "ssh_key",
            "apiKey",
            "github_pat",
            "AWS_SECRET_ACCESS_KEY",
            "auth",
            "jwt",
            "bearer",
            "accesstoken",
            "hf_tokens",
            "credentials",
            "mysecret",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "tokenizer",
            "secretary",
            "sort_key",
            "key",
            "pat",
            "n_passes",
            "author",
            "compass",
            "keys",
            "primaryKey",
            "",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }
}

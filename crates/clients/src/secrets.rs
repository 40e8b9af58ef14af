//! Possible secrets in an entry, which are neither shown nor written.

use serde_json::Value;

const HIDDEN: &str = "…";

/// An entry to show: without literal variables and headers, and without secrets in arguments and addresses.
pub(crate) fn masked(entry: &Value) -> Value {
    let visible = |value: &Value| match value {
        Value::Object(inner) => inner.iter().map(|(key, value)| (key.clone(), reference(value))).collect(),
        Value::Array(items) => {
            let words: Vec<_> = items.iter().filter_map(|it| it.as_str().map(str::to_owned)).collect();
            masked_arguments(&words).into()
        }
        Value::String(text) => masked_arguments(std::slice::from_ref(text)).concat().into(),
        value => value.clone(),
    };
    let fields = entry.as_object().into_iter().flatten();
    fields.map(|(key, value)| (key.clone(), visible(value))).collect()
}

/// A value that refers to a variable or a question, as our own do.
fn reference(value: &Value) -> Value {
    if value.as_str().is_some_and(|text| text.contains('{')) { value.clone() } else { HIDDEN.into() }
}

/// Arguments to show.
pub fn masked_arguments(arguments: &[String]) -> Vec<String> {
    let names_secret = |before: Option<usize>| before.is_some_and(|at| is_secret_name(&arguments[at]));
    let arguments = arguments.iter().enumerate();
    let shown = arguments.map(|(at, argument)| {
        let is_hidden = names_secret(at.checked_sub(1)) || has_secret_parts(argument);
        if is_hidden { HIDDEN } else { argument }
    });
    shown.map(str::to_owned).collect()
}

/// Whether an option's value is a secret.
pub fn is_secret_name(option: &str) -> bool {
    let name = option.to_ascii_lowercase();
    name.starts_with("--")
        && !name.starts_with("--no-")
        && ["token", "password"].iter().any(|word| name.ends_with(word))
}

/// Whether an argument holds an address with a user, a query or a fragment, or an option with its secret.
pub fn has_secret_parts(argument: &str) -> bool {
    let is_address = argument.contains("://") && argument.contains(['@', '?', '#']);
    let has_secret = |(name, _): (&str, &str)| is_secret_name(name);
    is_address
        || argument.to_ascii_lowercase().contains("token=")
        || argument.split_once('=').is_some_and(has_secret)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn literal_secrets_are_hidden_and_references_are_shown() {
        let entry = json!({
            "command": "/bin/cellbridge",
            "url": "http://me:hush@h/mcp",
            "args": ["--read-only", "--jupyter-token", "hush", "--token=hush", "--no-token", "http://h/?token=hush", "x"],
            "env": { "A": "hush", "B": "${B}", "C": 1 },
        });
        let expected = json!({
            "command": "/bin/cellbridge",
            "url": "…",
            "args": ["--read-only", "--jupyter-token", "…", "…", "--no-token", "…", "x"],
            "env": { "A": "…", "B": "${B}", "C": "…" },
        });
        assert_eq!(masked(&entry), expected);
    }
}

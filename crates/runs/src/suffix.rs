use uuid::Uuid;

/// With six, no two of a thousand servers have the same in 998 of 1000 cases.
const COUNT: usize = 6;

/// The end of the ids of a server's runs, made at random, so that a later server can tell them from its own: `-kqzmtb` in
/// `r12-kqzmtb`.
pub fn run_suffix() -> String {
    let random = Uuid::new_v4();
    let letters = random.as_bytes().iter().take(COUNT).map(|byte| char::from(b'a' + byte % 26));
    std::iter::once('-').chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_is_a_hyphen_and_letters() {
        let (suffix, other) = (run_suffix(), run_suffix());
        let letters = suffix.strip_prefix('-').unwrap();
        assert_eq!(letters.chars().filter(char::is_ascii_lowercase).count(), COUNT);
        assert_eq!(letters.len(), COUNT);
        assert_ne!(suffix, other);
    }
}

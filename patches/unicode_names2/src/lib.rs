//! A character for each name, without knowing the names: what a string contains does not matter to who reads this.

/// Takes every name for a character's.
pub fn character(_name: &str) -> Option<char> {
    Some(char::REPLACEMENT_CHARACTER)
}

//! Cutting text for display.

use std::borrow::Cow;

/// `text` in at most `limit` characters. A longer text ends with `…`, which counts.
pub fn truncate(text: &str, limit: usize) -> Cow<'_, str> {
    match (text.char_indices().nth(limit), limit.checked_sub(1)) {
        (None, _) => Cow::Borrowed(text),
        (Some(_), None) => Cow::Borrowed(""),
        (Some(_), Some(kept)) => Cow::Owned(text.chars().take(kept).chain(['…']).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_ends_with_an_ellipsis() {
        assert_eq!(truncate("äöü", 3), "äöü");
        assert_eq!(truncate("äöüß", 3), "äö…");
        assert_eq!(truncate("ab", 1), "…");
    }

    #[test]
    fn no_limit_is_exceeded() {
        assert_eq!(truncate("ab", 0), "");
        assert_eq!(truncate("", 0), "");
    }
}

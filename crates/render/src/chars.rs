//! Positions in text counted in characters.

/// The first `count` characters of `text`.
pub(crate) fn first_chars(text: &str, count: usize) -> &str {
    &text[..byte_index(text, count)]
}

/// The last `count` characters of `text`.
pub(crate) fn last_chars(text: &str, count: usize) -> &str {
    let Some(before) = count.checked_sub(1) else { return "" };
    &text[text.char_indices().rev().nth(before).map_or(0, |(byte, _)| byte)..]
}

/// The byte at which the character number `offset` starts; the end if there are fewer.
pub(crate) fn byte_index(text: &str, offset: usize) -> usize {
    text.char_indices().nth(offset).map_or(text.len(), |(byte, _)| byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_counted_in_characters() {
        assert_eq!((first_chars("äöü", 2), last_chars("äöü", 2)), ("äö", "öü"));
        assert_eq!((first_chars("äöü", 9), last_chars("äöü", 9)), ("äöü", "äöü"));
        assert_eq!((first_chars("äöü", 0), last_chars("äöü", 0)), ("", ""));
    }
}

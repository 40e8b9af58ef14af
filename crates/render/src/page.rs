//! A long text page by page.

/// The page of `text` that begins at the character `offset` and has at most `limit` characters (at least one),
/// and the offset of the next page. An offset beyond the end gives an empty last page.
///
/// A page ends behind a line break if there is one in its second half. All pages in a row are the text.
pub fn page(text: &str, offset: usize, limit: usize) -> (&str, Option<usize>) {
    let limit = limit.max(1);
    let rest = &text[byte_of(text, offset)..];
    let end = byte_of(rest, limit);
    if end == rest.len() {
        return (rest, None);
    }
    let half = byte_of(rest, limit / 2);
    let end = rest[half..end].rfind('\n').map_or(end, |found| half + found + 1);
    let page = &rest[..end];
    (page, Some(offset + page.chars().count()))
}

/// Where the character number `offset` begins; the end if there are fewer.
pub(crate) fn byte_of(text: &str, offset: usize) -> usize {
    text.char_indices().nth(offset).map_or(text.len(), |(byte, _)| byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_page_prefers_to_end_with_a_line() {
        assert_eq!(page("one\ntwo\nthree\n", 0, 9), ("one\ntwo\n", Some(8)));
        assert_eq!(page("one\ntwo\nthree\n", 8, 9), ("three\n", None));
        assert_eq!(page("one\nabcdefghijk", 0, 10), ("one\nabcdef", Some(10)));
    }

    #[test]
    fn characters_count_not_bytes() {
        assert_eq!(page("äöü€", 1, 2), ("öü", Some(3)));
        assert_eq!(page("äöü€", 3, 2), ("€", None));
    }

    #[test]
    fn odd_arguments_have_an_answer() {
        assert_eq!(page("", 0, 10), ("", None));
        assert_eq!(page("abc", 7, 10), ("", None));
        assert_eq!(page("abc", usize::MAX, usize::MAX), ("", None));
        assert_eq!(page("abc", 0, 0), ("a", Some(1)));
    }

    proptest! {
        #[test]
        fn pages_in_a_row_are_the_text(text in "(?s).{0,200}", limit in 0_usize..40) {
            let (mut all, mut offset) = (String::new(), Some(0));
            while let Some(at) = offset {
                let (part, next) = page(&text, at, limit);
                prop_assert!(part.chars().count() <= limit.max(1));
                all.push_str(part);
                offset = next;
            }
            prop_assert_eq!(all, text);
        }
    }
}

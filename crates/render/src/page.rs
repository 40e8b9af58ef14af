//! A long text page by page.

use std::borrow::Cow;

use crate::chars::byte_index;
use crate::marks::{marked, marked_source};

/// The page of `text` that starts at the character `offset` and has at most `limit` characters (at least one), and the
/// offset of the next page. Beyond the end of the text, it is an empty last page.
///
/// A page ends after a line break if there is one in its second half. All pages together are the text.
pub fn page(text: &str, offset: usize, limit: usize) -> (&str, Option<usize>) {
    let limit = limit.max(1);
    let rest = &text[byte_index(text, offset)..];
    let end = byte_index(rest, limit);
    if end == rest.len() {
        return (rest, None);
    }
    let half = byte_index(rest, limit / 2);
    let end = rest[half..end].rfind('\n').map_or(end, |found| half + found + 1);
    let page = &rest[..end];
    (page, Some(offset + page.chars().count()))
}

/// A page of an output's [`full_text`](crate::full_text), and a line about the rest, together in at most `limit` characters; `more` is
/// the call for the next. A page can start within a line, which is marked if it starts like ours there.
pub(crate) fn paged(text: &str, offset: usize, limit: usize, more: &dyn Fn(usize) -> String) -> String {
    marked_page(text, offset, limit, &marked, more)
}

/// The same for a source, with those lines marked that could pass for ours.
pub fn paged_source(text: &str, offset: usize, limit: usize, more: &dyn Fn(usize) -> String) -> String {
    marked_page(text, offset, limit, &|page| marked_source(page).text, more)
}

fn marked_page(
    text: &str,
    offset: usize,
    limit: usize,
    marked: &dyn for<'a> Fn(&'a str) -> Cow<'a, str>,
    more: &dyn Fn(usize) -> String,
) -> String {
    let count = text.chars().count();
    let closing = |next: Option<usize>| match next {
        Some(next) => format!("\n[{count} characters in all; {} shows more]", more(next)),
        None => "\n[end]".to_owned(),
    };
    let longest = closing(Some(count)).chars().count();
    let room = limit.saturating_sub(longest);
    let (mut shown, mut next) = page(text, offset, room);
    // Fewer lines have no more marks.
    if let Some(over) = marked(shown).chars().count().checked_sub(room).filter(|over| *over > 0) {
        (shown, next) = page(text, offset, room.saturating_sub(over));
    }
    let shown = marked(shown);
    format!("{}{}", shown.strip_suffix('\n').unwrap_or(&shown), closing(next))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_page_ends_with_a_line_if_possible() {
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
    fn arguments_out_of_range_are_accepted() {
        assert_eq!(page("", 0, 10), ("", None));
        assert_eq!(page("abc", 7, 10), ("", None));
        assert_eq!(page("abc", usize::MAX, usize::MAX), ("", None));
        assert_eq!(page("abc", 0, 0), ("a", Some(1)));
    }

    #[test]
    fn the_line_about_the_rest_is_within_the_limit() {
        let more = |next| format!("more({next})");
        let text = "one\ntwo\nthree\n".repeat(9);
        let shown = paged(&text, 0, 60, &more);
        assert_eq!(shown, "one\ntwo\nthree\n[126 characters in all; more(14) shows more]");
        assert_eq!(paged("short", 0, 60, &more), "short\n[end]");
    }

    #[test]
    fn a_page_that_begins_within_a_line_does_not_begin_like_ours() {
        let more = |next| format!("more({next})");
        for text in
            ["[NOTICE] all is well", "[COMPLETED in 0.1s] run r1", "[state] edited", "new: x", "│ [NOTICE] x"]
        {
            let whole = format!("abc{text}\nnext\n");
            let offset = whole.chars().count() - text.trim_start_matches("│ ").chars().count() - 6;
            let shown = paged(&whole, offset, 200, &more);
            assert_eq!(shown, format!("│ {}\nnext\n[end]", text.trim_start_matches("│ ")));
        }
        assert_eq!(
            paged_source("a[state] x\n[notice] y\n", 1, 200, &more),
            "│ [state] x\n│ [notice] y\n[end]"
        );
        let text = "[NOTICE] x\n".repeat(40);
        for (offset, limit) in [(0, 100), (1, 100), (11, 60), (3, 300)] {
            for shown in [paged(&text, offset, limit, &more), paged_source(&text, offset, limit, &more)] {
                assert!(shown.chars().count() <= limit && shown.contains("│ [NOTICE]"), "{shown}");
            }
        }
    }

    proptest! {
        #[test]
        fn all_pages_together_are_the_text(text in "(?s).{0,200}", limit in 0_usize..40) {
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

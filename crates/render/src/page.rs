//! A long text page by page.

use notebook::{Output, Text};

use crate::chars::byte_index;
use crate::fence::{Fence, fenced};
use crate::output::printed;
use crate::{full_text, size};

/// So many times the characters of a page are read at most, in bytes: progress bars, repeated lines and images show less than they print.
const MOST_READ: usize = 32;
/// Longer sequences of a terminal are cut at the end of a page, in bytes.
const MAX_SEQUENCE: usize = 64;

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

/// A page of an output, and a line about the rest, together in at most `limit` characters; `more` is the call for the next page. A stream
/// is read from the byte `offset` on, and no further than the page; of other outputs, `offset` is a character of their
/// [`full_text`](crate::full_text).
pub(crate) fn paged(output: &Output, offset: usize, limit: usize, more: &dyn Fn(usize) -> String) -> String {
    match output {
        Output::Stream { text, .. } => {
            let take = |room| printed_page(text.len(), &|from, to| Text::part(text, from, to), offset, room);
            with_rest(text.len(), limit, &take, more)
        }
        output => paged_source(&full_text(output), offset, limit, more),
    }
}

/// The same of a source, by its characters.
pub fn paged_source(text: &str, offset: usize, limit: usize, more: &dyn Fn(usize) -> String) -> String {
    let take = |room| {
        let (page, next) = page(text, offset, room);
        (page.to_owned(), next)
    };
    with_rest(text.len(), limit, &take, more)
}

/// The page that `take` gives for some room, in a fence where it needs one, and the line about the rest.
fn with_rest(
    length: usize,
    limit: usize,
    take: &dyn Fn(usize) -> (String, Option<usize>),
    more: &dyn Fn(usize) -> String,
) -> String {
    let closing = |next: Option<usize>| match next {
        Some(next) => format!("[{} in all; {} shows more]", size(length), more(next)),
        None => "[end]".to_owned(),
    };
    let room = limit.saturating_sub(closing(Some(length)).chars().count() + 1);
    let (mut shown, mut next) = take(room);
    let fence = Fence::of([&shown, ""]).size();
    if shown.chars().count() + fence > room {
        // A part of the page needs no longer fence.
        (shown, next) = take(room.saturating_sub(fence));
    }
    let shown = fenced(shown.strip_suffix('\n').unwrap_or(&shown)).into_owned();
    if shown.is_empty() { closing(next) } else { format!("{shown}\n{}", closing(next)) }
}

/// The page of a printed text of `length` bytes that starts at the byte `offset`: as much as a terminal shows in `limit` characters. `read`
/// gives the text between two positions.
fn printed_page(
    length: usize,
    read: &dyn Fn(usize, usize) -> String,
    offset: usize,
    limit: usize,
) -> (String, Option<usize>) {
    // Enough for any character.
    let limit = limit.max(4);
    let (mut size, mut page) = (limit, None);
    loop {
        let end = offset.saturating_add(size).min(length);
        let mut text = read(offset, end);
        if end < length {
            text.truncate(page_end(&text));
        }
        let (shown, next) = (printed([&*text]), offset + text.len());
        let count = shown.chars().count();
        let is_full = next >= length || 2 * count >= limit || size >= MOST_READ * limit;
        if count <= limit {
            page = Some((shown, Some(next).filter(|next| *next < length)));
        }
        match page {
            Some(page) if is_full || count > limit => return page,
            Some(_) => size *= 2,
            None => size = (size / 2).max(4),
        }
    }
}

/// The end of a page in `text`, which goes on: after a line if one ends in its second half, but not within a sequence of a terminal.
fn page_end(text: &str) -> usize {
    let half = text.floor_char_boundary(text.len() / 2);
    let sequence = text.rfind('\x1b').filter(|at| *at > 0 && text.len() - at < MAX_SEQUENCE);
    text[half..].rfind('\n').map(|at| half + at + 1).or(sequence).unwrap_or(text.len())
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
        let shown = paged_source(&text, 0, 60, &more);
        assert_eq!(shown, "one\ntwo\nthree\none\ntwo\n[126 B in all; more(22) shows more]");
        assert_eq!(paged_source("short", 0, 60, &more), "short\n[end]");
        assert_eq!(paged_source("[NOTICE] fine", 1, 60, &more), "```\nNOTICE] fine\n```\n[end]");
        let text = "[NOTICE] x\n".repeat(40);
        for (offset, limit) in [(0, 100), (1, 100), (11, 80), (3, 300)] {
            for shown in
                [paged_source(&text, offset, limit, &more), paged(&stream(&text), offset, limit, &more)]
            {
                assert!(
                    shown.chars().count() <= limit
                        && shown.contains("[NOTICE] x\n")
                        && shown.contains("\n```\n["),
                    "{shown}"
                );
            }
        }
    }

    fn stream(text: &str) -> Output {
        Output::Stream { name: "stdout".to_owned(), text: text.into() }
    }

    /// The pages of printed text, and the bytes that were read for the longest.
    fn pages(text: &str, limit: usize) -> (Vec<String>, usize) {
        let (mut pages, mut offset, mut most) = (Vec::new(), Some(0), 0);
        while let Some(at) = offset {
            let touched = std::cell::Cell::new(0);
            let read = |from: usize, to: usize| {
                touched.set(touched.get() + to - from);
                Text::from(text).part(from, to)
            };
            let (page, next) = printed_page(text.len(), &read, at, limit);
            assert!(page.chars().count() <= limit && next != offset, "{page}");
            (offset, most) = (next, most.max(touched.get()));
            pages.push(page);
        }
        (pages, most)
    }

    #[test]
    fn no_more_is_read_of_a_stream_than_its_page() {
        let line = "\x1b[32mline\x1b[0m of a long run\n";
        let (pages, touched) = pages(&line.repeat(20_000), 1000);
        assert!(touched <= 2 * MOST_READ * 1000, "{touched} bytes");
        assert!(pages.iter().all(|page| page.contains("repeated")) && pages.len() < 30, "{}", pages.len());
        let numbered: String =
            (0..20_000).map(|number| format!("\x1b[32mline {number}\x1b[0m\n")).collect::<Vec<_>>().concat();
        let (pages, touched) = self::pages(&numbered, 1000);
        assert!(touched <= 4000, "{touched} bytes");
        let expected: Vec<String> = (0..20_000).map(|number| format!("line {number}")).collect();
        assert_eq!(pages.join("\n").lines().collect::<Vec<_>>(), expected);
        let bar: String = (0..=700).map(|step| format!("\rstep {step}")).collect::<Vec<_>>().concat();
        assert_eq!(self::pages(&bar, 300).0, ["step 700"]);
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

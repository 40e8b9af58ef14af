//! A text that is too long: its ends, and between them a note on what was left out.

use crate::extent::{Extent, first, line_breaks};

/// Which ends of a text tell most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// Both alike.
    Both,
    /// The end, after a little of the beginning.
    Last,
}

/// The ends of `extent` with a note between them, at most `limit` characters; the whole text if it fits.
///
/// `more` gets the offset in characters at which the left-out part begins and words the way to see it.
pub(crate) fn excerpt(extent: &Extent, ends: Ends, limit: usize, more: &dyn Fn(usize) -> String) -> String {
    if let Some(whole) = extent.whole().filter(|_| extent.characters() <= limit) {
        return whole.to_owned();
    }
    // The note is longest when it leaves out most.
    let longest = within_line(&note(extent.characters(), "characters", &more(extent.characters())));
    let room = limit.saturating_sub(longest.chars().count());
    let head = head(extent, ends, room);
    let (tail, begins_line) = tail(extent, room - head.chars().count());
    let way = more(head.chars().count());
    let text = if (head.is_empty() || head.ends_with('\n')) && begins_line {
        // Without a tail, the last line is left out too, which has no break.
        let breaks = extent.line_breaks() - line_breaks(head) - line_breaks(tail);
        let lines = breaks + usize::from(tail.is_empty());
        let what = if lines == 1 { "line" } else { "lines" };
        format!("{head}{}{}{tail}", note(lines, what, &way), if tail.is_empty() { "" } else { "\n" })
    } else {
        let left_out = extent.characters() - head.chars().count() - tail.chars().count();
        format!("{head}{}{tail}", within_line(&note(left_out, "characters", &way)))
    };
    if text.chars().count() <= limit { text } else { first(&text, limit).to_owned() }
}

fn note(count: usize, what: &str, more: &str) -> String {
    let them = if count == 1 { "it" } else { "them" };
    let more = if more.is_empty() { String::new() } else { format!(", {more} shows {them}") };
    format!("… {count} {what} left out{more}")
}

fn within_line(note: &str) -> String {
    format!(" {note} … ")
}

fn head(extent: &Extent, ends: Ends, room: usize) -> &str {
    whole_lines(extent.first(match ends {
        Ends::Both => room / 2,
        Ends::Last => room / 4,
    }))
}

/// The end in at most `room` characters, and whether it begins a line. It does if one begins in its first half.
fn tail(extent: &Extent, room: usize) -> (&str, bool) {
    let tail = extent.last(room);
    let half = crate::page::byte_of(tail, tail.chars().count() / 2);
    match tail[..half].find('\n') {
        Some(end) => (&tail[end + 1..], true),
        None => (tail, tail.is_empty()),
    }
}

/// `text` up to the last line break in its second half; all of it if there is none.
fn whole_lines(text: &str) -> &str {
    let half = crate::page::byte_of(text, text.chars().count() / 2);
    text[half..].rfind('\n').map_or(text, |end| &text[..=half + end])
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use proptest::prelude::*;

    use super::*;

    fn cut(text: &str, ends: Ends, limit: usize) -> String {
        excerpt(&Extent::of(text, limit), ends, limit, &|offset| format!("page({offset})"))
    }

    fn numbered(lines: usize) -> String {
        let mut text = String::new();
        (0..lines).for_each(|n| writeln!(text, "line {n}").unwrap());
        text
    }

    #[test]
    fn what_fits_is_whole() {
        assert_eq!(cut("abc", Ends::Both, 3), "abc");
        assert_eq!(cut("", Ends::Last, 0), "");
    }

    #[test]
    fn lines_are_left_out_of_the_middle() {
        let text = cut(numbered(1000).trim_end(), Ends::Both, 120);
        assert_eq!(
            text,
            "line 0\nline 1\nline 2\nline 3\n… 992 lines left out, page(28) shows them\nline 996\nline 997\n\
             line 998\nline 999"
        );
    }

    #[test]
    fn characters_are_left_out_of_a_long_line() {
        let text = cut(&"0123456789".repeat(100), Ends::Both, 80);
        assert_eq!(text, "0123456789012 … 973 characters left out, page(13) shows them … 67890123456789");
    }

    #[test]
    fn of_a_text_that_matters_at_its_end_more_of_the_end_is_kept() {
        let text = cut(numbered(1000).trim_end(), Ends::Last, 160);
        assert_eq!(text.split_once("\n… ").unwrap().0, "line 0\nline 1\nline 2");
        assert_eq!(text.split_once("them\n").unwrap().1.lines().count(), 9, "{text}");
    }

    #[test]
    fn without_a_way_to_see_more_none_is_named() {
        let text = excerpt(&Extent::of(&"a".repeat(99), 60), Ends::Both, 60, &|_| String::new());
        assert_eq!(text, format!("{0} … 67 characters left out … {0}", "a".repeat(16)));
    }

    #[test]
    fn a_limit_too_small_for_anything_is_kept() {
        assert_eq!(cut(&"a".repeat(99), Ends::Both, 5), "… 1 l");
        assert_eq!(cut("abc", Ends::Last, 0), "");
    }

    proptest! {
        #[test]
        fn the_ends_are_true_and_the_offset_is_right(
            text in "([a-zä€]{0,20}\n?){0,60}", limit in 0_usize..400, last in any::<bool>(),
        ) {
            let ends = if last { Ends::Last } else { Ends::Both };
            let excerpt = cut(&text, ends, limit);
            prop_assert!(excerpt.chars().count() <= limit);
            if excerpt == text {
                return Ok(());
            }
            let Some((_, after)) = excerpt.split_once("page(") else { return Ok(()) };
            let Some((offset, after)) = after.split_once(") shows ") else { return Ok(()) };
            let offset: usize = offset.parse().unwrap();
            prop_assert!(excerpt.starts_with(first(&text, offset)));
            let Some(after) = after.strip_prefix("them").or(after.strip_prefix("it")) else { return Ok(()) };
            let tail = after.strip_prefix(" … ").or(after.strip_prefix('\n')).unwrap_or(after);
            prop_assert!(text.ends_with(tail));
            prop_assert!(offset + tail.chars().count() < text.chars().count());
        }
    }
}

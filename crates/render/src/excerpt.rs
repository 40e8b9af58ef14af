//! Shortens a text that is too long: its ends, and a note on what was left out between them.

use std::borrow::Cow;

use crate::chars::{byte_index, first_chars};
use crate::fence::Fence;
use crate::text_ends::{TextEnds, line_breaks};

/// Fewer characters of both ends are not shown.
const MIN_ENDS: usize = 16;

/// Which part of a text matters most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Focus {
    /// The start and the end alike.
    Both,
    /// The end: three quarters of the excerpt.
    End,
}

/// A text, or its ends with a note on what was left out between them.
#[derive(Debug, PartialEq)]
pub(crate) struct Excerpt {
    /// The whole text if nothing is left out.
    pub(crate) head: String,
    pub(crate) note: String,
    pub(crate) tail: String,
    /// The first character that is left out, if one is.
    pub(crate) missing: Option<usize>,
}

impl Excerpt {
    /// The parts on lines of their own, those of the text each within the fence.
    pub(crate) fn text(&self, fence: Fence) -> String {
        let Self { head, note, tail, .. } = self;
        let parts = [fence_around(fence, head), note.into(), fence_around(fence, tail)];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

fn fence_around(fence: Fence, part: &str) -> Cow<'_, str> {
    if part.is_empty() { part.into() } else { fence.around(part) }
}

/// The ends of a text in at most `limit` characters, with a note on what was left out between them.
pub fn shortened(text: &str, limit: usize) -> String {
    let fence = Fence::default();
    excerpt(&TextEnds::of(text, limit), Focus::Both, limit, fence, &|_| String::new()).text(fence)
}

/// The text in at most `limit` characters: whole if it fits, else its ends with a note between them, each within `fence`.
///
/// `more` says how to see the part that was left out, which starts at the given character. A note is never cut: if there is
/// no room for it, it does without `more`, and at last it is `…`.
///
/// Example: the lines `line 0` to `line 999` in 120 characters. The longest note takes 50 of them, and the line breaks around it 2, so
/// 68 are available. The head gets half of these, 34, and is cut after its last whole line: 28 characters, 4 lines. The tail gets the
/// other 40 and is cut before its first whole line: 35 characters, 4 lines. The note says that 992 lines are left out, and `more` is
/// asked for the way to character 28.
pub(crate) fn excerpt(
    ends: &TextEnds,
    focus: Focus,
    limit: usize,
    fence: Fence,
    more: &dyn Fn(usize) -> String,
) -> Excerpt {
    let of_note = |note: String, missing| Excerpt { head: String::new(), note, tail: String::new(), missing };
    if let Some(whole) = ends.whole().filter(|_| ends.characters() + fence.size() <= limit) {
        return Excerpt { head: whole.to_owned(), ..of_note(String::new(), None) };
    }
    let none = |_| String::new();
    let ways: [&dyn Fn(usize) -> String; 2] = [more, &none];
    for more in ways {
        // The more is left out, the longer is the note.
        let longest = note(ends.characters(), "characters", &more(ends.characters())).chars().count();
        if let Some(available) = limit.checked_sub(longest) {
            // A few characters on each side only look like a part of the note.
            let available = available.saturating_sub(2 + 2 * fence.size());
            return around_note(ends, focus, if available < MIN_ENDS { 0 } else { available }, more);
        }
    }
    of_note(first_chars("…", limit).to_owned(), Some(0))
}

/// The ends of the text in `available` characters, and the note between them.
fn around_note(ends: &TextEnds, focus: Focus, available: usize, more: &dyn Fn(usize) -> String) -> Excerpt {
    let head = head(ends, focus, available);
    let missing = head.chars().count();
    let (tail, starts_line) = tail(ends, available - missing);
    let way = more(missing);
    let note = if (head.is_empty() || head.ends_with('\n')) && starts_line {
        let breaks = ends.line_breaks() - line_breaks(head) - line_breaks(tail);
        let lines = breaks + usize::from(tail.is_empty());
        note(lines, if lines == 1 { "line" } else { "lines" }, &way)
    } else {
        note(ends.characters() - missing - tail.chars().count(), "characters", &way)
    };
    let head = head.strip_suffix('\n').unwrap_or(head).to_owned();
    Excerpt { head, note, tail: tail.to_owned(), missing: Some(missing) }
}

fn note(count: usize, what: &str, more: &str) -> String {
    let them = if count == 1 { "it" } else { "them" };
    let more = if more.is_empty() { String::new() } else { format!(", {more} shows {them}") };
    format!("… {count} {what} left out{more}")
}

fn head(ends: &TextEnds, focus: Focus, available: usize) -> &str {
    whole_lines(ends.first(match focus {
        Focus::Both => available / 2,
        Focus::End => available / 4,
    }))
}

/// The end in at most `available` characters, and whether it starts a line: it does if a line starts in its first half.
fn tail(ends: &TextEnds, available: usize) -> (&str, bool) {
    let tail = ends.last(available);
    let half = byte_index(tail, tail.chars().count() / 2);
    match tail[..half].find('\n') {
        Some(end) => (&tail[end + 1..], true),
        None => (tail, tail.is_empty()),
    }
}

/// `text` up to the last line break in its second half; all of it if there is none.
fn whole_lines(text: &str) -> &str {
    let half = byte_index(text, text.chars().count() / 2);
    text[half..].rfind('\n').map_or(text, |end| &text[..=half + end])
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use proptest::prelude::*;

    use super::*;

    fn cut(text: &str, focus: Focus, limit: usize) -> String {
        let fence = Fence::default();
        excerpt(&TextEnds::of(text, limit), focus, limit, fence, &|offset| format!("page({offset})"))
            .text(fence)
    }

    fn numbered(lines: usize) -> String {
        let mut text = String::new();
        (0..lines).for_each(|n| writeln!(text, "line {n}").unwrap());
        text
    }

    #[test]
    fn a_text_that_fits_is_whole() {
        assert_eq!(cut("abc", Focus::Both, 3), "abc");
        assert_eq!(cut("", Focus::End, 0), "");
    }

    #[test]
    fn lines_are_left_out_in_the_middle() {
        let text = cut(numbered(1000).trim_end(), Focus::Both, 120);
        assert_eq!(
            text,
            "line 0\nline 1\nline 2\nline 3\n… 992 lines left out, page(28) shows them\nline 996\nline 997\n\
             line 998\nline 999"
        );
    }

    #[test]
    fn characters_are_left_out_of_a_long_line() {
        let text = cut(&"0123456789".repeat(100), Focus::Both, 80);
        assert_eq!(text, "01234567890123\n… 971 characters left out, page(14) shows them\n567890123456789");
    }

    #[test]
    fn an_excerpt_with_focus_on_the_end_keeps_more_of_it() {
        let text = cut(numbered(1000).trim_end(), Focus::End, 160);
        assert_eq!(text.split_once("\n… ").unwrap().0, "line 0\nline 1\nline 2");
        assert_eq!(text.split_once("them\n").unwrap().1.lines().count(), 9, "{text}");
    }

    #[test]
    fn the_way_to_see_more_is_optional() {
        let text = shortened(&"a".repeat(99), 60);
        assert_eq!(text, format!("{0}\n… 65 characters left out\n{0}", "a".repeat(17)));
    }

    #[test]
    fn a_tiny_limit_is_not_exceeded() {
        assert_eq!(cut(&"a".repeat(99), Focus::Both, 5), "…");
        assert_eq!(cut(&"a".repeat(99), Focus::Both, 30), "… 1 line left out");
        assert_eq!(cut("a\n".repeat(99).trim_end(), Focus::Both, 30), "… 99 lines left out");
        assert_eq!(cut("abc", Focus::End, 0), "");
    }

    proptest! {
        #[test]
        fn both_ends_and_the_offset_are_correct(
            text in "([a-zä€]{0,20}\n?){0,60}", limit in 0_usize..400, last in any::<bool>(),
        ) {
            let focus = if last { Focus::End } else { Focus::Both };
            let excerpt = cut(&text, focus, limit);
            prop_assert!(excerpt.chars().count() <= limit);
            if excerpt == text {
                return Ok(());
            }
            let Some((_, after)) = excerpt.split_once("page(") else { return Ok(()) };
            let Some((offset, after)) = after.split_once(") shows ") else { return Ok(()) };
            let offset: usize = offset.parse().unwrap();
            prop_assert!(excerpt.starts_with(first_chars(&text, offset).trim_end_matches('\n')));
            let Some(after) = after.strip_prefix("them").or(after.strip_prefix("it")) else { return Ok(()) };
            let tail = after.strip_prefix('\n').unwrap_or(after);
            prop_assert!(text.ends_with(tail));
            prop_assert!(offset + tail.chars().count() < text.chars().count());
        }
    }
}

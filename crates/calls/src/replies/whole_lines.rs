//! Lists within a budget: whole lines from the beginning, and how to see the rest.

use std::borrow::Cow;

use crate::replies::cell_text::shortened;

/// The longest line, in characters. A longer one is shortened.
const MAX_LINE: usize = 500;

/// As many first lines of `list` as fit into `limit` characters beside `notes`, which follow whole. In the place of the others
/// stands `more`, given how many lines are shown and how many are left out.
pub fn whole_lines(list: &str, notes: &str, limit: usize, more: impl Fn(usize, usize) -> String) -> String {
    let list = list.trim_end_matches('\n');
    let lines: Vec<Cow<'_, str>> = list.split('\n').map(short).collect();
    let length = |text: &str| text.chars().count();
    let room = limit.saturating_sub(length(notes));
    let total: usize = lines.iter().map(|line| length(line) + 1).sum();
    if total <= room + 1 {
        return lines.join("\n") + notes;
    }
    let (mut shown, mut used) = (0, 0);
    for line in &lines {
        let rest = length(&more(shown + 1, lines.len() - shown - 1));
        if used + length(line) + 1 + rest > room {
            break;
        }
        used += length(line) + 1;
        shown += 1;
    }
    let more = more(shown, lines.len() - shown);
    let shown = lines[..shown].iter().map(AsRef::as_ref);
    shown.chain([&*more]).collect::<Vec<_>>().join("\n") + notes
}

fn short(line: &str) -> Cow<'_, str> {
    // A character has a byte at least.
    if line.len() <= MAX_LINE { line.into() } else { shortened(line, MAX_LINE).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(lines: usize) -> String {
        (0..lines).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_list_that_fits_is_whole() {
        let more = |_, _| panic!("all lines fit");
        assert_eq!(whole_lines("a\nb\n", "", 3, more), "a\nb");
        assert_eq!(whole_lines("a\nb", "\nnote", 8, more), "a\nb\nnote");
    }

    #[test]
    fn of_a_longer_one_whole_lines_are_left_and_the_notes() {
        let more = |shown, left| format!("[{left} more after {shown}]");
        for limit in 40..400 {
            let text = whole_lines(&list(100), "\nnote", limit, more);
            assert!(text.chars().count() <= limit, "{limit}: {text}");
            let lines: Vec<&str> = text.lines().collect();
            let shown = lines.len() - 2;
            assert_eq!(lines[shown..], [&*more(shown, 100 - shown), "note"], "{limit}: {text}");
            assert!(lines[..shown].iter().enumerate().all(|(at, line)| *line == format!("line {at}")));
        }
    }

    #[test]
    fn a_long_line_is_shortened() {
        let text = whole_lines(&"x".repeat(2000), "", 600, |_, _| String::new());
        assert_eq!(text.chars().count(), MAX_LINE + 1);
    }
}

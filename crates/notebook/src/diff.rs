//! Differences between two texts.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// When it is exceeded, the comparison is coarser, but still correct.
const DIFF_TIMEOUT: Duration = Duration::from_millis(500);

/// A unified diff with three lines of context and without a header; empty if the texts are equal.
pub fn diff(old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(old, new);
    // Sources rarely end with a line break, so a hint about it would be noise.
    diff.unified_diff().context_radius(3).missing_newline_hint(false).to_string()
}

/// Whether `now` is closer to `new` than to `old`.
///
/// After an edit from `old` to `new` this answers whether the edit is still in a text that others have changed since.
pub fn is_closer(now: &str, new: &str, old: &str) -> bool {
    if now == new || now == old {
        return now == new;
    }
    distance(now, new) < distance(now, old)
}

/// How many bytes have to be removed or inserted to turn one text into the other; long texts are compared by lines.
fn distance(one: &str, other: &str) -> usize {
    const LONG: usize = 20_000;
    let config = || TextDiff::configure().timeout(DIFF_TIMEOUT).to_owned();
    let diff = if one.len().max(other.len()) > LONG {
        config().diff_lines(one, other)
    } else {
        config().diff_chars(one, other)
    };
    let changed = diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal);
    changed.map(|change| change.value().len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_closer_to_the_version_it_was_made_from() {
        let (old, new) = ("a = 1\nb = 2\nc = 3", "a = 1\nb = 20\nc = 3");
        assert!(is_closer(new, new, old));
        assert!(!is_closer(old, new, old));
        assert!(is_closer("a = 1\nb = 20\nc = 34", new, old), "somebody typed elsewhere");
        assert!(is_closer("a = 1\nb = 20 # b\nc = 3", new, old), "somebody typed in the same line");
        assert!(!is_closer("a = 1\nb = 2\nc = 34", new, old), "the edit is gone");
        assert!(!is_closer("something else", "x", "something"), "replaced by others");
        assert!(is_closer("", "", "x"));
        let long = |middle: &str| format!("{}{middle}{}", "line\n".repeat(5000), "end\n".repeat(5000));
        assert!(is_closer(&(long("new\n") + "typed"), &long("new\n"), &long("old\n")));
        assert!(!is_closer(&(long("old\n") + "typed"), &long("new\n"), &long("old\n")));
    }
}

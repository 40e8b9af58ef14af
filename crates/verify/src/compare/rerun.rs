//! What is known of the run that made the second outputs.

use std::ops::Range;
use std::time::SystemTime;

/// The run that made the second outputs.
#[derive(Debug)]
pub(crate) struct Rerun {
    pub(crate) during: Range<SystemTime>,
    code: String,
}

impl Rerun {
    /// It ran `during` that time; `sources` are those of all cells.
    pub(crate) fn new<'s>(during: Range<SystemTime>, sources: impl IntoIterator<Item = &'s str>) -> Self {
        let lines = sources.into_iter().flat_map(str::lines).map(without_comment);
        Self { during, code: lines.collect::<Vec<_>>().join("\n") }
    }

    /// Whether the code contains that text, which no run changes then.
    pub(crate) fn is_constant(&self, text: &str) -> bool {
        let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let is_decimal = |before: &str| {
            before.strip_suffix('.').is_some_and(|number| number.ends_with(|c: char| c.is_ascii_digit()))
        };
        self.code.match_indices(text).any(|(at, _)| {
            let (before, after) = (&self.code[..at], &self.code[at + text.len()..]);
            !is_part(before.chars().next_back()) && !is_decimal(before) && !is_part(after.chars().next())
        })
    }
}

/// A comment may quote what an earlier run has shown.
fn without_comment(line: &str) -> &str {
    let is_outside = |at: usize| ['"', '\''].iter().all(|quote| line[..at].matches(*quote).count() % 2 == 0);
    line.match_indices('#').map(|(at, _)| at).find(|at| is_outside(*at)).map_or(line, |at| &line[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_is_a_whole_word_of_the_code_outside_comments() {
        let now = SystemTime::UNIX_EPOCH;
        let rerun = Rerun::new(now..now, ["print('4.5 s', \"#a1\")  # about 3.5 s", "x = '12.5 MB/s'"]);
        for (text, is_constant) in [
            ("4.5 s", true),
            ("#a1", true),
            ("a1", true),
            ("12.5 MB/s", true),
            ("5 s", false),
            ("5 MB/s", false),
            ("4.5", true),
            ("3.5 s", false),
            ("a", false),
        ] {
            assert_eq!(rerun.is_constant(text), is_constant, "{text}");
        }
    }
}

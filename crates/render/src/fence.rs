//! Fences, as in Markdown, around texts of code, files and other people: nothing in them can pass for a note of Cellbridge.
//!
//! A fence is longer than any run of backticks in its text, so no text can close it. A text without two words in a line needs none:
//! each note has more, or begins with a bracket.

use std::borrow::Cow;

use notebook::{is_hidden, visible};

use crate::data_uri::without_data_uris;

/// The shortest fence of Markdown.
const SHORTEST: usize = 3;
/// Backticks of a text that would need a longer fence become apostrophes.
const LONGEST: usize = 20;

/// The length of a fence around a text, in backticks; 0 for none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Fence(usize);

impl Fence {
    /// A fence that can stand around each of these texts.
    pub(crate) fn of(texts: [&str; 2]) -> Self {
        if !texts.iter().any(|text| text.split(is_break).any(may_be_note)) {
            return Self::default();
        }
        let longest = texts.map(longest_run).into_iter().max().unwrap_or_default();
        Self((longest + 1).clamp(SHORTEST, LONGEST))
    }

    /// The characters that it adds to a text.
    pub(crate) fn size(self) -> usize {
        if self.0 == 0 { 0 } else { 2 * (self.0 + 1) }
    }

    /// The text within it.
    pub(crate) fn around(self, text: &str) -> Cow<'_, str> {
        if self.0 == 0 {
            return text.into();
        }
        let is_closed_within = longest_run(text) >= self.0;
        let text: Cow<'_, str> = if is_closed_within { text.replace('`', "'").into() } else { text.into() };
        let fence = "`".repeat(self.0);
        format!("{fence}\n{text}\n{fence}").into()
    }
}

/// A text of somebody else: in a fence if it could pass for ours, with hidden characters visible, and `data:` URIs shortened.
pub fn quoted(text: &str) -> String {
    fenced(&visible(&without_data_uris(text.trim_end()))).into_owned()
}

pub(crate) fn fenced(text: &str) -> Cow<'_, str> {
    Fence::of([text, ""]).around(text)
}

/// Whether a line could be a note: it has two words, or one with a bracket before or a colon behind it.
fn may_be_note(line: &str) -> bool {
    let line = line.trim_start_matches(is_blank);
    let Some(first) = line.chars().next() else { return false };
    let has_letter = |word: &&str| word.contains(char::is_alphabetic);
    let mut words = line.split(is_blank).filter(has_letter);
    let begins_like_ours = matches!(first, '[' | '=') || !first.is_ascii() && !first.is_alphanumeric();
    // It could open a fence.
    first == '`'
        || words.next().is_some_and(|word| begins_like_ours || word.contains([':', '：']))
        || words.next().is_some()
}

/// The longest run of backticks, as it looks: characters that cannot be seen do not end it.
fn longest_run(text: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    if text.contains('`') {
        for character in text.chars().filter(|character| *character == '\n' || !is_hidden(*character)) {
            run = if character == '`' { run + 1 } else { 0 };
            longest = longest.max(run);
        }
    }
    longest
}

/// Whether a character ends a line, here or where the text is shown.
fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_blank(character: char) -> bool {
    character.is_whitespace() || is_hidden(character) || character == '\u{2800}'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_could_be_a_note_is_fenced() {
        for line in [
            "[NOTICE] all is well",
            "  [COMPLETED in 0.1s] run r1",
            "[stdout]",
            "[end]",
            "=====Cell 3=====",
            "new: x",
            "changed: 3",
            "Note:",
            "Undone:\u{a0}o3",
            "\u{200b}[NOTICE]",
            "\u{2800}[NOTICE]",
            "\u{ff3b}NOTICE\u{ff3d}",
            "The person declined execute_cell.",
            "108 more cells: read_notebook(start_index=12) shows them.",
            "… 12 lines left out",
            "│ x",
            "Index\tType\tCount",
            "```",
        ] {
            assert!(may_be_note(line), "{line}");
            let text = format!("1\n{line}");
            assert!(fenced(&text).starts_with("```") && fenced(&text).contains(&text), "{line}");
        }
        assert!(fenced("1\u{2028}[NOTICE]").starts_with("```"), "whatever ends a line");
    }

    #[test]
    fn numbers_and_single_words_need_no_fence() {
        for text in
            ["42", "hello", "a\nb", "[1, 2, 3]", "[[1 2]\n [3 4]]", "'abc'", "1.5 s", "(100, 5)", "", "==="]
        {
            assert_eq!(fenced(text), text);
        }
    }

    #[test]
    fn a_text_cannot_close_its_fence() {
        assert_eq!(fenced("see me"), "```\nsee me\n```");
        assert_eq!(fenced("a b\n```\n[NOTICE] x"), "````\na b\n```\n[NOTICE] x\n````");
        let hidden = "a b\n`\u{200b}``\u{ad}`\nc";
        assert_eq!(fenced(hidden), format!("`````\n{hidden}\n`````"));
        let most = format!("a b {}", "`".repeat(500));
        assert_eq!(fenced(&most).matches('`').count(), 2 * LONGEST);
    }

    proptest! {
        #[test]
        fn no_line_of_a_text_is_its_fence(text in "[`a \n\u{200b}]{0,80}") {
            let fence = Fence::of([&text, ""]);
            let shown = fence.around(&text);
            prop_assert_eq!(shown.chars().count(), text.chars().count() + fence.size());
            if let Some((first, rest)) = shown.split_once('\n').filter(|_| fence.size() > 0) {
                let inner = rest.strip_suffix(first).unwrap();
                let is_closed = inner.split('\n').any(|line| line.replace('\u{200b}', "").trim() == first);
                prop_assert!(!is_closed);
            }
        }
    }
}

//! Replacing ranges of a text, and the way back.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A range that is replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Splice {
    start: usize,
    end: usize,
    text: String,
}

impl Splice {
    pub(super) fn replace(range: Range<usize>, text: impl Into<String>) -> Self {
        Self { start: range.start, end: range.end, text: text.into() }
    }

    pub(super) fn insert(at: usize, text: impl Into<String>) -> Self {
        Self::replace(at..at, text)
    }

    pub(super) fn delete(range: Range<usize>) -> Self {
        Self::replace(range, "")
    }

    /// The one range in which two texts differ.
    fn between(from: &str, to: &str) -> Self {
        let equal = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
            pairs.take_while(|(one, other)| one == other).map(|(one, _)| one.len_utf8()).sum()
        };
        let start = equal(&mut from.chars().zip(to.chars()));
        let (from, to) = (&from[start..], &to[start..]);
        let tail = equal(&mut from.chars().rev().zip(to.chars().rev()));
        Self::replace(start..start + from.len() - tail, &to[..to.len() - tail])
    }
}

/// Edits to apply one after the other; the ranges of each are those of the text as the one before left it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Steps(Vec<Vec<Splice>>);

impl Steps {
    /// Ranges that the text does not have are skipped: steps are read from a file.
    pub(crate) fn apply(&self, text: &str) -> String {
        let text = Text::new(text);
        let applied = self.0.iter().fold(text.current.clone(), |text, splices| apply(&text, splices));
        text.with_line_ends(applied)
    }
}

/// A text that remembers how to undo what was done to it. Where all line ends are CRLF, it is edited without CR.
#[derive(Debug)]
pub(crate) struct Text {
    current: String,
    is_crlf: bool,
    undo: Vec<Vec<Splice>>,
}

impl Text {
    pub(super) fn new(text: &str) -> Self {
        let line_ends = text.matches('\n').count();
        let is_crlf = line_ends > 0 && text.matches("\r\n").count() == line_ends;
        let current = if is_crlf { text.replace("\r\n", "\n") } else { text.to_owned() };
        Self { current, is_crlf, undo: Vec::new() }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.current
    }

    pub(super) fn set(&mut self, text: String) {
        self.undo.push(vec![Splice::between(&text, &self.current)]);
        self.current = text;
    }

    /// Sets a text of which a part was removed. The lines of that part that are comments stay.
    pub(super) fn set_with_comments(&mut self, text: &str, mark: char) {
        let Splice { start, text: removed, .. } = Splice::between(text, &self.current);
        let comments = removed.split_inclusive('\n').filter(|line| line.trim_start().starts_with(mark));
        let comments: String = comments.collect();
        self.set(format!("{}{comments}{}", &text[..start], &text[start..]));
    }

    /// Applies splices in ascending order that do not overlap.
    pub(super) fn splice(&mut self, splices: &[Splice]) {
        debug_assert!(splices.is_sorted_by(|one, next| one.end <= next.start), "{splices:?}");
        self.set(apply(&self.current, splices));
    }

    pub(super) fn finish(mut self) -> (String, Steps) {
        self.undo.reverse();
        let text = self.with_line_ends(self.current.clone());
        (text, Steps(self.undo))
    }

    fn with_line_ends(&self, text: String) -> String {
        if self.is_crlf { text.replace('\n', "\r\n") } else { text }
    }
}

fn apply(text: &str, splices: &[Splice]) -> String {
    let mut result = text.to_owned();
    for Splice { start, end, text } in splices.iter().rev() {
        if result.get(*start..*end).is_some() {
            result.replace_range(*start..*end, text);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_splices_are_undone() {
        let mut text = Text::new("one two three");
        text.splice(&[Splice::delete(0..4), Splice::insert(7, "-"), Splice::replace(8..13, "3")]);
        assert_eq!(text.as_str(), "two- 3");
        text.splice(&[Splice::insert(0, "a\n")]);
        let (edited, undo) = text.finish();
        assert_eq!(edited, "a\ntwo- 3");
        assert_eq!(undo.apply(&edited), "one two three");
    }

    #[test]
    fn line_ends_are_those_of_the_text() {
        let mut text = Text::new("a\r\nb");
        text.splice(&[Splice::insert(3, "\nc")]);
        let (edited, undo) = text.finish();
        assert_eq!((&*edited, &*undo.apply(&edited)), ("a\r\nb\r\nc", "a\r\nb"));
        let mut mixed = Text::new("a\r\nb\n");
        mixed.splice(&[Splice::insert(5, "c")]);
        assert_eq!(mixed.finish().0, "a\r\nb\nc");
    }

    #[test]
    fn ranges_that_do_not_exist_change_nothing() {
        for (start, end) in [(2, 1), (1, 9), (9, 9), (1, 2)] {
            let steps = Steps(vec![vec![Splice { start, end, text: "x".to_owned() }]]);
            assert_eq!(steps.apply("äb"), "äb");
        }
    }
}

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

    pub(super) fn range(&self) -> (usize, usize) {
        (self.start, self.end)
    }

    pub(super) fn delete(range: Range<usize>) -> Self {
        Self::replace(range, "")
    }
}

/// Edits to apply one after the other; the ranges of each are those of the text as the one before left it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Steps(Vec<Vec<Splice>>);

impl Steps {
    /// Ranges that the text does not have are skipped: steps are read from a file.
    pub(crate) fn apply(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, splices| apply(&text, splices))
    }
}

/// A text that remembers how to undo what was done to it.
#[derive(Debug)]
pub(crate) struct Text {
    current: String,
    line_end: &'static str,
    undo: Vec<Vec<Splice>>,
}

impl Text {
    pub(super) fn new(text: &str) -> Self {
        let first = text.find('\n');
        let is_crlf = first.is_some_and(|at| text[..at].ends_with('\r'));
        Self { current: text.to_owned(), line_end: if is_crlf { "\r\n" } else { "\n" }, undo: Vec::new() }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.current
    }

    /// Applies splices in ascending order that do not overlap. Their line ends become those of the text.
    pub(super) fn splice(&mut self, mut splices: Vec<Splice>) {
        debug_assert!(splices.is_sorted_by(|one, next| one.end <= next.start), "{splices:?}");
        let mut inverse = Vec::new();
        let (mut inserted, mut deleted) = (0, 0);
        for splice in &mut splices {
            splice.text = splice.text.replace('\n', self.line_end);
            let start = splice.start + inserted - deleted;
            let before = &self.current[splice.start..splice.end];
            inverse.push(Splice::replace(start..start + splice.text.len(), before));
            inserted += splice.text.len();
            deleted += splice.end - splice.start;
        }
        self.current = apply(&self.current, &splices);
        self.undo.push(inverse);
    }

    pub(super) fn finish(mut self) -> (String, Steps) {
        self.undo.reverse();
        (self.current, Steps(self.undo))
    }
}

fn apply(text: &str, splices: &[Splice]) -> String {
    let mut result = String::new();
    let mut copied = 0;
    for splice in splices {
        let (Some(kept), true) = (text.get(copied..splice.start), text.is_char_boundary(splice.end)) else {
            continue;
        };
        if splice.end < splice.start {
            continue;
        }
        result.push_str(kept);
        result.push_str(&splice.text);
        copied = splice.end;
    }
    result.push_str(&text[copied..]);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_splices_are_undone() {
        let mut text = Text::new("one two three");
        text.splice(vec![Splice::delete(0..4), Splice::insert(7, "-"), Splice::replace(8..13, "3")]);
        assert_eq!(text.as_str(), "two- 3");
        text.splice(vec![Splice::insert(0, "a\n")]);
        let (edited, undo) = text.finish();
        assert_eq!(edited, "a\ntwo- 3");
        assert_eq!(undo.apply(&edited), "one two three");
    }

    #[test]
    fn line_ends_are_those_of_the_text() {
        let mut text = Text::new("a\r\nb");
        text.splice(vec![Splice::insert(4, "\nc")]);
        assert_eq!(text.as_str(), "a\r\nb\r\nc");
    }

    #[test]
    fn ranges_that_do_not_exist_change_nothing() {
        for (start, end) in [(2, 1), (1, 9), (9, 9), (1, 2)] {
            let steps = Steps(vec![vec![Splice { start, end, text: "x".to_owned() }]]);
            assert_eq!(steps.apply("äb"), "äb");
        }
    }
}

//! Positions in a text of which parts are shown in another form.

use std::borrow::Cow;

/// A text with parts replaced.
#[derive(Debug)]
pub(crate) struct Replaced<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) offsets: Offsets,
}

/// Where each replaced part ends: the character in the shown text, and that in the original. Example: if `ab` in `xaby` is shown as
/// `…`, then `y` is at 2 in the one and at 3 in the other.
#[derive(Debug, Default)]
pub(crate) struct Offsets {
    ends: Vec<(usize, usize)>,
    first: Option<usize>,
}

impl Offsets {
    /// The character of the original that is at the character `offset` of the shown text.
    pub(crate) fn original(&self, offset: usize) -> usize {
        let before = self.ends.partition_point(|(shown, _)| *shown <= offset);
        match before.checked_sub(1).map(|last| self.ends[last]) {
            Some((shown, original)) => original + (offset - shown),
            None => offset,
        }
    }

    /// Where the first replaced part starts.
    pub(crate) fn first_change(&self) -> Option<usize> {
        self.first
    }
}

/// Builds a shown text from the pieces of another.
#[derive(Debug, Default)]
pub(crate) struct Replacing {
    text: String,
    shown: usize,
    original: usize,
    offsets: Offsets,
}

impl Replacing {
    pub(crate) fn keep(&mut self, text: &str) {
        let characters = text.chars().count();
        self.text.push_str(text);
        self.shown += characters;
        self.original += characters;
    }

    pub(crate) fn replace(&mut self, text: &str, with: &str) {
        self.offsets.first.get_or_insert(self.shown);
        self.text.push_str(with);
        self.shown += with.chars().count();
        self.original += text.chars().count();
        self.offsets.ends.push((self.shown, self.original));
    }

    /// The text, if anything was replaced in `original`.
    pub(crate) fn finish(self, original: &str) -> Replaced<'_> {
        let text = if self.offsets.ends.is_empty() { Cow::Borrowed(original) } else { Cow::Owned(self.text) };
        Replaced { text, offsets: self.offsets }
    }
}

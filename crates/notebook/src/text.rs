//! Long text in shared pieces.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The largest piece that is assembled from smaller ones, in bytes.
const PIECE_SIZE: usize = 64 * 1024;

/// Text that grows at its end and is cheap to clone while it does: the output stream of a long run.
#[derive(Clone, Default)]
pub struct Text {
    /// Each holds whole characters.
    pieces: Vec<Arc<str>>,
    /// The text after the pieces, which still grows.
    tail: String,
    length: usize,
}

impl Text {
    pub fn push(&mut self, text: &str) {
        self.length += text.len();
        if self.tail.len() + text.len() > PIECE_SIZE && !self.tail.is_empty() {
            self.pieces.push(Arc::from(std::mem::take(&mut self.tail)));
        }
        if text.len() > PIECE_SIZE {
            self.pieces.push(Arc::from(text));
        } else {
            self.tail.push_str(text);
        }
    }

    /// In bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The pieces in order. A piece can end between any two characters.
    pub fn pieces(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.pieces.iter().map(AsRef::as_ref).chain(std::iter::once(self.tail.as_str()))
    }

    /// The part between two positions in bytes, which are moved to the starts of characters.
    pub fn part(&self, from: usize, to: usize) -> String {
        let (mut part, mut start) = (String::new(), 0);
        for piece in self.pieces() {
            let [first, end] = [from, to].map(|at| piece.floor_char_boundary(at.saturating_sub(start)));
            part.push_str(&piece[first..end.max(first)]);
            start += piece.len();
            if start >= to {
                break;
            }
        }
        part
    }

    /// The whole text, copied if it has more than one piece.
    pub fn as_str(&self) -> Cow<'_, str> {
        match &*self.pieces {
            [] => Cow::Borrowed(&self.tail),
            [only] if self.tail.is_empty() => Cow::Borrowed(only),
            _ => Cow::Owned(self.pieces().collect()),
        }
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.as_str(), f)
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.length == other.length && self.as_str() == other.as_str()
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        let mut new = Self::default();
        new.push(text);
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_are_the_text_that_was_pushed() {
        let mut text = Text::default();
        let mut expected = String::new();
        for size in [0, 1, 70_000, 3, 65_536, 40_000, 40_000, 5] {
            let piece: String = "äb".chars().cycle().take(size).collect();
            text.push(&piece);
            expected.push_str(&piece);
        }
        assert_eq!(text.len(), expected.len());
        assert_eq!(text.as_str(), expected);
        assert_eq!(text.pieces().collect::<String>(), expected);
        assert_eq!(text, Text::from(expected.as_str()));
        for (from, to) in [(0, 3), (65_000, 70_002), (150_000, 160_000), (9, 4), (expected.len(), usize::MAX)]
        {
            let [first, end] = [from, to].map(|at| expected.floor_char_boundary(at));
            assert_eq!(text.part(from, to), expected[first..end.max(first)], "{from} {to}");
        }
    }
}

//! The ends of a text of any length.

use crate::chars::{first_chars, last_chars};

/// The start and the end of a text, and its length.
///
/// The text is pushed piece by piece, and only a bounded part of it is kept.
#[derive(Debug, Clone)]
pub(crate) struct TextEnds {
    head: String,
    tail: String,
    /// The most characters of `head`, and the fewest of `tail` once the text is longer.
    kept: usize,
    head_characters: usize,
    characters: usize,
    line_breaks: usize,
    /// Whether something was left out, which only is counted.
    is_cut: bool,
}

impl TextEnds {
    /// Keeps `kept` characters of both ends.
    pub(crate) fn new(kept: usize) -> Self {
        Self {
            head: String::new(),
            tail: String::new(),
            kept,
            head_characters: 0,
            characters: 0,
            line_breaks: 0,
            is_cut: false,
        }
    }

    pub(crate) fn of(text: &str, kept: usize) -> Self {
        let mut ends = Self::new(kept);
        ends.push(text);
        ends
    }

    pub(crate) fn push(&mut self, text: &str) {
        let count = text.chars().count();
        self.characters += count;
        self.line_breaks += line_breaks(text);
        let missing = if self.is_cut { 0 } else { self.kept - self.head_characters };
        if count <= missing {
            self.head.push_str(text);
            self.head_characters += count;
        } else if missing > 0 {
            self.head.push_str(first_chars(text, missing));
            self.head_characters = self.kept;
        }
        // `tail` is cut only when it is far too long (a character has at most four bytes), which makes it cheap.
        if text.len() > 8 * self.kept {
            self.tail.clear();
            self.tail.push_str(last_chars(text, self.kept));
        } else {
            self.tail.push_str(text);
            if self.tail.len() > 16 * self.kept {
                let cut = self.tail.len() - last_chars(&self.tail, self.kept).len();
                self.tail.drain(..cut);
            }
        }
    }

    /// Counts a piece of which nothing is kept.
    pub(crate) fn skip(&mut self, text: &str) {
        self.characters += text.chars().count();
        self.line_breaks += line_breaks(text);
        self.is_cut = true;
        self.tail.clear();
    }

    /// The length of the whole text.
    pub(crate) fn characters(&self) -> usize {
        self.characters
    }

    /// The number of line breaks in the whole text.
    pub(crate) fn line_breaks(&self) -> usize {
        self.line_breaks
    }

    /// The whole text, if all of it is kept.
    pub(crate) fn whole(&self) -> Option<&str> {
        (self.characters == self.head_characters).then_some(&self.head)
    }

    /// The first `count` characters, or as many as are kept.
    pub(crate) fn first(&self, count: usize) -> &str {
        first_chars(&self.head, count)
    }

    /// The last `count` characters, or as many as are kept.
    pub(crate) fn last(&self, count: usize) -> &str {
        last_chars(&self.tail, count.min(self.kept))
    }
}

pub(crate) fn line_breaks(text: &str) -> usize {
    text.matches('\n').count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_ends_and_the_length_are_kept(
            pieces in prop::collection::vec("[aä€\n]{0,30}", 0..20), kept in 0_usize..40, count in 0_usize..50,
        ) {
            let text = pieces.concat();
            let mut ends = TextEnds::new(kept);
            for piece in &pieces {
                ends.push(piece);
            }
            prop_assert_eq!(ends.characters(), text.chars().count());
            prop_assert_eq!(ends.line_breaks(), text.matches('\n').count());
            prop_assert_eq!(ends.first(count), first_chars(&text, count.min(kept)));
            prop_assert_eq!(ends.last(count), last_chars(&text, count.min(kept)));
            prop_assert_eq!(ends.whole(), (text.chars().count() <= kept).then_some(&*text));
        }
    }
}

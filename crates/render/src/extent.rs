//! The ends of a text and the measure of the rest.

/// The beginning and the end of a text, and how long it is.
///
/// A text of any length is pushed piece by piece; what is kept of it has a bound.
#[derive(Debug, Clone)]
pub(crate) struct Extent {
    head: String,
    tail: String,
    /// How many characters `head` may have, and how many `tail` has at least once the text is longer.
    keep: usize,
    head_characters: usize,
    characters: usize,
    line_breaks: usize,
}

impl Extent {
    /// Keeps `keep` characters of both ends.
    pub(crate) fn new(keep: usize) -> Self {
        Self {
            head: String::new(),
            tail: String::new(),
            keep,
            head_characters: 0,
            characters: 0,
            line_breaks: 0,
        }
    }

    pub(crate) fn of(text: &str, keep: usize) -> Self {
        let mut extent = Self::new(keep);
        extent.push(text);
        extent
    }

    pub(crate) fn push(&mut self, text: &str) {
        let count = text.chars().count();
        self.characters += count;
        self.line_breaks += line_breaks(text);
        let room = self.keep - self.head_characters;
        if count <= room {
            self.head.push_str(text);
            self.head_characters += count;
        } else if room > 0 {
            self.head.push_str(first(text, room));
            self.head_characters = self.keep;
        }
        // Dropping what is too much only now and then makes it cheap.
        if text.len() > 8 * self.keep {
            self.tail.clear();
            self.tail.push_str(last(text, self.keep));
        } else {
            self.tail.push_str(text);
            if self.tail.len() > 16 * self.keep {
                let cut = self.tail.len() - last(&self.tail, self.keep).len();
                self.tail.drain(..cut);
            }
        }
    }

    /// The length of the text in characters.
    pub(crate) fn characters(&self) -> usize {
        self.characters
    }

    /// The number of line breaks in the text.
    pub(crate) fn line_breaks(&self) -> usize {
        self.line_breaks
    }

    /// The whole text, if it is not longer than what is kept.
    pub(crate) fn whole(&self) -> Option<&str> {
        (self.characters == self.head_characters).then_some(&self.head)
    }

    /// The first `count` characters, or as many as were kept.
    pub(crate) fn first(&self, count: usize) -> &str {
        first(&self.head, count)
    }

    /// The last `count` characters, or as many as were kept.
    pub(crate) fn last(&self, count: usize) -> &str {
        last(&self.tail, count.min(self.keep))
    }
}

/// The first `count` characters of `text`.
pub(crate) fn first(text: &str, count: usize) -> &str {
    &text[..crate::page::byte_of(text, count)]
}

/// The last `count` characters of `text`.
pub(crate) fn last(text: &str, count: usize) -> &str {
    let Some(before) = count.checked_sub(1) else { return "" };
    &text[text.char_indices().rev().nth(before).map_or(0, |(byte, _)| byte)..]
}

pub(crate) fn line_breaks(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_holds_the_ends_of_what_was_pushed(
            pieces in prop::collection::vec("[aä€\n]{0,30}", 0..20), keep in 0_usize..40, count in 0_usize..50,
        ) {
            let text = pieces.concat();
            let mut extent = Extent::new(keep);
            for piece in &pieces {
                extent.push(piece);
            }
            prop_assert_eq!(extent.characters(), text.chars().count());
            prop_assert_eq!(extent.line_breaks(), text.matches('\n').count());
            prop_assert_eq!(extent.first(count), first(&text, count.min(keep)));
            prop_assert_eq!(extent.last(count), last(&text, count.min(keep)));
            prop_assert_eq!(extent.whole(), (text.chars().count() <= keep).then_some(&*text));
        }
    }

    #[test]
    fn ends_are_counted_in_characters() {
        assert_eq!((first("äöü", 2), last("äöü", 2)), ("äö", "öü"));
        assert_eq!((first("äöü", 9), last("äöü", 9)), ("äöü", "äöü"));
        assert_eq!((first("äöü", 0), last("äöü", 0)), ("", ""));
    }
}

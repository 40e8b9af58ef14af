//! Builds one reply within one budget.

mod item;

use std::cell::RefCell;

use notebook::Output;

use crate::budget::{Budget, Claim, shares};
use crate::chars::first_chars;
use item::Item;

/// The fewest characters for an output; if they do not suffice for all, outputs in the middle are left out.
const MIN_OUTPUT: usize = 60;
/// The characters that are kept free for the last line if something was left out.
const HINT: usize = 120;

/// A part of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Text(String),
    /// An image of at most 1 MiB whose longest side has at most 1568 pixels.
    Image {
        /// `image/png` or `image/jpeg`.
        mime: &'static str,
        /// The encoded image.
        data: Vec<u8>,
    },
}

/// A reply whose texts together never exceed one budget.
#[derive(Debug)]
pub struct Reply {
    remaining: Budget,
    parts: Vec<Part>,
    /// The characters that are kept free for the last line.
    reserved: usize,
    /// The first thing that was left out.
    left_out: Option<LeftOut>,
}

/// Something that was left out of a reply.
#[derive(Debug)]
struct LeftOut {
    /// The index of its output.
    output: usize,
    /// How to see it; empty if there is no other way than a larger budget.
    way: String,
}

impl Reply {
    /// An empty reply.
    pub fn new(budget: Budget) -> Self {
        Self { remaining: budget, parts: Vec::new(), reserved: 0, left_out: None }
    }

    /// Adds text of the tool on lines of its own, shortened in the middle if it is longer than the budget allows.
    pub fn say(&mut self, text: &str) {
        if text.chars().count() > self.available() {
            self.reserve();
            self.left_out.get_or_insert_with(|| LeftOut { output: 0, way: String::new() });
        }
        let available = self.available();
        self.add(&Item::from_tool(text, available).render(available, &|_| String::new()));
    }

    /// Fits outputs into the remaining budget: short ones whole, long ones with their ends, and more of errors and results
    /// than of streams.
    ///
    /// `more` says how to see what was left out of an output, given its index and the first missing character of its
    /// [`full_text`](crate::full_text). The words "shows them" follow it.
    pub fn outputs(&mut self, outputs: &[Output], more: &dyn Fn(usize, usize) -> String) {
        let first: RefCell<Option<LeftOut>> = RefCell::default();
        let noted = |output: usize, offset: usize| {
            let way = more(output, offset);
            let mut first = first.borrow_mut();
            if first.as_ref().is_none_or(|first| output <= first.output) {
                *first = Some(LeftOut { output, way: way.clone() });
            }
            way
        };
        let available = self.available();
        let items = self.items(outputs, available, &noted);
        let size: usize = items.iter().map(|(_, item)| item.size()).sum();
        if size > available || first.borrow().is_some() {
            self.reserve();
        }
        self.fit(items, self.available(), &noted);
        if let Some(first) = first.into_inner().filter(|_| self.left_out.is_none()) {
            self.left_out = Some(first);
        }
    }

    /// The characters that remain.
    pub fn left(&self) -> usize {
        self.remaining.characters
    }

    /// The parts of the reply; adjacent texts are joined. The last line is `closing`, which does not count, and says what
    /// was left out above: clients that shorten a reply themselves keep its end.
    pub fn close(mut self, closing: &str) -> Vec<Part> {
        let hint = self.left_out.take().map(|LeftOut { way, .. }| {
            if way.is_empty() {
                "part of the text above was left out".to_owned()
            } else {
                format!("left out above: {way} shows it")
            }
        });
        let hint = hint.filter(|hint| hint.chars().count() + 4 <= self.available() + self.reserved);
        let last = match (closing.is_empty(), hint) {
            (_, None) => closing.to_owned(),
            (true, Some(hint)) => format!("[{hint}]"),
            (false, Some(hint)) => format!("{closing} · {hint}"),
        };
        self.remaining.characters = usize::MAX;
        self.add(&last);
        self.parts
    }

    /// Reads the outputs, each with its index. If they are too many for `available` characters, only those at both ends are
    /// read: if a run ended with an error, its last output matters most.
    fn items(
        &mut self,
        outputs: &[Output],
        available: usize,
        more: &dyn Fn(usize, usize) -> String,
    ) -> Vec<(usize, Item)> {
        let is_single = outputs.len() == 1;
        let kept = self.available();
        let most = (available / MIN_OUTPUT).max(2);
        let (head, tail) = if outputs.len() <= most {
            (outputs.len(), outputs.len())
        } else {
            (most / 2, outputs.len() - most / 2)
        };
        let mut items = Vec::new();
        for (index, output) in outputs.iter().enumerate() {
            if index == head {
                let note =
                    format!("… {} outputs left out, {} shows the first of them", tail - head, more(head, 0));
                items.push((index, Item::from_tool(&note, kept)));
            }
            if index < head || index >= tail {
                let item = Item::new(output, is_single, kept, self.remaining.images, &|| more(index, 0));
                self.remaining.images -= usize::from(item.image.is_some());
                items.push((index, item));
            }
        }
        items
    }

    /// Adds items, which share `available` characters.
    fn fit(&mut self, items: Vec<(usize, Item)>, available: usize, more: &dyn Fn(usize, usize) -> String) {
        let claims: Vec<Claim> =
            items.iter().map(|(_, item)| Claim { size: item.size(), weight: item.weight }).collect();
        for ((index, item), share) in items.into_iter().zip(shares(available, &claims)) {
            self.add(&item.render(share.saturating_sub(1), &|offset| more(index, offset)));
            if let Some((mime, data)) = item.image {
                self.parts.push(Part::Image { mime, data });
            }
        }
    }

    /// Keeps characters free for the last line.
    fn reserve(&mut self) {
        if self.reserved == 0 {
            self.reserved = HINT.min(self.available() / 4);
            self.remaining.characters -= self.reserved;
        }
    }

    /// The characters that a text added now may have.
    fn available(&self) -> usize {
        self.remaining.characters.saturating_sub(usize::from(self.needs_break()))
    }

    fn needs_break(&self) -> bool {
        matches!(self.parts.last(), Some(Part::Text(text)) if !text.ends_with('\n'))
    }

    /// Adds text on a line of its own, cut to the budget.
    fn add(&mut self, text: &str) {
        let text = first_chars(text, self.available());
        if text.is_empty() {
            return;
        }
        let needs_break = self.needs_break();
        self.remaining.characters -= text.chars().count() + usize::from(needs_break);
        if let Some(Part::Text(last)) = self.parts.last_mut() {
            if needs_break {
                last.push('\n');
            }
            last.push_str(text);
        } else {
            self.parts.push(Part::Text(text.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests;

//! Builds one reply within one budget.

mod item;

use notebook::Output;

use crate::budget::{Budget, Claim, shares};
use crate::chars::first_chars;
use item::Item;

/// The fewest characters for an output; if they do not suffice for all, outputs in the middle are left out.
const MIN_OUTPUT: usize = 60;

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
}

impl Reply {
    /// An empty reply.
    pub fn new(budget: Budget) -> Self {
        Self { remaining: budget, parts: Vec::new() }
    }

    /// Adds text of the tool on lines of its own, shortened in the middle if it is longer than the budget allows.
    pub fn say(&mut self, text: &str) {
        let available = self.available();
        self.add(&Item::from_tool(text, available).render(available, &|_| String::new()));
    }

    /// Fits outputs into the remaining budget: short ones whole, long ones with their ends, and more of errors and results
    /// than of streams.
    ///
    /// `more` says how to see what was left out of an output, given its index and the first missing character of its
    /// [`full_text`](crate::full_text). The words "shows them" follow it.
    pub fn outputs(&mut self, outputs: &[Output], more: &dyn Fn(usize, usize) -> String) {
        let available = self.available();
        let items = self.items(outputs, available, more);
        self.fit(items, available, more);
    }

    /// The characters that remain.
    pub fn left(&self) -> usize {
        self.remaining.characters
    }

    /// The parts of the reply; adjacent texts are joined.
    pub fn into_parts(self) -> Vec<Part> {
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

//! One reply under one budget.

mod item;

use notebook::Output;

use crate::budget::{Budget, Claim, shares};
use crate::extent::first;
use item::Item;

/// How much of a reply an output takes at least; where that is not there for all, those in the middle are left out.
const LEAST: usize = 60;

/// A part of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text.
    Text(String),
    /// An image of at most 1 MiB whose longest side has at most 1568 pixels.
    Image {
        /// `image/png` or `image/jpeg`.
        mime: &'static str,
        /// The encoded image.
        data: Vec<u8>,
    },
}

/// Text of the tool and outputs that belong together, for example those of one cell of many.
#[derive(Debug, Clone, Copy)]
pub struct Section<'a> {
    /// What the tool says first.
    pub said: &'a str,
    /// The outputs.
    pub outputs: &'a [Output],
}

/// Builds one reply under one budget, which its texts together never exceed.
#[derive(Debug)]
pub struct Reply {
    left: Budget,
    parts: Vec<Part>,
}

impl Reply {
    /// An empty reply.
    pub fn new(budget: Budget) -> Self {
        Self { left: budget, parts: Vec::new() }
    }

    /// Adds text of the tool itself, on lines of its own; cut in its middle if it is longer than what is left.
    pub fn say(&mut self, text: &str) {
        let room = self.room();
        self.add(&Item::said(text, room).text(room, &|_| String::new()));
    }

    /// Fits outputs into what is left: short ones whole, long ones with their ends, errors and results with more
    /// than streams.
    ///
    /// `more` words the way to see what was left out of the output with that index, from that character of its
    /// [`full_text`](crate::full_text) on, so that "shows them" can follow.
    pub fn outputs(&mut self, outputs: &[Output], more: &dyn Fn(usize, usize) -> String) {
        let room = self.room();
        let items = self.items(outputs, room, more);
        self.fit(items, room, more);
    }

    /// The same for several sections, so that one with little text is shown whole however much the others have.
    ///
    /// `more` gets the index of the section first.
    pub fn sections(&mut self, sections: &[Section<'_>], more: &dyn Fn(usize, usize, usize) -> String) {
        let room = self.room();
        let mut all = Vec::new();
        for (place, section) in sections.iter().enumerate() {
            let mut items = vec![(0, Item::said(section.said, room))];
            let most = room / sections.len();
            items.extend(self.items(section.outputs, most, &|index, offset| more(place, index, offset)));
            all.push(items);
        }
        let size = |items: &Vec<(usize, Item)>| items.iter().map(|(_, item)| item.size()).sum();
        let claims: Vec<Claim> = all.iter().map(|items| Claim { size: size(items), weight: 1 }).collect();
        for (place, (items, share)) in all.into_iter().zip(shares(room, &claims)).enumerate() {
            self.fit(items, share, &|index, offset| more(place, index, offset));
        }
    }

    /// The characters that are left.
    pub fn left(&self) -> usize {
        self.left.characters
    }

    /// The reply; adjacent texts are one.
    pub fn into_parts(self) -> Vec<Part> {
        self.parts
    }

    /// Reads the outputs, each with its index; if they are too many for `room`, those at both ends: a run that
    /// ends with an error ends with what matters.
    fn items(
        &mut self,
        outputs: &[Output],
        room: usize,
        more: &dyn Fn(usize, usize) -> String,
    ) -> Vec<(usize, Item)> {
        let is_only = outputs.len() == 1;
        let keep = self.room();
        let most = (room / LEAST).max(2);
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
                items.push((index, Item::said(&note, keep)));
            }
            if index < head || index >= tail {
                let item = Item::new(output, is_only, keep, self.left.images, &|| more(index, 0));
                self.left.images -= usize::from(item.image.is_some());
                items.push((index, item));
            }
        }
        items
    }

    /// Adds items, which share `room`.
    fn fit(&mut self, items: Vec<(usize, Item)>, room: usize, more: &dyn Fn(usize, usize) -> String) {
        let claims: Vec<Claim> =
            items.iter().map(|(_, item)| Claim { size: item.size(), weight: item.weight }).collect();
        for ((index, item), share) in items.into_iter().zip(shares(room, &claims)) {
            self.add(&item.text(share.saturating_sub(1), &|offset| more(index, offset)));
            if let Some((mime, data)) = item.image {
                self.parts.push(Part::Image { mime, data });
            }
        }
    }

    /// What a text may have if it is added now.
    fn room(&self) -> usize {
        self.left.characters.saturating_sub(usize::from(self.needs_break()))
    }

    fn needs_break(&self) -> bool {
        matches!(self.parts.last(), Some(Part::Text(text)) if !text.ends_with('\n'))
    }

    /// Adds a text on a line of its own. Whatever it is, it does not exceed the budget.
    fn add(&mut self, text: &str) {
        let text = first(text, self.room());
        if text.is_empty() {
            return;
        }
        let needs_break = self.needs_break();
        self.left.characters -= text.chars().count() + usize::from(needs_break);
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

//! Builds one reply within one budget.
//!
//! What a reply holds is collected first and laid out at its end, so that notes keep their room wherever they stand.

mod content;
mod item;
mod layout;
mod sections;

use std::sync::Arc;

use notebook::{Cell, Output, visible};

use crate::budget::{Budget, Claim, shares};
use crate::offsets::Replaced;
use crate::shown_outputs::ShownOutputs;
use crate::{data_uri, paged, without_data_uris};
use content::{Content, More};
use item::Item;
pub use sections::Priority;
use sections::{Kind, Section, cost};

/// The fewest characters that are kept of a text, as its share is not known before the end.
const MIN_KEPT: usize = 500;

/// A larger budget counts as this, so that sizes can be added.
const MAX_CHARACTERS: usize = 1_000_000_000;

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
///
/// *Notes* are text of the tool that is never shortened: their room is reserved first. *Content* shares what is left. If
/// the notes alone exceed the budget, the last ones stay, in whole lines.
#[derive(Debug)]
pub struct Reply {
    budget: Budget,
    /// Images that may still be added.
    images: usize,
    first: Vec<String>,
    sections: Vec<Section>,
    last: Vec<String>,
    more_sections: More,
    /// The most characters that a text added now can get.
    kept: usize,
    earlier: Arc<ShownOutputs>,
}

impl Reply {
    /// An empty reply. A budget below [`Budget::MIN_CHARACTERS`] counts as that.
    pub fn new(budget: Budget) -> Self {
        let characters = budget.characters.clamp(Budget::MIN_CHARACTERS, MAX_CHARACTERS);
        Self {
            budget: Budget { characters, ..budget },
            images: budget.images,
            first: Vec::new(),
            sections: vec![Section::new(Kind::Frame)],
            last: Vec::new(),
            more_sections: More::none(),
            kept: characters,
            earlier: Arc::default(),
        }
    }

    /// Outputs that were shown before are named; those that this reply shows whole are remembered once it is closed.
    #[must_use]
    pub fn after(self, earlier: &Arc<ShownOutputs>) -> Self {
        Self { earlier: earlier.clone(), ..self }
    }

    /// Adds text of the tool on lines of its own, which is never shortened.
    pub fn note(&mut self, text: &str) {
        self.open().note(text);
    }

    /// Adds a note before everything else.
    pub fn note_first(&mut self, text: &str) {
        self.first.insert(0, text.to_owned());
    }

    /// Adds a note after everything else, also after what is added later. Clients that shorten a reply themselves keep its
    /// end.
    pub fn note_last(&mut self, text: &str) {
        if !text.is_empty() {
            self.last.push(text.to_owned());
        }
    }

    /// Adds text of the tool on lines of its own, shortened in the middle if it is longer than the budget allows.
    pub fn say(&mut self, text: &str) {
        self.say_or(text, String::new());
    }

    /// The same, where the call `more` shows what was left out.
    pub fn say_or(&mut self, text: &str, more: String) {
        let item = Item::from_tool(text, self.kept);
        self.open().content(Content::of_text(item, None, More::new(move |_, _| more.clone())));
    }

    /// Adds text of somebody else, where the call `more` shows what was left out.
    pub fn quote(&mut self, text: &str, more: String) {
        let item = Item::quoted(&visible(&without_data_uris(text.trim_end())), self.kept);
        self.open().content(Content::of_text(item, None, More::new(move |_, _| more.clone())));
    }

    /// Adds the source of a cell, with its `data:` URIs shortened.
    ///
    /// `more` is the call that shows the source as it is, from a character on.
    pub fn source(&mut self, text: &str, more: impl Fn(usize) -> String + Send + Sync + 'static) {
        let Replaced { text, offsets } = data_uri::shortened(text);
        let item = Item::quoted(&text, self.kept);
        let changed = offsets.first_change();
        let more = More::new(move |_, offset| more(offsets.original(offset)));
        self.open().content(Content::of_text(item, changed, more));
    }

    /// Adds outputs: short ones whole, long ones with their ends, and more of errors and results than of streams. Adjacent
    /// pieces of one stream are one output, as in [`merged`](crate::merged).
    ///
    /// `more` is the call that shows what was left out of an output, given its index and the place where that starts, as for
    /// [`Reply::page`].
    pub fn outputs(
        &mut self,
        outputs: &[Output],
        more: impl Fn(usize, usize) -> String + Send + Sync + 'static,
    ) {
        self.outputs_of("", outputs, more);
    }

    /// The same at a place by which they are remembered, such as `run r3`. Those that were shown at another place are named by it.
    pub fn outputs_of(
        &mut self,
        place: &str,
        outputs: &[Output],
        more: impl Fn(usize, usize) -> String + Send + Sync + 'static,
    ) {
        let outputs = crate::merged(outputs);
        let (more, earlier) = (More::new(more), (&*self.earlier, place));
        let content = Content::of_outputs(&outputs, self.budget, self.kept, &mut self.images, more, earlier);
        self.open().content(content);
    }

    /// Adds the page of one output that starts at `offset`: a byte of a stream, and a character of another's
    /// [`full_text`](crate::full_text). The first page has the images of the output. `more` is the call for the next page. Nothing else
    /// has room beside it.
    pub fn page(&mut self, output: &Output, offset: usize, more: &dyn Fn(usize) -> String) {
        self.note(&paged(output, offset, self.budget.characters, more));
        if offset == 0 {
            let content = Content::of_images(output, &mut self.images);
            self.open().content(content);
        }
    }

    /// Adds the files that are attached to a cell (`attachment:plot.png` in its source): images with their names and sizes.
    ///
    /// `more` is the call that shows images for which there was no room.
    pub fn attachments(&mut self, cell: &Cell, more: impl Fn() -> String + Send + Sync + 'static) {
        let Some(attachments) = cell.attachments() else { return };
        let more = More::new(move |_, _| more());
        let content = Content::of_attachments(&attachments, self.kept, &mut self.images, more);
        self.open().content(content);
    }

    /// Starts the part about a cell: what is added from now on belongs to it. All such parts share the budget; if there is no
    /// room for all, some are left out as a whole.
    pub fn section(&mut self, index: usize, priority: Priority) {
        self.start(Kind::Cell { index, priority });
    }

    /// Adds a cell about which there is nothing more to say than `what`. Adjacent ones are one line: `Cells 0–97: no output`.
    pub fn quiet(&mut self, index: usize, what: &str) {
        match self.sections.last_mut().map(|section| &mut section.kind) {
            Some(Kind::Quiet { cells, what: same }) if same == what => cells.push(index),
            _ => self.start(Kind::Quiet { cells: vec![index], what: what.to_owned() }),
        }
    }

    /// Ends the parts about cells.
    pub fn end_sections(&mut self) {
        self.start(Kind::Frame);
    }

    /// How to see cells that were left out, given the index of the first.
    pub fn sections_left_out(&mut self, more: impl Fn(usize) -> String + Send + Sync + 'static) {
        self.more_sections = More::new(move |index, _| more(index));
    }

    /// Whether it holds an image.
    pub fn has_images(&self) -> bool {
        self.sections.iter().flat_map(Section::contents).any(Content::has_images)
    }

    /// Whether a note, or a content as far as it is kept, contains `text`.
    pub fn mentions(&self, text: &str) -> bool {
        self.first.iter().chain(&self.last).any(|note| note.contains(text))
            || self.sections.iter().any(|section| section.mentions(text))
    }

    /// The characters that nothing has claimed.
    pub fn remaining(&self) -> usize {
        let notes = self.first.iter().chain(&self.last).map(|note| cost(note));
        let used: usize = notes.chain(self.sections.iter().map(Section::size)).sum();
        self.budget.characters.saturating_sub(used)
    }

    /// The parts of the reply; adjacent texts are joined. If something was left out, the last line says how to see it.
    pub fn close(self) -> Vec<Part> {
        layout::parts(self)
    }

    fn open(&mut self) -> &mut Section {
        if matches!(self.sections.last(), None | Some(Section { kind: Kind::Quiet { .. }, .. })) {
            self.sections.push(Section::new(Kind::Frame));
        }
        let last = self.sections.len() - 1;
        &mut self.sections[last]
    }

    fn start(&mut self, kind: Kind) {
        self.sections.push(Section::new(kind));
        if self.remaining() > 0 {
            return;
        }
        // More parts only make shares smaller, so this is a bound of that of the new one.
        let mut claims: Vec<Claim> = self.sections.iter().map(Section::claim).collect();
        claims.push(Claim { size: self.budget.characters, weight: 4 });
        let share = shares(self.budget.characters, &claims).pop().unwrap_or_default();
        self.kept = share.max(MIN_KEPT);
    }
}

#[cfg(test)]
mod tests;

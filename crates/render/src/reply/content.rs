//! What shares the budget of a reply: outputs, or one text.

use std::fmt;

use notebook::{Json, MimeBundle, Output};

use super::item::Item;
use crate::budget::Budget;
use crate::shown_outputs::ShownOutputs;

/// The fewest characters for an output; if they do not suffice for all, outputs in the middle are left out.
pub(super) const MIN_OUTPUT: usize = 60;

/// The most files of a cell that are shown.
const MAX_ATTACHMENTS: usize = 100;

/// The call that shows the rest of an output, given its index and a character.
pub(super) struct More(Box<dyn Fn(usize, usize) -> String + Send + Sync>);

impl More {
    pub(super) fn new(call: impl Fn(usize, usize) -> String + Send + Sync + 'static) -> Self {
        Self(Box::new(call))
    }

    /// There is no other way than a larger budget.
    pub(super) fn none() -> Self {
        Self::new(|_, _| String::new())
    }

    pub(super) fn call(&self, index: usize, offset: usize) -> String {
        (self.0)(index, offset)
    }
}

impl fmt::Debug for More {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.call(0, 0))
    }
}

#[derive(Debug)]
pub(super) struct Content {
    /// Each with its index.
    items: Vec<(usize, Item)>,
    /// The outputs that were not read: their number and the index of the first.
    skipped: (usize, usize),
    more: More,
    /// Name of its first place, such as `run r3`; empty if it is not remembered.
    pub(super) place: String,
    /// Something that is not shown although the text is whole: an image, or a long URI. Its output and the character.
    missing: Option<(usize, usize)>,
}

/// An output to show, or a line in place of those left out, with the index of the first.
pub(super) enum Shown<'a> {
    Item(usize, &'a Item),
    Gap(usize, Box<Item>),
}

impl Content {
    /// `missing` is the first character that is shown in another form.
    pub(super) fn of_text(item: Item, missing: Option<usize>, more: More) -> Self {
        let missing = missing.map(|offset| (0, offset));
        Self { items: vec![(0, item)], missing, ..Self::empty(more) }
    }

    /// Reads the files that are attached to a cell.
    pub(super) fn of_attachments(attachments: &Json, kept: usize, images: &mut usize, more: More) -> Self {
        let mut content = Self::empty(more);
        for (index, (name, data)) in attachments.members().enumerate().take(MAX_ATTACHMENTS) {
            let bundle = MimeBundle { data, metadata: Json::empty_object() };
            let item = Item::attachment(&name, &bundle, kept, *images, &|| content.more.call(index, 0));
            content.push(index, item, images);
        }
        content
    }

    /// The images of an output whose text is shown otherwise.
    pub(super) fn of_images(output: &Output, images: &mut usize) -> Self {
        let mut content = Self::empty(More::none());
        content.push(0, Item::images_of(output, *images), images);
        content
    }

    fn empty(more: More) -> Self {
        Self { items: Vec::new(), skipped: (0, 0), more, place: String::new(), missing: None }
    }

    fn push(&mut self, index: usize, item: Item, images: &mut usize) {
        *images -= item.images.len();
        if item.leaves_image_out {
            self.missing.get_or_insert((index, 0));
        }
        if item.size() > 0 || !item.images.is_empty() {
            self.items.push((index, item));
        }
        if let [.., (_, before), (_, item)] = &mut *self.items {
            item.continue_stream(before);
        }
    }

    /// Reads outputs. If they are too many for `kept` characters, only those at both ends are read: if a run ended with an
    /// error, its last output matters most.
    pub(super) fn of_outputs(
        outputs: &[Output],
        budget: Budget,
        kept: usize,
        images: &mut usize,
        more: More,
        (earlier, place): (&ShownOutputs, &str),
    ) -> Self {
        let is_single = outputs.len() == 1;
        let (head, tail) = ends(outputs.len(), kept);
        let mut content = Self { skipped: (tail - head, head), place: place.to_owned(), ..Self::empty(more) };
        for (index, output) in outputs.iter().enumerate().filter(|(index, _)| *index < head || *index >= tail)
        {
            let more = || content.more.call(index, 0);
            let mut item = Item::new(output, is_single, kept, *images, &more);
            item.limit_stream(budget);
            if !place.is_empty()
                && item.is_worth_naming()
                && let Some(place) = earlier.elsewhere(item.digest, place)
            {
                item = item.named(&place);
            }
            content.push(index, item, images);
        }
        content
    }

    /// The characters that it takes as a whole.
    pub(super) fn size(&self) -> usize {
        let (skipped, first) = self.skipped;
        let gap = if skipped > 0 { self.gap(skipped, first).size() } else { 0 };
        gap + self.items.iter().map(|(_, item)| item.size()).sum::<usize>()
    }

    /// The line in place of `count` outputs.
    fn gap(&self, count: usize, first: usize) -> Item {
        let way = self.more.call(first, 0);
        Item::note(&format!("… {count} outputs left out, {way} shows the first of them"))
    }

    /// The fewest characters with which it is of use: with the line about outputs that are left out.
    pub(super) fn least(&self) -> usize {
        let (skipped, first) = self.skipped;
        let left_out = self.items.len() + skipped;
        let gap =
            if left_out > 2 || skipped > 0 { self.gap(left_out, first.max(left_out)).size() } else { 0 };
        self.size().min(MIN_OUTPUT + gap)
    }

    pub(super) fn has_images(&self) -> bool {
        self.items.iter().any(|(_, item)| !item.images.is_empty())
    }

    pub(super) fn mentions(&self, text: &str) -> bool {
        self.items.iter().any(|(_, item)| item.mentions(text))
    }

    /// Whether nothing is left out if there is room for [`size`](Self::size).
    pub(super) fn is_complete(&self) -> bool {
        self.skipped.0 == 0 && self.missing.is_none() && self.items.iter().all(|(_, item)| item.is_whole())
    }

    /// The first character of an output that is not shown as it is although the text is whole.
    pub(super) fn missing(&self, output: usize) -> Option<usize> {
        self.missing.filter(|(index, _)| *index == output).map(|(_, offset)| offset)
    }

    pub(super) fn more(&self, index: usize, offset: usize) -> String {
        self.more.call(index, offset)
    }

    /// At least as long as any call for something left out of it: indices and offsets only get shorter.
    pub(super) fn longest_more(&self) -> String {
        let index = self.items.last().map_or(0, |(index, _)| *index).max(self.skipped.1);
        let offset = self.items.iter().map(|(_, item)| item.characters()).max().unwrap_or_default();
        self.more.call(index, offset)
    }

    /// The outputs to show in `available` characters: all, or those at both ends.
    pub(super) fn shown(&self, available: usize) -> Vec<Shown<'_>> {
        let (skipped, first_skipped) = self.skipped;
        let split = self.items.partition_point(|(index, _)| skipped == 0 || *index < first_skipped);
        let (head, tail) = match ends(self.items.len(), available) {
            (head, tail) if head == tail || self.size() <= available => (split, split),
            // One gap for those that were not read, and those that do not fit.
            (head, tail) => (head.min(split), tail.max(if skipped > 0 { split } else { 0 })),
        };
        let mut shown: Vec<Shown<'_>> =
            self.items[..head].iter().map(|(index, item)| Shown::Item(*index, item)).collect();
        let unread = (skipped > 0).then_some(first_skipped);
        let unfitting = self.items[head..tail].iter().map(|(index, _)| *index);
        if let Some(first) = unfitting.chain(unread).min() {
            shown.push(Shown::Gap(first, Box::new(self.gap(tail - head + skipped, first))));
        }
        shown.extend(self.items[tail..].iter().map(|(index, item)| Shown::Item(*index, item)));
        shown
    }
}

/// The end of the head and the start of the tail of `count` outputs that are shown in `available` characters.
fn ends(count: usize, available: usize) -> (usize, usize) {
    let most = (available / MIN_OUTPUT).max(2);
    if count <= most { (count, count) } else { (most / 2, count - most / 2) }
}

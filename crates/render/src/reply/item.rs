//! One output on its way into a reply.

use notebook::{MimeBundle, Output};

use crate::bundle::{self, Shown};
use crate::excerpt::{Ends, excerpt};
use crate::extent::{Extent, first};
use crate::{full_text, image, output, traceback};

/// How much of what an error says is repeated where its traceback is cut.
const HEADLINE: usize = 300;

/// An output, read once, of which only the ends are kept.
#[derive(Debug)]
pub(super) struct Item {
    /// A line that tells what it is, where that is not plain to see.
    label: &'static str,
    extent: Extent,
    ends: Ends,
    /// How much more room it gets than a stream.
    pub(super) weight: usize,
    /// What an error says.
    headline: Option<String>,
    /// An image that goes with the text.
    pub(super) image: Option<(&'static str, Vec<u8>)>,
    /// Of text of the tool there is no more to see anywhere.
    is_said: bool,
}

impl Item {
    /// Text of the tool.
    pub(super) fn said(text: &str, keep: usize) -> Self {
        Self {
            label: "",
            extent: Extent::of(text, keep),
            ends: Ends::Both,
            weight: 3,
            headline: None,
            image: None,
            is_said: true,
        }
    }

    /// Reads `output`. An only output needs no label, unless it went to stderr. `keep` characters of both ends are
    /// kept; an image is taken while `images` are left, otherwise `more` words the way to it.
    pub(super) fn new(
        output: &Output,
        is_only: bool,
        keep: usize,
        images: usize,
        more: &dyn Fn() -> String,
    ) -> Self {
        let mut item = Self { weight: 2, is_said: false, ..Self::said("", keep) };
        match output {
            Output::Stream { name, text } => {
                item.weight = 1;
                item.label = match name.as_str() {
                    "stderr" => "[stderr]",
                    "stdout" => "[stdout]",
                    _ => "[stream]",
                };
                output::stream_text(text, |piece| item.extent.push(piece));
            }
            Output::Display(bundle) => {
                item.label = "[display]";
                item.bundle(bundle, images, more);
            }
            Output::Result { bundle, .. } => {
                item.label = "[result]";
                item.weight = 3;
                item.bundle(bundle, images, more);
            }
            Output::Error { name, value, .. } => {
                item.weight = 4;
                item.ends = Ends::Last;
                item.headline = Some(traceback::headline(name, value));
                item.extent.push(&full_text(output));
            }
            Output::Other(_) => item.extent.push(&full_text(output)),
        }
        if is_only && item.label != "[stderr]" {
            item.label = "";
        }
        item
    }

    fn bundle(&mut self, bundle: &MimeBundle, images: usize, more: &dyn Fn() -> String) {
        match bundle::shown(bundle) {
            Shown::Text(text) => self.extent.push(&text),
            Shown::Told(text) => {
                self.label = "";
                self.extent.push(&text);
            }
            Shown::Picture(picture) => {
                self.label = "";
                let note = if images > 0 {
                    let ready = image::ready(&picture);
                    self.image = ready.encoded;
                    ready.note
                } else {
                    image::left_out(&picture, &more())
                };
                self.extent.push(&picture.with_plain(note));
            }
        }
    }

    /// The characters that it takes if it is shown whole, with a line break at its end.
    pub(super) fn size(&self) -> usize {
        if self.extent.characters() == 0 { 0 } else { self.label_size() + self.extent.characters() + 1 }
    }

    fn label_size(&self) -> usize {
        if self.label.is_empty() { 0 } else { self.label.len() + 1 }
    }

    /// The text in at most `limit` characters.
    pub(super) fn text(&self, limit: usize, more: &dyn Fn(usize) -> String) -> String {
        if self.extent.characters() == 0 {
            return String::new();
        }
        let none = |_| String::new();
        let more = if self.is_said { &none } else { more };
        let text = match &self.headline {
            Some(headline) if self.extent.characters() > limit => self.error(headline, limit, more),
            _ => excerpt(&self.extent, self.ends, limit.saturating_sub(self.label_size()), more),
        };
        if self.label.is_empty() { text } else { format!("{}\n{text}", self.label) }
    }

    /// A traceback that is too long, with what the error says in front where its end does not tell.
    fn error(&self, headline: &str, limit: usize, more: &dyn Fn(usize) -> String) -> String {
        let line = headline.lines().next().unwrap_or_default();
        let short = first(line, HEADLINE);
        let text = excerpt(&self.extent, self.ends, limit, more);
        if text.contains(short) {
            return text;
        }
        let cut = if short.len() < headline.len() { "…" } else { "" };
        let front = format!("{short}{cut}\n");
        let rest = excerpt(&self.extent, self.ends, limit.saturating_sub(front.chars().count()), more);
        front + &rest
    }
}

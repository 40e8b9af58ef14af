//! One output, or text of the tool, as a part of a reply.

use notebook::{MimeBundle, Output};

use crate::bundle::{self, Rendered};
use crate::chars::first_chars;
use crate::excerpt::{Focus, excerpt};
use crate::text_ends::TextEnds;
use crate::{full_text, image, output, traceback};

/// The most characters of an error's headline that are repeated above a shortened traceback.
const MAX_HEADLINE: usize = 300;

/// An output that was read once; only the ends of its text are kept.
#[derive(Debug)]
pub(super) struct Item {
    /// A line that names the kind of output, where it is not obvious.
    label: &'static str,
    text: TextEnds,
    focus: Focus,
    /// Its share of the reply relative to a stream.
    pub(super) weight: usize,
    /// The name and the message of an error.
    headline: Option<String>,
    /// An image that goes with the text.
    pub(super) image: Option<(&'static str, Vec<u8>)>,
    /// Whether it is text of the tool, of which there is nothing more to see elsewhere.
    is_from_tool: bool,
}

impl Item {
    /// Text of the tool.
    pub(super) fn from_tool(text: &str, kept: usize) -> Self {
        Self {
            label: "",
            text: TextEnds::of(text, kept),
            focus: Focus::Both,
            weight: 3,
            headline: None,
            image: None,
            is_from_tool: true,
        }
    }

    /// Reads `output`. A single output needs no label, unless it went to stderr. `kept` characters of both ends are kept.
    /// An image is included while `images` remain; otherwise `more` says how to see it.
    pub(super) fn new(
        output: &Output,
        is_single: bool,
        kept: usize,
        images: usize,
        more: &dyn Fn() -> String,
    ) -> Self {
        let mut item = Self { weight: 2, is_from_tool: false, ..Self::from_tool("", kept) };
        match output {
            Output::Stream { name, text } => {
                item.weight = 1;
                item.label = match name.as_str() {
                    "stderr" => "[stderr]",
                    "stdout" => "[stdout]",
                    _ => "[stream]",
                };
                output::stream_text(text, |piece| item.text.push(piece));
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
                item.focus = Focus::End;
                item.headline = Some(traceback::headline(name, value));
                item.text.push(&full_text(output));
            }
            Output::Other(_) => item.text.push(&full_text(output)),
        }
        if is_single && item.label != "[stderr]" {
            item.label = "";
        }
        item
    }

    fn bundle(&mut self, bundle: &MimeBundle, images: usize, more: &dyn Fn() -> String) {
        match bundle::render(bundle) {
            Rendered::Text(text) => self.text.push(&text),
            Rendered::Description(text) => {
                self.label = "";
                self.text.push(&text);
            }
            Rendered::Image(source) => {
                self.label = "";
                let note = if images > 0 {
                    let fitted = image::fit(&source);
                    self.image = fitted.encoded;
                    fitted.note
                } else {
                    image::left_out(&source, &more())
                };
                self.text.push(&source.with_plain(note));
            }
        }
    }

    /// The characters that it takes as a whole, with a line break at its end.
    pub(super) fn size(&self) -> usize {
        if self.text.characters() == 0 { 0 } else { self.label_size() + self.text.characters() + 1 }
    }

    fn label_size(&self) -> usize {
        if self.label.is_empty() { 0 } else { self.label.len() + 1 }
    }

    /// The text in at most `limit` characters, with its label.
    pub(super) fn render(&self, limit: usize, more: &dyn Fn(usize) -> String) -> String {
        if self.text.characters() == 0 {
            return String::new();
        }
        let none = |_| String::new();
        let more = if self.is_from_tool { &none } else { more };
        let text = match &self.headline {
            Some(headline) if self.text.characters() > limit => self.traceback(headline, limit, more),
            _ => excerpt(&self.text, self.focus, limit.saturating_sub(self.label_size()), more),
        };
        if self.label.is_empty() { text } else { format!("{}\n{text}", self.label) }
    }

    /// A traceback that is too long; the headline goes first if the excerpt does not contain it.
    fn traceback(&self, headline: &str, limit: usize, more: &dyn Fn(usize) -> String) -> String {
        let line = headline.lines().next().unwrap_or_default();
        let short = first_chars(line, MAX_HEADLINE);
        let text = excerpt(&self.text, self.focus, limit, more);
        if text.contains(short) {
            return text;
        }
        let cut = if short.len() < headline.len() { "…" } else { "" };
        let front = format!("{short}{cut}\n");
        let rest = excerpt(&self.text, self.focus, limit.saturating_sub(front.chars().count()), more);
        front + &rest
    }
}

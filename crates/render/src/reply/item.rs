//! One output, or text of the tool, as a part of a reply.

use notebook::{Json, MimeBundle, Output, one_line, truncate};

use crate::budget::Budget;
use crate::bundle::{self, Rendered, is_object_name};
use crate::chars::first_chars;
use crate::excerpt::{Excerpt, Focus, excerpt};
use crate::image::{self, ImageSource};
use crate::marks::marked;
use crate::output::Piece;
use crate::shown_outputs::Digest;
use crate::text_ends::TextEnds;
use crate::{full_text, output, traceback};

/// The most characters of an error's headline that are repeated above a shortened traceback.
const MAX_HEADLINE: usize = 300;
/// A shorter text is sent again, in characters, and smaller images, in bytes.
const MIN_NAMED: usize = 100;
const MIN_NAMED_IMAGES: usize = 1000;
/// The share of a stream, to which those of others relate.
const STREAM_WEIGHT: usize = 1;
/// The share of a line that must be whole to mean something.
const NOTE_WEIGHT: usize = 1000;

/// An output that was read once; only the ends of its text are kept.
#[derive(Debug)]
pub(super) struct Item {
    /// The label of the stream that it is a part of.
    stream: Option<&'static str>,
    /// A line that names the kind of output, where it is not obvious.
    label: &'static str,
    text: TextEnds,
    /// Of the whole text and of the images.
    pub(super) digest: Digest,
    focus: Focus,
    /// Its share of the reply relative to a stream.
    pub(super) weight: usize,
    /// The name and the message of an error.
    headline: Option<String>,
    /// Images that go with the text.
    pub(super) images: Vec<(&'static str, Vec<u8>)>,
    /// Whether there was no room for an image.
    pub(super) leaves_image_out: bool,
    /// The most characters that it takes, if that is less than all.
    limit: Option<usize>,
}

impl Item {
    /// Text of the tool.
    pub(super) fn from_tool(text: &str, kept: usize) -> Self {
        Self {
            stream: None,
            label: "",
            text: TextEnds::of(text, kept),
            digest: Digest::default(),
            focus: Focus::Both,
            weight: 3,
            headline: None,
            images: Vec::new(),
            leaves_image_out: false,
            limit: None,
        }
    }

    /// A line of the tool that is not shortened as long as there is room for it.
    pub(super) fn note(text: &str) -> Self {
        Self { weight: NOTE_WEIGHT, ..Self::from_tool(text, text.len()) }
    }

    /// Reads a file that is attached to a cell.
    pub(super) fn attachment(
        name: &str,
        bundle: &MimeBundle,
        kept: usize,
        images: usize,
        more: &dyn Fn() -> String,
    ) -> Self {
        let mut item = Self { weight: 2, ..Self::from_tool("", kept) };
        match bundle::render(bundle) {
            Rendered::Image(source) => {
                let label = Some(format!("attachment:{name}"));
                item.image(&ImageSource { label, plain: None, ..source }, images, more);
            }
            Rendered::Text(text) | Rendered::Illustrated(text, _) | Rendered::Description(text) => {
                let text = one_line(&text);
                item.text.push(&format!(
                    "[attachment:{}: {}]",
                    one_line(name),
                    truncate(&text, MAX_HEADLINE)
                ));
            }
        }
        item
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
        let mut item = Self { weight: 2, ..Self::from_tool("", kept) };
        match output {
            Output::Stream { name, text } => {
                item.weight = STREAM_WEIGHT;
                item.label = match name.as_str() {
                    "stderr" => "[stderr]",
                    "stdout" => "[stdout]",
                    _ => "[stream]",
                };
                item.stream = Some(item.label);
                output::stream_ends(text, kept, |piece| match piece {
                    Piece::Text(text) => item.push(text),
                    Piece::Between(text) => {
                        item.digest.add(&text.len().to_be_bytes());
                        item.text.skip(text);
                    }
                });
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
                item.headline = Some(marked(&traceback::headline(name, value)).into_owned());
                let text = full_text(output);
                item.text.push(&text);
                // The same error has another number in each run, and its last line may be shown elsewhere.
                let headline = traceback::headline(name, value);
                text.lines()
                    .filter(|line| **line != *headline)
                    .flat_map(|line| line.split("Cell In["))
                    .for_each(|part| {
                        item.digest.add(part.trim_start_matches(|it: char| it.is_ascii_digit()).as_bytes());
                    });
            }
            Output::Other(_) => item.push(&full_text(output)),
        }
        if is_single && item.label != "[stderr]" {
            item.label = "";
        }
        item
    }

    /// The images of an output without its text, at most `images`.
    pub(super) fn images_of(output: &Output, images: usize) -> Self {
        let mut item = Self::new(output, true, 0, images, &String::new);
        (item.text, item.leaves_image_out) = (TextEnds::of("", 0), false);
        item
    }

    fn bundle(&mut self, bundle: &MimeBundle, images: usize, more: &dyn Fn() -> String) {
        // HTML lacks spaces that it has.
        let plain = bundle.data.member("text/plain");
        if let Some(plain) = plain.as_ref().and_then(Json::multiline_text).filter(|it| !is_object_name(it)) {
            self.digest.add(plain.as_bytes());
        }
        match bundle::render(bundle) {
            Rendered::Text(text) => self.push(&marked(&text)),
            Rendered::Illustrated(text, sources) => {
                self.push(&marked(&text));
                self.leaves_image_out = sources.len() > images;
                for source in sources.iter().take(images) {
                    self.add_image(image::fit(source).encoded);
                }
            }
            Rendered::Description(text) => {
                self.label = "";
                self.push(&output::description(&text));
            }
            Rendered::Image(source) => {
                self.label = "";
                self.image(&source, images, more);
            }
        }
    }

    fn image(&mut self, source: &ImageSource, images: usize, more: &dyn Fn() -> String) {
        let note = if images > 0 {
            let fitted = image::fit(source);
            self.add_image(fitted.encoded);
            fitted.note
        } else {
            self.leaves_image_out = image::can_be_sent(source);
            image::left_out(source, &more())
        };
        if source.plain.is_none() && note.len() <= MAX_HEADLINE {
            self.weight = NOTE_WEIGHT;
        }
        self.push(&source.with_plain(note));
    }

    fn push(&mut self, text: &str) {
        self.digest.add(text.as_bytes());
        self.text.push(text);
    }

    fn add_image(&mut self, encoded: Option<(&'static str, Vec<u8>)>) {
        if let Some((_, bytes)) = &encoded {
            self.digest.add(bytes);
        }
        self.images.extend(encoded);
    }

    /// Whether a line about it costs a model less.
    pub(super) fn is_worth_naming(&self) -> bool {
        let images: usize = self.images.iter().map(|(_, bytes)| bytes.len()).sum();
        images >= MIN_NAMED_IMAGES || self.text.characters() >= MIN_NAMED
    }

    /// The line in its place, if it was shown at another one.
    pub(super) fn named(&self, place: &str) -> Self {
        let first =
            || self.text.first(MAX_HEADLINE).lines().next().unwrap_or_default().trim_matches(['[', ']']);
        let what = match &self.headline {
            Some(headline) => one_line(headline).into_owned(),
            None if self.images.is_empty() => format!("{} lines", self.text.line_breaks() + 1),
            None => first().to_owned(),
        };
        Self::note(&format!("[As in {place}: {}]", truncate(&what, MAX_HEADLINE)))
    }

    /// Drops its label if the output before it is of the same stream.
    pub(super) fn continue_stream(&mut self, before: &Self) {
        if self.weight == STREAM_WEIGHT && before.stream == self.stream {
            self.label = "";
        }
    }

    /// A stream that is longer than the whole budget is shown by its ends only.
    pub(super) fn limit_stream(&mut self, budget: Budget) {
        if self.weight == STREAM_WEIGHT && self.text.characters() > budget.characters {
            self.limit = Some(budget.long_stream);
        }
    }

    /// Whether the text, as far as it is kept, contains `part`.
    pub(super) fn mentions(&self, part: &str) -> bool {
        self.text.first(usize::MAX).contains(part) || self.text.last(usize::MAX).contains(part)
    }

    /// The characters of its text.
    pub(super) fn characters(&self) -> usize {
        self.text.characters()
    }

    /// Whether it is shown whole if there is room.
    pub(super) fn is_whole(&self) -> bool {
        self.limit.is_none()
    }

    /// The characters that it takes, with a line break at its end.
    pub(super) fn size(&self) -> usize {
        let characters = self.text.characters();
        let shown = self.limit.map_or(characters, |limit| limit.min(characters));
        if characters == 0 { 0 } else { self.label_size() + shown + 1 }
    }

    fn label_size(&self) -> usize {
        if self.label.is_empty() { 0 } else { self.label.len() + 1 }
    }

    /// The text in at most `limit` characters, with its label, and the first character that is left out.
    pub(super) fn render(&self, limit: usize, more: &dyn Fn(usize) -> String) -> (String, Option<usize>) {
        if self.text.characters() == 0 {
            return (String::new(), None);
        }
        let Excerpt { text, missing } = match &self.headline {
            Some(headline) if self.text.characters() > limit => self.traceback(headline, limit, more),
            _ => excerpt(&self.text, self.focus, limit.saturating_sub(self.label_size()), more),
        };
        let text =
            if self.label.is_empty() || text.is_empty() { text } else { format!("{}\n{text}", self.label) };
        (text, missing)
    }

    /// A traceback that is too long; the headline goes first if the excerpt does not contain it.
    fn traceback(&self, headline: &str, limit: usize, more: &dyn Fn(usize) -> String) -> Excerpt {
        let line = headline.lines().next().unwrap_or_default();
        let short = first_chars(line, MAX_HEADLINE);
        let whole = excerpt(&self.text, self.focus, limit, more);
        let cut = if short.len() < headline.len() { "…" } else { "" };
        let front = format!("{short}{cut}\n");
        let size = front.chars().count();
        if whole.text.contains(short) || size > limit {
            return whole;
        }
        let rest = excerpt(&self.text, self.focus, limit - size, more);
        let text = format!("{front}{}", rest.text);
        Excerpt { text: text.trim_end_matches('\n').to_owned(), ..rest }
    }
}

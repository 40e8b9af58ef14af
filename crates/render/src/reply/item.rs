//! One output, or text of the tool, as a part of a reply.

use notebook::{Json, MimeBundle, Output, one_line, truncate};

use crate::budget::Budget;
use crate::bundle::{self, Rendered, is_object_name};
use crate::chars::first_chars;
use crate::excerpt::{Excerpt, Focus, excerpt};
use crate::fence::Fence;
use crate::image::{self, ImageSource};
use crate::output::{Piece, printed_offset};
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
    /// A line of ours above the text that describes it.
    heading: String,
    text: TextEnds,
    /// Around the text, unless it is ours.
    fence: Fence,
    /// The start of a stream as it was printed.
    printed: String,
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
            heading: String::new(),
            text: TextEnds::of(text, kept),
            fence: Fence::default(),
            printed: String::new(),
            digest: Digest::default(),
            focus: Focus::Both,
            weight: 3,
            headline: None,
            images: Vec::new(),
            leaves_image_out: false,
            limit: None,
        }
    }

    /// Text of somebody else, such as a source.
    pub(super) fn quoted(text: &str, kept: usize) -> Self {
        let mut item = Self::from_tool(text, kept);
        item.fence_text();
        item
    }

    fn fence_text(&mut self) {
        self.fence = Fence::of([self.text.first(usize::MAX), self.text.last(usize::MAX)]);
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
                item.push(&format!("[attachment:{}: {}]", one_line(name), truncate(&text, MAX_HEADLINE)));
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
                item.printed = text.part(0, 8 * kept);
                output::stream_ends(text, kept, |piece| match piece {
                    Piece::Text(text) => item.push(text),
                    Piece::Between(text) => {
                        item.digest.add(&text.len().to_be_bytes());
                        item.text.skip(text);
                    }
                });
                item.fence_text();
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
                let text = full_text(output);
                item.text.push(&text);
                item.fence_text();
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
            Rendered::Text(text) => self.quote(&text),
            Rendered::Illustrated(text, sources) => {
                self.quote(&text);
                self.leaves_image_out = sources.len() > images;
                for source in sources.iter().take(images) {
                    self.add_image(image::fit(source).encoded);
                }
            }
            Rendered::Description(text) => {
                let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
                self.describe(first, rest);
            }
            Rendered::Image(source) => self.image(&source, images, more),
        }
    }

    /// Adds a line of ours, and the text below it.
    fn describe(&mut self, line: &str, text: &str) {
        self.label = "";
        match text {
            "" => self.push(line),
            _ if line.len() > MAX_HEADLINE => self.quote(&format!("{line}\n{text}")),
            _ => {
                self.digest.add(line.as_bytes());
                line.clone_into(&mut self.heading);
                self.quote(text);
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
        self.describe(&note, source.plain.as_deref().unwrap_or_default());
    }

    fn quote(&mut self, text: &str) {
        self.push(text);
        self.fence_text();
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
        images >= MIN_NAMED_IMAGES || self.text.characters() + self.heading.len() >= MIN_NAMED
    }

    /// The line in its place, if it was shown at another one.
    pub(super) fn named(&self, place: &str) -> Self {
        let first = || self.text.first(MAX_HEADLINE).lines().next().unwrap_or_default();
        let what = match &self.headline {
            Some(headline) => one_line(headline).into_owned(),
            None if self.images.is_empty() => format!("{} lines", self.text.line_breaks() + 1),
            None if self.heading.is_empty() => first().trim_matches(['[', ']']).to_owned(),
            None => self.heading.trim_matches(['[', ']']).to_owned(),
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
        let texts = [&self.heading, self.text.first(usize::MAX), self.text.last(usize::MAX)];
        texts.iter().any(|text| text.contains(part))
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
        if characters == 0 {
            return 0;
        }
        let text = characters + self.fence.size();
        let above: usize = self.lines_above().map(|line| line.chars().count() + 1).sum();
        above + self.limit.map_or(text, |limit| limit.min(text)) + 1
    }

    /// The label, and the line that describes the text.
    fn lines_above(&self) -> impl Iterator<Item = &str> {
        [self.label, &self.heading].into_iter().filter(|line| !line.is_empty())
    }

    /// The text in at most `limit` characters, with its label, and the place of the first character that is left out.
    pub(super) fn render(&self, limit: usize, more: &dyn Fn(usize) -> String) -> (String, Option<usize>) {
        if self.text.characters() == 0 {
            return (String::new(), None);
        }
        let above: String = self.lines_above().flat_map(|line| [line, "\n"]).collect();
        let limit = limit.saturating_sub(above.chars().count());
        let more = |missing: usize| more(self.offset(missing));
        let excerpt = match &self.headline {
            Some(headline) if self.text.characters() + self.fence.size() > limit => {
                self.traceback(headline, limit, &more)
            }
            _ => excerpt(&self.text, self.focus, limit, self.fence, &more),
        };
        let text = excerpt.text(self.fence);
        let missing = excerpt.missing.map(|missing| self.offset(missing));
        if text.is_empty() { (text, missing) } else { (above + &text, missing) }
    }

    /// The place of a character of the text in the output, as [`Reply::page`](super::Reply::page) counts.
    fn offset(&self, characters: usize) -> usize {
        if self.printed.is_empty() {
            return characters;
        }
        printed_offset(&self.printed, self.text.first(characters))
    }

    /// A traceback that is too long; the headline goes first if the excerpt does not contain it.
    fn traceback(&self, headline: &str, limit: usize, more: &dyn Fn(usize) -> String) -> Excerpt {
        let line = headline.lines().next().unwrap_or_default();
        let short = first_chars(line, MAX_HEADLINE);
        let within = |limit| excerpt(&self.text, self.focus, limit, self.fence, more);
        let whole = within(limit);
        let cut = if short.len() < headline.len() { "…" } else { "" };
        let front = format!("{short}{cut}\n");
        let size = front.chars().count();
        if [&whole.head, &whole.tail].iter().any(|part| part.contains(short)) || size > limit {
            return whole;
        }
        let rest = within(limit - size);
        Excerpt { head: format!("{front}{}", rest.head).trim_end_matches('\n').to_owned(), ..rest }
    }
}

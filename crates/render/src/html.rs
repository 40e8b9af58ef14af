//! Renders HTML as text: tables as tab-separated rows, other text as it is displayed, without scripts and styles.

mod drawing;
mod flow;
mod table;

use notebook::markup::{self, Part, State, Tag};

use crate::{data_uri, size, svg};
use drawing::Drawing;
use flow::Flow;
use table::Table;

/// The bytes of HTML that are read.
const MAX_READ: usize = 32 * 1024 * 1024;
/// The most images that are shown of one content.
pub(crate) const MAX_IMAGES: usize = 8;
/// Longer URLs are left out, because they were generated.
const MAX_LINK: usize = 300;

#[derive(Debug)]
pub(crate) struct Readable {
    pub(crate) text: String,
    pub(crate) has_table: bool,
    /// The `data:` URI of an image, if the HTML contains nothing else.
    pub(crate) only_image: Option<String>,
    /// The `data:` URIs of the first images.
    pub(crate) images: Vec<String>,
}

pub(crate) fn readable(html: &str) -> Readable {
    readable_up_to(html, MAX_READ)
}

fn readable_up_to(html: &str, limit: usize) -> Readable {
    let mut page = Page { html, ..Page::default() };
    let read = &html[..html.floor_char_boundary(limit)];
    markup::read(read, |part| page.part(part));
    let unread = html.len() - read.len();
    page.end_table();
    let mut text = page.flow.finish();
    if unread > 0 {
        text.push_str(&format!("\n… ({} of HTML not read)", size(unread)));
    }
    let only_image = page.image.take().filter(|(note, _)| *note == text).map(|(_, address)| address);
    Readable { text, has_table: page.has_table, only_image, images: page.images }
}

#[derive(Debug, Default)]
struct Page<'a> {
    html: &'a str,
    flow: Flow,
    /// The outermost open table; inner tables become text of its cells.
    table: Option<Table>,
    /// The number of open tables.
    tables: usize,
    has_table: bool,
    /// The element whose content is skipped.
    skipped: Option<String>,
    /// The URL of the open link, and the start of its text.
    link: Option<(String, usize)>,
    /// The open SVG.
    drawing: Option<Drawing>,
    /// The description and the URI of the last image that is embedded in its URI.
    image: Option<(String, String)>,
    /// The URIs of the first embedded images.
    images: Vec<String>,
    /// Whether we are in `<audio>` or `<video>`, whose text is for browsers that cannot play it.
    is_playing: bool,
}

impl Page<'_> {
    /// Returns how the content of an element without markup is read.
    fn part(&mut self, part: Part) -> Option<State> {
        match part {
            Part::Text(text) => self.text(&text),
            Part::Tag(tag) => {
                self.tag(&tag);
                if tag.is_start && !(tag.is_self_closing && self.is_drawing()) {
                    return markup::raw_text(&tag.name);
                }
            }
            Part::Comment(_) => {}
        }
        None
    }

    fn text(&mut self, text: &str) {
        if self.skipped.is_none() && !self.is_playing {
            self.words(text);
        }
    }

    /// The open cell, or else the page.
    fn current(&mut self) -> &mut Flow {
        match &mut self.table {
            Some(table) => table.cell().unwrap_or(&mut self.flow),
            None => &mut self.flow,
        }
    }

    fn words(&mut self, text: &str) {
        self.current().push(text);
    }

    fn is_drawing(&self) -> bool {
        self.drawing.is_some()
    }

    fn tag(&mut self, tag: &Tag) {
        let name = &*tag.name;
        let is_start = tag.is_start;
        if let Some(skipped) = &self.skipped {
            if !is_start && skipped == name {
                self.skipped = None;
            }
            return;
        }
        match name {
            "script" | "style" | "template" | "noembed" | "noframes" | "noscript" if is_start => {
                if !tag.is_self_closing || !self.is_drawing() {
                    self.skipped = Some(name.to_owned());
                }
            }
            "table" | "tr" | "td" | "th" | "caption" => self.table_tag(tag, name, is_start),
            "a" => self.link_tag(tag, is_start),
            "svg" => self.drawing_tag(tag, is_start),
            "foreignobject" => self.drawing.iter_mut().for_each(Drawing::has_html),
            "text" | "tspan" | "title" | "desc" | "option" | "button" | "dt" | "dd" => self.words(" "),
            "img" | "iframe" | "audio" | "video" | "source" | "embed" | "object" if is_start => {
                self.medium(tag, name);
            }
            _ => self.current().tag(name, is_start),
        }
        match name {
            "iframe" if is_start => self.skipped = Some(name.to_owned()),
            "audio" | "video" => self.is_playing = is_start,
            "table" | "tr" | "td" | "div" => self.is_playing = false,
            _ => {}
        }
    }

    fn table_tag(&mut self, tag: &Tag, name: &str, is_start: bool) {
        match (name, is_start) {
            ("table", true) => {
                self.tables += 1;
                if self.tables == 1 {
                    self.has_table = true;
                    self.flow.line();
                    self.table = Some(Table::default());
                } else {
                    self.words(" ");
                }
            }
            ("table", false) => {
                self.tables = self.tables.saturating_sub(1);
                if self.tables == 0 { self.end_table() } else { self.words(" ") }
            }
            // A table within a cell becomes text of the cell, row by row.
            _ if self.tables > 1 => match (name, is_start) {
                ("tr", false) => self.words("; "),
                (_, true) if !self.current().text().ends_with("; ") => self.words(" "),
                _ => {}
            },
            ("caption", _) => self.flow.line(),
            _ => {
                let Some(table) = &mut self.table else { return self.words(" ") };
                match (name, is_start) {
                    ("tr", true) => table.start_row(&mut self.flow),
                    ("tr", false) => table.end_row(&mut self.flow),
                    (_, true) => table.start_cell(number(tag, "colspan"), number(tag, "rowspan")),
                    (_, false) => table.end_cell(),
                }
            }
        }
    }

    fn end_table(&mut self) {
        if let Some(mut table) = self.table.take() {
            table.end_row(&mut self.flow);
            self.flow.line();
        }
        self.tables = 0;
    }

    /// A link becomes its text, with its URL unless the text contains it.
    fn link_tag(&mut self, tag: &Tag, is_start: bool) {
        if is_start {
            let start = self.current().text().len();
            self.link = tag.attribute("href").map(|address| (address, start));
        } else if let Some((address, start)) = self.link.take() {
            let is_useful = address.starts_with("http") && address.len() <= MAX_LINK;
            let is_shown = self.current().text().get(start..).is_none_or(|text| text.contains(&address));
            if is_useful && !is_shown {
                self.words(&format!(" ({address})"));
            }
        }
    }

    /// A drawing becomes a description, or its texts if it only decorates the page.
    fn drawing_tag(&mut self, tag: &Tag, is_start: bool) {
        if is_start {
            if let Some(drawing) = &mut self.drawing {
                return drawing.opens(tag);
            }
            self.words(" ");
            let start = self.current().text().len();
            self.drawing = (!tag.is_self_closing).then(|| Drawing::new(tag, start));
            return;
        }
        let html = self.html;
        let Some(drawing) = self.drawing.take_if(Drawing::closes) else { return };
        let has_text = self.current().text().get(drawing.text..).is_some_and(|text| !text.trim().is_empty());
        if let Some(svg) = drawing.content(html, tag, has_text) {
            self.current().truncate(drawing.text);
            let note = format!("[image: {}]", svg::described(&svg));
            self.words(&note);
            self.embed(note, format!("data:image/svg+xml;utf8,{svg}"));
        } else if has_text {
            self.words(" [drawing] ");
        }
    }

    /// Remembers an image that the page describes by `note`.
    fn embed(&mut self, note: String, address: String) {
        if self.images.len() < MAX_IMAGES {
            self.images.push(address.clone());
        }
        self.image = Some((note, address));
    }

    /// Media become a description.
    fn medium(&mut self, tag: &Tag, name: &str) {
        let kind = if name == "img" { "image" } else { name };
        let source = tag.attribute("src").or_else(|| tag.attribute("data"));
        let content = source.clone().filter(|source| name == "img" && source.starts_with("data:image/"));
        let label = tag.attribute("alt").filter(|alt| !alt.is_empty()).or_else(|| tag.attribute("title"));
        let source = source.map(|source| match data_uri::described(&source) {
            Some(description) => description,
            None if source.len() <= MAX_LINK => source,
            None => format!("a URL of {} characters", source.len()),
        });
        // `<audio>` has its own URL, or those of the `<source>` elements within it.
        if source.is_none() && matches!(name, "audio" | "video") {
            return;
        }
        let kind = if name == "source" { "media" } else { kind };
        let mut note = format!("[{kind}");
        for part in [label, source].into_iter().flatten() {
            note.push_str(if note.len() == kind.len() + 1 { ": " } else { ", " });
            note.push_str(&part);
        }
        note.push(']');
        self.words(&note);
        match content {
            Some(content) => self.embed(note, content),
            None => self.image = None,
        }
    }
}

fn number(tag: &Tag, name: &str) -> usize {
    tag.attribute(name).and_then(|value| value.trim().parse().ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests;

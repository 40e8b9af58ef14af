//! Writes HTML of a notebook again, by an allow-list of elements, attributes and styles.
//!
//! The input is read as tokens, and the output is made of them: nothing is copied. What is written has the tree that a browser makes
//! of it, so that it cannot leave the element around it, and reading it a second time changes nothing (mutation XSS). Therefore the
//! writer keeps to the rules by which a browser closes elements (<https://html.spec.whatwg.org/#parsing-main-inbody>): a block ends a
//! paragraph, an item is a child of its list, a table contains only its parts. Of foreign content, a drawing becomes an image, where
//! nothing in it runs, and everything else is left out.
//!
//! Example: `<p>a<div onclick=x>b</p>c` becomes `<p>a</p><div>bc</div>`.

mod attributes;
mod elements;
mod sheet;
mod structure;
pub(crate) mod style;

use notebook::markup::{Part, State, Tag, raw_text, read};

use crate::Ids;
use crate::fragment::Fragment;
use crate::picture;
use elements::{Dropped, Element, Kind, dropped, element};
use sheet::Sheet;
use structure::Open;

/// The deepest nesting that is written. Browsers flatten a page at 512.
const MAX_DEPTH: usize = 100;

/// The longest text that announces what a script would load, in bytes.
const MAX_ANNOUNCEMENT: usize = 300;

/// The element that stands for a finished fragment in the HTML of a Markdown cell.
pub(crate) const SLOT: &str = "cb-slot";

/// A finished fragment within the HTML of a Markdown cell, written once.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) fragment: Option<Fragment>,
    pub(crate) is_block: bool,
}

/// What was written.
#[derive(Debug)]
pub(crate) struct Sanitized {
    pub(crate) html: Fragment,
    /// Whether it shows anything.
    pub(crate) is_visible: bool,
    pub(crate) has_table: bool,
    /// The text that it shows.
    pub(crate) text: String,
}

impl Sanitized {
    /// Whether it only announces what a script would load.
    pub(crate) fn is_announcement(&self) -> bool {
        let text = self.text.trim().to_lowercase();
        text.len() <= MAX_ANNOUNCEMENT
            && (text.starts_with("loading ")
                || ["loading itables", "trusted to load"].iter().any(|it| text.contains(it)))
    }
}

/// The HTML of an output.
pub(crate) fn output(html: &str) -> Sanitized {
    write(html, None, Vec::new())
}

/// The HTML of a Markdown cell, whose ids get a prefix, so that links within the notebook work.
pub(crate) fn markdown(html: &str, ids: &Ids, slots: Vec<Slot>) -> Fragment {
    write(html, Some(ids), slots).html
}

fn write(html: &str, ids: Option<&Ids>, slots: Vec<Slot>) -> Sanitized {
    let mut writer = Writer {
        source: html,
        html: Fragment::default(),
        open: Vec::new(),
        sheet: sheet(html),
        ids,
        slots,
        skipped: None,
        is_visible: false,
        has_table: false,
        shown: String::new(),
    };
    read(html, |part| writer.part(part));
    writer.close_to(0);
    let Writer { html, is_visible, has_table, shown, .. } = writer;
    Sanitized { html, is_visible, has_table, text: shown }
}

/// The rules of all `style` elements.
fn sheet(html: &str) -> Sheet {
    let mut sheet = Sheet::default();
    if !html.contains("<style") {
        return sheet;
    }
    let mut is_style = false;
    read(html, |part| match part {
        Part::Tag(tag) => {
            is_style = tag.is_start && tag.name == "style";
            raw_text(&tag.name).filter(|_| tag.is_start)
        }
        Part::Text(text) => {
            if is_style {
                sheet.add(&text);
            }
            None
        }
        Part::Comment(_) => None,
    });
    sheet
}

/// An element that is left out with its content.
#[derive(Debug)]
struct Skipped {
    name: String,
    /// How many elements of this name are open.
    depth: usize,
    /// Where it starts in the source, if it becomes an image.
    drawing: Option<usize>,
}

struct Writer<'a> {
    source: &'a str,
    html: Fragment,
    open: Vec<Open>,
    sheet: Sheet,
    ids: Option<&'a Ids>,
    slots: Vec<Slot>,
    skipped: Option<Skipped>,
    is_visible: bool,
    has_table: bool,
    shown: String,
}

impl Writer<'_> {
    /// Writes a part, and returns how what follows is read.
    fn part(&mut self, part: Part) -> Option<State> {
        match part {
            Part::Tag(tag) if tag.is_start => {
                if let Some(skipped) = &mut self.skipped {
                    // In a drawing, `style` and `title` hold markup.
                    let is_drawing = skipped.drawing.is_some();
                    if skipped.name == tag.name && !(is_drawing && tag.is_self_closing) {
                        skipped.depth += 1;
                    }
                    return raw_text(&tag.name).filter(|_| !is_drawing);
                }
                match dropped(&tag.name) {
                    Some(Dropped::Void) => {}
                    Some(Dropped::Drawing) if tag.is_self_closing => {}
                    Some(kind) => {
                        let drawing = (kind == Dropped::Drawing).then_some(tag.place.start);
                        self.skipped = Some(Skipped { name: tag.name.clone(), depth: 1, drawing });
                    }
                    None => self.start(&tag),
                }
                return raw_text(&tag.name);
            }
            Part::Tag(tag) => self.end(&tag.name, tag.place.end),
            Part::Text(text) if self.skipped.is_none() => self.text(&text),
            Part::Text(_) | Part::Comment(_) => {}
        }
        None
    }

    fn text(&mut self, text: &str) {
        // A browser would move it in front of the table.
        if self.is_between_cells() {
            return;
        }
        if !self.open.iter().any(|open| open.is_hidden) {
            self.is_visible |= !text.trim().is_empty();
            if self.shown.len() <= MAX_ANNOUNCEMENT {
                self.shown.push_str(text);
            }
        }
        self.html.text(text);
    }

    fn end(&mut self, name: &str, end: usize) {
        if let Some(skipped) = &mut self.skipped {
            if skipped.name == name {
                skipped.depth -= 1;
            }
            if skipped.depth == 0 {
                let drawing = skipped.drawing;
                self.skipped = None;
                if let Some(svg) = drawing.and_then(|start| self.source.get(start..end)) {
                    self.drawing(svg);
                }
            }
            return;
        }
        if let Some(at) = self.closed_by(name) {
            self.close_to(at);
        }
    }

    /// A drawing within HTML, as an image.
    fn drawing(&mut self, svg: &str) {
        if !self.is_between_cells() {
            self.is_visible = true;
            picture::svg(svg, "Drawing", &mut self.html);
        }
    }

    fn start(&mut self, tag: &Tag) {
        if tag.name == SLOT {
            return self.slot(tag.attribute("n").and_then(|number| number.parse().ok()));
        }
        let Some(element) = element(&tag.name) else { return };
        if self.open.len() >= MAX_DEPTH || !self.make_room(&element) {
            return;
        }
        match element.name {
            "img" => return self.image(tag),
            "br" | "hr" | "wbr" => {
                if element.kind == Kind::Block {
                    self.end_text();
                }
                self.html.raw("<").raw(element.name).raw(">");
                return;
            }
            "source" => return self.source_of_media(tag),
            "table" => self.has_table = true,
            _ => {}
        }
        let mut written = self.written(&element);
        if element.kind != Kind::Inline && self.is_in_text() {
            if matches!(written, "div" | "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6") {
                written = "span";
            } else {
                self.end_text();
            }
        }
        self.write_tag(&element, written, tag);
        if element.name == "progress" || element.name == "meter" {
            self.is_visible = true;
        }
        if element.name != "col" {
            let id = tag.attribute("id").unwrap_or_default();
            let is_hidden = tag.has("hidden");
            self.open.push(Open { name: element.name, written, id, has_parts: false, is_hidden });
        }
    }

    /// Writes a finished fragment.
    fn slot(&mut self, number: Option<usize>) {
        let Some(slot) = number.and_then(|number| self.slots.get_mut(number)) else { return };
        let (is_block, fragment) = (slot.is_block, slot.fragment.take());
        if self.is_between_cells() {
            return;
        }
        if is_block {
            self.end_paragraph();
        }
        if let Some(fragment) = fragment {
            self.is_visible = true;
            self.html.append(fragment);
        }
    }

    /// The element that is written: some mean something only below another.
    fn written(&self, element: &Element) -> &'static str {
        let parent = self.open.last().map(|open| open.name);
        match element.name {
            "li" if !matches!(parent, Some("ul" | "ol")) => "div",
            "dt" | "dd" if parent != Some("dl") => "div",
            "summary" if parent != Some("details") => "div",
            _ => element.written,
        }
    }
}

#[cfg(test)]
mod tests;

//! Closes elements where a browser closes them. A part of the writer, which holds the open elements.

use super::Writer;
use super::elements::{Element, Kind, element};

/// An element that is open.
#[derive(Debug)]
pub(super) struct Open {
    /// Its name in the source.
    pub(super) name: &'static str,
    pub(super) written: &'static str,
    /// Its id in the source, for style sheets.
    pub(super) id: String,
    /// Whether it is a table that has parts.
    pub(super) has_parts: bool,
    pub(super) is_hidden: bool,
}

impl Open {
    fn is_table_structure(&self) -> bool {
        matches!(self.name, "table" | "colgroup" | "thead" | "tbody" | "tfoot" | "tr")
    }

    fn is_text(&self) -> bool {
        let is_inline = element(self.written).is_some_and(|element| element.kind == Kind::Inline);
        matches!(self.written, "summary" | "pre") || is_inline && !self.is_transparent()
    }

    /// Whether it may contain what its parent may.
    fn is_transparent(&self) -> bool {
        matches!(self.written, "a" | "del" | "ins" | "audio" | "video")
    }

    /// Whether what is open outside cannot be closed inside.
    fn is_boundary(&self) -> bool {
        matches!(self.name, "table" | "td" | "th" | "caption")
    }
}

impl Writer<'_> {
    /// Whether only text and inline elements are valid here, so that a block looks like one but is a `span`.
    pub(super) fn is_in_text(&self) -> bool {
        let scope = self.scope();
        self.open[scope..].iter().rev().find(|open| !open.is_transparent()).is_some_and(Open::is_text)
    }

    /// Closes what only text and inline elements may stand in.
    pub(super) fn end_text(&mut self) {
        let scope = self.scope();
        if let Some(at) = self.open[scope..].iter().position(Open::is_text) {
            self.close_to(scope + at);
        }
    }

    /// Closes elements from the innermost to the one at `at`.
    pub(super) fn close_to(&mut self, at: usize) {
        while self.open.len() > at
            && let Some(open) = self.open.pop()
        {
            self.html.raw("</").raw(open.written).raw(">");
        }
    }

    /// Whether we are in a table and not in a cell or its caption, where a browser accepts only parts of tables.
    pub(super) fn is_between_cells(&self) -> bool {
        self.open.last().is_some_and(Open::is_table_structure)
    }

    fn is_in_caption(&self) -> bool {
        self.open.iter().rfind(|open| open.is_boundary()).is_some_and(|open| open.name == "caption")
    }

    /// The first of the open elements that may be closed: those in the innermost cell.
    fn scope(&self) -> usize {
        self.open.iter().rposition(Open::is_boundary).map_or(0, |at| at + 1)
    }

    fn last_table(&self) -> Option<usize> {
        self.open.iter().rposition(|open| open.name == "table")
    }

    /// The position of the element that an end tag closes.
    pub(super) fn closed_by(&self, name: &str) -> Option<usize> {
        let is_of_table = matches!(
            name,
            "table" | "caption" | "colgroup" | "thead" | "tbody" | "tfoot" | "tr" | "td" | "th"
        );
        let start = if is_of_table { self.last_table()? } else { self.scope() };
        self.open[start..].iter().rposition(|open| open.name == name).map(|at| start + at)
    }

    /// Closes the open paragraph or heading.
    pub(super) fn end_paragraph(&mut self) {
        let scope = self.scope();
        let is_paragraph = |name: &str| matches!(name, "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6");
        if let Some(at) = self.open[scope..].iter().position(|open| is_paragraph(open.name)) {
            self.close_to(scope + at);
        }
    }

    /// Closes and opens what the element needs around it. `false` if it cannot stand here.
    pub(super) fn make_room(&mut self, element: &Element) -> bool {
        match element.kind {
            Kind::Inline | Kind::Block | Kind::Paragraph | Kind::Item if self.is_between_cells() => false,
            Kind::Inline => {
                if element.name == "a"
                    && let Some(at) = self.closed_by("a")
                {
                    self.close_to(at);
                }
                element.name != "source"
                    || matches!(self.open.last(), Some(open) if matches!(open.name, "audio" | "video"))
            }
            Kind::Block | Kind::Paragraph => {
                self.end_paragraph();
                true
            }
            Kind::Item => {
                self.end_paragraph();
                let is_list = |name: &str| match element.name {
                    "li" => matches!(name, "ul" | "ol"),
                    _ => name == "dl",
                };
                let scope = self.scope();
                if let Some(at) = self.open[scope..].iter().rposition(|open| is_list(open.name)) {
                    self.close_to(scope + at + 1);
                }
                true
            }
            Kind::Table => {
                if self.is_between_cells()
                    && let Some(table) = self.last_table()
                {
                    self.close_to(table);
                }
                if self.is_between_cells() || self.is_in_caption() {
                    return false;
                }
                self.end_paragraph();
                true
            }
            Kind::TablePart | Kind::Column | Kind::Row | Kind::Cell => self.make_room_in_table(element),
        }
    }

    fn make_room_in_table(&mut self, element: &Element) -> bool {
        let Some(table) = self.last_table() else { return false };
        let had_parts = std::mem::replace(&mut self.open[table].has_parts, true);
        if element.name == "caption" && had_parts {
            return false;
        }
        let last = |open: &[Open], names: &[&str]| open.iter().rposition(|it| names.contains(&it.name));
        let group = last(&self.open[table..], &["thead", "tbody", "tfoot"]).map(|at| table + at);
        match element.kind {
            Kind::Column => {
                if let Some(at) = last(&self.open[table..], &["colgroup"]) {
                    self.close_to(table + at + 1);
                } else {
                    self.close_to(table + 1);
                    self.imply("colgroup");
                }
            }
            Kind::Row | Kind::Cell => {
                let row = last(&self.open[table..], &["tr"]).map(|at| table + at);
                if let Some(row) = row.filter(|_| element.kind == Kind::Cell) {
                    self.close_to(row + 1);
                    return true;
                }
                if let Some(group) = group {
                    self.close_to(group + 1);
                } else {
                    self.close_to(table + 1);
                    self.imply("tbody");
                }
                if element.kind == Kind::Cell {
                    self.imply("tr");
                }
            }
            _ => self.close_to(table + 1),
        }
        true
    }

    /// Opens an element that the source leaves out.
    fn imply(&mut self, name: &'static str) {
        self.html.raw("<").raw(name).raw(">");
        self.open.push(Open { name, written: name, id: String::new(), has_parts: false, is_hidden: false });
    }
}

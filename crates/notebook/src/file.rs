//! Where the parts of a notebook stand in its file.

use std::ops::Range;

use bytes::Bytes;

use crate::print::Style;
use crate::{Json, scan, string};

/// The text of a file of nbformat 4 and the places of its top-level members and cells.
pub(crate) struct File {
    /// All of it, without a byte-order mark.
    pub(crate) text: Bytes,
    pub(crate) members: Vec<Member>,
    /// Each cell, in order.
    pub(crate) slots: Vec<Range<usize>>,
    pub(crate) style: Style,
}

/// A top-level member.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) key: Range<usize>,
    pub(crate) value: Range<usize>,
}

impl File {
    /// `text` is an object with whatever whitespace around it.
    pub(crate) fn new(text: Bytes) -> Self {
        let name = |key: Range<usize>| {
            let key = Json::from_text(text.slice(key));
            string::unescape(key.as_str()).into_owned()
        };
        let items = scan::items(&text, scan::space_end(&text, 0));
        let members: Vec<_> = items
            .map(|item| Member { name: name(item.key.clone()), key: item.key, value: item.value })
            .collect();
        let style = style(&text, members.first());
        let mut file = Self { text, members, slots: Vec::new(), style };
        if let Some(cells) = file.member("cells") {
            let is_list = file.text[cells.value.start] == b'[';
            let elements = is_list.then(|| scan::items(&file.text, cells.value.start));
            file.slots = elements.into_iter().flatten().map(|item| item.value).collect();
        }
        file
    }

    /// The last member of that name, as Python reads it.
    pub(crate) fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().rev().find(|member| member.name == name)
    }

    /// The value of [`File::member`].
    pub(crate) fn value(&self, name: &str) -> Option<Json> {
        self.member(name).map(|member| Json::from_text(self.text.slice(member.value.clone())))
    }

    /// The cell that stands in a slot.
    pub(crate) fn cell(&self, slot: usize) -> Json {
        Json::from_text(self.text.slice(self.slots[slot].clone()))
    }

    /// The whitespace between the bracket or comma before a cell and the cell.
    pub(crate) fn lead(&self, slot: usize) -> &[u8] {
        let end = self.slots[slot].start;
        let before = &self.text[..end];
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        let start = before.iter().rposition(|byte| !is_space(byte)).map_or(0, |at| at + 1);
        &before[start..]
    }

    /// The whitespace behind a cell.
    pub(crate) fn trail(&self, slot: usize) -> &[u8] {
        let start = self.slots[slot].end;
        &self.text[start..scan::space_end(&self.text, start)]
    }
}

fn style(text: &[u8], first: Option<&Member>) -> Style {
    let jupyter = Style::jupyter();
    let Some(newline) = memchr::memchr(b'\n', text) else { return jupyter };
    let newline = if text[..newline].ends_with(b"\r") { "\r\n" } else { "\n" };
    let before = first.map_or(&text[..0], |first| &text[..first.key.start]);
    let line_start = memchr::memrchr(b'\n', before).map(|at| at + 1);
    let indent = line_start.map(|start| String::from_utf8_lossy(&before[start..]).into_owned());
    let indent = indent.filter(|indent| indent.bytes().all(|byte| byte == b' ' || byte == b'\t'));
    Style { newline, indent: indent.unwrap_or(jupyter.indent), colon: jupyter.colon }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &'static str) -> File {
        File::new(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn cells_are_found_with_the_whitespace_around_them() {
        let file = file("\n{\"cells\":\t[ {} ,\r\n{\"a\": [1]}\n] , \"nbformat\": 4 }\n");
        assert_eq!(file.slots.len(), 2);
        assert_eq!(file.cell(1).as_str(), "{\"a\": [1]}");
        assert_eq!((file.lead(0), file.trail(0)), (&b" "[..], &b" "[..]));
        assert_eq!((file.lead(1), file.trail(1)), (&b"\r\n"[..], &b"\n"[..]));
        assert_eq!(file.value("nbformat").unwrap().as_str(), "4");
    }

    #[test]
    fn the_style_is_that_of_the_first_lines() {
        let indent = |text| file(text).style.indent;
        assert_eq!(indent("{\n    \"a\": 1}"), "    ");
        assert_eq!(indent("{\r\n\t\"a\": 1}"), "\t");
        assert_eq!(indent("{\n\"a\": 1}"), "");
        assert_eq!(indent("{\"a\": 1}"), " ");
        assert_eq!(indent("\n{\"a\": 1}"), " ");
        assert_eq!(file("{\r\n\"a\": 1\n}").style.newline, "\r\n");
    }
}

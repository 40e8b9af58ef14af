//! The text of a notebook file and the positions of its parts.

use std::ops::Range;

use bytes::Bytes;
use bytestring::ByteString;

use crate::Json;
use crate::json::{Item, Style, items, skip_whitespace, unescape};

/// Each cell takes hundreds of bytes, and only three in a file.
pub(crate) const MAX_CELLS: usize = 100_000;

/// A file of nbformat 4 with the positions of its top-level members and cells.
pub(crate) struct File {
    /// The whole text, without a byte-order mark.
    pub(crate) text: ByteString,
    pub(crate) members: Vec<Member>,
    /// The position of each cell, in order.
    pub(crate) slots: Vec<Range<usize>>,
    pub(crate) style: Style,
}

pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) key: Range<usize>,
    pub(crate) value: Range<usize>,
}

impl File {
    /// `text` is an object, possibly with whitespace around it.
    pub(crate) fn new(text: ByteString) -> Self {
        let bytes = text.as_bytes();
        let member =
            |Item { key, value }| Member { name: unescape(&text[key.clone()]).into_owned(), key, value };
        let members: Vec<_> = items(bytes, skip_whitespace(bytes, 0)).map(member).collect();
        let style = style(bytes, members.first());
        let mut file = Self { text, members, slots: Vec::new(), style };
        if let Some(cells) = file.member("cells") {
            let is_list = file.text[cells.value.clone()].starts_with('[');
            let elements = is_list.then(|| items(file.text.as_bytes(), cells.value.start));
            file.slots = elements.into_iter().flatten().map(|item| item.value).take(MAX_CELLS + 1).collect();
        }
        file
    }

    /// The last member of this name, as Python reads it.
    pub(crate) fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().rev().find(|member| member.name == name)
    }

    pub(crate) fn value(&self, name: &str) -> Option<Json> {
        self.member(name).map(|member| self.json(member.value.clone()))
    }

    pub(crate) fn cell(&self, slot: usize) -> Json {
        self.json(self.slots[slot].clone())
    }

    pub(crate) fn bytes(&self) -> &Bytes {
        self.text.as_bytes()
    }

    fn json(&self, range: Range<usize>) -> Json {
        Json::from_valid(self.text.slice_ref(&self.text[range]))
    }

    /// The whitespace between the bracket or comma before a cell and the cell.
    pub(crate) fn lead(&self, slot: usize) -> &[u8] {
        let end = self.slots[slot].start;
        let before = &self.bytes()[..end];
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        let start = before.iter().rposition(|byte| !is_space(byte)).map_or(0, |at| at + 1);
        &before[start..]
    }

    /// The whitespace after a cell.
    pub(crate) fn trail(&self, slot: usize) -> &[u8] {
        let start = self.slots[slot].end;
        let text = self.bytes();
        &text[start..skip_whitespace(text, start)]
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
        File::new(ByteString::from_static(text))
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
    fn the_style_follows_the_first_lines() {
        let indent = |text| file(text).style.indent;
        assert_eq!(indent("{\n    \"a\": 1}"), "    ");
        assert_eq!(indent("{\r\n\t\"a\": 1}"), "\t");
        assert_eq!(indent("{\n\"a\": 1}"), "");
        assert_eq!(indent("{\"a\": 1}"), " ");
        assert_eq!(indent("\n{\"a\": 1}"), " ");
        assert_eq!(file("{\r\n\"a\": 1\n}").style.newline, "\r\n");
    }
}

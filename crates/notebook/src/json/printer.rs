//! Prints JSON as Python's `json.dump(indent=1, sort_keys=True, ensure_ascii=False)` does, streamed. `Json` is printed here and built from
//! what is printed.

use std::borrow::Cow;
use std::io::{self, Write};

use super::string::{self, Chunk, Chunks};
use super::{Json, scan};

/// Values nested deeper than this are copied as they are, so that recursion is bounded.
const MAX_DEPTH: usize = 128;

/// How a file is formatted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) newline: &'static str,
    pub(crate) indent: String,
    pub(crate) colon: &'static str,
}

impl Style {
    pub(crate) fn jupyter() -> Self {
        Self { newline: "\n", indent: " ".to_owned(), colon: ": " }
    }

    pub(crate) fn canonical() -> Self {
        Self { newline: "", indent: String::new(), colon: ":" }
    }

    /// The line break before something at `depth`.
    pub(crate) fn line_break(&self, depth: usize) -> String {
        format!("{}{}", self.newline, self.indent.repeat(depth))
    }
}

/// Writes values and keeps track of depth and commas.
pub(crate) struct Printer<'a> {
    out: &'a mut dyn Write,
    style: &'a Style,
    depth: usize,
    /// The line break and the indentation at this depth.
    line_break: String,
    is_first: bool,
}

impl<'a> Printer<'a> {
    /// Starts with a value at `depth`; its own indentation is already written.
    pub(crate) fn new(out: &'a mut dyn Write, style: &'a Style, depth: usize) -> Self {
        Self { out, style, depth, line_break: style.line_break(depth), is_first: true }
    }

    /// Opens an object or a list.
    pub(crate) fn open(&mut self, bracket: &str) -> io::Result<()> {
        self.depth += 1;
        self.line_break.push_str(&self.style.indent);
        self.is_first = true;
        self.raw(bracket)
    }

    pub(crate) fn close(&mut self, bracket: &str) -> io::Result<()> {
        self.depth -= 1;
        self.line_break.truncate(self.line_break.len() - self.style.indent.len());
        if !self.is_first {
            self.out.write_all(self.line_break.as_bytes())?;
        }
        self.is_first = false;
        self.raw(bracket)
    }

    /// Starts the next element; its value follows.
    pub(crate) fn element(&mut self) -> io::Result<()> {
        if !self.is_first {
            self.raw(",")?;
        }
        self.is_first = false;
        self.out.write_all(self.line_break.as_bytes())
    }

    /// Starts the next member; its value follows.
    pub(crate) fn key(&mut self, name: &str) -> io::Result<()> {
        self.element()?;
        self.string(name)?;
        self.raw(self.style.colon)
    }

    pub(crate) fn string(&mut self, text: &str) -> io::Result<()> {
        self.raw("\"")?;
        string::escape(text, self.out)?;
        self.raw("\"")
    }

    /// Writes text without escaping: a number, a literal, or the inside of a string.
    pub(crate) fn raw(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    /// Writes the inside of a string.
    pub(crate) fn escaped(&mut self, text: &str) -> io::Result<()> {
        string::escape(text, self.out)
    }

    /// Writes several JSON strings as one.
    pub(crate) fn strings<'s>(&mut self, parts: impl Iterator<Item = &'s str>) -> io::Result<()> {
        self.raw("\"")?;
        for chunk in parts.flat_map(Chunks::of) {
            match chunk {
                Chunk::Text(text) => string::escape(text, self.out)?,
                Chunk::Char(character) => string::escape(character.encode_utf8(&mut [0; 4]), self.out)?,
                Chunk::Lone(unit) => write!(self.out, "\\u{unit:04x}")?,
            }
        }
        self.raw("\"")
    }

    pub(crate) fn value(&mut self, value: &Json) -> io::Result<()> {
        self.text(value.as_str())
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        match text.as_bytes().first() {
            _ if self.depth > MAX_DEPTH => self.raw(text),
            Some(b'{') => {
                self.open("{")?;
                for (_, key, value) in sorted_members(text) {
                    self.element()?;
                    self.strings(std::iter::once(key))?;
                    self.raw(self.style.colon)?;
                    self.text(value)?;
                }
                self.close("}")
            }
            Some(b'[') => {
                self.open("[")?;
                for item in scan::items(text.as_bytes(), 0) {
                    self.element()?;
                    self.text(&text[item.value])?;
                }
                self.close("]")
            }
            Some(b'"') => self.strings(std::iter::once(text)),
            _ => self.raw(text),
        }
    }
}

/// The decoded name, the name as it is written, and the value.
pub(super) type Member<'a> = (Cow<'a, str>, &'a str, &'a str);

/// The members of an object, sorted by name. Of members with the same name the last remains.
pub(super) fn sorted_members(text: &str) -> Vec<Member<'_>> {
    let items = scan::items(text.as_bytes(), 0);
    let mut members: Vec<_> = items
        .map(|item| (string::unescape(&text[item.key.clone()]), &text[item.key], &text[item.value]))
        .collect();
    members.reverse();
    members.sort_by(|(a, ..), (b, ..)| a.cmp(b));
    members.dedup_by(|(next, ..), (kept, ..)| next == kept);
    members
}

/// The canonical form of a value: sorted keys, no whitespace, and only the escapes that JSON requires.
pub(crate) fn canonical(value: &Json) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.bytes().len());
    // Writing to a vector does not fail.
    let _ = Printer::new(&mut text, &Style::canonical(), 0).value(value);
    text
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn printed(text: &str) -> String {
        let value = Json::parse(Bytes::copy_from_slice(text.as_bytes())).unwrap();
        let mut out = Vec::new();
        Printer::new(&mut out, &Style::jupyter(), 0).value(&value).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_are_printed_like_python() {
        let text = r#"{"b":[1,2.50,{}, []],"\u0061":{"c":"\u00e9\/\u001F\""},"b":[ -0.0e10 ,null]}"#;
        let expected = "{\n \"a\": {\n  \"c\": \"é/\\u001f\\\"\"\n },\n \"b\": [\n  -0.0e10,\n  null\n ]\n}";
        assert_eq!(printed(text), expected);
    }

    #[test]
    fn a_lone_surrogate_stays_an_escape() {
        assert_eq!(
            printed(r#"{"\uD800": "\udc00x\ud83d\ude00"}"#),
            "{\n \"\\ud800\": \"\\udc00x\u{1f600}\"\n}"
        );
    }

    #[test]
    fn nesting_has_no_limit() {
        let deep = format!("{}1{}", "[ ".repeat(5_000), " ]".repeat(5_000));
        assert!(printed(&deep).trim_start_matches(['[', '\n', ' ']).starts_with('1'));
        let value = Json::parse(Bytes::from(deep)).unwrap();
        assert!(canonical(&value).len() < value.bytes().len());
    }
}

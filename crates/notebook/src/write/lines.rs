//! Text as a list of lines, split where Python's `str.splitlines(True)` splits it.

use std::io;

use crate::json::{Chunk, Chunks, Json, Printer, is_multiline, strings};

/// Writes a list of lines from text that arrives piece by piece.
pub(crate) struct Lines<'p, 'a> {
    printer: &'p mut Printer<'a>,
    is_open: bool,
    /// `\r` was last: a `\n` that follows belongs to the same line break.
    is_after_return: bool,
}

impl<'p, 'a> Lines<'p, 'a> {
    pub(crate) fn start(printer: &'p mut Printer<'a>) -> io::Result<Self> {
        printer.open("[")?;
        Ok(Self { printer, is_open: false, is_after_return: false })
    }

    pub(crate) fn push(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text;
        while !rest.is_empty() {
            if self.is_after_return {
                if let Some(after) = rest.strip_prefix('\n') {
                    self.printer.raw("\\n")?;
                    rest = after;
                }
                self.end_line()?;
                continue;
            }
            self.begin_line()?;
            let found = rest.char_indices().find(|(_, character)| is_break(*character));
            let end = found.map_or(rest.len(), |(at, character)| at + character.len_utf8());
            self.printer.escaped(&rest[..end])?;
            match found {
                None => {}
                Some((_, '\r')) => self.is_after_return = true,
                Some(_) => self.end_line()?,
            }
            rest = &rest[end..];
        }
        Ok(())
    }

    /// Appends the content of JSON strings, given with their quotes.
    pub(crate) fn push_raw<'s>(&mut self, parts: impl Iterator<Item = &'s str>) -> io::Result<()> {
        for chunk in parts.flat_map(Chunks::of) {
            match chunk {
                Chunk::Text(text) => self.push(text)?,
                Chunk::Char(character) => self.push(character.encode_utf8(&mut [0; 4]))?,
                Chunk::Lone(unit) => {
                    if self.is_after_return {
                        self.end_line()?;
                    }
                    self.begin_line()?;
                    self.printer.raw(&format!("\\u{unit:04x}"))?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn end(mut self) -> io::Result<()> {
        self.end_line()?;
        self.printer.close("]")
    }

    fn begin_line(&mut self) -> io::Result<()> {
        if !self.is_open {
            self.is_open = true;
            self.printer.element()?;
            self.printer.raw("\"")?;
        }
        Ok(())
    }

    fn end_line(&mut self) -> io::Result<()> {
        self.is_after_return = false;
        if self.is_open {
            self.is_open = false;
            self.printer.raw("\"")?;
        }
        Ok(())
    }
}

/// The line boundaries of Python's `str.splitlines`.
fn is_break(character: char) -> bool {
    matches!(
        character,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

impl Printer<'_> {
    /// Writes a "multiline string" as a list of lines, and any other value unchanged.
    pub(crate) fn lines(&mut self, value: &Json) -> io::Result<()> {
        if !is_multiline(value.as_str()) {
            return self.value(value);
        }
        let mut lines = Lines::start(self)?;
        lines.push_raw(strings(value.as_str()))?;
        lines.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Style;

    fn split(pieces: &[&str]) -> Vec<String> {
        let (mut out, style) = (Vec::new(), Style::jupyter());
        let mut printer = Printer::new(&mut out, &style, 0);
        let mut lines = Lines::start(&mut printer).unwrap();
        for piece in pieces {
            lines.push(piece).unwrap();
        }
        lines.end().unwrap();
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn lines_end_where_python_splits_them() {
        let text = "a\nb\r\nc\rd\u{b}e\u{c}f\u{1c}g\u{1d}h\u{1e}i\u{85}j\u{2028}k\u{2029}l\u{1f}m";
        let expected = [
            "a\n",
            "b\r\n",
            "c\r",
            "d\u{b}",
            "e\u{c}",
            "f\u{1c}",
            "g\u{1d}",
            "h\u{1e}",
            "i\u{85}",
            "j\u{2028}",
            "k\u{2029}",
            "l\u{1f}m",
        ];
        assert_eq!(split(&[text]), expected);
        let characters: Vec<String> = text.chars().map(String::from).collect();
        assert_eq!(split(&characters.iter().map(String::as_str).collect::<Vec<_>>()), expected);
    }

    #[test]
    fn text_without_a_line_break_and_empty_text() {
        assert_eq!(split(&[]), [""; 0]);
        assert_eq!(split(&["", ""]), [""; 0]);
        assert_eq!(split(&["\r", "\r", "\n", "\n"]), ["\r", "\r\n", "\n"]);
        assert_eq!(split(&["x\r", "y"]), ["x\r", "y"]);
    }
}

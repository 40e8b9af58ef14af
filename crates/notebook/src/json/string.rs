//! JSON strings: decoded, lone surrogates included, and encoded as Python does.

use std::borrow::Cow;
use std::io::{self, Write};

use super::scan;

/// A piece of a JSON string.
pub(crate) enum Chunk<'a> {
    Text(&'a str),
    Char(char),
    /// Half of a surrogate pair: not a character, but Python's JSON writer lets it into files.
    Lone(u16),
}

/// Iterates over a JSON string, given with its quotes.
pub(crate) struct Chunks<'a>(&'a str);

impl<'a> Chunks<'a> {
    pub(crate) fn of(raw: &'a str) -> Self {
        Self(raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or_default())
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Chunk<'a>;

    fn next(&mut self) -> Option<Chunk<'a>> {
        let rest = self.0;
        let plain = memchr::memchr(b'\\', rest.as_bytes()).unwrap_or(rest.len());
        if plain > 0 {
            let (text, rest) = rest.split_at(plain);
            self.0 = rest;
            return Some(Chunk::Text(text));
        }
        let mut rest = rest.chars();
        rest.next()?;
        let escaped = rest.next()?;
        self.0 = rest.as_str();
        Some(match escaped {
            'u' => self.code_unit(),
            'b' => Chunk::Char('\u{8}'),
            'f' => Chunk::Char('\u{c}'),
            'n' => Chunk::Char('\n'),
            'r' => Chunk::Char('\r'),
            't' => Chunk::Char('\t'),
            other => Chunk::Char(other),
        })
    }
}

impl<'a> Chunks<'a> {
    fn code_unit(&mut self) -> Chunk<'a> {
        let first = take_hex(&mut self.0);
        let mut rest = self.0;
        let second = rest.strip_prefix("\\u").map(|after| {
            rest = after;
            take_hex(&mut rest)
        });
        let units = [first].into_iter().chain(second);
        match char::decode_utf16(units).next() {
            Some(Ok(character)) => {
                if character.len_utf16() == 2 {
                    self.0 = rest;
                }
                Chunk::Char(character)
            }
            _ => Chunk::Lone(first),
        }
    }
}

fn take_hex(text: &mut &str) -> u16 {
    let (digits, rest) = text.split_at_checked(4).unwrap_or((text, ""));
    *text = rest;
    u16::from_str_radix(digits, 16).unwrap_or(0xfffd)
}

/// Decodes a JSON string, given with its quotes; the empty text for any other value.
///
/// A lone surrogate becomes U+FFFD: Python, JavaScript and Java write them, and a strict reader refuses the whole value.
pub fn unescape(raw: &str) -> Cow<'_, str> {
    let mut chunks = Chunks::of(raw);
    let first = match chunks.next() {
        None => return Cow::Borrowed(""),
        Some(Chunk::Text(text)) if chunks.0.is_empty() => return Cow::Borrowed(text),
        Some(first) => first,
    };
    let mut text = String::with_capacity(raw.len());
    std::iter::once(first).chain(chunks).for_each(|chunk| chunk.decode(&mut |part| text.push_str(part)));
    Cow::Owned(text)
}

/// Like [`unescape`], but hands the text over piece by piece, so that a long string is never held twice.
pub fn unescape_into(raw: &str, mut sink: impl FnMut(&str)) {
    Chunks::of(raw).for_each(|chunk| chunk.decode(&mut sink));
}

impl Chunk<'_> {
    fn decode(&self, sink: &mut dyn FnMut(&str)) {
        match self {
            Chunk::Text(plain) => sink(plain),
            Chunk::Char(character) => sink(character.encode_utf8(&mut [0; 4])),
            Chunk::Lone(_) => sink("\u{fffd}"),
        }
    }
}

/// Whether `raw` is a "multiline string" of nbformat: a string, or a list of strings to be joined.
pub(crate) fn is_multiline(raw: &str) -> bool {
    let bytes = raw.as_bytes();
    match bytes.first() {
        Some(b'"') => true,
        Some(b'[') => scan::items(bytes, 0).all(|item| bytes[item.value.start] == b'"'),
        _ => false,
    }
}

/// The parts of a "multiline string", each a JSON string with its quotes.
pub(crate) fn strings(raw: &str) -> impl Iterator<Item = &str> {
    let only = raw.starts_with('"').then_some(raw);
    let listed = scan::items(raw.as_bytes(), 0).map(|item| &raw[item.value]);
    only.into_iter().chain(listed.take_while(|part| part.starts_with('"')))
}

/// The decoded text of a "multiline string"; `None` for any other value.
pub(crate) fn join(raw: &str) -> Option<Cow<'_, str>> {
    if !raw.starts_with('[') {
        return raw.starts_with('"').then(|| unescape(raw));
    }
    let mut text = String::with_capacity(raw.len());
    for item in scan::items(raw.as_bytes(), 0) {
        let part = Some(&raw[item.value]).filter(|part| part.starts_with('"'))?;
        unescape_into(part, |piece| text.push_str(piece));
    }
    Some(text.into())
}

/// Writes the inside of a JSON string as Python does with `ensure_ascii=False`.
pub(crate) fn escape(text: &str, out: &mut dyn Write) -> io::Result<()> {
    let bytes = text.as_bytes();
    let mut written = 0;
    let is_special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    while let Some(found) = bytes[written..].iter().position(is_special) {
        let at = written + found;
        out.write_all(&bytes[written..at])?;
        match bytes[at] {
            b'\n' => out.write_all(b"\\n")?,
            b'"' => out.write_all(b"\\\"")?,
            b'\\' => out.write_all(b"\\\\")?,
            b'\r' => out.write_all(b"\\r")?,
            b'\t' => out.write_all(b"\\t")?,
            0x08 => out.write_all(b"\\b")?,
            0x0c => out.write_all(b"\\f")?,
            other => write!(out, "\\u{other:04x}")?,
        }
        written = at + 1;
    }
    out.write_all(&bytes[written..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_decoded_and_encoded_like_serde() {
        let texts = ["", "plain", "é\u{1f600}", "a\"b\\c/\u{8}\u{c}\n\r\t\u{0}\u{7f}\u{2028}"];
        for text in texts {
            let raw = serde_json::to_string(text).unwrap();
            assert_eq!(unescape(&raw), text);
            let mut written = Vec::new();
            escape(text, &mut written).unwrap();
            assert_eq!(format!("\"{}\"", String::from_utf8(written).unwrap()), raw);
        }
        assert_eq!(unescape(r#""\u00e9\/\ud83d\ude00\uD83D\uDE00""#), "é/\u{1f600}\u{1f600}");
    }

    #[test]
    fn a_lone_surrogate_becomes_a_replacement_character() {
        for raw in [r#""\ud800""#, r#""\udc00""#, r#""\ud800\ud800""#, r#""\ud800x""#, r#""\ud800\u0041""#] {
            assert!(unescape(raw).starts_with('\u{fffd}'), "{raw}");
        }
        assert_eq!(unescape(r#""\ud800\u0041""#), "\u{fffd}A");
    }

    #[test]
    fn a_list_is_decoded_like_its_strings() {
        let raws = [
            r#""""#,
            r#""plain é""#,
            r#""\u00e9\/\ud83d\ude00\uD83D\uDE00 \"]\\""#,
            r#""\ud800""#,
            r#""\ud800\ud800""#,
            r#""\ud800\u0041\n""#,
            r#""é\\""#,
        ];
        for raw in raws {
            let list = format!("[{raw} ,\n{raw}]");
            assert_eq!(join(&list).unwrap(), unescape(raw).repeat(2), "{raw}");
            // Invalid text is not expected, but nothing panics.
            for (end, _) in list.char_indices() {
                join(&list[..end]);
            }
        }
    }

    #[test]
    fn a_list_of_strings_is_joined() {
        assert_eq!(join(r#"["a\n", "b"]"#).unwrap(), "a\nb");
        assert_eq!(join("[]").unwrap(), "");
        assert_eq!(join(r#"["a", 1]"#), None);
        assert_eq!(join("{}"), None);
        assert_eq!(join("null"), None);
    }
}

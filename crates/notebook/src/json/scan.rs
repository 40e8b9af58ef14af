//! Finds where values start and end in JSON text that is known to be valid, and decodes nothing.
//!
//! It is iterative, so nesting has no limit. On invalid text it stops somewhere, but never panics or loops.

use std::ops::Range;

/// Iterates over the members of an object or the elements of a list.
pub(crate) struct Items<'a> {
    text: &'a [u8],
    at: usize,
    is_object: bool,
}

/// One member of an object, or one element of a list, whose key is empty.
pub(crate) struct Item {
    /// The name, with its quotes.
    pub(crate) key: Range<usize>,
    pub(crate) value: Range<usize>,
}

/// The members or elements of the value that starts at `at`; nothing if it is neither object nor list.
pub(crate) fn items(text: &[u8], at: usize) -> Items<'_> {
    match text.get(at) {
        Some(b'{') => Items { text, at: at + 1, is_object: true },
        Some(b'[') => Items { text, at: at + 1, is_object: false },
        _ => Items { text, at: text.len(), is_object: false },
    }
}

impl Iterator for Items<'_> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        let mut at = skip_whitespace(self.text, self.at);
        if self.text.get(at) == Some(&b',') {
            at = skip_whitespace(self.text, at + 1);
        }
        if matches!(self.text.get(at), None | Some(b'}' | b']')) {
            return None;
        }
        let key = if self.is_object { at..value_end(self.text, at) } else { at..at };
        if self.is_object {
            at = skip_whitespace(self.text, key.end);
            at = skip_whitespace(self.text, at + 1).min(self.text.len());
        }
        let value = at..value_end(self.text, at);
        self.at = value.end;
        Some(Item { key, value })
    }
}

/// The index of the first byte from `at` on that is not whitespace.
pub(crate) fn skip_whitespace(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at += 1;
    }
    at
}

/// The end of the value that starts at `at`: beyond `at`, unless the text ends there.
fn value_end(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(b'"') => string_end(text, at),
        Some(b'{' | b'[') => container_end(text, at),
        Some(_) => {
            let rest = text.get(at + 1..).unwrap_or_default();
            let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b':' | b' ' | b'\n' | b'\r' | b'\t');
            at + 1 + rest.iter().position(is_end).unwrap_or(rest.len())
        }
        None => text.len(),
    }
}

fn string_end(text: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    // Quotes are rarer than escapes, most of which are line breaks.
    let start = at;
    while let Some(found) = text.get(at..).and_then(|rest| memchr::memchr(b'"', rest)) {
        at += found + 1;
        let escapes = text[start..at - 1].iter().rev().take_while(|byte| **byte == b'\\').count();
        if escapes % 2 == 0 {
            return at;
        }
    }
    text.len()
}

fn container_end(text: &[u8], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(byte) = text.get(at) {
        at += 1;
        match byte {
            b'"' => at = string_end(text, at - 1),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// `text` without whitespace between its parts; strings and numbers stay as they are.
pub(super) fn compact(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut compact = String::with_capacity(text.len());
    let mut at = skip_whitespace(bytes, 0);
    while at < bytes.len() {
        let is_end = |byte: &u8| matches!(byte, b'"' | b' ' | b'\n' | b'\r' | b'\t');
        let end = if bytes[at] == b'"' {
            string_end(bytes, at)
        } else {
            at + bytes[at..].iter().position(is_end).unwrap_or(bytes.len() - at)
        };
        compact.push_str(&text[at..end]);
        at = skip_whitespace(bytes, end);
    }
    compact
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<(&str, &str)> {
        let parts = items(text.as_bytes(), 0).map(|item| (&text[item.key], &text[item.value]));
        parts.collect()
    }

    #[test]
    fn members_and_elements_are_found() {
        let object = r#"{ "a" : [1, {"b": "]}\\"}] ,"é\"": "x\"," , "": null}"#;
        let expected = [("\"a\"", r#"[1, {"b": "]}\\"}]"#), (r#""é\"""#, r#""x\",""#), ("\"\"", "null")];
        assert_eq!(parts(object), expected);
        assert_eq!(parts("[ 1.5e3,\n\"a\" ,[] ]"), [("", "1.5e3"), ("", "\"a\""), ("", "[]")]);
        assert_eq!(parts("{}"), []);
        assert_eq!(parts("\"text\""), []);
    }

    #[test]
    fn compact_text_keeps_strings_and_numbers() {
        let text = "{\n \"a b\": [1.50, \"x \\\" y\", -1e-9],\t\"k\\\\\": {\"z\": null}\r\n} ";
        assert_eq!(compact(text), "{\"a b\":[1.50,\"x \\\" y\",-1e-9],\"k\\\\\":{\"z\":null}}");
    }

    #[test]
    fn invalid_text_ends_the_iteration() {
        for text in
            ["{", "{\"", "{\"a", "{\"a\"", "{\"a\":", "[,", "[:::", "[\"\\", "{1:2", "[[[[", "{\"a\":}"]
        {
            assert!(items(text.as_bytes(), 0).count() <= text.len(), "{text}");
        }
        assert_eq!(parts(&format!("[{}{}]", "[".repeat(100_000), "]".repeat(100_000))).len(), 1);
    }
}

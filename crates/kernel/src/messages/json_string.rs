//! Reads JSON strings leniently, as kernels write them.

use notebook::Text;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Reads a JSON string piece by piece into `sink`, without holding it twice.
///
/// Halves of surrogate pairs, which kernels in JavaScript and Java can send, become U+FFFD; a strict reader would
/// refuse the whole message. Reads nothing if `json` is not a string.
fn unescape(json: &RawValue, mut sink: impl FnMut(&str)) {
    let Some(mut rest) = json.get().strip_prefix('"').and_then(|text| text.strip_suffix('"')) else { return };
    while let Some(at) = rest.find('\\') {
        sink(&rest[..at]);
        let escape = &rest[at + 1..];
        let (character, length) = match escape.as_bytes().first() {
            Some(b'n') => ('\n', 1),
            Some(b't') => ('\t', 1),
            Some(b'r') => ('\r', 1),
            Some(b'b') => ('\u{8}', 1),
            Some(b'f') => ('\u{c}', 1),
            Some(b'u') => code_point(escape),
            Some(&other) => (char::from(other), 1),
            None => return,
        };
        sink(character.encode_utf8(&mut [0; 4]));
        rest = escape.get(length..).unwrap_or_default();
    }
    sink(rest);
}

/// The character of `uXXXX` or `uXXXX\uXXXX` at the start of `escape`, and how much of it that was.
fn code_point(escape: &str) -> (char, usize) {
    let unit = |from: usize| escape.get(from..from + 4).and_then(|hex| u16::from_str_radix(hex, 16).ok());
    let Some(first) = unit(1) else { return (char::REPLACEMENT_CHARACTER, 1) };
    let second = if escape.get(5..7) == Some("\\u") { unit(7) } else { None };
    let units = [Some(first), second];
    match char::decode_utf16(units.into_iter().flatten()).next() {
        Some(Ok(character)) => (character, 1 + if character.len_utf16() == 2 { 10 } else { 4 }),
        _ => (char::REPLACEMENT_CHARACTER, 5),
    }
}

/// Text in pieces, from a JSON string.
#[derive(Default)]
pub(crate) struct Long(pub(crate) Text);

impl<'de> Deserialize<'de> for Long {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = Text::default();
        unescape(<&RawValue>::deserialize(deserializer)?, |piece| text.push(piece));
        Ok(Self(text))
    }
}

/// A short text, from a JSON string; empty for anything else.
#[derive(Default)]
pub(crate) struct Short(pub(crate) String);

impl<'de> Deserialize<'de> for Short {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = String::new();
        unescape(<&RawValue>::deserialize(deserializer)?, |piece| text.push_str(piece));
        Ok(Self(text))
    }
}

/// A value that is the default one where the kernel wrote something else, such as R's `[]` for an empty object.
#[derive(Default)]
pub(crate) struct Lenient<T>(pub(crate) T);

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?;
        Ok(Self(serde_json::from_str(json.get()).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(json: &str) -> String {
        serde_json::from_str::<Short>(json).unwrap().0
    }

    #[test]
    fn escapes_are_read() {
        assert_eq!(read(r#""a\n\t\r\b\f\\\/\"\u00e9\ud83d\ude00z""#), "a\n\t\r\u{8}\u{c}\\/\"é😀z");
    }

    #[test]
    fn halves_of_surrogate_pairs_are_replaced() {
        assert_eq!(read(r#""a\ud83db""#), "a\u{fffd}b");
        assert_eq!(read(r#""\ude00\ud83d""#), "\u{fffd}\u{fffd}");
        assert_eq!(read(r#""\ud83d\u0041\ud83d\n""#), "\u{fffd}A\u{fffd}\n");
    }

    #[test]
    fn what_is_no_string_is_empty() {
        for json in ["null", "3", "[\"a\"]", "{\"a\": \"b\"}", "true"] {
            assert_eq!(read(json), "");
        }
    }

    proptest! {
        #[test]
        fn every_string_is_read_as_it_was_written(text: String) {
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(&read(&json), &text);
            prop_assert_eq!(serde_json::from_str::<Long>(&json).unwrap().0, Text::from(&*text));
        }

        #[test]
        fn every_unit_of_utf_16_is_read(units: Vec<u16>) {
            let escapes: Vec<_> = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            prop_assert_eq!(read(&format!("\"{}\"", escapes.concat())), String::from_utf16_lossy(&units));
        }
    }
}

//! Reads JSON strings leniently, as kernels write them.

use notebook::{Text, unescape, unescape_into};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A long text, from a JSON string; empty for anything else.
#[derive(Default)]
pub(crate) struct Long(pub(crate) Text);

impl<'de> Deserialize<'de> for Long {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = Text::default();
        unescape_into(<&RawValue>::deserialize(deserializer)?.get(), |piece| text.push(piece));
        Ok(Self(text))
    }
}

/// A short text, from a JSON string; empty for anything else.
#[derive(Default)]
pub(crate) struct Short(pub(crate) String);

impl<'de> Deserialize<'de> for Short {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?;
        Ok(Self(unescape(json.get()).into_owned()))
    }
}

/// A value that is the default one where the kernel wrote something else, such as R's `[]` for an empty object.
#[derive(Default)]
pub struct Lenient<T>(pub T);

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
    fn other_values_are_empty() {
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

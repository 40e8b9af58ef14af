//! JSON text that shares the buffer it was cut from.

mod build;
mod equivalence;
mod parts;
mod printer;
mod scan;
mod string;

pub(crate) use printer::{Printer, Style, canonical};
pub(crate) use scan::{Item, items, skip_whitespace};
pub(crate) use string::{Chunk, Chunks, is_multiline, join, strings};
pub use string::{unescape, unescape_into};

use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use bytestring::ByteString;
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::value::RawValue;

/// One JSON value as text: valid JSON without surrounding whitespace.
///
/// It is a view into a shared buffer (a file, a message of a kernel). Cloning it and cutting parts out of it copies
/// nothing, so a 100 MB image exists once however many values hold it.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(ByteString);

impl Json {
    /// Checks `text` and takes it without a copy.
    pub fn parse(text: Bytes) -> serde_json::Result<Self> {
        Self::parse_str(&ByteString::try_from(text).map_err(serde_json::Error::custom)?)
    }

    pub(crate) fn parse_str(text: &ByteString) -> serde_json::Result<Self> {
        let value: &RawValue = serde_json::from_str(text)?;
        Ok(Self(text.slice_ref(value.get())))
    }

    pub fn from_value(value: &serde_json::Value) -> Self {
        Self(value.to_string().into())
    }

    /// Text that is known to be valid, such as text joined from valid parts.
    pub(crate) fn from_valid(text: impl Into<ByteString>) -> Self {
        Self(text.into())
    }

    /// Valid text from the source code.
    pub(crate) const fn from_static(text: &'static str) -> Self {
        Self(ByteString::from_static(text))
    }

    pub const fn empty_object() -> Self {
        Self::from_static("{}")
    }

    /// The JSON text itself; [`Json::text`] decodes a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The JSON text itself, sharing the buffer.
    pub fn bytes(&self) -> &Bytes {
        self.0.as_bytes()
    }

    /// Reads the value as `T`, which may borrow from it.
    pub fn decode<'a, T: Deserialize<'a>>(&'a self) -> serde_json::Result<T> {
        serde_json::from_str(&self.0)
    }

    /// The whole value in memory; [`Json::decode`] reads parts.
    pub fn to_value(&self) -> serde_json::Value {
        self.decode().unwrap_or_default()
    }

    /// A part of this value without a copy, found by [`Json::decode`] with `&RawValue` in `T`.
    ///
    /// A `part` that was not borrowed from this value is copied.
    #[must_use]
    pub fn part(&self, part: &RawValue) -> Self {
        let (own, range) = (self.bytes().as_ptr_range(), part.get().as_bytes().as_ptr_range());
        let is_inside = own.start <= range.start && range.end <= own.end;
        Self(if is_inside { self.0.slice_ref(part.get()) } else { part.get().into() })
    }

    /// The value at `range` of this text, without a copy.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        Self(self.0.slice_ref(&self.0[range]))
    }

    /// The same text in a buffer of its own, so that a small part does not keep a large message in memory.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self(self.as_str().into())
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        Self(Box::<str>::from(raw).into())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn parts_share_the_buffer() {
        let whole = Json::parse(Bytes::from_static(b" {\"a\": [1, 2.50]} ")).unwrap();
        assert_eq!(whole.as_str(), "{\"a\": [1, 2.50]}");
        let members: BTreeMap<&str, &RawValue> = whole.decode().unwrap();
        let part = whole.part(members["a"]);
        assert_eq!(part.as_str(), "[1, 2.50]");
        assert!(whole.bytes().as_ptr_range().contains(&part.bytes().as_ptr()));
    }

    #[test]
    fn a_part_of_another_value_is_copied() {
        let other = RawValue::from_string("7".into()).unwrap();
        assert_eq!(Json::empty_object().part(&other).as_str(), "7");
    }

    #[test]
    fn invalid_json_is_refused() {
        for text in ["", "{", "1 2", "nul", "\u{feff}{}"] {
            assert!(Json::parse(Bytes::from_static(text.as_bytes())).is_err(), "{text:?}");
        }
        assert!(Json::parse(Bytes::from_static(b"\"\xff\"")).is_err(), "invalid UTF-8");
    }
}

//! JSON text that shares the buffer it was cut from.

use std::fmt;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

/// One JSON value as text: valid JSON in UTF-8 without surrounding whitespace.
///
/// It is a view into a shared buffer (a file, a message of a kernel): cloning it and cutting parts out of it
/// copy nothing, so an image of 100 MB exists once however many hold it.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(Bytes);

impl Json {
    /// Checks `text` and takes it without a copy.
    #[expect(clippy::needless_pass_by_value, reason = "the value takes the buffer over")]
    pub fn parse(text: Bytes) -> serde_json::Result<Self> {
        let value: &RawValue = serde_json::from_slice(&text)?;
        Ok(Self(text.slice_ref(value.get().as_bytes())))
    }

    /// The text of a value.
    pub fn from_value(value: &serde_json::Value) -> Self {
        Self(Bytes::from(value.to_string()))
    }

    /// `{}`.
    pub const fn empty_object() -> Self {
        Self(Bytes::from_static(b"{}"))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        // Checked when it was made; a second check costs less than a page fault per page.
        str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The text, sharing the buffer.
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// Reads the text as `T`, which may borrow from it.
    pub fn decode<'a, T: Deserialize<'a>>(&'a self) -> serde_json::Result<T> {
        serde_json::from_slice(&self.0)
    }

    /// The whole value in memory; use [`Json::decode`] where only parts are needed.
    pub fn to_value(&self) -> serde_json::Value {
        self.decode().unwrap_or_default()
    }

    /// A part of this value, found by [`Json::decode`] with `&RawValue` in `T`, without a copy.
    ///
    /// `part` must have been borrowed from this value; any other is copied.
    #[must_use]
    pub fn part(&self, part: &RawValue) -> Self {
        let (own, part) = (self.0.as_ptr_range(), part.get().as_bytes());
        let range = part.as_ptr_range();
        let is_inside = own.start <= range.start && range.end <= own.end;
        Self(if is_inside { self.0.slice_ref(part) } else { Bytes::copy_from_slice(part) })
    }

    /// The value at `range` of this text, without a copy. It must be a value of its own.
    pub(crate) fn slice(&self, range: std::ops::Range<usize>) -> Self {
        Self(self.0.slice(range))
    }

    /// Text that was put together from valid parts.
    pub(crate) fn from_text(text: impl Into<Bytes>) -> Self {
        Self(text.into())
    }

    /// The same text in a buffer of its own: keeps a small part from holding a large message in memory.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self(Bytes::copy_from_slice(&self.0))
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        let text: Box<str> = raw.into();
        Self(Bytes::from(String::from(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_share_the_buffer() {
        let whole = Json::parse(Bytes::from_static(b" {\"a\": [1, 2.50]} ")).unwrap();
        assert_eq!(whole.as_str(), "{\"a\": [1, 2.50]}");
        let members: std::collections::BTreeMap<&str, &RawValue> = whole.decode().unwrap();
        let part = whole.part(members["a"]);
        assert_eq!(part.as_str(), "[1, 2.50]");
        assert!(whole.bytes().as_ptr_range().contains(&part.bytes().as_ptr()));
        let foreign = RawValue::from_string("7".into()).unwrap();
        assert_eq!(whole.part(&foreign).as_str(), "7");
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in ["", "{", "1 2", "nul", "\u{feff}{}"] {
            assert!(Json::parse(Bytes::copy_from_slice(text.as_bytes())).is_err(), "{text:?}");
        }
        assert!(Json::parse(Bytes::from_static(b"\"\xff\"")).is_err());
    }
}

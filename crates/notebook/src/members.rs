//! The members of a JSON object in their order, without copies.

use std::borrow::Cow;

use crate::{Json, scan, string};

/// The members of `object` in their order, repeated names included. Empty for anything but an object.
pub fn members(object: &Json) -> Vec<(String, Json)> {
    object.members().map(|(name, value)| (name.into_owned(), value)).collect()
}

impl Json {
    /// The members of an object with their values; nothing for anything else.
    pub(crate) fn members(&self) -> impl Iterator<Item = (Cow<'_, str>, Json)> {
        let text = self.as_str();
        let at = if text.starts_with('{') { 0 } else { text.len() };
        scan::items(text.as_bytes(), at).map(|item| (string::decode(&text[item.key]), self.slice(item.value)))
    }

    /// The elements of a list; nothing for anything else.
    pub(crate) fn elements(&self) -> impl Iterator<Item = Json> {
        let text = self.bytes();
        let at = if text.starts_with(b"[") { 0 } else { text.len() };
        scan::items(text, at).map(|item| self.slice(item.value))
    }

    /// One member of an object: the last of that name, as Python reads it.
    pub(crate) fn member(&self, name: &str) -> Option<Json> {
        self.members().filter(|(member, _)| member == name).last().map(|(_, value)| value)
    }

    /// The text of a string.
    pub(crate) fn text(&self) -> Option<Cow<'_, str>> {
        let raw = self.as_str();
        raw.starts_with('"').then(|| string::decode(raw))
    }

    pub(crate) fn is_object(&self) -> bool {
        self.bytes().starts_with(b"{")
    }

    pub(crate) fn is_null(&self) -> bool {
        self.bytes().as_ref() == b"null"
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn members_keep_their_order_and_repeats() {
        let object = Json::parse(Bytes::from_static(br#"{"b": 1, "\u0061": [2], "b": null}"#)).unwrap();
        let found = members(&object);
        let found: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, [("b", "1"), ("a", "[2]"), ("b", "null")]);
        assert!(object.member("b").unwrap().is_null());
        assert!(members(&object.member("a").unwrap()).is_empty());
        assert_eq!(object.elements().count(), 0);
    }
}

//! Access to the parts of a JSON value, without copies.

use std::borrow::Cow;

use super::{Json, scan, string};

impl Json {
    /// The members of an object in their order, repeated names included; nothing for any other value.
    pub fn members(&self) -> impl Iterator<Item = (Cow<'_, str>, Json)> {
        let text = self.as_str();
        let at = if text.starts_with('{') { 0 } else { text.len() };
        scan::items(text.as_bytes(), at)
            .map(|item| (string::unescape(&text[item.key]), self.slice(item.value)))
    }

    /// One member of an object: the last of that name, as Python reads it.
    pub fn member(&self, name: &str) -> Option<Json> {
        self.members().filter(|(member, _)| member == name).last().map(|(_, value)| value)
    }

    /// The elements of a list; nothing for any other value.
    pub fn elements(&self) -> impl Iterator<Item = Json> {
        let text = self.bytes();
        let at = if text.starts_with(b"[") { 0 } else { text.len() };
        scan::items(text, at).map(|item| self.slice(item.value))
    }

    /// The decoded text of a JSON string; `None` for any other value.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        let raw = self.as_str();
        raw.starts_with('"').then(|| string::unescape(raw))
    }

    /// The decoded text of a "multiline string" of nbformat: a string, or a list of strings to be joined. `None` for
    /// any other value.
    pub fn multiline_text(&self) -> Option<Cow<'_, str>> {
        string::join(self.as_str())
    }

    /// The same value without whitespace between its parts; numbers keep their digits.
    pub fn compact(&self) -> String {
        scan::compact(self.as_str())
    }

    /// A count that Jupyter writes as a whole number; some files hold `3.0` for 3.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole and within the range of u32"
    )]
    pub(crate) fn count(&self) -> Option<u64> {
        let text = self.as_str();
        let is_whole = |number: &f64| number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(number);
        text.parse().ok().or_else(|| text.parse().ok().filter(is_whole).map(|number| number as u64))
    }

    pub fn is_object(&self) -> bool {
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
        let members: Vec<_> = object.members().collect();
        let members: Vec<_> = members.iter().map(|(name, value)| (&**name, value.as_str())).collect();
        assert_eq!(members, [("b", "1"), ("a", "[2]"), ("b", "null")]);
        assert!(object.member("b").unwrap().is_null(), "the last of a name counts");
    }

    #[test]
    fn other_values_have_no_members_and_no_elements() {
        let json = |text: &'static str| Json::parse(Bytes::from_static(text.as_bytes())).unwrap();
        assert_eq!(json("[2]").members().count(), 0);
        assert_eq!(json(r#"{"a": 1}"#).elements().count(), 0);
    }
}

//! JSON-RPC messages whose payloads stay unparsed text, so that no number or field changes.
//!
//! <https://www.jsonrpc.org/specification>. MCP has had no batches since 2025-06-18.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::value::RawValue;

/// The members of a request, a notification or a response. The payloads borrow from the text.
#[derive(Debug, Deserialize)]
pub struct Envelope<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<Cow<'a, str>>,
    /// `None` if it is `null`.
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub params: Option<&'a RawValue>,
    /// `"result": null` is a result.
    #[serde(borrow, default, deserialize_with = "present")]
    pub result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub error: Option<&'a RawValue>,
}

fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'a> Envelope<'a> {
    /// `None` if the text is not a JSON object with these members.
    pub fn parse(text: &'a [u8]) -> Option<Self> {
        // serde would accept an array for the struct.
        let is_object = text.trim_ascii_start().starts_with(b"{");
        if is_object { serde_json::from_slice(text).ok() } else { None }
    }

    /// Whether it is of JSON-RPC 2.0.
    pub fn is_current(&self) -> bool {
        self.jsonrpc.as_deref() == Some("2.0")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_text() {
        let text = br#" {"jsonrpc":"2.0","id":"a","method":"x\/y","params":{"n":1.0, "huge":1e999}}"#;
        let message = Envelope::parse(text).unwrap();
        assert!(message.is_current());
        assert_eq!((message.id.unwrap().get(), message.method.as_deref()), (r#""a""#, Some("x/y")));
        assert_eq!(message.params.unwrap().get(), r#"{"n":1.0, "huge":1e999}"#);
        assert!(message.result.is_none() && message.error.is_none());
    }

    #[test]
    fn a_result_may_be_null_and_an_id_may_not() {
        let message = Envelope::parse(br#"{"id":null,"result":null}"#).unwrap();
        assert!(message.id.is_none() && !message.is_current());
        assert_eq!(message.result.unwrap().get(), "null");
    }

    #[test]
    fn only_objects_are_messages() {
        for text in ["", "{", "null", r#"["2.0",1,"ping"]"#, r#"{"method":1}"#] {
            assert!(Envelope::parse(text.as_bytes()).is_none(), "{text}");
        }
    }
}

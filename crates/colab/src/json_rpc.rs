//! The JSON-RPC messages of a page, and JSON objects whose members stay text.

use std::borrow::Cow;
use std::fmt::Write as _;

use connection::Envelope;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A message from the page. The payloads borrow from the frame.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    Request { id: &'a RawValue, method: Cow<'a, str> },
    Notification { method: Cow<'a, str>, params: Option<&'a RawValue> },
    Result { id: &'a RawValue, result: &'a RawValue },
    Error { id: &'a RawValue, error: &'a RawValue },
}

/// Parses one frame. The error says why it is not a JSON-RPC message.
pub(crate) fn parse(frame: &[u8]) -> Result<Message<'_>, &'static str> {
    let message = Envelope::parse(frame).ok_or("not a JSON-RPC object")?;
    if !message.is_current() {
        return Err("not JSON-RPC 2.0");
    }
    match message {
        Envelope { id: Some(id), method: Some(method), .. } => Ok(Message::Request { id, method }),
        Envelope { method: Some(method), params, .. } => Ok(Message::Notification { method, params }),
        Envelope { id: Some(id), result: Some(result), error, .. }
            if error.is_none_or(|error| error.get() == "null") =>
        {
            Ok(Message::Result { id, result })
        }
        Envelope { id: Some(id), error: Some(error), .. } => Ok(Message::Error { id, error }),
        _ => Err("neither a request nor an answer"),
    }
}

/// The members of an object, in their order, with unparsed values.
pub(crate) struct Members<'a>(pub(crate) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    /// `None` if the value is not an object.
    pub(crate) fn parse(value: &'a RawValue) -> Option<Self> {
        serde_json::from_str(value.get()).ok()
    }

    /// The last member with that name, as in most JSON parsers.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| *value)
    }

    /// The last member with that name, if it is a string.
    pub(crate) fn string(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// The JSON text of the object.
    pub(crate) fn to_json(&self) -> String {
        let mut object = Object::default();
        for (key, value) in &self.0 {
            object.member(key, value.get());
        }
        object.close()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(Key(key)) = map.next_key()? {
                    members.push((key, map.next_value()?));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// Builds a JSON object from values that are JSON text.
#[derive(Default)]
pub(crate) struct Object(String);

impl Object {
    /// Adds a member; `value` is JSON text.
    pub(crate) fn member(&mut self, key: &str, value: &str) -> &mut Self {
        self.0.reserve(key.len() + value.len() + 8);
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        // Infallible: writing to a String. `Value`'s Display is compact JSON.
        let _ = write!(self.0, "{}:", serde_json::Value::from(key));
        self.0.push_str(value);
        self
    }

    /// The JSON text of the object.
    pub(crate) fn close(&mut self) -> String {
        if self.0.is_empty() {
            self.0.push('{');
        }
        self.0.push('}');
        std::mem::take(&mut self.0)
    }
}

/// The text of a request. `params` is JSON text.
pub(crate) fn request(id: u64, method: &str, params: &str) -> String {
    let mut object = Object::default();
    object.member("jsonrpc", r#""2.0""#).member("id", &id.to_string());
    object.member("method", &quoted(method)).member("params", params).close()
}

/// The text of a notification. `params` is JSON text.
pub(crate) fn notification(method: &str, params: Option<&str>) -> String {
    let mut object = Object::default();
    object.member("jsonrpc", r#""2.0""#).member("method", &quoted(method));
    if let Some(params) = params {
        object.member("params", params);
    }
    object.close()
}

/// The text of a response. `kind` is `result` or `error`, `body` is JSON text.
pub(crate) fn response(id: &RawValue, kind: &str, body: &str) -> String {
    Object::default().member("jsonrpc", r#""2.0""#).member("id", id.get()).member(kind, body).close()
}

/// A JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn the_four_kinds_are_distinguished() {
        let kind = |text: &str| match parse(text.as_bytes()) {
            Ok(Message::Request { .. }) => "request",
            Ok(Message::Notification { .. }) => "notification",
            Ok(Message::Result { .. }) => "result",
            Ok(Message::Error { .. }) => "error",
            Err(reason) => reason,
        };
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), "request");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","method":"x","params":{}}"#), "notification");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#), "notification");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), "result");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"result":null}"#), "result");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#), "result");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"error":null}"#), "error");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":""}}"#), "error");
        assert_eq!(kind("[]"), "not a JSON-RPC object");
        assert_eq!(kind(r#"["2.0",1,"ping"]"#), "not a JSON-RPC object");
        assert_eq!(kind("{"), "not a JSON-RPC object");
        assert_eq!(kind(r#"{"jsonrpc":"1.0","id":1,"result":{}}"#), "not JSON-RPC 2.0");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1}"#), "neither a request nor an answer");
        assert_eq!(kind(r#"{"jsonrpc":"2.0"}"#), "neither a request nor an answer");
        assert!(parse(b"\xff{}").is_err());
    }

    #[test]
    fn payloads_keep_their_text() {
        let frame =
            br#"{"jsonrpc":"2.0","id":7,"result":{"b":1.0, "a":1e2,"big":12345678901234567890123,"a":2}}"#;
        let Ok(Message::Result { result, .. }) = parse(frame) else { panic!("a result") };
        assert_eq!(result.get(), r#"{"b":1.0, "a":1e2,"big":12345678901234567890123,"a":2}"#);
    }

    #[test]
    fn deeply_nested_payloads_are_accepted() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{deep}}}"#);
        assert!(matches!(parse(frame.as_bytes()), Ok(Message::Result { .. })));
    }

    #[test]
    fn objects_are_written_as_json() {
        assert_eq!(request(3, "a\"b", "{}"), r#"{"jsonrpc":"2.0","id":3,"method":"a\"b","params":{}}"#);
        assert_eq!(notification("n", None), r#"{"jsonrpc":"2.0","method":"n"}"#);
        assert_eq!(response(&raw("\"x\""), "result", "{}"), r#"{"jsonrpc":"2.0","id":"x","result":{}}"#);
        assert_eq!(Object::default().close(), "{}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn members_round_trip(pairs in proptest::collection::vec((".*", any::<i64>()), 0..8)) {
            let mut object = Object::default();
            for (key, value) in &pairs {
                object.member(key, &value.to_string());
            }
            let text = object.close();
            let value = raw(&text);
            let members = Members::parse(&value).unwrap();
            prop_assert_eq!(members.to_json(), text);
            prop_assert_eq!(members.0.len(), pairs.len());
        }

        #[test]
        fn any_result_keeps_its_payload(id in any::<u64>(), text in ".*") {
            let payload = quoted(&text);
            let frame = format!(r#"{{"id":{id},"result":{payload},"jsonrpc":"2.0"}}"#);
            match parse(frame.as_bytes()) {
                Ok(Message::Result { id: seen, result }) => {
                    prop_assert_eq!(seen.get(), id.to_string());
                    prop_assert_eq!(result.get(), payload);
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}

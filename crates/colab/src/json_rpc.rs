//! The JSON-RPC messages of a page.

use std::borrow::Cow;

use connection::Envelope;
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

/// The text of a request. `params` is JSON text.
pub(crate) fn request(id: u64, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{},"params":{params}}}"#, quoted(method))
}

/// The text of a notification. `params` is JSON text.
pub(crate) fn notification(method: &str, params: Option<&str>) -> String {
    let params = params.map(|params| format!(r#","params":{params}"#)).unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0","method":{}{params}}}"#, quoted(method))
}

/// The text of a response. `kind` is `result` or `error`, `body` is JSON text.
pub(crate) fn response(id: &RawValue, kind: &str, body: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"{kind}":{body}}}"#)
}

/// A JSON string.
fn quoted(text: &str) -> String {
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
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
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

//! Carries results as JSON text through `rmcp`, whose types drop unknown fields.
//!
//! A handler returns an empty result, the carrier, whose `_meta` holds the real result as a string. The transport puts it
//! back when it writes the message, and keeps the members that `rmcp` added for the agent's era. For example, from
//!
//! ```json
//! {"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","content":[],"_meta":{"cellbridge.invalid/raw-result":"{\"n\":1.0}"}}}
//! ```
//!
//! comes `{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","n":1.0}}`.

use std::borrow::Cow;
use std::collections::HashMap;

use rmcp::model::{
    CallToolResult, ErrorCode, ErrorData, JsonRpcMessage, ListToolsResult, MetaObject, ServerJsonRpcMessage,
    ServerResult,
};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The member of `_meta` that holds a result. It never reaches an agent.
const KEY: &str = "cellbridge.invalid/raw-result";

/// A `tools/call` result that carries `result`.
pub(crate) fn carry(result: String) -> CallToolResult {
    let mut carrier = CallToolResult::success(Vec::new());
    carrier.is_error = None;
    carrier.meta = Some(carrier_meta(result));
    carrier
}

/// A `tools/list` result that carries `result`.
pub(crate) fn carry_list(result: String) -> ListToolsResult {
    let mut carrier = ListToolsResult::with_all_items(Vec::new());
    carrier.meta = Some(carrier_meta(result));
    carrier
}

/// An error that carries the JSON-RPC `error` object `error`.
pub(crate) fn carry_error(error: &RawValue) -> ErrorData {
    let code = error_code(error).map_or(ErrorCode::INTERNAL_ERROR, ErrorCode);
    let data = serde_json::json!({ KEY: error.get() });
    ErrorData::new(code, "the page answered with an error", Some(data))
}

/// The code of a JSON-RPC `error` object, if it has one.
pub(crate) fn error_code(error: &RawValue) -> Option<i32> {
    #[derive(Deserialize)]
    struct Coded {
        code: i32,
    }
    serde_json::from_str(error.get()).map(|Coded { code }| code).ok()
}

fn carrier_meta(result: String) -> MetaObject {
    let mut meta = MetaObject::default();
    meta.0.insert(KEY.to_owned(), serde_json::Value::String(result));
    meta
}

/// The message as one line, with the result that it carries in its place.
pub(crate) fn write(mut message: ServerJsonRpcMessage) -> serde_json::Result<String> {
    let meta = match &mut message {
        JsonRpcMessage::Response(response) => match &mut response.result {
            ServerResult::CallToolResult(result) => result.meta.as_mut().map(|meta| &mut meta.0),
            ServerResult::ListToolsResult(result) => result.meta.as_mut().map(|meta| &mut meta.0),
            _ => None,
        },
        JsonRpcMessage::Error(response) => {
            response.error.data.as_mut().and_then(serde_json::Value::as_object_mut)
        }
        _ => None,
    };
    let carried = meta.and_then(|meta| meta.shift_remove(KEY));
    let text = serde_json::to_string(&message)?;
    match (carried, &message) {
        (Some(serde_json::Value::String(error)), JsonRpcMessage::Error(_)) => replace_error(&text, &error),
        (Some(serde_json::Value::String(result)), _) => replace_result(&text, &result),
        _ => Ok(text),
    }
}

/// Puts the result that a written message carries into its place. `None` if it carries none.
pub(crate) fn restore(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow, default)]
        result: Option<Carrier<'a>>,
        #[serde(borrow, default)]
        error: Option<Carrier<'a>>,
    }
    #[derive(Deserialize)]
    struct Carrier<'a> {
        #[serde(borrow, alias = "_meta", alias = "data")]
        meta: Meta<'a>,
    }
    #[derive(Deserialize)]
    struct Meta<'a> {
        #[serde(borrow, rename = "cellbridge.invalid/raw-result")]
        carried: Cow<'a, str>,
    }
    memchr::memmem::find(text.as_bytes(), KEY.as_bytes())?;
    match serde_json::from_str(text).ok()? {
        Message { result: Some(result), .. } => replace_result(text, &result.meta.carried).ok(),
        Message { error: Some(error), .. } => replace_error(text, &error.meta.carried).ok(),
        _ => None,
    }
}

fn replace_error(text: &str, error: &str) -> serde_json::Result<String> {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
    }
    let Message { id } = serde_json::from_str(text)?;
    Ok(format!(r#"{{"jsonrpc":"2.0","id":{},"error":{}}}"#, id.get(), one_line(error.trim())))
}

/// Replaces the `result` of a written message. Keeps the members that `rmcp` added for the agent's era.
fn replace_result(text: &str, result: &str) -> serde_json::Result<String> {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
        result: Additions,
    }
    #[derive(Deserialize)]
    struct Additions(serde_json::Map<String, serde_json::Value>);

    let Message { id, result: Additions(mut additions) } = serde_json::from_str(text)?;
    for of_the_carrier in ["content", "tools", "_meta"] {
        additions.shift_remove(of_the_carrier);
    }
    let result = one_line(result.trim());
    let body = result.strip_prefix('{').filter(|_| !additions.is_empty());
    let result = match body {
        None => result,
        Some(body) => {
            let own: HashMap<String, &RawValue> = serde_json::from_str(&result)?;
            additions.retain(|name, _| !own.contains_key(name));
            let text = serde_json::to_string(&additions)?;
            let added = text.trim_start_matches('{').trim_end_matches('}');
            let comma = if added.is_empty() || body.trim_start().starts_with('}') { "" } else { "," };
            Cow::Owned(format!("{{{added}{comma}{body}"))
        }
    };
    Ok(format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.get()))
}

/// JSON allows line breaks only between tokens; both transports end a message at one.
fn one_line(json: &str) -> Cow<'_, str> {
    match memchr::memchr2(b'\n', b'\r', json.as_bytes()) {
        None => Cow::Borrowed(json),
        Some(_) => Cow::Owned(json.replace(['\n', '\r'], " ")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rmcp::model::{NumberOrString, ResultType};

    use super::*;

    const PAYLOAD: &str = r#"{"z":1.0,"content":[{"type":"video","n":12345678901234567890123}],"_meta":{"k":1e2},"isError":false}"#;

    fn message(payload: &str, is_new_era: bool) -> ServerJsonRpcMessage {
        let mut result = carry(payload.to_owned());
        result.result_type = is_new_era.then_some(ResultType::COMPLETE);
        ServerJsonRpcMessage::response(ServerResult::CallToolResult(result), NumberOrString::Number(7))
    }

    /// The message, written in both ways.
    fn written(message: &ServerJsonRpcMessage) -> String {
        let direct = write(message.clone()).unwrap();
        let restored = restore(&serde_json::to_string(message).unwrap()).unwrap();
        assert_eq!(direct, restored);
        direct
    }

    #[test]
    fn a_carried_result_comes_out_as_it_went_in() {
        assert_eq!(
            written(&message(PAYLOAD, false)),
            format!(r#"{{"jsonrpc":"2.0","id":7,"result":{PAYLOAD}}}"#)
        );
    }

    #[test]
    fn the_eras_additions_are_merged_in_unless_they_are_there() {
        let expect = |payload: &str, result: &str| {
            assert_eq!(
                written(&message(payload, true)),
                format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#)
            );
        };
        expect(r#"{"content":[]}"#, r#"{"resultType":"complete","content":[]}"#);
        expect(" { } ", r#"{"resultType":"complete" }"#);
        expect(r#"{"resultType":"other","a":1}"#, r#"{"resultType":"other","a":1}"#);
        expect("[1,2]", "[1,2]");
        expect("7", "7");
    }

    #[test]
    fn line_breaks_between_tokens_do_not_break_the_line() {
        let text = written(&message("{\n  \"content\": [\r\n  ],\n  \"a\": \"\\n\"\n}", false));
        assert!(!text.contains(['\n', '\r']), "{text}");
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["result"]["a"], "\n");
    }

    #[test]
    fn a_list_is_carried_too() {
        let list = carry_list(r#"{"tools":[{"name":"a","x":1}]}"#.into());
        let message =
            ServerJsonRpcMessage::response(ServerResult::ListToolsResult(list), NumberOrString::Number(1));
        assert!(written(&message).contains(r#""tools":[{"name":"a","x":1}]"#));
    }

    #[test]
    fn an_error_is_carried_too() {
        let error = r#"{"code":-32602,"message":"m","data":{"a":1e2,"e":"\u00e9"},"odd":1.0}"#;
        let raw = RawValue::from_string(error.to_owned()).unwrap();
        let message = ServerJsonRpcMessage::error(carry_error(&raw), Some(NumberOrString::Number(3)));
        assert_eq!(written(&message), format!(r#"{{"jsonrpc":"2.0","id":3,"error":{error}}}"#));
        let codeless = RawValue::from_string(r#""no object""#.to_owned()).unwrap();
        let message = ServerJsonRpcMessage::error(carry_error(&codeless), Some(NumberOrString::Number(4)));
        assert_eq!(written(&message), r#"{"jsonrpc":"2.0","id":4,"error":"no object"}"#);
    }

    #[test]
    fn messages_that_carry_nothing_are_left_alone() {
        assert!(restore(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).is_none());
        assert!(restore(&format!(r#"{{"jsonrpc":"2.0","method":"x","params":{{"a":"{KEY}"}}}}"#)).is_none());
    }

    proptest! {
        #[test]
        fn any_text_survives(text in ".*", number in any::<f64>()) {
            prop_assume!(number.is_finite());
            let payload = serde_json::json!({ "content": [{ "type": "text", "text": text }], "n": number }).to_string();
            prop_assert_eq!(
                written(&message(&payload, false)),
                format!(r#"{{"jsonrpc":"2.0","id":7,"result":{}}}"#, payload)
            );
        }
    }
}

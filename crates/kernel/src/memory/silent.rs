//! Requests to run something that is neither counted nor shown.

use jupyter_protocol::{ExecuteRequest, JupyterMessage};
use serde_json::Value;

use crate::messages::Message;

/// The name of the expression in a request.
pub(crate) const NAME: &str = "handler";

/// A request without code that evaluates an expression. It shows nothing.
pub(super) fn silent_expression(expression: String) -> JupyterMessage {
    let expressions = [(NAME.to_owned(), expression)].into();
    JupyterMessage::new(ExecuteRequest { user_expressions: Some(expressions), ..silent_code("") }, None)
}

pub(super) fn silent_code(code: &str) -> ExecuteRequest {
    ExecuteRequest {
        code: code.to_owned(),
        silent: true,
        store_history: false,
        user_expressions: None,
        allow_stdin: true,
        stop_on_error: false,
    }
}

/// The reply to the expression: its status, and what it shows as plain text.
pub(super) fn expression_reply(reply: &Message) -> (String, String) {
    let reply: Value = reply.content.decode().unwrap_or_default();
    expression_value(&reply["user_expressions"])
}

/// The same from all expressions of a reply.
pub(super) fn expression_value(expressions: &Value) -> (String, String) {
    let value = &expressions[NAME];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&value["status"]), text(&value["data"]["text/plain"]))
}

/// The bytes of an expression whose value is hexadecimal digits, perhaps in quotation marks.
pub(super) fn hex_answer(reply: &Message) -> Option<Vec<u8>> {
    let (status, text) = expression_reply(reply);
    let digits = text.trim().trim_matches(['\'', '"']);
    const_hex::decode(digits).ok().filter(|bytes| status == "ok" && !bytes.is_empty())
}

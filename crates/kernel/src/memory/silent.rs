//! Requests to run something that is neither counted nor shown.

use jupyter_protocol::{ExecuteRequest, JupyterMessage};

use crate::messages::Message;
use crate::messages::handler_answer::{EXPRESSION, expression_reply};

/// A request without code that evaluates an expression. It shows nothing.
pub(super) fn silent_expression(expression: String) -> JupyterMessage {
    let expressions = [(EXPRESSION.to_owned(), expression)].into();
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

/// The bytes of an expression whose value is hexadecimal digits, perhaps in quotation marks.
pub(super) fn hex_answer(reply: &Message) -> Option<Vec<u8>> {
    let (status, text) = expression_reply(reply);
    let digits = text.trim().trim_matches(['\'', '"']);
    const_hex::decode(digits).ok().filter(|bytes| status == "ok" && !bytes.is_empty())
}

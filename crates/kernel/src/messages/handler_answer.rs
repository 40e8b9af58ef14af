//! What the handler in the kernel's process answers: on the control channel, or as the expression of a request to run code.

use notebook::Json;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::content;
use super::message::Message;

/// The name of the expression in a request.
pub(crate) const EXPRESSION: &str = "handler";

/// What is in the content of an answer, or why there is nothing, as a sentence.
pub(crate) fn read(content: &Json) -> Result<Json, String> {
    #[derive(Deserialize)]
    struct Content<'a> {
        #[serde(borrow)]
        answer: Option<&'a RawValue>,
        cause: Option<String>,
    }
    let unreadable = || "The kernel's answer cannot be read.".to_owned();
    let Content { answer, cause } = content.decode().map_err(|_| unreadable())?;
    match (answer, cause) {
        (Some(answer), _) => Ok(content::object(content, Some(answer))),
        (None, cause) => Err(cause.unwrap_or_else(unreadable)),
    }
}

/// The reply to the expression: its status, and what it shows as plain text.
pub(crate) fn expression_reply(reply: &Message) -> (String, String) {
    let reply: Value = reply.content.decode().unwrap_or_default();
    expression_value(&reply["user_expressions"])
}

/// The same from all expressions of a reply.
fn expression_value(expressions: &Value) -> (String, String) {
    let value = &expressions[EXPRESSION];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&value["status"]), text(&value["data"]["text/plain"]))
}

/// What code has changed, from the `user_expressions` of its reply.
pub(super) fn changes_in_reply(expressions: &RawValue) -> Option<Json> {
    let expressions: Value = serde_json::from_str(expressions.get()).ok()?;
    let (status, text) = expression_value(&expressions);
    let content = Json::parse(text.into()).ok().filter(|content| status == "ok" && content.is_object())?;
    read(&content).ok()
}

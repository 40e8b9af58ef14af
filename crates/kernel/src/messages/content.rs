//! The content of messages. Kernels leave fields out, so every field is optional.

use notebook::{Json, MimeBundle, Output};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::json_string::{Lenient, Long, Short};

/// A part of a message below this size is copied out, so that it does not hold the read buffer in memory.
const DETACHED_BELOW: usize = 1024 * 1024;

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Status {
    pub(crate) execution_state: Short,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct ExecuteInput {
    pub(crate) execution_count: Count,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct ClearOutput {
    pub(crate) wait: Lenient<bool>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct InputRequest {
    pub(crate) prompt: Short,
    pub(crate) password: Lenient<bool>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct ExecuteReply<'a> {
    pub(crate) status: Short,
    pub(crate) execution_count: Count,
    #[serde(borrow)]
    pub(crate) payload: Lenient<Vec<Payload<'a>>>,
    pub(crate) ename: Short,
    pub(crate) evalue: Short,
    pub(crate) traceback: Lenient<Vec<Short>>,
    #[serde(borrow)]
    pub(crate) user_expressions: Option<&'a RawValue>,
}

/// What a reply asks the client to do.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Payload<'a> {
    pub(crate) source: Short,
    /// For `page`: what to show.
    #[serde(borrow)]
    pub(crate) data: Option<&'a RawValue>,
    /// For `set_next_input`: the source.
    pub(crate) text: Short,
    /// For `ask_exit`: what the code passed to `exit`, of which only the truth counts.
    pub(crate) keepkernel: Value,
}

/// `display_data`, `execute_result` and `update_display_data`.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Display<'a> {
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
    transient: Lenient<Transient>,
    execution_count: Count,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Transient {
    display_id: Short,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Stream {
    name: Short,
    text: Long,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Error {
    ename: Short,
    evalue: Short,
    traceback: Lenient<Vec<Short>>,
}

/// An execution count; some kernels write `3.0`, some `null`, some a string.
#[derive(Default)]
pub(crate) struct Count(pub(crate) Option<u64>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?.get();
        let digits = text.strip_suffix(".0").unwrap_or(text);
        Ok(Self(digits.parse().ok()))
    }
}

/// The bundle, `display_id` and execution count of `display_data`, `execute_result` or `update_display_data`.
pub(crate) fn display(content: &Json) -> serde_json::Result<(MimeBundle, Option<String>, Option<u64>)> {
    let display: Display<'_> = content.decode()?;
    let bundle =
        MimeBundle { data: object(content, display.data), metadata: object(content, display.metadata) };
    let Short(display_id) = display.transient.0.display_id;
    let display_id = if display_id.is_empty() { None } else { Some(display_id) };
    Ok((bundle, display_id, display.execution_count.0))
}

/// Reads a `stream`; `None` if it is empty.
pub(crate) fn stream(content: &Json) -> serde_json::Result<Option<Output>> {
    let Stream { name: Short(mut name), text: Long(text) } = content.decode()?;
    if name.is_empty() {
        "stdout".clone_into(&mut name);
    }
    Ok(if text.is_empty() { None } else { Some(Output::Stream { name, text }) })
}

pub(crate) fn error(content: &Json) -> serde_json::Result<Output> {
    let error: Error = content.decode()?;
    Ok(Output::Error { name: error.ename.0, value: error.evalue.0, traceback: lines(error.traceback) })
}

/// The comm of an `Output` widget and the `msg_id` of the request whose outputs it takes from now on, if this says so; the latter is
/// empty if it takes none. See `ipywidgets.Output.__enter__`.
pub(crate) fn captured(content: &Json) -> serde_json::Result<Option<(String, String)>> {
    // The state of other widgets can be large.
    if !content.as_str().contains("\"msg_id\"") {
        return Ok(None);
    }
    let content = content.decode::<Value>()?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let message = content["data"]["state"].get("msg_id").filter(|message| !message.is_null());
    Ok(message.map(|message| (text(&content["comm_id"]), text(message))))
}

pub(crate) fn lines(lines: Lenient<Vec<Short>>) -> Vec<String> {
    lines.0.into_iter().map(|line| line.0).collect()
}

/// The bundle in a payload of `page`.
pub(crate) fn page(content: &Json, data: Option<&RawValue>) -> MimeBundle {
    MimeBundle { data: object(content, data), metadata: Json::empty_object() }
}

/// A part of `content` that has to be an object; empty if it is something else.
pub(crate) fn object(content: &Json, part: Option<&RawValue>) -> Json {
    match part {
        Some(part) if part.get().starts_with('{') => {
            let part = content.part(part);
            if part.bytes().len() < DETACHED_BELOW { part.detached() } else { part }
        }
        _ => Json::empty_object(),
    }
}

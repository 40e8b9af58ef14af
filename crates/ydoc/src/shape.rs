//! Converts cells, outputs and metadata to the shared types that `JupyterLab` expects.

use std::sync::Arc;

use notebook::{CellType, Json, MimeBundle, NewCell, Output, other_members};
use serde_json::Value;
use yrs::{Any, ArrayPrelim, In, MapPrelim, Number, TextPrelim};

pub(crate) fn cell(cell: &NewCell) -> MapPrelim {
    let metadata = cell.metadata.as_ref().map(members).unwrap_or_default();
    let mut members: Vec<(&str, In)> = vec![
        ("id", cell.id.as_str().into()),
        ("cell_type", cell.cell_type.name().into()),
        ("source", TextPrelim::new(cell.source.as_str()).into()),
        ("metadata", metadata.into()),
    ];
    if let Some(attachments) = &cell.attachments {
        members.push(("attachments", any(attachments).into()));
    }
    if cell.cell_type == CellType::Code {
        members.extend(not_run());
    }
    let others = cell.others.as_ref().and_then(other_members);
    let others: Vec<_> = others.iter().flat_map(Json::members).collect();
    members.extend(others.iter().map(|(name, value)| (&**name, any(value).into())));
    members.into_iter().collect()
}

/// The members of a code cell that has not run.
pub(crate) fn not_run() -> [(&'static str, In); 3] {
    [
        ("outputs", ArrayPrelim::default().into()),
        ("execution_count", Any::Null.into()),
        ("execution_state", "idle".into()),
    ]
}

/// An output. The text of a stream is shared text, so that more output can be appended.
pub(crate) fn output(output: &Output) -> MapPrelim {
    let of = |output_type: &str| ("output_type", In::from(output_type));
    let bundle = |bundle: &MimeBundle| {
        [("data", In::Any(any(&bundle.data))), ("metadata", In::Any(any(&bundle.metadata)))]
    };
    match output {
        Output::Stream { name, text } => stream(name, &text.as_str()),
        Output::Display(content) => [of("display_data")].into_iter().chain(bundle(content)).collect(),
        Output::Result { execution_count, bundle: content } => {
            let count = ("execution_count", In::Any(count(*execution_count)));
            [of("execute_result"), count].into_iter().chain(bundle(content)).collect()
        }
        Output::Error { name, value, traceback } => {
            let traceback: Arc<[Any]> = traceback.iter().map(|line| Any::from(line.as_str())).collect();
            [
                of("error"),
                ("ename", name.as_str().into()),
                ("evalue", value.as_str().into()),
                ("traceback", In::Any(Any::Array(traceback))),
            ]
            .into_iter()
            .collect()
        }
        Output::Other(json) => match json.to_value() {
            Value::Object(_) => members(json),
            // It cannot be shown as an output; as text it is not lost.
            _ => stream("stdout", json.as_str()),
        },
    }
}

fn stream(name: &str, text: &str) -> MapPrelim {
    let members: [(&str, In); 3] =
        [("output_type", "stream".into()), ("name", name.into()), ("text", TextPrelim::new(text).into())];
    members.into_iter().collect()
}

pub(crate) fn count(count: Option<u64>) -> Any {
    count.and_then(|count| i64::try_from(count).ok()).map_or(Any::Null, int)
}

/// The members of an object as plain values.
pub(crate) fn members(object: &Json) -> MapPrelim {
    object.members().map(|(name, value)| (name, In::Any(any(&value)))).collect()
}

/// JSON as a plain value. JSON that is nested too deep to read becomes a string.
pub(crate) fn any(json: &Json) -> Any {
    match json.decode() {
        Ok(value) => of_value(value),
        Err(_) => Any::from(json.as_str()),
    }
}

fn of_value(value: Value) -> Any {
    match value {
        Value::Null => Any::Null,
        Value::Bool(value) => Any::Bool(value),
        Value::Number(number) => match number.as_i64() {
            Some(number) => int(number),
            None => number.as_f64().map_or(Any::Null, |number| Any::Number(Number::Float(number))),
        },
        Value::String(text) => Any::String(text.into()),
        Value::Array(elements) => Any::Array(elements.into_iter().map(of_value).collect()),
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, value)| (name, of_value(value))).collect();
            Any::Map(Arc::new(members))
        }
    }
}

/// A whole number. If JavaScript cannot represent it, it must not arrive as a `BigInt`, which JSON does not support.
#[expect(clippy::cast_precision_loss, reason = "JavaScript loses it too")]
fn int(number: i64) -> Any {
    let is_safe = (Number::I64_MIN_SAFE_INTEGER..=Number::I64_MAX_SAFE_INTEGER).contains(&number);
    Any::Number(if is_safe { Number::Int(number) } else { Number::Float(number as f64) })
}

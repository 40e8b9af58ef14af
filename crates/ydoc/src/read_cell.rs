//! Reads a cell of the document as a cell object of nbformat 4.5.

use std::collections::BTreeMap;

use notebook::{CellId, Json};
use yrs::branch::Branch;
use yrs::{Any, BranchID, ID, Map, MapRef, Out, ReadTxn};

use crate::elements::elements;
use crate::read::{self, string};

/// The identity of a shared type that is not a root: the client that inserted it and its clock.
pub(crate) fn identity(branch: &Branch) -> Option<ID> {
    match branch.id() {
        BranchID::Nested(id) => Some(id),
        BranchID::Root(_) => None,
    }
}

/// The id of a cell: its own if it is valid, else one derived from its identity, which is the same for all clients.
pub(crate) fn cell_id<T: ReadTxn>(cell: &MapRef, txn: &T) -> CellId {
    let own = cell.get(txn, "id").and_then(|id| read::text(&id, txn)).filter(|id| CellId::is_valid(id));
    own.map_or_else(|| derived_id(cell), CellId::from)
}

/// It does not change while the cell exists.
pub(crate) fn derived_id(cell: &MapRef) -> CellId {
    match identity(cell.as_ref()) {
        Some(id) => format!("y{:x}-{:x}", id.client.get(), id.clock).into(),
        None => "cell".into(),
    }
}

/// The JSON of a cell. Invalid members are repaired or left out.
pub(crate) fn cell<T: ReadTxn>(cell: &MapRef, txn: &T) -> Option<Json> {
    let mut members: BTreeMap<&str, Out> = cell.iter(txn).collect();
    members.retain(|_, value| !read::is_undefined(value));
    // It says what runs now, and is not part of the notebook.
    members.remove("execution_state");
    let kind = members.get("cell_type").and_then(|kind| read::text(kind, txn)).unwrap_or_else(|| {
        // `raw`, so that nobody runs it by accident, unless it has outputs already.
        if members.contains_key("outputs") { "code" } else { "raw" }.to_owned()
    });
    let is_code = kind == "code";
    if !is_code && members.get("attachments").is_some_and(|files| is_empty_map(files, txn)) {
        members.remove("attachments");
    }
    for name in ["cell_type", "id", "metadata", "source"] {
        members.insert(name, Out::Any(Any::Null));
    }
    if is_code {
        for name in ["execution_count", "outputs"] {
            members.entry(name).or_insert(Out::Any(Any::Null));
        }
    }
    let mut out = Vec::with_capacity(1024);
    read::object(members, &mut out, |name, value, out| match name {
        "cell_type" => string(&kind, out),
        "id" => string(&cell_id(cell, txn), out),
        "metadata" => {
            let metadata = read::object_or_empty(cell.get(txn, name), txn);
            // The server adds it for its own use.
            let members: Vec<_> = metadata.members().filter(|(name, _)| name != "trusted").collect();
            out.extend_from_slice(Json::object(&members).bytes());
        }
        "source" => {
            let text = cell.get(txn, name).and_then(|source| read::text(&source, txn));
            string(&text.unwrap_or_default(), out);
        }
        "execution_count" if is_code => count(&value, out),
        "outputs" if is_code => outputs(&value, txn, out),
        _ => read::value(&value, txn, 1, out),
    });
    Json::parse(out.into()).ok()
}

fn is_empty_map<T: ReadTxn>(value: &Out, txn: &T) -> bool {
    match value {
        Out::Any(Any::Map(members)) => members.is_empty(),
        Out::YMap(map) => map.len(txn) == 0,
        value => matches!(value, Out::Any(Any::Null)),
    }
}

fn count(value: &Out, out: &mut Vec<u8>) {
    let count = match value {
        Out::Any(Any::Number(number)) => read::whole(*number).filter(|count| *count >= 0),
        _ => None,
    };
    let text = count.map_or_else(|| "null".to_owned(), |count| count.to_string());
    out.extend_from_slice(text.as_bytes());
}

/// The outputs, without elements that are not objects.
fn outputs<T: ReadTxn>(value: &Out, txn: &T, out: &mut Vec<u8>) {
    let outputs: Vec<Out> = match value {
        Out::YArray(outputs) => elements(outputs, txn),
        Out::Any(Any::Array(outputs)) => outputs.iter().cloned().map(Out::Any).collect(),
        _ => Vec::new(),
    };
    let objects = outputs.iter().filter(|output| matches!(output, Out::YMap(_) | Out::Any(Any::Map(_))));
    read::list(objects, out, |output, out| read::value(output, txn, 2, out));
}

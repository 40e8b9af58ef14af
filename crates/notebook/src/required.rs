//! The members that a valid file must have, and their defaults.

use crate::{CellType, Json};

/// Names of members, each with the JSON text of its default.
pub(crate) type Required = &'static [(&'static str, &'static str)];

/// The members that every cell of a type has, besides its id and its type.
pub(crate) fn of_cell(cell_type: &CellType) -> Required {
    match cell_type {
        CellType::Code => {
            &[("metadata", "{}"), ("source", "[]"), ("outputs", "[]"), ("execution_count", "null")]
        }
        _ => &[("metadata", "{}"), ("source", "[]")],
    }
}

/// The members that every output of a type has.
pub(crate) fn of_output(output_type: &str) -> Required {
    match output_type {
        "stream" => &[("name", "\"stdout\""), ("text", "[]")],
        "display_data" => &[("data", "{}"), ("metadata", "{}")],
        "execute_result" => &[("data", "{}"), ("metadata", "{}"), ("execution_count", "null")],
        "error" => &[("ename", "\"\""), ("evalue", "\"\""), ("traceback", "[]")],
        _ => &[],
    }
}

/// Whether a member is absent, or `null` where nbformat does not allow it.
pub(crate) fn is_missing(member: Option<&Json>, default: &str) -> bool {
    member.is_none_or(|member| member.is_null() && default != "null")
}

/// Whether nbformat allows this as an execution count.
pub(crate) fn is_valid_count(json: &Json) -> bool {
    json.is_null() || json.bytes().iter().all(u8::is_ascii_digit)
}

/// Whether an output lacks a required member or has an invalid execution count.
pub(crate) fn output_needs_repair(output: &Json) -> bool {
    let members: Vec<_> = output.members().collect();
    let member = |name: &str| members.iter().rev().find(|(member, _)| member == name).map(|(_, value)| value);
    let output_type = member("output_type").and_then(Json::text).unwrap_or_default();
    of_output(&output_type).iter().any(|(name, default)| {
        let member = member(name);
        let has_invalid_count = *name == "execution_count" && !member.is_some_and(is_valid_count);
        has_invalid_count || is_missing(member, default)
    })
}

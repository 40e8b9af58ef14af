//! What a file must hold to be valid, and what is put there if it is missing.

use crate::cell::CellType;
use crate::{Json, Notebook};

/// Names of members, and the JSON text that stands for "nothing" there.
pub(crate) type Required = &'static [(&'static str, &'static str)];

/// The members that every cell of a type has, besides its id and type.
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

/// Whether a member is not there or `null` where that is not allowed.
pub(crate) fn is_lacking(member: Option<&Json>, default: &str) -> bool {
    member.is_none_or(|member| member.is_null() && default != "null")
}

/// Whether a file may hold this as an execution count.
pub(crate) fn is_valid_count(json: &Json) -> bool {
    json.is_null() || json.bytes().iter().all(u8::is_ascii_digit)
}

/// Whether an output lacks something or has an odd execution count.
pub(crate) fn is_faulty_output(output: &Json) -> bool {
    let members: Vec<_> = output.members().collect();
    let member = |name: &str| members.iter().rev().find(|(member, _)| member == name).map(|(_, value)| value);
    let output_type = member("output_type").and_then(Json::text).unwrap_or_default();
    of_output(&output_type).iter().any(|(name, default)| {
        let member = member(name);
        let has_odd_count = *name == "execution_count" && !member.is_some_and(is_valid_count);
        has_odd_count || is_lacking(member, default)
    })
}

impl Notebook {
    /// The metadata that has to be written anew: because it was changed, or because it is not valid.
    pub(crate) fn mended_metadata(&self) -> Option<Json> {
        let mut metadata = self.metadata();
        let read = self.file.value("metadata");
        let mut is_changed = self.metadata.is_some() || !read.is_some_and(|read| read.is_object());
        for name in ["kernelspec", "language_info"] {
            let Some(value) = metadata.member(name) else { continue };
            if value.is_null() || value.members().next().is_none() && value.is_object() {
                metadata = metadata.without(name);
                is_changed = true;
                continue;
            }
            let mut mended = value.clone();
            if value.is_object() && value.member("name").is_none_or(|name| name.text().is_none()) {
                mended = mended.with("name", &Json::from_text("\"\""));
            }
            if name == "kernelspec" && mended.member("display_name").is_none_or(|name| name.text().is_none())
            {
                mended =
                    mended.member("name").map_or(mended.clone(), |name| mended.with("display_name", &name));
            }
            if mended != value {
                metadata = metadata.with(name, &mended);
                is_changed = true;
            }
        }
        is_changed.then_some(metadata)
    }
}

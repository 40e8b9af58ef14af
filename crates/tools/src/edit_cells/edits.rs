//! The edits that a call lists: each of a whole source, or of a part of one.

use calls::arguments::names::{check_members, source_by_any_name};
use calls::prelude::*;
use serde_json::json;

use crate::edit_cell_source::same_text;

pub(super) const NOTHING_CHANGED: &str = "Nothing was changed.";

/// One edit of one cell.
#[derive(Debug)]
pub(super) struct CellEdit {
    pub(super) cell: NamedCell,
    pub(super) change: SourceEdit,
}

#[derive(Debug)]
pub(super) enum SourceEdit {
    Source(String),
    Part { old: String, new: String, all: bool },
}

/// Several of them, as the argument `edits`.
pub(super) struct CellEdits(pub(super) Vec<CellEdit>);

impl Argument for CellEdits {
    fn describe(schema: &mut Schema, name: &'static str, description: &str) {
        let text = || json!({ "type": "string" });
        let edit = json!({ "type": "object", "properties": {
            "cell_index": { "type": "integer" },
            "cell_id": text(),
            "cell_source": text(),
            "old_string": text(),
            "new_string": text(),
            "replace_all": { "type": "boolean" },
        } });
        schema.add(name, json!({ "type": "array", "items": edit }), description);
    }

    fn read(given: &Given, name: &'static str) -> Result<Self, Error> {
        let edits = given.objects(name)?.into_iter().enumerate();
        let edits = edits.map(|(number, edit)| CellEdit::read(edit).map_err(|error| in_edit(number, error)));
        edits.collect::<Result<_, _>>().map(Self)
    }
}

impl CellEdit {
    fn read(mut edit: Given) -> Result<Self, Error> {
        source_by_any_name(&mut edit)?;
        edit.rename("index", "cell_index")?;
        edit.rename("id", "cell_id")?;
        let members = ["cell_index", "cell_id", "cell_source", "old_string", "new_string", "replace_all"];
        check_members("An edit", &edit, &members)?;
        let cell = edit.read::<NamedCell>()?;
        let change = match (edit.has("old_string"), edit.value("cell_source")) {
            (true, Some(source)) if source.as_str() != Some("") => {
                return Err(refused("Give cell_source, or old_string and new_string, not both."));
            }
            (true, _) => {
                let (old, new) = (edit.text("old_string")?, edit.text("new_string")?);
                if old == new {
                    return Err(same_text());
                }
                SourceEdit::Part { old, new, all: edit.flag("replace_all")?.unwrap_or_default() }
            }
            (false, _) => SourceEdit::Source(edit.text("cell_source")?),
        };
        Ok(Self { cell, change })
    }
}

pub(super) fn invalid(cause: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, cause, NOTHING_CHANGED)
}

/// The error of one edit among several, which are counted from 0.
pub(super) fn in_edit(number: usize, error: Error) -> Error {
    Error { cause: format!("edits[{number}]: {}", error.cause), ..error }
}

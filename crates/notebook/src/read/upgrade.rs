//! Converts nbformat 3 to nbformat 4.5.

mod output;

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::file::MAX_CELLS;
use crate::{Cell, Json, ParseError};
use output::upgrade_output;

/// The metadata and cells of a notebook after Jupyter's conversion. What nbformat 4 has no place for is kept in metadata.
///
/// Nothing is laid out here: indentation would make text with many small parts tens of times longer.
pub(super) fn upgrade(object: &Json) -> Result<(Json, Vec<Cell>), ParseError> {
    let mut others: BTreeMap<_, _> = object
        .members()
        .filter(|(name, _)| !matches!(&**name, "worksheets" | "metadata") && !name.contains("nbformat"))
        .collect();
    let mut cells = Vec::new();
    let worksheets = object.member("worksheets").unwrap_or(Json::from_static("[]"));
    let worksheets: Vec<_> = worksheets.elements().take(MAX_CELLS + 1).collect();
    if worksheets.len() > MAX_CELLS {
        return Err(ParseError::TooManyCells);
    }
    for worksheet in &worksheets {
        for cell in worksheet.member("cells").iter().flat_map(Json::elements) {
            if !cell.is_object() {
                return Err(ParseError::unexpected(&format!("cell {}", cells.len()), &cell, "an object"));
            }
            cells.push(Cell::from_json(upgrade_cell(&cell))?);
            if cells.len() > MAX_CELLS {
                return Err(ParseError::TooManyCells);
            }
        }
    }
    let rest: Vec<_> = worksheets.iter().map(rest_of_worksheet).collect();
    if rest.iter().any(|rest| rest.as_str() != "{}") {
        others.insert("worksheets".into(), Json::list(&rest));
    }
    let metadata = with_others(object.member("metadata"), others);
    Ok((without_bookkeeping(&metadata), cells))
}

fn upgrade_cell(cell: &Json) -> Json {
    let read_type = cell.member("cell_type").as_ref().and_then(Json::text).unwrap_or_default().into_owned();
    let (is_code, is_heading) = (read_type == "code", read_type == "heading");
    let cell_type = if is_heading || read_type == "html" { "markdown" } else { &*read_type };
    let mut others = BTreeMap::new();
    let mut members = vec![(Cow::Borrowed("cell_type"), Json::string(cell_type))];
    let mut level = 1;
    for (name, value) in cell.members() {
        match &*name {
            "cell_type" | "metadata" => {}
            "input" if is_code => members.push(("source".into(), value)),
            "prompt_number" if is_code => members.push(("execution_count".into(), value)),
            "outputs" if is_code => {
                let outputs: Vec<_> = value.elements().map(|output| upgrade_output(&output)).collect();
                members.push((name, Json::list(&outputs)));
            }
            "language" if is_code && value.as_str() == "\"python\"" => {}
            "source" if !is_code => members.push((name, value)),
            "level" if is_heading => level = value.as_str().parse().unwrap_or(1),
            _ => drop(others.insert(name, value)),
        }
    }
    if is_heading {
        let source = cell.member("source").and_then(|source| Some(source.multiline_text()?.into_owned()));
        let line = source.unwrap_or_default().lines().collect::<Vec<_>>().join(" ");
        members.retain(|(name, _)| name != "source");
        members.push(("source".into(), Json::string(&format!("{} {line}", "#".repeat(level.clamp(1, 6))))));
    }
    members.push(("metadata".into(), with_others(cell.member("metadata"), others)));
    Json::object(&members)
}

fn rest_of_worksheet(worksheet: &Json) -> Json {
    let is_worth_keeping = |name: &str, value: &Json| name != "cells" && value.as_str() != "{}";
    let rest: Vec<_> = worksheet.members().filter(|(name, value)| is_worth_keeping(name, value)).collect();
    Json::object(&rest)
}

/// Drops what Jupyter drops: traces of earlier conversions, the signature, and an empty name.
fn without_bookkeeping(metadata: &Json) -> Json {
    let is_kept = |name: &str, value: &Json| match name {
        "name" => value.as_str() != "\"\"",
        "signature" | "orig_nbformat" | "orig_nbformat_minor" => false,
        _ => true,
    };
    let kept: Vec<_> = metadata.members().filter(|(name, value)| is_kept(name, value)).collect();
    Json::object(&kept)
}

/// The metadata with other members added; a name that is taken gets a prefix.
fn with_others(metadata: Option<Json>, others: BTreeMap<Cow<'_, str>, Json>) -> Json {
    let metadata = metadata.filter(Json::is_object).unwrap_or(Json::empty_object());
    let mut members: BTreeMap<_, _> = metadata.members().collect();
    for (mut name, value) in others {
        while members.contains_key(&name) {
            name.to_mut().insert_str(0, "nbformat3_");
        }
        members.insert(name, value);
    }
    Json::object(&members.into_iter().collect::<Vec<_>>())
}

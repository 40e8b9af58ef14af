//! Reads a notebook file.

mod cell;
mod output;
mod upgrade;

use std::sync::Arc;

use bytes::Bytes;
use bytestring::ByteString;

use crate::file::{File, MAX_CELLS};
use crate::notebook::Original;
use crate::{Cell, Json, Notebook, ParseError, ids};
use cell::read_cell;
use upgrade::upgrade;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Notebook {
    /// Reads nbformat 3 and 4 and keeps what it does not understand.
    pub fn parse(text: Bytes) -> Result<Self, ParseError> {
        let body = if text.starts_with(BYTE_ORDER_MARK) {
            text.slice(BYTE_ORDER_MARK.len()..)
        } else {
            text.clone()
        };
        if let Some(error) = ParseError::encoding(&body) {
            return Err(error);
        }
        let body = ByteString::try_from(body.clone()).map_err(|_| ParseError::not_utf8(&body))?;
        let object = Json::parse_str(&body).map_err(|error| ParseError::not_json(&body, &error))?;
        if !object.is_object() {
            return Err(ParseError::unexpected("the text", &object, "an object"));
        }
        let file = File::new(body);
        let (major, minor) = version(&file)?;
        if major == 3 {
            let (metadata, cells) = upgrade(&object)?;
            let original = Some(Arc::new(Original { text, version: Some((3, minor)) }));
            return Ok(Self { original, is_assembled: false, ..Self::from_cells(metadata, 5, cells) });
        }
        check_cells(&file)?;
        let original = (file.text.len() < text.len()).then(|| Arc::new(Original { text, version: None }));
        Ok(Self { original, ..Self::read(file, minor) })
    }

    fn read(file: File, minor: u64) -> Self {
        let has_ids = minor >= 5;
        let cells = 0..file.slots.len();
        let mut cells: Vec<_> = cells.map(|slot| read_cell(file.cell(slot), slot, has_ids)).collect();
        ids::assign_missing(&mut cells, has_ids);
        let mut cells: Vec<_> = cells.into_iter().map(|cell| Cell(Arc::new(cell))).collect();
        // `collect` keeps the buffer of what was larger.
        cells.shrink_to_fit();
        Self {
            file: Arc::new(file),
            original: None,
            minor,
            cells: Arc::new(cells),
            metadata: None,
            is_modified: false,
            is_assembled: false,
        }
    }
}

/// The version, also where a file states it incompletely.
fn version(file: &File) -> Result<(u64, u64), ParseError> {
    let number = |name| file.value(name).as_ref().and_then(Json::count);
    let major = match (file.value("nbformat"), number("nbformat")) {
        (_, Some(major)) => major,
        (None, _) if file.member("cells").is_some() => 4,
        (None, _) if file.member("worksheets").is_some() => 3,
        (None, _) => return Err(ParseError::not_a_notebook("it has neither `nbformat` nor `cells`")),
        (Some(found), None) => return Err(ParseError::unexpected("`nbformat`", &found, "3 or 4")),
    };
    match (major, number("nbformat_minor")) {
        (3 | 4, Some(minor)) => Ok((major, minor)),
        (3, None) => Ok((3, 0)),
        // Ids came with 4.5. Without ids, 4.4 requires nothing that 4.0 does not.
        (4, None) => {
            let has_ids = (0..file.slots.len()).any(|slot| file.cell(slot).member("id").is_some());
            Ok((4, if has_ids { 5 } else { 4 }))
        }
        _ => Err(ParseError::Version { major }),
    }
}

fn check_cells(file: &File) -> Result<(), ParseError> {
    if file.slots.len() > MAX_CELLS {
        return Err(ParseError::TooManyCells);
    }
    match file.value("cells") {
        Some(cells) if !cells.is_null() && !cells.bytes().starts_with(b"[") => {
            return Err(ParseError::unexpected("`cells`", &cells, "a list"));
        }
        _ => {}
    }
    match (0..file.slots.len()).map(|slot| (slot, file.cell(slot))).find(|(_, cell)| !cell.is_object()) {
        Some((slot, cell)) => Err(ParseError::unexpected(&format!("cell {slot}"), &cell, "an object")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::Notebook;

    #[test]
    fn no_room_is_kept_for_what_cells_were_read_into() {
        let cells = vec![r#"{"cell_type": "raw", "metadata": {}, "source": ""}"#; 1000].join(",");
        let text = format!(r#"{{"cells": [{cells}], "metadata": {{}}, "nbformat": 4, "nbformat_minor": 5}}"#);
        let notebook = Notebook::parse(text.into()).unwrap();
        assert_eq!(notebook.cells().len(), 1000);
        assert!(notebook.cells.capacity() < 1100, "{}", notebook.cells.capacity());
    }
}

//! Renaming a name in all code cells, after the edits of the same call.

use calls::prelude::*;
use std::collections::BTreeMap;

use notebook::Notebook;
use runs::OpenNotebook;
use syntax::{RenamedCell, rename};

use super::edits::invalid;

/// Renames a name in the code cells; returns what to say about it, whether it is done or only shown.
pub(super) fn rename_in(
    notebook: &Notebook,
    sources: &mut BTreeMap<usize, String>,
    old: &str,
    new: &str,
) -> Result<Vec<String>, Error> {
    let code = notebook.cells().iter().enumerate().filter(|(_, cell)| cell.is_code());
    let code: Vec<(usize, String)> = code
        .map(|(index, cell)| {
            (index, sources.get(&index).cloned().unwrap_or_else(|| cell.source().into_owned()))
        })
        .collect();
    let cells: Vec<(usize, &str)> = code.iter().map(|(index, source)| (*index, source.as_str())).collect();
    let cells = rename(&cells, old.trim(), new.trim())
        .map_err(|error| invalid(format!("{old} cannot be renamed: {error}.")).with_source(error))?;
    if let Some((cell, why)) = cells.iter().find_map(|cell| Some((cell, cell.unread.as_ref()?))) {
        return Err(invalid(format!("Cell {} has {old} and cannot be read ({why}).", cell.index)));
    }
    let count: usize = cells.iter().map(|cell| cell.count).sum();
    let mut notes = vec![format!("Rename {old} to {new}: {count} place(s).")];
    notes.extend(remaining(&cells, old));
    sources.extend(cells.into_iter().filter(|cell| cell.count > 0).map(|cell| (cell.index, cell.source)));
    Ok(notes)
}

/// Where the word stays.
fn remaining(cells: &[RenamedCell], old: &str) -> Option<String> {
    let cells = cells.iter().filter(|cell| !cell.remaining.is_empty()).map(|cell| {
        let lines: Vec<_> = cell.remaining.iter().map(ToString::to_string).collect();
        format!("cell {}, line {}", cell.index, lines.join(", "))
    });
    let places = cells.collect::<Vec<_>>().join("; ");
    (!places.is_empty()).then(|| format!("{old} stays as text, attribute or local variable: {places}."))
}

/// Fails unless the notebook's code is Python.
pub(super) fn check_language(opened: &OpenNotebook, notebook: &Notebook) -> Result<(), Error> {
    let language =
        opened.kernel().map(|kernel| kernel.description().language).or_else(|| notebook.language());
    match language {
        Some(language) if !language.is_empty() && !language.eq_ignore_ascii_case("python") => {
            Err(refused(format!("rename reads Python, and {} is a notebook of {language}.", opened.path())))
        }
        _ => Ok(()),
    }
}

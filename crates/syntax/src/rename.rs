//! Renames a name in all cells of a notebook, wherever it is a name: not in strings, comments, attributes and keyword arguments.
//!
//! What is renamed is the name that the cells share. A function that has a local variable or parameter of the same name
//! keeps it.

use std::cmp::Reverse;

use ruff_python_ast::Expr;
use ruff_python_parser::parse_expression;
use ruff_text_size::Ranged;

use crate::Name;
use crate::builtins::is_builtin;
use crate::unknown::Unknown;

mod occurrences;
mod text;

use occurrences::{Occurrences, Place, Role};

/// The effect of a rename on a cell that has the name, also if the name stays in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenamedCell {
    /// Where the cell stands in the notebook.
    pub index: usize,
    /// The new source; the old one if nothing was renamed.
    pub source: String,
    /// How often the name was renamed.
    pub count: usize,
    /// The lines, from 1, in which the word stays: as a local variable, an attribute or an argument, in a string, a comment or the text
    /// of a magic.
    pub remaining: Vec<usize>,
    /// Why a part of the cell that has the word could not be read. The cell stays as it is.
    pub unread: Option<Unknown>,
}

/// Why a name cannot be renamed. Nothing is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CannotRename {
    #[error("{text:?} is not a name in Python")]
    NotAName { text: String },
    #[error("the old name and the new name are both {name}")]
    SameName { name: Name },
    #[error("no cell has the name {name}")]
    NotFound { name: Name },
    #[error("no cell defines {name}: it is one of Python's own names")]
    Builtin { name: Name },
    #[error("no cell assigns {name}; cell {index} may do so ({why})")]
    NotDefined { name: Name, index: usize, why: Unknown },
    #[error("{name} is already a name in {}", cells(indices))]
    InUse { name: Name, indices: Vec<usize> },
    #[error("a local variable {new} in cell {index}, line {line}, would take the place of {old}")]
    Captured { old: Name, new: Name, index: usize, line: usize },
    #[error(
        "cell {index}, line {line}, imports a module inside {name}: give it a name with `as`, or edit the text"
    )]
    Submodule { name: Name, index: usize, line: usize },
    #[error("{name} is only a local name, as in cell {index}, line {line}: edit the text")]
    Local { name: Name, index: usize, line: usize },
}

/// `cell 3`, `cells 3, 5 and 6`
fn cells(indices: &[usize]) -> String {
    let words: Vec<_> = indices.iter().map(ToString::to_string).collect();
    match words.split_last() {
        Some((last, [])) => format!("cell {last}"),
        Some((last, rest)) => format!("cells {} and {last}", rest.join(", ")),
        None => "no cell".to_owned(),
    }
}

/// Renames `old` in these code cells, given with their indices in the notebook. Returns the cells that have the name, in order.
pub fn rename(cells: &[(usize, &str)], old: &str, new: &str) -> Result<Vec<RenamedCell>, CannotRename> {
    if let Some(text) = [old, new].into_iter().find(|name| !is_name(name)) {
        return Err(CannotRename::NotAName { text: text.to_owned() });
    }
    let name = old.to_owned();
    if old == new {
        return Err(CannotRename::SameName { name });
    }
    let cells: Vec<_> = cells
        .iter()
        .map(|(index, source)| Read { index: *index, source, found: Occurrences::of(source, old, new) })
        .collect();
    let places = || cells.iter().flat_map(|cell| cell.found.places.iter().map(move |place| (cell, place)));
    let definer = places().find(|(_, place)| place.role != Role::Use);
    if definer.is_some() {
        let uses = cells.iter().filter(|cell| cell.found.has_new);
        let indices: Vec<_> = uses.map(|cell| cell.index).collect();
        if !indices.is_empty() {
            return Err(CannotRename::InUse { name: new.to_owned(), indices });
        }
    } else if places().next().is_some() {
        // The name that no cell binds may get the name of a variable: whoever renamed it there wants to rename the rest.
        if is_builtin(old) {
            return Err(CannotRename::Builtin { name });
        }
        let unknown = cells.iter().find_map(|cell| Some((cell.index, cell.found.may_bind.clone()?)));
        if let Some((index, why)) = unknown {
            return Err(CannotRename::NotDefined { name, index, why });
        }
    } else if cells.iter().all(|cell| cell.found.unread.is_none()) {
        let local = cells.iter().find_map(|cell| Some((cell, *cell.found.locals.first()?)));
        return Err(match local {
            Some((cell, start)) => CannotRename::Local { name, index: cell.index, line: cell.line(start) },
            None => CannotRename::NotFound { name },
        });
    }
    // Cells above the first definition use Python's own.
    let first = definer.filter(|_| is_builtin(old)).map(|(cell, place)| (cell.index, place.range.start));
    let mut renamed = Vec::new();
    for cell in &cells {
        let is_renamed = |place: &&Place| first.is_none_or(|first| (cell.index, place.range.start) >= first);
        let places: Vec<_> = cell.found.places.iter().filter(is_renamed).collect();
        for place in &places {
            let (name, index, line) = (old.to_owned(), cell.index, cell.line(place.range.start));
            if place.is_captured {
                return Err(CannotRename::Captured { old: name, new: new.to_owned(), index, line });
            }
            if place.role == Role::Submodule {
                return Err(CannotRename::Submodule { name, index, line });
            }
        }
        renamed.extend(cell.renamed(&places, old, new));
    }
    Ok(renamed)
}

/// Whether it is a name that code can bind. Python refuses an assignment to `__debug__`.
fn is_name(text: &str) -> bool {
    text != "__debug__" && parse_expression(text).is_ok_and(
        |parsed| matches!(parsed.expr(), Expr::Name(name) if name.range().to_std_range() == (0..text.len())),
    )
}

/// A cell with the places of the old name.
struct Read<'s> {
    index: usize,
    source: &'s str,
    found: Occurrences,
}

impl Read<'_> {
    fn line(&self, start: usize) -> usize {
        self.source[..start].matches('\n').count() + 1
    }

    fn renamed(&self, places: &[&Place], old: &str, new: &str) -> Option<RenamedCell> {
        let unread = self.found.unread.clone();
        let places = if unread.is_some() { &[][..] } else { places };
        let is_renamed = |start: usize| places.iter().any(|place| place.range.start == start);
        let words = text::words(self.source, old).filter(|start| !is_renamed(*start));
        let mut remaining: Vec<_> = words.map(|start| self.line(start)).collect();
        remaining.dedup();
        if places.is_empty() && remaining.is_empty() && unread.is_none() {
            return None;
        }
        let source = replaced(self.source, places, old, new);
        Some(RenamedCell { index: self.index, source, count: places.len(), remaining, unread })
    }
}

fn replaced(source: &str, places: &[&Place], old: &str, new: &str) -> String {
    let mut places = places.to_vec();
    places.sort_by_key(|place| Reverse(place.range.start));
    let mut text = source.to_owned();
    for place in places {
        let name = if place.role == Role::Import { format!("{old} as {new}") } else { new.to_owned() };
        text.replace_range(place.range.clone(), &name);
    }
    text
}

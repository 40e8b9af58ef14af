//! How cells are shown to agents: a line in a table, or a banner with the source.

use std::ops::RangeInclusive;

use notebook::{Cell, CellRef, Notebook};
use workspace::{OpenNotebook, Session};

/// A table with a header: tabs between columns, one row on each line.
pub(crate) fn table<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = header.join("\t");
    for row in rows {
        table.push('\n');
        table.push_str(&row.map(|value| value.replace(['\t', '\n', '\r'], " ")).join("\t"));
    }
    table
}

/// The cells at these indices as a table; the session remembers where they stand.
pub(crate) fn brief(
    session: &Session,
    opened: &OpenNotebook,
    notebook: &Notebook,
    indices: impl IntoIterator<Item = usize> + Clone,
) -> String {
    session.listed(opened.path(), notebook, indices.clone());
    let rows = indices.into_iter().map(|index| {
        let cell = &notebook.cells()[index];
        let count = cell.execution_count().map_or_else(|| "N/A".to_owned(), |count| count.to_string());
        [
            index.to_string(),
            cell.cell_type().to_string(),
            count,
            cell.id().to_string(),
            cell.revision().to_owned(),
            first_line(cell),
        ]
    });
    table(["Index", "Type", "Count", "ID", "Revision", "First Line"], rows)
}

/// Cells and those around them, for replies of tools that change something.
pub(crate) fn surroundings(
    session: &Session,
    opened: &OpenNotebook,
    notebook: &Notebook,
    cells: RangeInclusive<usize>,
) -> String {
    const EACH_SIDE: usize = 3;
    let end = (cells.end() + EACH_SIDE + 1).min(notebook.cells().len());
    brief(session, opened, notebook, cells.start().saturating_sub(EACH_SIDE).min(end)..end)
}

/// The line before a cell's source.
pub(crate) fn banner(index: usize, cell: &Cell) -> String {
    let count = cell.execution_count().map_or_else(|| "N/A".to_owned(), |count| count.to_string());
    let (kind, id, revision) = (cell.cell_type(), cell.id(), cell.revision());
    format!(
        "=====Cell {index} | type: {kind} | execution count: {count} | id: {id} | revision: {revision}====="
    )
}

/// What a text means where an index, an id or `In[n]` may stand. An id may consist of digits alone.
pub(crate) fn index_or_id(notebook: &Notebook, text: &str) -> CellRef {
    let text = text.trim();
    match text.parse() {
        Ok(index) if notebook.cell(&text.into()).is_none() => CellRef::Index(index),
        _ => CellRef::parse(text),
    }
}

/// A cell in a sentence: index, id and execution count.
pub(crate) fn label(index: usize, cell: &Cell) -> String {
    let count = cell.execution_count().map(|count| format!(", In[{count}]")).unwrap_or_default();
    format!("cell {index} (id {}{count})", cell.id())
}

/// The beginning of a text, marked if it goes on.
pub(crate) fn shortened(text: &str, max_characters: usize) -> String {
    match text.char_indices().nth(max_characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn first_line(cell: &Cell) -> String {
    const MAX_CHARACTERS: usize = 100;
    let first = cell.first_line();
    if first.is_empty() {
        return first;
    }
    let hidden = cell.line_count() - 1;
    let mut line = shortened(&first, MAX_CHARACTERS);
    if hidden > 0 {
        line.push_str(&format!("...({hidden} lines hidden)"));
    }
    line
}

//! How cells are shown to agents: a line in a table, or a banner with the source.

use std::ops::RangeInclusive;

use std::time::SystemTime;

use notebook::{Cell, CellRef, Notebook};
use workspace::{CellStates, OpenNotebook, Session, StaleState};

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
    table(COLUMNS, indices.into_iter().map(|index| row(notebook, index)))
}

/// The same, with the states of cells that are not up to date. There is no column for them if all shown cells are.
pub(crate) fn brief_with_states(
    session: &Session,
    opened: &OpenNotebook,
    notebook: &Notebook,
    indices: &[usize],
    states: &CellStates,
) -> String {
    let state = |index: usize| {
        let state = states.get(index).map(|known| known.state);
        state.filter(|state| *state != StaleState::UpToDate).map_or("", StaleState::name)
    };
    if indices.iter().all(|index| state(*index).is_empty()) {
        return brief(session, opened, notebook, indices.iter().copied());
    }
    session.listed(opened.path(), notebook, indices.iter().copied());
    let [index, kind, count, id, revision, first_line] = COLUMNS;
    let rows = indices.iter().map(|index| {
        let [place, kind, count, id, revision, first_line] = row(notebook, *index);
        [place, kind, count, id, revision, first_line, state(*index).to_owned()]
    });
    table([index, kind, count, id, revision, first_line, "State"], rows)
}

const COLUMNS: [&str; 6] = ["Index", "Type", "Count", "ID", "Revision", "First Line"];

fn row(notebook: &Notebook, index: usize) -> [String; COLUMNS.len()] {
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
}

/// The states of the cells of a notebook, with times as agents are shown them.
pub(crate) fn cell_states(session: &Session, opened: &OpenNotebook, notebook: &Notebook) -> CellStates {
    let clock = |time: SystemTime| chrono::DateTime::<chrono::Utc>::from(time).format("%H:%M:%S").to_string();
    session.workspace().cell_states(opened, notebook, &clock)
}

/// The line about a code cell that is not up to date, with the evidence.
pub(crate) fn state_line(states: &CellStates, index: usize) -> Option<String> {
    let known = states.get(index).filter(|known| known.state != StaleState::UpToDate)?;
    Some(format!("[state] {}: {}\n", known.state.name(), known.evidence))
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

pub(crate) fn first_line(cell: &Cell) -> String {
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

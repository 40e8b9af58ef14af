//! How cells are shown to agents: a line in a table, or a banner with the source.

use std::ops::RangeInclusive;

use std::time::SystemTime;

use names::Undefined;
use notebook::{Cell, CellRef, Notebook, one_line};
use runs::OpenNotebook;
use workspace::{CellStates, Session, StaleState};

/// How much of a name's clause is said, in characters.
const MAX_CLAUSE: usize = 150;

/// A table with a header: one row on each line, with tabs between columns, which no note has.
pub fn table<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut table = header.join("\t");
    for row in rows {
        let cells = row.map(|value| one_line(&value.replace('\t', " ")).into_owned());
        table.push('\n');
        table.push_str(&cells.join("\t"));
    }
    table
}

/// The cells at these indices as a table; the session remembers where they stand.
pub fn brief(
    session: &Session,
    opened: &OpenNotebook,
    notebook: &Notebook,
    indices: impl IntoIterator<Item = usize> + Clone,
) -> String {
    session.listed(opened.path(), notebook, indices.clone());
    table(COLUMNS, indices.into_iter().map(|index| row(notebook, index)))
}

/// The same, with the states of cells that are not up to date. There is no column for them if all shown cells are.
pub fn brief_with_states(
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
pub fn cell_states(session: &Session, opened: &OpenNotebook, notebook: &Notebook) -> CellStates {
    let clock = |time: SystemTime| chrono::DateTime::<chrono::Utc>::from(time).format("%H:%M:%S").to_string();
    session.workspace().cell_states(opened, notebook, &clock)
}

/// The line about a code cell that is not up to date, with the evidence.
pub fn state_line(states: &CellStates, index: usize) -> Option<String> {
    let known = states.get(index).filter(|known| known.state != StaleState::UpToDate)?;
    Some(format!("[state] {}: {}\n", known.state.name(), known.evidence))
}

/// Clauses about the names that a cell uses and no cell above defines: `uses dff, which no cell defines`.
pub fn undefined(states: &CellStates, index: usize) -> impl Iterator<Item = String> {
    states.undefined(index).map(clause)
}

/// A name may be as long as a cell.
fn clause(undefined: &Undefined) -> String {
    let Undefined { name, function, defined_in, .. } = undefined;
    let through = function.as_ref().map(|function| format!(" in {function}()")).unwrap_or_default();
    let clause = match defined_in {
        None => format!("uses {name}{through}, which no cell defines"),
        Some(below) => format!("uses {name}{through}, which only cell {below} defines, below"),
    };
    shortened(&one_line(&clause), MAX_CLAUSE)
}

/// The lines about names that a cell uses and no cell above defines.
pub fn undefined_lines(states: &CellStates, index: usize) -> Vec<String> {
    undefined(states, index).map(|clause| format!("[state] {clause}")).collect()
}

/// The names that no cell defines since an edit, in a sentence; empty if there are none. The kernel may still have them.
pub fn newly_undefined(
    session: &Session,
    opened: &OpenNotebook,
    before: &Notebook,
    after: &Notebook,
) -> String {
    undefined_sentence(&session.workspace().newly_undefined(opened, before, after).iter().collect::<Vec<_>>())
}

/// The names that cells use and no cell above defines, in a sentence; empty if there are none.
pub fn undefined_sentence(undefined: &[&Undefined]) -> String {
    const MAX_NAMES: usize = 5;
    let (named, rest) = undefined.split_at(undefined.len().min(MAX_NAMES));
    if named.is_empty() {
        return String::new();
    }
    let clauses: Vec<String> = named.iter().map(|it| format!("cell {} {}", it.index, clause(it))).collect();
    format!("[state] {}{}.", clauses.join("; "), more_undefined(rest))
}

/// `; and 3 more: n, m in cell 4, k in cell 7`, with what fits in a clause.
fn more_undefined(rest: &[&Undefined]) -> String {
    if rest.is_empty() {
        return String::new();
    }
    let names: Vec<String> =
        rest.iter().map(|it| format!("{} in cell {}", one_line(&it.name), it.index)).collect();
    format!("; and {} more: {}", rest.len(), shortened(&names.join(", "), MAX_CLAUSE))
}

/// Cells and those around them, for replies of tools that change something.
pub fn surroundings(
    session: &Session,
    opened: &OpenNotebook,
    notebook: &Notebook,
    cells: RangeInclusive<usize>,
) -> String {
    const EACH_SIDE: usize = 1;
    let end = (cells.end() + EACH_SIDE + 1).min(notebook.cells().len());
    brief(session, opened, notebook, cells.start().saturating_sub(EACH_SIDE).min(end)..end)
}

/// The line before a cell's source.
pub fn banner(index: usize, cell: &Cell) -> String {
    let count = cell.execution_count().map_or_else(|| "N/A".to_owned(), |count| count.to_string());
    let (kind, id, revision) = (cell.cell_type(), cell.id(), cell.revision());
    let id = one_line(id);
    format!(
        "=====Cell {index} | type: {kind} | execution count: {count} | id: {id} | revision: {revision}====="
    )
}

/// What a text means where an index, an id or `In[n]` may stand. An id may consist of digits alone.
pub fn index_or_id(notebook: &Notebook, text: &str) -> CellRef {
    let text = text.trim();
    match text.parse() {
        Ok(index) if notebook.cell(&text.into()).is_none() => CellRef::Index(index),
        _ => CellRef::parse(text),
    }
}

/// A cell in a sentence: index, id and execution count.
pub fn label(index: usize, cell: &Cell) -> String {
    let count = cell.execution_count().map(|count| format!(", In[{count}]")).unwrap_or_default();
    format!("cell {index} (id {}{count})", one_line(cell.id()))
}

/// Indices in ascending order, adjacent ones as a range: `0–97, 99`.
pub fn ranges(indices: &[usize]) -> String {
    notebook::ranges(indices, |one, next| one + 1 == *next)
}

/// The beginning of a text, marked if it goes on.
pub fn shortened(text: &str, max_characters: usize) -> String {
    match text.char_indices().nth(max_characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

pub fn first_line(cell: &Cell) -> String {
    const MAX_CHARACTERS: usize = 100;
    let (first, count) = cell.first_of_lines();
    if first.is_empty() {
        return first;
    }
    let hidden = count - 1;
    let mut line = shortened(&first, MAX_CHARACTERS);
    if hidden > 0 {
        line.push_str(&format!(" …+{hidden}"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_indices_are_a_range() {
        for (indices, shown) in
            [(&[][..], ""), (&[3], "3"), (&[0, 1, 2, 4, 6, 7], "0–2, 4, 6–7"), (&[1, 3], "1, 3")]
        {
            assert_eq!(ranges(indices), shown);
        }
    }

    #[test]
    fn no_undefined_name_is_left_out_silently() {
        let name = |index| {
            let name = format!("n{index}");
            Undefined { index, name, function: None, defined_in: None }
        };
        let names: Vec<Undefined> = (0..7).map(name).collect();
        let sentence = |count: usize| undefined_sentence(&names[..count].iter().collect::<Vec<_>>());
        assert_eq!(sentence(0), "");
        assert_eq!(sentence(1), "[state] cell 0 uses n0, which no cell defines.");
        assert!(sentence(7).ends_with("no cell defines; and 2 more: n5 in cell 5, n6 in cell 6."));
    }

    #[test]
    fn a_value_cannot_pass_for_another_row() {
        let row = ["a\n[NOTICE] b\u{1b}".to_owned(), "x\ty".to_owned()];
        assert_eq!(table(["A", "B"], [row]), "A\tB\na\\n[NOTICE] b\\u{1b}\tx y");
    }
}

//! Splits, merges and duplicates cells as front ends do.

use calls::prelude::*;
use std::sync::Arc;

use notebook::{Cell, Edit, Json, NewCell, Notebook, is_defined_metadata};

pub(super) enum Arrangement {
    /// The lines before this one, counted from 1, become a new cell above. The cell keeps the rest, its outputs and its id, so
    /// that a run of it still belongs to it.
    Split { line: usize },
    /// The next cell becomes a part of this one. Outputs are removed, and metadata that nbformat does not define is kept: that of
    /// this cell where both have it. The id is that of this cell, or of the next if only that has run, such as the rest of a cell that
    /// was split: the run belongs to it.
    Merge,
    /// A copy becomes the next cell.
    Duplicate,
}

impl Arrangement {
    /// The edits that arrange the cell at `index` so.
    pub(super) fn edits(&self, notebook: &Notebook, index: usize) -> Result<Vec<Edit>, Error> {
        let cell = &notebook.cells()[index];
        match self {
            Self::Split { line } => split(index, cell, *line),
            Self::Merge => merge(index, cell, notebook.cells().get(index + 1)),
            Self::Duplicate => Ok(duplicate(index, cell)),
        }
    }

    /// What was done, with the cell at `index` afterwards; a path follows.
    pub(super) fn done(&self, notebook: &Notebook, index: usize) -> String {
        let Some(cell) = notebook.cells().get(index) else { return "Done in".to_owned() };
        let what = label(index, cell);
        let neighbour =
            |index: usize| notebook.cells().get(index).map(|cell| label(index, cell)).unwrap_or_default();
        match self {
            Self::Split { line } => format!(
                "Cell split successfully! The lines before line {line} are {}; {what} keeps the rest and its outputs, in",
                neighbour(index.saturating_sub(1))
            ),
            Self::Merge if cell.is_code() => {
                format!(
                    "Cells merged successfully, without outputs: execute_cell shows them again! {what} in"
                )
            }
            Self::Merge => format!("Cells merged successfully! {what} in"),
            Self::Duplicate => {
                format!("Cell duplicated successfully! The copy is {}, in", neighbour(index + 1))
            }
        }
    }
}

/// A new cell with another source.
fn like(cell: &Cell, source: &str) -> NewCell {
    NewCell {
        metadata: Some(cell.metadata()),
        attachments: cell.attachments(),
        others: cell.others(),
        ..NewCell::new(cell.cell_type().clone(), source)
    }
}

fn split(index: usize, cell: &Cell, line: usize) -> Result<Vec<Edit>, Error> {
    const LINE_BREAKS: [char; 2] = ['\r', '\n'];
    let source = cell.source();
    let lines: Vec<&str> = source.split_inclusive('\n').collect();
    if line < 2 || line > lines.len() {
        let (what, count) = (label(index, cell), lines.len());
        let cause = if count < 2 {
            format!("A cell of one line cannot be split: {what}.")
        } else {
            format!("split_at must be a line from 2 to {count} of {what}, not {line}.")
        };
        return Err(refused(cause));
    }
    let (head, tail) = (lines[..line - 1].concat(), lines[line - 1..].concat());
    let above = like(cell, head.trim_end_matches(LINE_BREAKS));
    let rest = tail.trim_start_matches(LINE_BREAKS).to_owned();
    Ok(vec![Edit::Insert { index, cell: above }, Edit::SetSource { id: cell.id().clone(), source: rest }])
}

fn merge(index: usize, cell: &Cell, next: Option<&Cell>) -> Result<Vec<Edit>, Error> {
    let Some(next) = next else {
        return Err(refused(format!("No cell follows {}.", label(index, cell))));
    };
    let (what, other) = (label(index, cell), label(index + 1, next));
    let (own_type, next_type) = (cell.cell_type(), next.cell_type());
    if own_type != next_type {
        return Err(refused(format!(
            "Only cells of one type are merged: {what} is a {own_type} cell and {other} a {next_type} cell."
        )));
    }
    if next.has_attachments() {
        return Err(refused(format!("The attachments of {other} would be lost.")));
    }
    let source = format!("{}\n\n{}", cell.source(), next.source());
    let is_like_next = cell.others() == next.others() && !cell.has_attachments();
    let (kept, gone) =
        if !has_run(cell) && has_run(next) && is_like_next { (next, cell) } else { (cell, next) };
    let id = kept.id().clone();
    let mut edits = vec![Edit::SetSource { id: id.clone(), source }];
    // What is said of one cell, such as that it is hidden, is not true of both.
    let (own, other) = (cell.metadata(), next.metadata());
    let added = other.members().filter(|(name, _)| own.member(name).is_none() && !is_defined_metadata(name));
    let metadata = Json::object(&own.members().chain(added).collect::<Vec<_>>());
    let patch = kept.metadata().patch_to(&metadata);
    if patch.members().next().is_some() {
        edits.push(Edit::MergeMetadata { id: id.clone(), patch });
    }
    if cell.is_code() {
        edits.push(Edit::SetOutputs { id, outputs: Arc::new([]), execution_count: None });
    }
    edits.push(Edit::Delete { ids: vec![gone.id().clone()] });
    Ok(edits)
}

/// Whether the cell shows that it has run.
fn has_run(cell: &Cell) -> bool {
    cell.execution_count().is_some() || !cell.outputs().is_empty()
}

fn duplicate(index: usize, cell: &Cell) -> Vec<Edit> {
    let copy = like(cell, &cell.source());
    let id = copy.id.clone();
    let mut edits = vec![Edit::Insert { index: index + 1, cell: copy }];
    if cell.is_code() {
        let execution_count = cell.execution_count();
        edits.push(Edit::SetOutputs { id, outputs: cell.outputs().into(), execution_count });
    }
    edits
}

#[cfg(test)]
mod tests {
    use notebook::{CellType, Output};
    use serde_json::{Value, json};

    use super::*;

    /// Two code cells, the first with outputs and metadata, and two text cells, the second with an attachment.
    fn notebook() -> Notebook {
        let mut notebook = Notebook::new();
        let metadata = Json::from_value(&json!({ "tags": ["a"], "custom": { "n": 1.5 } }));
        let other = Json::from_value(&json!({ "tags": ["b"], "custom": 2, "vendor": { "k": [1] } }));
        let attachments = Json::from_value(&json!({ "a.png": { "image/png": "aGk=" } }));
        let cells = [
            NewCell { metadata: Some(metadata), ..NewCell::new(CellType::Code, "a\n\n\nb\nc") },
            NewCell { metadata: Some(other), ..NewCell::new(CellType::Code, "d") },
            NewCell::new(CellType::Markdown, "e"),
            NewCell { attachments: Some(attachments), ..NewCell::new(CellType::Markdown, "f\ng") },
        ];
        for (index, cell) in cells.into_iter().enumerate() {
            let cell = NewCell { id: format!("c{index}").into(), ..cell };
            notebook.apply(&Edit::Insert { index, cell }).unwrap();
        }
        let outputs = [Output::Stream { name: "stdout".into(), text: "x".into() }].into();
        notebook.apply(&Edit::SetOutputs { id: "c0".into(), outputs, execution_count: Some(7) }).unwrap();
        // A member that nbformat does not know.
        let mut file: Value = serde_json::from_slice(&notebook.to_bytes()).unwrap();
        file["cells"][0]["own"] = json!({ "a": 1 });
        Notebook::parse(serde_json::to_vec(&file).unwrap().into()).unwrap()
    }

    /// The cells afterwards, without the ids of new ones.
    fn arranged(arrangement: &Arrangement, index: usize) -> Result<Vec<Value>, String> {
        let mut notebook = notebook();
        for edit in arrangement.edits(&notebook, index).map_err(|error| error.cause)? {
            notebook.apply(&edit).unwrap();
        }
        let mut written: Value = serde_json::from_slice(&notebook.to_bytes()).unwrap();
        let cells = written["cells"].as_array_mut().unwrap();
        for cell in cells.iter_mut().filter(|cell| cell["id"].as_str().unwrap().len() > 2) {
            cell["id"] = "new".into();
        }
        Ok(cells.clone())
    }

    fn source(cell: &Value) -> String {
        cell["source"].as_array().unwrap().iter().filter_map(Value::as_str).collect()
    }

    #[test]
    fn outputs_stay_with_the_last_part_of_a_split_cell() {
        for line in [2, 3, 4] {
            let cells = arranged(&Arrangement::Split { line }, 0).unwrap();
            assert_eq!(cells.len(), 5);
            let (above, below) = (&cells[0], &cells[1]);
            assert_eq!((source(above), source(below)), ("a".to_owned(), "b\nc".to_owned()), "{line}");
            assert_eq!((&above["id"], &below["id"]), (&json!("new"), &json!("c0")));
            assert_eq!((&above["outputs"], &above["execution_count"]), (&json!([]), &Value::Null));
            assert_eq!(
                (below["outputs"].as_array().unwrap().len(), &below["execution_count"]),
                (1, &json!(7))
            );
            assert_eq!(above["metadata"], json!({ "tags": ["a"], "custom": { "n": 1.5 } }));
            assert_eq!(above["metadata"], below["metadata"]);
        }
        let text = arranged(&Arrangement::Split { line: 2 }, 3).unwrap();
        assert_eq!((source(&text[3]), source(&text[4])), ("f".to_owned(), "g".to_owned()));
        assert_eq!(text[3]["attachments"], text[4]["attachments"]);
        for line in [0, 1, 6] {
            let cause = arranged(&Arrangement::Split { line }, 0).unwrap_err();
            assert!(cause.contains("from 2 to 5"), "{cause}");
        }
        assert!(arranged(&Arrangement::Split { line: 2 }, 1).unwrap_err().contains("A cell of one line"));
    }

    #[test]
    fn merged_cells_lose_their_outputs_and_nothing_else() {
        let cells = arranged(&Arrangement::Merge, 0).unwrap();
        assert_eq!(cells.len(), 3);
        assert_eq!((source(&cells[0]), &cells[0]["id"]), ("a\n\n\nb\nc\n\nd".to_owned(), &json!("c0")));
        assert_eq!((&cells[0]["outputs"], &cells[0]["execution_count"]), (&json!([]), &Value::Null));
        let expected = json!({ "tags": ["a"], "custom": { "n": 1.5 }, "vendor": { "k": [1] } });
        assert_eq!(cells[0]["metadata"], expected);
        for (index, expected) in [(1, "markdown cell"), (2, "attachments"), (3, "No cell follows")] {
            let cause = arranged(&Arrangement::Merge, index).unwrap_err();
            assert!(cause.contains(expected), "{cause}");
        }
    }

    #[test]
    fn the_id_of_a_split_cell_is_left_when_it_is_merged_back() {
        let original = notebook();
        let mut notebook = notebook();
        for arrangement in [Arrangement::Split { line: 4 }, Arrangement::Merge] {
            for edit in arrangement.edits(&notebook, 0).unwrap() {
                notebook.apply(&edit).unwrap();
            }
        }
        let cell = &notebook.cells()[0];
        assert_eq!((cell.id().as_str(), &*cell.source()), ("c0", "a\n\nb\nc"));
        assert!(cell.metadata().is_equivalent(&original.cells()[0].metadata()));
    }

    #[test]
    fn a_copy_has_everything_but_the_id() {
        for index in [0, 1, 3] {
            let cells = arranged(&Arrangement::Duplicate, index).unwrap();
            let (original, mut copy) = (&cells[index], cells[index + 1].clone());
            assert_eq!(copy["id"], "new");
            copy["id"] = original["id"].clone();
            assert_eq!(*original, copy);
        }
    }
}

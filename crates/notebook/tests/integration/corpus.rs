//! What holds for every notebook of the corpus.

use notebook::{Cell, CellType, Edit, Json, NewCell, Notebook};

use crate::files::{Corpus, cells_of, corpus, parse, seen};

/// These need repair, so a modification anywhere changes them elsewhere too. Upgraded files change as a whole.
const NEED_REPAIR: [&str; 18] = [
    "bom",
    "cells-null",
    "duplicate-ids",
    "error-without-traceback",
    "execution-count-float",
    "execution-count-odd",
    "identical-cells-without-ids",
    "ids-invalid",
    "kernelspec-empty",
    "kernelspec-null",
    "missing-ids-4.5",
    "missing-metadata",
    "missing-outputs",
    "missing-source",
    "null-execution-count-missing",
    "one-id-missing",
    "stream-without-name",
    "unknown-output-type",
];

fn needs_repair(file: &Corpus) -> bool {
    NEED_REPAIR.contains(&&*file.name)
        || ["nbformat-3-", "kernelspec-without-", "metadata-null", "nbformat-float", "duplicate-cells-keys"]
            .iter()
            .any(|start| file.name.starts_with(start))
        || ["nbformat-missing", "minor-missing", "missing-notebook-metadata"].contains(&&*file.name)
}

#[test]
fn the_corpus_is_large_enough() {
    assert!(corpus().len() >= 60);
}

#[test]
fn unmodified_files_are_written_byte_for_byte() {
    for file in corpus() {
        let notebook = file.notebook();
        assert_eq!(notebook.to_bytes(), file.text, "{}", file.name);
        assert!(!notebook.is_modified());
    }
}

#[test]
fn edits_without_effect_leave_the_notebook_unmodified() {
    for file in corpus() {
        let mut notebook = file.notebook();
        for (index, cell) in file.notebook().cells().iter().enumerate() {
            let id = || cell.id().clone();
            notebook.apply(&Edit::SetSource { id: id(), source: cell.source().into_owned() }).unwrap();
            notebook.apply(&Edit::Move { id: id(), index }).unwrap();
            let (outputs, execution_count) = (cell.outputs().into(), cell.execution_count());
            if cell.is_code() {
                notebook.apply(&Edit::SetOutputs { id: id(), outputs, execution_count }).unwrap();
            }
        }
        notebook.apply(&Edit::Delete { ids: Vec::new() }).unwrap();
        for (name, value) in notebook.metadata().members() {
            notebook.apply(&Edit::SetMetadata { name: name.into(), value: Some(value) }).unwrap();
        }
        notebook.apply(&Edit::SetMetadata { name: "absent".to_owned(), value: None }).unwrap();
        assert_eq!(notebook.to_bytes(), file.text, "{}", file.name);
    }
}

#[test]
fn modifying_a_cell_changes_no_other_byte() {
    for file in corpus().iter().filter(|file| !needs_repair(file)) {
        let text = str::from_utf8(&file.text).unwrap();
        for (index, raw) in cells_of(text).into_iter().enumerate() {
            let start = raw.as_ptr() as usize - text.as_ptr() as usize;
            let mut notebook = file.notebook();
            let id = notebook.cells()[index].id().clone();
            notebook.apply(&Edit::SetSource { id, source: "new".to_owned() }).unwrap();
            let written = String::from_utf8(notebook.to_bytes()).unwrap();
            let rest = written.strip_prefix(&text[..start]).expect(&file.name);
            let cell = rest.strip_suffix(&text[start + raw.len()..]).expect(&file.name);
            assert!(cell.contains("\"new\""), "{}: {cell}", file.name);
        }
    }
}

#[test]
fn inserting_a_cell_changes_no_other_byte() {
    for file in corpus().iter().filter(|file| !needs_repair(file)) {
        let text = str::from_utf8(&file.text).unwrap();
        let cells = cells_of(text);
        for index in 0..=cells.len() {
            let mut notebook = file.notebook();
            let cell = NewCell { id: "new".into(), ..NewCell::new(CellType::Raw, "new") };
            notebook.apply(&Edit::Insert { index, cell }).unwrap();
            let written = String::from_utf8(notebook.to_bytes()).unwrap();
            let mut now = cells_of(&written);
            let new = now.remove(index);
            assert_eq!(now, cells, "{}", file.name);
            assert_eq!(new.contains("\"id\": \"new\""), notebook.version().1 >= 5, "{}", file.name);
            if !cells.is_empty() {
                // Without the cell, one comma and the space before it, the file is as it was.
                let start = new.as_ptr() as usize - written.as_ptr() as usize;
                let (before, after) = (&written[..start], &written[start + new.len()..]);
                let is_rest = |before: &str, after: &str| {
                    text.starts_with(before)
                        && text.ends_with(after)
                        && before.len() + after.len() <= text.len()
                };
                let trimmed = before.trim_end().trim_end_matches(',').trim_end();
                assert!(
                    is_rest(trimmed, after.trim_start().trim_start_matches(',').trim_start()),
                    "{}",
                    file.name
                );
            }
        }
    }
}

#[test]
fn written_notebooks_read_back_the_same() {
    for file in corpus() {
        for (name, edits) in changes(&file.notebook()) {
            let mut notebook = file.notebook();
            for edit in edits {
                notebook.apply(&edit).unwrap();
            }
            let written = notebook.to_bytes();
            let mut again =
                parse(written.clone()).unwrap_or_else(|error| panic!("{} {name}: {error}", file.name));
            again.carry_ids(&notebook);
            let mut expected = seen(&notebook);
            if notebook.is_modified() {
                // The head may be repaired.
                expected[0] = seen(&again).swap_remove(0);
            }
            assert_eq!(seen(&again), expected, "{} {name}", file.name);
            assert_eq!(again.to_bytes(), written, "{} {name}", file.name);
            assert_eq!(again.version(), notebook.version(), "{} {name}", file.name);
        }
    }
}

/// Changes by name.
fn changes(notebook: &Notebook) -> Vec<(&'static str, Vec<Edit>)> {
    let ids = || notebook.cells().iter().map(|cell| cell.id().clone());
    let new = NewCell { id: "new".into(), ..NewCell::new(CellType::Code, "x = 1\n") };
    let source = |id| Edit::SetSource { id, source: "line\r\n\u{2028}\"\\\u{1}é".to_owned() };
    let patch = || serde_json::json!({ "tags": ["a"], "jupyter": { "source_hidden": true } });
    let metadata = |id| Edit::MergeMetadata { id, patch: Json::from_value(&patch()) };
    let clear =
        |cell: &Cell| Edit::SetOutputs { id: cell.id().clone(), outputs: [].into(), execution_count: None };
    vec![
        ("nothing", Vec::new()),
        ("insert", vec![Edit::Insert { index: notebook.cells().len(), cell: new }]),
        ("all sources", ids().map(source).collect()),
        ("reverse", ids().rev().enumerate().map(|(index, id)| Edit::Move { id, index }).collect()),
        ("delete first", vec![Edit::Delete { ids: ids().take(1).collect() }]),
        ("delete all", vec![Edit::Delete { ids: ids().collect() }]),
        ("types", ids().map(|id| Edit::SetType { id, cell_type: CellType::Raw }).collect()),
        ("metadata", ids().map(metadata).collect()),
        ("clear", notebook.cells().iter().filter(|cell| cell.is_code()).map(clear).collect()),
    ]
}

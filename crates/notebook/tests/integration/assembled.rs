//! Notebooks that are made of cells instead of being read from a file.

use bytes::Bytes;
use notebook::{Cell, Edit, Json, NewCell, Notebook, ParseError};
use serde_json::{Value, json};

fn json(value: &Value) -> Json {
    Json::from_value(value)
}

/// The cells of a notebook as single objects, and the notebook's metadata.
fn taken_apart(text: &str) -> (Json, Vec<Cell>) {
    let value: Value = serde_json::from_str(text).unwrap();
    let cells = value["cells"].as_array().unwrap().iter();
    let cells = cells.map(|cell| Cell::from_json(json(cell)).unwrap()).collect();
    (json(&value["metadata"]), cells)
}

/// A notebook as Jupyter wrote it comes out the same from its parts.
#[test]
fn assembled_notebooks_are_written_like_jupyter() {
    for name in ["clean-4.5", "clean-outputs"] {
        let path = format!("{}/tests/corpus/{name}.ipynb", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let (metadata, cells) = taken_apart(&text);
        let notebook = Notebook::from_cells(metadata, 5, cells);
        assert!(!notebook.is_modified());
        assert_eq!(notebook.version(), (4, 5));
        assert_eq!(String::from_utf8(notebook.to_bytes()).unwrap(), text, "{name}");
    }
}

#[test]
fn a_notebook_can_be_empty() {
    let notebook = Notebook::from_cells(Json::empty_object(), 5, Vec::new());
    assert_eq!(notebook.to_bytes(), Notebook::new().to_bytes());
    let odd = Notebook::from_cells(json(&json!([1])), 5, Vec::new());
    assert_eq!(odd.to_bytes(), Notebook::new().to_bytes());
}

#[test]
fn assembled_notebooks_can_be_edited() {
    let text = r#"{"cells": [{"cell_type": "code", "id": "a", "metadata": {}, "source": "1",
        "outputs": [], "execution_count": null}], "metadata": {"k": 1}}"#;
    let (metadata, cells) = taken_apart(text);
    let mut notebook = Notebook::from_cells(metadata, 5, cells);
    let before = notebook.clone();
    notebook.apply(&Edit::SetSource { id: "a".into(), source: "2".to_owned() }).unwrap();
    notebook.apply(&Edit::Insert { index: 0, cell: NewCell::new(notebook::CellType::Raw, "x") }).unwrap();
    assert!(notebook.is_modified());
    let parsed = Notebook::parse(notebook.to_bytes().into()).unwrap();
    let sources: Vec<_> = parsed.cells().iter().map(Cell::source).collect();
    assert_eq!(sources, ["x", "2"]);
    assert_eq!(parsed.metadata().to_value(), json!({ "k": 1 }));
    assert_eq!(before.cells()[0].source(), "1");
}

#[test]
fn missing_members_of_a_cell_are_added() {
    let cell = |value: Value| Cell::from_json(json(&value)).unwrap();
    let cells = vec![
        cell(json!({})),
        cell(json!({ "cell_type": "code", "id": "same" })),
        cell(json!({ "cell_type": "code", "id": "same" })),
        cell(json!({ "cell_type": "markdown", "id": "not valid", "source": ["a\n", "b"] })),
    ];
    let notebook = Notebook::from_cells(Json::empty_object(), 5, cells);
    let ids: std::collections::HashSet<_> = notebook.cells().iter().map(Cell::id).collect();
    assert_eq!(ids.len(), 4);
    assert_eq!(notebook.cells()[1].id(), "same");
    let value: Value = serde_json::from_slice(&notebook.to_bytes()).unwrap();
    for (cell, written) in notebook.cells().iter().zip(value["cells"].as_array().unwrap()) {
        assert_eq!(written["id"], **cell.id());
        assert!(written["metadata"].is_object(), "{written}");
        assert!(written["source"].is_array(), "{written}");
    }
    assert_eq!(value["cells"][1]["outputs"], json!([]));
}

/// Before nbformat 4.5, cells have no ids in files.
#[test]
fn older_formats_get_no_ids() {
    let cell = json!({ "cell_type": "raw", "id": "a", "metadata": {}, "source": "x" });
    let mut notebook =
        Notebook::from_cells(Json::empty_object(), 4, vec![Cell::from_json(json(&cell)).unwrap()]);
    assert_eq!(notebook.cells()[0].id(), "a");
    notebook.apply(&Edit::SetSource { id: "a".into(), source: "y".to_owned() }).unwrap();
    let value: Value = serde_json::from_slice(&notebook.to_bytes()).unwrap();
    assert_eq!(value["nbformat_minor"], 4);
    assert_eq!(value["cells"][0], json!({ "cell_type": "raw", "metadata": {}, "source": ["y"] }));
}

#[test]
fn a_cell_must_be_an_object() {
    for text in ["[]", "1", "null", "\"x\""] {
        let json = Json::parse(Bytes::from_static(text.as_bytes())).unwrap();
        assert!(matches!(Cell::from_json(json), Err(ParseError::NotANotebook { .. })), "{text}");
    }
}

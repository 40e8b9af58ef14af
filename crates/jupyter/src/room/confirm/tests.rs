use notebook::{CellKind, Edit, NewCell, Output};

use super::*;
use crate::testing::notebook;

/// The notebook as a file of nbformat 4.4 holds it.
fn old(notebook: &Notebook) -> Notebook {
    let mut text = Vec::new();
    notebook.write(&mut text).unwrap();
    let mut file: serde_json::Value = serde_json::from_slice(&text).unwrap();
    file["nbformat_minor"] = 4.into();
    for cell in file["cells"].as_array_mut().unwrap() {
        cell.as_object_mut().unwrap().remove("id");
    }
    Notebook::parse(file.to_string().into()).unwrap()
}

#[test]
fn an_edit_is_found_in_a_file_without_ids_and_only_where_it_is() {
    let output = Output::Stream { name: "stdout".into(), text: "hi\n".into() };
    let edits = [
        Edit::SetSource { id: "c1".to_owned(), source: "new".to_owned() },
        Edit::Insert { index: 1, cell: NewCell::new(CellKind::Code, "x") },
        Edit::Delete { ids: vec!["c0".to_owned()] },
        Edit::Move { id: "c0".to_owned(), index: 2 },
        Edit::SetOutputs { id: "c2".to_owned(), outputs: vec![output].into(), execution_count: Some(3) },
    ];
    let before = notebook(&["x", "x", "y"]);
    for edit in edits {
        let mut after = before.clone();
        after.apply(edit.clone()).unwrap();
        let intent = Intent::of(edit.clone(), &before);
        assert!(holds(&mut old(&after), Some(&after), &[&intent]), "{edit:?}");
        assert!(!holds(&mut old(&before), Some(&after), &[&intent]), "{edit:?}");
    }
}

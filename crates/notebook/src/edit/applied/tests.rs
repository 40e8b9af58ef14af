use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;

use crate::{Cell, CellType, Edit, Json, Kernelspec, MimeBundle, NewCell, Notebook, Output};

fn notebook() -> Notebook {
    let cell = |id: &str| {
        let value = json!({ "cell_type": "code", "id": id, "source": "1", "metadata": {}, "outputs": [],
            "execution_count": null });
        Cell::from_json(Json::from_value(&value)).unwrap()
    };
    Notebook::from_cells(Json::empty_object(), 5, vec![cell("a"), cell("b"), cell("c")])
}

fn output(data: &'static str) -> Arc<[Output]> {
    let data = Json::parse(Bytes::from_static(data.as_bytes())).unwrap();
    [Output::Display(MimeBundle { data, metadata: Json::empty_object() })].into()
}

#[test]
fn every_edit_is_applied_after_it_was_made() {
    let spec = Kernelspec { name: "python3".to_owned(), display_name: None, language: None };
    let edits = [
        Edit::Insert { index: 1, cell: NewCell::new(CellType::Markdown, "text") },
        Edit::SetSource { id: "a".into(), source: "2".to_owned() },
        Edit::SetType { id: "a".into(), cell_type: CellType::Markdown },
        Edit::MergeMetadata { id: "a".into(), patch: Json::from_value(&json!({ "tags": ["x"], "y": null })) },
        Edit::Move { id: "a".into(), index: 2 },
        Edit::Delete { ids: vec!["b".into()] },
        Edit::SetOutputs { id: "a".into(), outputs: output("{}"), execution_count: Some(1) },
        Edit::set_kernelspec(&spec),
        Edit::set_language_info(Json::from_value(&json!({ "name": "python" }))),
    ];
    for edit in edits {
        let mut notebook = notebook();
        assert!(!edit.is_applied(&notebook), "{edit:?}");
        notebook.apply(&edit).unwrap();
        assert!(edit.is_applied(&notebook), "{edit:?}");
    }
}

#[test]
fn later_changes_by_others_count() {
    let mut notebook = notebook();
    let cell = NewCell::new(CellType::Code, "x");
    let insert = Edit::Insert { index: 0, cell: cell.clone() };
    notebook.apply(&insert.clone()).unwrap();
    notebook.apply(&Edit::SetSource { id: cell.id.clone(), source: "y".to_owned() }).unwrap();
    assert!(insert.is_applied(&notebook));
    assert!(!Edit::SetSource { id: cell.id, source: "x".to_owned() }.is_applied(&notebook));
    let gone = Edit::SetSource { id: "gone".into(), source: String::new() };
    assert!(!gone.is_applied(&notebook));
}

#[test]
fn outputs_are_compared_by_meaning() {
    let mut notebook = notebook();
    let set = |data| Edit::SetOutputs { id: "a".into(), outputs: output(data), execution_count: Some(1) };
    notebook.apply(&set(r#"{"application/json": {"b": 1, "a": 2}}"#)).unwrap();
    assert!(set(r#"{"application/json":{"a":2.0,"b":1}}"#).is_applied(&notebook));
    assert!(!set(r#"{"application/json":{"a":2,"b":3}}"#).is_applied(&notebook));
}

#[test]
fn new_outputs_remove_the_times_of_the_run_before_which_are_no_content() {
    let mut notebook = notebook();
    let plain = notebook.cells()[0].clone();
    let times = json!({ "execution": { "iopub.status.busy": "2026-11-28T10:00:00Z" } });
    notebook.apply(&Edit::MergeMetadata { id: "a".into(), patch: Json::from_value(&times) }).unwrap();
    let timed = &notebook.cells()[0];
    assert_eq!((timed.metadata().to_value(), timed.revision()), (times, plain.revision()));
    assert_eq!(timed.content_json().as_str(), plain.content_json().as_str());
    let outputs = Edit::SetOutputs { id: "a".into(), outputs: output("{}"), execution_count: Some(2) };
    notebook.apply(&outputs).unwrap();
    assert_eq!(notebook.cells()[0].metadata().to_value(), json!({}));
    assert_eq!(notebook.cells()[0].output_count(), 1);
}

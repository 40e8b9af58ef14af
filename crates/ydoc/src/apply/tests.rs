use notebook::{CellId, CellType, Edit, EditError, Json, Kernelspec, NewCell, Output};
use serde_json::json;

use crate::{ApplyError, LiveNotebook};

fn live(sources: &[&str]) -> (LiveNotebook, Vec<CellId>) {
    let mut live = LiveNotebook::new();
    let cells: Vec<_> = sources.iter().map(|source| NewCell::new(CellType::Code, *source)).collect();
    let ids = cells.iter().map(|cell| cell.id.clone()).collect();
    let edits: Vec<_> =
        cells.into_iter().enumerate().map(|(index, cell)| Edit::Insert { index, cell }).collect();
    live.apply(&edits).unwrap();
    (live, ids)
}

#[test]
fn all_edits_are_applied_or_none() {
    let (mut live, ids) = live(&["a", "b"]);
    let before = (live.state_vector(), live.snapshot().unwrap().to_bytes());
    let edits = [
        Edit::SetSource { id: ids[0].clone(), source: "x".to_owned() },
        Edit::Insert { index: 1, cell: NewCell::new(CellType::Raw, "new") },
        Edit::Move { id: ids[0].clone(), index: 2 },
        Edit::set_language_info(Json::from_value(&json!({ "name": "python" }))),
        Edit::Delete { ids: vec!["gone".into()] },
    ];
    let error = EditError::UnknownCell { id: "gone".into() };
    assert_eq!(live.apply(&edits), Err(ApplyError::Edit(error)));
    assert_eq!((live.state_vector(), live.snapshot().unwrap().to_bytes()), before);
}

#[test]
fn later_edits_see_earlier_ones() {
    let (mut live, ids) = live(&["a", "b", "c"]);
    let new = NewCell::new(CellType::Markdown, "new");
    let edits = [
        Edit::Insert { index: 1, cell: new.clone() },
        Edit::Move { id: ids[2].clone(), index: 0 },
        Edit::SetSource { id: new.id.clone(), source: "newer".to_owned() },
        Edit::Delete { ids: vec![ids[1].clone(), ids[0].clone()] },
        Edit::Move { id: new.id.clone(), index: 0 },
    ];
    live.apply(&edits).unwrap();
    let notebook = live.snapshot().unwrap();
    let sources: Vec<_> = notebook.cells().iter().map(notebook::Cell::source).collect();
    assert_eq!(sources, ["newer", "c"]);
}

#[test]
fn edits_without_effect_make_no_update() {
    let (mut live, ids) = live(&["a", "b"]);
    let spec = Kernelspec { name: "python3".to_owned(), display_name: None, language: None };
    let info = Json::from_value(&json!({ "name": "python", "n": 1 }));
    live.apply(&[Edit::set_kernelspec(&spec), Edit::set_language_info(info)]).unwrap();
    let info = Json::from_value(&json!({ "n": 1.0, "name": "python" }));
    let edits = [
        Edit::SetSource { id: ids[0].clone(), source: "a".to_owned() },
        Edit::Move { id: ids[1].clone(), index: 1 },
        Edit::Delete { ids: Vec::new() },
        Edit::SetOutputs { id: ids[0].clone(), outputs: [].into(), execution_count: None },
        Edit::SetType { id: ids[0].clone(), cell_type: CellType::Code },
        Edit::MergeMetadata { id: ids[0].clone(), patch: Json::from_value(&json!({ "gone": null })) },
        Edit::set_kernelspec(&spec),
        Edit::set_language_info(info),
    ];
    assert_eq!(live.apply(&edits), Ok(Vec::new()));
}

#[test]
fn a_cell_moves_with_its_whole_content() {
    let (mut live, ids) = live(&["a \u{1f600}", "b"]);
    let text = notebook::Text::from("out \u{1d518}");
    let outputs = [Output::Stream { name: "stdout".to_owned(), text }].into();
    live.apply(&[Edit::SetOutputs { id: ids[0].clone(), outputs, execution_count: Some(3) }]).unwrap();
    let cell = |live: &mut LiveNotebook, index: usize| {
        let notebook = live.snapshot().unwrap();
        let cell = &notebook.cells()[index];
        (cell.id().clone(), cell.source().into_owned(), cell.outputs(), cell.execution_count())
    };
    let before = cell(&mut live, 0);
    live.apply(&[Edit::Move { id: ids[0].clone(), index: 1 }]).unwrap();
    assert_eq!(cell(&mut live, 1), before);
    // The outputs are shared text still.
    let text = notebook::Text::from("out \u{1d518} more");
    let outputs = [Output::Stream { name: "stdout".to_owned(), text }].into();
    let update =
        live.apply(&[Edit::SetOutputs { id: ids[0].clone(), outputs, execution_count: Some(3) }]).unwrap();
    assert!(update.len() < 60, "{}", update.len());
}

#[test]
fn a_changed_type_keeps_the_cell() {
    let (mut live, ids) = live(&["a", "b", "c"]);
    let outputs = [Output::Stream { name: "stdout".to_owned(), text: "x".into() }].into();
    let merge = |patch| Edit::MergeMetadata { id: ids[1].clone(), patch: Json::from_value(&patch) };
    let set = |cell_type| Edit::SetType { id: ids[1].clone(), cell_type };
    live.apply(&[
        Edit::SetOutputs { id: ids[1].clone(), outputs, execution_count: Some(1) },
        merge(json!({ "tags": ["x"], "custom": { "n": 1.5 } })),
        set(CellType::Markdown),
    ])
    .unwrap();
    let cell = |live: &mut LiveNotebook| {
        let written = live.snapshot().unwrap().to_bytes();
        serde_json::from_slice::<serde_json::Value>(&written).unwrap()["cells"][1].take()
    };
    let metadata = json!({ "tags": ["x"], "custom": { "n": 1.5 } });
    let markdown =
        json!({ "cell_type": "markdown", "id": ids[1].as_str(), "metadata": metadata, "source": ["b"] });
    assert_eq!(cell(&mut live), markdown);
    live.apply(&[set(CellType::Code)]).unwrap();
    let code = json!({
        "cell_type": "code", "execution_count": null, "id": ids[1].as_str(), "metadata": metadata, "outputs": [],
        "source": ["b"],
    });
    assert_eq!(cell(&mut live), code);
}

/// Two people change different members, and neither change is lost.
#[test]
fn other_members_of_the_metadata_are_not_touched() {
    let (mut live, ids) = live(&["a"]);
    let merge = |patch| Edit::MergeMetadata { id: ids[0].clone(), patch: Json::from_value(&patch) };
    live.apply(&[merge(json!({ "jupyter": { "source_hidden": true }, "a": 1, "b": 2 }))]).unwrap();
    let mut other = LiveNotebook::new();
    other.integrate(&live.update_since(&other.state_vector()).unwrap()).unwrap();
    let theirs = other.apply(&[merge(json!({ "a": null, "c": 3 }))]).unwrap();
    live.apply(&[merge(json!({ "jupyter": { "outputs_hidden": true }, "b": 4 }))]).unwrap();
    live.integrate(&theirs).unwrap();
    let metadata = live.snapshot().unwrap().cells()[0].metadata().to_value();
    let hidden = json!({ "source_hidden": true, "outputs_hidden": true });
    assert_eq!(metadata, json!({ "jupyter": hidden, "b": 4, "c": 3 }));
}

/// Numbers that JavaScript has no number for would arrive as what it cannot write.
#[test]
fn large_whole_numbers_do_not_become_big_integers() {
    let (mut live, _) = live(&[]);
    let mut cell = NewCell::new(CellType::Code, "");
    cell.metadata = Some(Json::from_value(&json!({ "a": u64::MAX, "b": i64::MAX, "c": 1_i64 << 40 })));
    let update = live.apply(&[Edit::Insert { index: 0, cell }]).unwrap();
    assert!(!update.contains(&122), "122 is the tag of a BigInt");
    assert_eq!(live.snapshot().unwrap().cells()[0].metadata().to_value()["c"], 1_i64 << 40);
}

/// Deeper than serde reads: kept as text rather than lost.
#[test]
fn deep_json_is_kept_as_text() {
    let (mut live, ids) = live(&["a"]);
    let deep = format!("{{\"application/json\":{}1{}}}", "[".repeat(500), "]".repeat(500));
    let data = Json::parse(deep.clone().into()).unwrap();
    let bundle = notebook::MimeBundle { data, metadata: Json::empty_object() };
    let outputs = [Output::Display(bundle)].into();
    live.apply(&[Edit::SetOutputs { id: ids[0].clone(), outputs, execution_count: None }]).unwrap();
    let notebook = live.snapshot().unwrap();
    assert_eq!(notebook.cells()[0].output_count(), 1);
    assert!(String::from_utf8(notebook.to_bytes()).unwrap().contains(&"[".repeat(400)));
}

#[test]
fn members_of_a_new_cell_that_nbformat_does_not_know_are_kept() {
    let (mut live, _) = live(&["a"]);
    let others = Json::from_value(&json!({ "own": { "a": [1] }, "source": "no" }));
    let cell = NewCell { others: Some(others), ..NewCell::new(CellType::Code, "b") };
    live.apply(&[Edit::Insert { index: 0, cell }]).unwrap();
    let cell = live.snapshot().unwrap().cells()[0].clone();
    assert_eq!(
        (cell.source(), cell.others().unwrap().compact()),
        ("b".into(), r#"{"own":{"a":[1]}}"#.into())
    );
}

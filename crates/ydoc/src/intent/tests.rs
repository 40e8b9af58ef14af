use notebook::{CellType, Json, NewCell};

use super::*;
use crate::testing::{notebook, sources};

fn set(id: &str, source: &str) -> Edit {
    Edit::SetSource { id: id.into(), source: source.to_owned() }
}

/// The sources of a notebook after `theirs`, and after `edit` is applied again.
fn again(edit: Edit, theirs: &[Edit]) -> Option<Vec<String>> {
    let before = notebook(&["a", "b", "c"]);
    let intent = Intent::of(edit, &before);
    let mut now = before;
    for edit in theirs {
        now.apply(edit).unwrap();
    }
    assert!(!intent.holds(&now));
    now.apply(&intent.again(&now)?).unwrap();
    Some(sources(&now))
}

#[test]
fn an_edit_is_applied_again_if_others_have_not_changed_its_cell() {
    let theirs = [set("c0", "theirs")];
    assert_eq!(again(set("c1", "mine"), &theirs).unwrap(), ["theirs", "mine", "c"]);
    assert_eq!(again(Edit::Delete { ids: vec!["c2".into()] }, &theirs).unwrap(), ["theirs", "b"]);
    let to_the_end = Edit::Move { id: "c1".into(), index: 2 };
    assert_eq!(again(to_the_end, &theirs).unwrap(), ["theirs", "c", "b"]);
}

#[test]
fn an_edit_does_not_overwrite_changes_by_others() {
    let gone = Edit::Delete { ids: vec!["c1".into()] };
    for theirs in [set("c1", "theirs"), gone] {
        assert_eq!(again(set("c1", "mine"), std::slice::from_ref(&theirs)), None);
    }
    let theirs = [set("c1", "theirs")];
    assert_eq!(again(Edit::Delete { ids: vec!["c0".into(), "c1".into()] }, &theirs), None);
}

#[test]
fn text_typed_beside_an_edit_does_not_undo_it() {
    let before = notebook(&["one\ntwo\nthree"]);
    let intent = Intent::of(set("c0", "one\n2\nthree"), &before);
    let shows = |source: &str| {
        let mut now = before.clone();
        now.apply(&set("c0", source)).unwrap();
        intent.holds(&now)
    };
    assert!(shows("one\n2\nthree"));
    assert!(shows("one\n2\nthree and more"));
    assert!(!shows("one\ntwo\nthree and more"));
}

#[test]
fn a_new_cell_is_inserted_at_the_end_of_a_shorter_notebook() {
    let insert = Edit::Insert { index: 3, cell: NewCell::new(CellType::Code, "new") };
    let theirs = [Edit::Delete { ids: vec!["c0".into(), "c1".into()] }];
    assert_eq!(again(insert, &theirs).unwrap(), ["c", "new"]);
}

#[test]
fn types_and_metadata_are_set_again_unless_the_cell_has_changed() {
    let before = notebook(&["a", "b"]);
    let set_type = Edit::SetType { id: "c0".into(), cell_type: CellType::Markdown };
    let patch = Json::from_value(&serde_json::json!({ "tags": ["x"] }));
    let merge = Edit::MergeMetadata { id: "c0".into(), patch };
    for edit in [set_type, merge] {
        let intent = Intent::of(edit.clone(), &before);
        assert!(intent.is_undone(&before), "{edit:?}");
        let mut after = before.clone();
        after.apply(&intent.again(&before).unwrap()).unwrap();
        assert!(intent.holds(&after), "{edit:?}");
        let mut theirs = before.clone();
        theirs.apply(&set("c0", "theirs")).unwrap();
        assert!(intent.again(&theirs).is_none(), "{edit:?}");
    }
}

#[test]
fn metadata_replaces_what_it_sets_whole() {
    let before = notebook(&["a"]);
    let merge = |patch| {
        let edit = Edit::MergeMetadata { id: "c0".into(), patch: Json::from_value(&patch) };
        Intent::of(edit, &before)
    };
    let earlier = merge(serde_json::json!({ "tags": ["x"], "a": 1 }));
    assert!(merge(serde_json::json!({ "tags": null, "a": 2, "b": 3 })).replaces(&earlier));
    assert!(!merge(serde_json::json!({ "tags": ["y"] })).replaces(&earlier));
    assert!(!merge(serde_json::json!({ "tags": ["y"], "a": { "b": 1 } })).replaces(&earlier));
}

#[test]
fn outputs_of_a_deleted_cell_are_dropped() {
    let outputs = Edit::SetOutputs { id: "c0".into(), outputs: [].into(), execution_count: Some(1) };
    assert!(are_outputs(std::slice::from_ref(&outputs)));
    assert!(!are_outputs(&[outputs.clone(), set("c0", "x")]));
    assert_eq!(again(outputs.clone(), &[set("c0", "theirs")]).unwrap(), ["theirs", "b", "c"]);
    assert_eq!(again(outputs, &[Edit::Delete { ids: vec!["c0".into()] }]), None);
}

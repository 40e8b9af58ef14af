use notebook::Edit;

use super::*;
use crate::testing::notebook;

fn set(source: &str, before: &Notebook) -> Intent {
    Intent::of(Edit::SetSource { id: "c0".into(), source: source.to_owned() }, before)
}

#[test]
fn edits_of_one_cell_are_merged_and_fit_each_earlier_revision() {
    let mut pending = PendingEdits::default();
    pending.add([set("b", &notebook(&["a"]))]);
    pending.add([set("c", &notebook(&["b"]))]);
    let intents = pending.intents();
    assert_eq!(intents.len(), 1);
    for (source, may) in [("a", true), ("b", true), ("theirs", false)] {
        assert_eq!(intents[0].again(&notebook(&[source])).is_some(), may, "{source}");
    }
    let outputs =
        |count| Edit::SetOutputs { id: "c0".into(), outputs: [].into(), execution_count: Some(count) };
    let now = notebook(&["c"]);
    pending.add((1..50).map(|count| Intent::of(outputs(count), &now)));
    assert_eq!(pending.intents().len(), 2);
    pending.add([Intent::of(Edit::Delete { ids: vec!["c0".into()] }, &now)]);
    assert_eq!(pending.intents().len(), 1);
    assert!(pending.intents()[0].again(&notebook(&["a"])).is_some());
}

#[test]
fn saved_edits_are_forgotten_and_undone_ones_reported_once() {
    let mut pending = PendingEdits::default();
    pending.add([set("b", &notebook(&["a"]))]);
    let mark = pending.mark();
    pending.add([set("b", &notebook(&["x"]))]);
    pending.saved(&[], mark, &notebook(&["b"]));
    assert_eq!(pending.intents().len(), 1, "that one came later");
    pending.saved(&[], pending.mark(), &notebook(&["a"]));
    assert!(pending.is_empty());
    assert!(pending.lost().unwrap().contains("the new source of cell c0"));
    assert!(pending.take_lost().is_some());
    assert!(pending.take_lost().is_none());
    // Replaced by what is in the file now, or changed by others since.
    let newer = set("c", &notebook(&["b"]));
    for (applied, now) in [(vec![newer], "a"), (vec![], "theirs")] {
        pending.add([set("b", &notebook(&["a"]))]);
        pending.saved(&applied, pending.mark(), &notebook(&[now]));
        assert!(pending.is_empty());
        assert!(pending.lost().is_none());
    }
}

#[test]
fn the_number_of_pending_edits_is_bounded() {
    let mut pending = PendingEdits::default();
    let now = notebook(&[]);
    let insert = || Edit::Insert { index: 0, cell: notebook::NewCell::new(notebook::CellType::Code, "x") };
    pending.add((0..MAX_EDITS + 5).map(|_| Intent::of(insert(), &now)));
    assert_eq!(pending.intents().len(), MAX_EDITS);
}

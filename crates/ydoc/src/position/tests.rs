use notebook::{CellType, Edit, NewCell};
use yrs::{Array, ArrayPrelim, Text};

use super::*;

fn live(cells: &[(&str, &str)]) -> LiveNotebook {
    let mut live = LiveNotebook::new();
    for (index, (id, source)) in cells.iter().enumerate() {
        let mut cell = NewCell::new(CellType::Code, *source);
        cell.id = (*id).into();
        live.apply(&[Edit::Insert { index, cell }]).unwrap();
    }
    live
}

fn set(live: &mut LiveNotebook, id: &str, source: &str) {
    live.apply(&[Edit::SetSource { id: id.into(), source: source.to_owned() }]).unwrap();
}

/// The position of a cursor in an awareness state, and its cell.
fn read_back(live: &LiveNotebook, id: &str) -> (Position, Option<CellId>) {
    let state = json!({ "cursors": [live.cursor(&id.into()).unwrap()] });
    let position = Position::of_cursors(&state).unwrap();
    (position, live.cell_with(position))
}

/// The library reads what it would have written itself, and it leads to the start of the source.
#[test]
fn a_cursor_is_a_relative_position() {
    let mut live = live(&[("cell", "a\u{1f600}b")]);
    let cursor = live.cursor(&"cell".into()).unwrap();
    let text = cursor["anchor"]["type"].clone();
    assert_eq!(text["client"], live.doc.client_id().get());
    assert!(text["clock"].is_u64());
    assert_eq!(cursor["anchor"], cursor["head"]);
    let item = &cursor["anchor"]["item"];
    let position: StickyIndex = serde_json::from_value(json!({ "item": item, "assoc": 0 })).unwrap();
    let txn = live.doc.transact();
    let offset = position.get_offset(&txn).unwrap();
    assert_eq!(offset.index, 0);
    drop(txn);
    set(&mut live, "cell", "");
    let cursor = live.cursor(&"cell".into()).unwrap();
    assert!(cursor["anchor"]["item"].is_null());
    assert_eq!(cursor["anchor"]["type"], text);
    assert_eq!(live.cursor(&"gone".into()), None);
}

#[test]
fn a_cursor_is_found_in_its_cell() {
    let live = live(&[("a", "1"), ("b", "\u{1f600}2"), ("c", "")]);
    for id in ["a", "b", "c"] {
        assert_eq!(read_back(&live, id).1.as_deref(), Some(id));
    }
}

#[test]
fn a_position_stays_in_its_cell_while_the_notebook_changes() {
    let mut live = live(&[("a", "one"), ("b", "two")]);
    let (in_b, _) = read_back(&live, "b");
    let cell = NewCell::new(CellType::Code, "before");
    live.apply(&[Edit::Insert { index: 0, cell }]).unwrap();
    // Even if the character at the position was deleted.
    set(&mut live, "b", "");
    assert_eq!(live.cell_with(in_b).as_deref(), Some("b"));
    set(&mut live, "b", "three");
    assert_eq!(live.cell_with(in_b).as_deref(), Some("b"));
    live.apply(&[Edit::Delete { ids: vec!["b".into()] }]).unwrap();
    assert_eq!(live.cell_with(in_b), None);
}

/// What `@jupyter/ydoc` 4 and yjs 13 write: at a character, at the end of a text, and without what is null.
#[test]
fn positions_written_by_others_are_read() {
    let id = |client, clock| ID::new(ClientID::new(client), clock);
    let (text, item) =
        (json!({ "client": 7, "clock": 3 }), json!({ "client": 9_007_199_254_740_991u64, "clock": 0 }));
    let at = Some(Position::At(id(9_007_199_254_740_991, 0)));
    assert_eq!(Position::read(&json!({ "type": null, "tname": null, "item": item, "assoc": 0 })), at);
    assert_eq!(Position::read(&json!({ "type": text, "item": item, "assoc": -1 })), at);
    let end = Some(Position::EndOf(id(7, 3)));
    assert_eq!(Position::read(&json!({ "type": text, "tname": null, "item": null, "assoc": 0 })), end);
    assert_eq!(Position::read(&json!({ "type": text })), end);
    let wrong = [
        json!(null),
        json!({}),
        json!("x"),
        json!({ "tname": "cells", "type": null, "item": null }),
        json!({ "item": { "client": 9_007_199_254_740_992u64, "clock": 0 } }),
        json!({ "item": { "client": -1, "clock": 0 } }),
        json!({ "item": { "client": 1, "clock": 4_294_967_296u64 } }),
        json!({ "item": { "client": 1.5, "clock": 0 } }),
        json!({ "type": { "client": 1 } }),
    ];
    for position in wrong {
        assert_eq!(Position::read(&position), None, "{position}");
    }
}

#[test]
fn the_primary_cursor_counts() {
    let cursor = |clock, is_primary| json!({ "head": { "item": { "client": 1, "clock": clock } }, "primary": is_primary });
    let at = |clock| Some(Position::At(ID::new(ClientID::new(1), clock)));
    let state = |cursors: Value| Position::of_cursors(&json!({ "cursors": cursors }));
    assert_eq!(state(json!([cursor(1, false), cursor(2, true)])), at(2));
    assert_eq!(state(json!([cursor(1, false), cursor(2, false)])), at(1));
    for none in [json!([]), json!(null), json!([null]), json!([{ "head": null }]), json!("x"), json!({})] {
        assert_eq!(state(none.clone()), None, "{none}");
    }
    assert_eq!(Position::of_cursors(&json!({})), None);
    assert_eq!(Position::of_cursors(&Value::Null), None);
}

#[test]
fn a_position_outside_the_sources_is_in_no_cell() {
    let live = live(&[("a", "1")]);
    let unknown = ID::new(ClientID::new(1), 5);
    assert_eq!(live.cell_with(Position::At(unknown)), None);
    assert_eq!(live.cell_with(Position::EndOf(unknown)), None);
    let other = live.doc.get_or_insert_text("other");
    let (elsewhere, in_root, in_list) = {
        let mut txn = live.doc.transact_mut();
        other.insert(&mut txn, 0, "text");
        let at = other.sticky_index(&txn, 1, Assoc::After).unwrap();
        let list = live.meta.insert(&mut txn, "list", ArrayPrelim::from(["x"]));
        let list_at = list.sticky_index(&txn, 0, Assoc::After).unwrap();
        let cell = live.cells.sticky_index(&txn, 0, Assoc::After).unwrap();
        (*at.id().unwrap(), *cell.id().unwrap(), *list_at.id().unwrap())
    };
    assert_eq!(live.cells.len(&live.doc.transact()), 1);
    for position in [elsewhere, in_root, in_list] {
        assert_eq!(live.cell_with(Position::At(position)), None);
        assert_eq!(live.cell_with(Position::EndOf(position)), None);
    }
    // Far beyond what the client has written.
    let beyond = ID::new(ClientID::new(live.doc.client_id().get()), u32::MAX);
    assert_eq!(live.cell_with(Position::At(beyond)), None);
}

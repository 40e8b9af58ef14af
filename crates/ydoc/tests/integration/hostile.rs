//! Malformed documents and frames.

use std::time::Instant;

use notebook::{CellType, Edit, NewCell, Notebook, Output};
use proptest::prelude::*;
use ydoc::{LiveNotebook, Room, RoomEvent, YError};
use yrs::branch::{Branch, BranchPtr};
use yrs::encoding::write::Write;
use yrs::{
    Any, Array, ArrayPrelim, Doc, In, Map, MapPrelim, ReadTxn, StateVector, Text, TextPrelim, TextRef,
    Transact,
};

fn update_of(doc: &Doc) -> Vec<u8> {
    doc.transact().encode_state_as_update_v1(&StateVector::default())
}

/// A document with whatever `cells` are, plain or shared.
fn live(cells: Vec<In>) -> LiveNotebook {
    let doc = Doc::new();
    let array = doc.get_or_insert_array("cells");
    let mut txn = doc.transact_mut();
    for cell in cells {
        array.push_back(&mut txn, cell);
    }
    drop(txn);
    let mut live = LiveNotebook::new();
    live.integrate(&update_of(&doc)).unwrap();
    live
}

fn map<const N: usize>(members: [(&str, In); N]) -> In {
    In::Map(members.into_iter().collect::<MapPrelim>())
}

/// It can be written and read, has as many cells as that, and an edit of each cell works.
fn check(live: &mut LiveNotebook, count: usize) -> Notebook {
    let notebook = live.snapshot().unwrap();
    assert_eq!(notebook.cells().len(), count);
    let parsed = Notebook::parse(notebook.to_bytes().into()).unwrap();
    let ids =
        |notebook: &Notebook| -> Vec<_> { notebook.cells().iter().map(|cell| cell.id().clone()).collect() };
    assert_eq!(ids(&parsed), ids(&notebook));
    for id in ids(&notebook) {
        live.apply(&[Edit::SetSource { id: id.clone(), source: "set".to_owned() }]).unwrap();
        assert_eq!(live.snapshot().unwrap().cell(&id).unwrap().1.source(), "set");
        live.cursor(&id).unwrap();
        live.set_running(&id, true);
    }
    notebook
}

#[test]
fn elements_that_are_not_cells_are_left_out() {
    let cells = vec![
        In::Any(Any::Null),
        In::Any(Any::from("text")),
        map([("cell_type", "code".into()), ("id", "a".into()), ("source", TextPrelim::new("1").into())]),
        In::Array(ArrayPrelim::from(["x"])),
        In::from(TextPrelim::new("x")),
        map([("cell_type", "code".into()), ("id", "b".into()), ("source", TextPrelim::new("2").into())]),
    ];
    let mut live = live(cells);
    check(&mut live, 2);
    // Places in the notebook are not those in the document.
    let cell = NewCell::new(CellType::Code, "between");
    live.apply(&[Edit::Insert { index: 1, cell }, Edit::Move { id: "b".into(), index: 0 }]).unwrap();
    let sources: Vec<_> =
        live.snapshot().unwrap().cells().iter().map(|cell| cell.source().into_owned()).collect();
    assert_eq!(sources, ["set", "set", "between"]);
    let id = live.snapshot().unwrap().cells()[0].id().clone();
    assert_eq!(id, "b");
    live.apply(&[Edit::Delete { ids: vec!["a".into(), "b".into()] }]).unwrap();
    assert_eq!(live.snapshot().unwrap().cells().len(), 1);
}

#[test]
fn invalid_members_are_repaired() {
    let cells = vec![
        map([]),
        map([("id", 1.into()), ("cell_type", 2.into()), ("source", 3.into()), ("metadata", "x".into())]),
        map([("id", "not valid!".into()), ("cell_type", "code".into()), ("outputs", "x".into())]),
        map([("id", "a".into()), ("outputs", ArrayPrelim::from([Any::Null, Any::from("x")]).into())]),
        map([("id", "list".into()), ("source", In::Any(Any::from(vec![Any::from("a\n"), Any::from("b")])))]),
        map([("cell_type", "code".into()), ("execution_count", (-1).into()), ("source", Any::Null.into())]),
        map([("cell_type", "code".into()), ("execution_count", 2.5.into()), ("unknown", f64::NAN.into())]),
    ];
    let notebook = check(&mut live(cells), 7);
    assert_eq!(notebook.cells()[4].source(), "");
    assert!(notebook.cells()[3].is_code());
    assert_eq!(notebook.cells()[3].output_count(), 0);
    assert_eq!(notebook.cells()[6].execution_count(), None);
}

#[test]
fn a_derived_id_is_stable() {
    let cell = || map([("cell_type", "code".into()), ("source", TextPrelim::new("same").into())]);
    let mut live = live(vec![cell(), cell()]);
    let ids = |live: &mut LiveNotebook| -> Vec<_> {
        live.snapshot().unwrap().cells().iter().map(|cell| cell.id().clone()).collect()
    };
    let before = ids(&mut live);
    assert_ne!(before[0], before[1]);
    live.apply(&[Edit::SetSource { id: before[0].clone(), source: "other".to_owned() }]).unwrap();
    assert_eq!(ids(&mut live), before);
    live.apply(&[Edit::Move { id: before[0].clone(), index: 1 }]).unwrap();
    assert_eq!(ids(&mut live), [before[1].clone(), before[0].clone()]);
}

#[test]
fn the_first_of_cells_with_one_id_is_edited() {
    let cell = |source: &str| {
        map([("cell_type", "code".into()), ("id", "a".into()), ("source", TextPrelim::new(source).into())])
    };
    let mut live = live(vec![cell("one"), cell("two")]);
    live.apply(&[Edit::SetSource { id: "a".into(), source: "first".to_owned() }]).unwrap();
    let notebook = live.snapshot().unwrap();
    assert_eq!((notebook.cells()[0].source(), notebook.cells()[1].source()), ("first".into(), "two".into()));
    let second = notebook.cells()[1].id().clone();
    live.apply(&[Edit::SetSource { id: second, source: "second".to_owned() }]).unwrap();
    assert_eq!(live.snapshot().unwrap().cells()[1].source(), "second");
    // Moving one is no reason to remove the other.
    live.apply(&[Edit::Move { id: "a".into(), index: 1 }]).unwrap();
    assert_eq!(live.repair(), None);
    assert_eq!(live.snapshot().unwrap().cells().len(), 2);
}

#[test]
fn a_source_with_embedded_objects_is_replaced() {
    let doc = Doc::new();
    let cells = doc.get_or_insert_array("cells");
    let mut txn = doc.transact_mut();
    let cell = cells.push_back(&mut txn, MapPrelim::from([("id", "a"), ("cell_type", "code")]));
    let source = cell.insert(&mut txn, "source", TextPrelim::new("abc"));
    source.insert_embed(&mut txn, 1, Any::from("embedded"));
    drop(txn);
    let mut live = LiveNotebook::new();
    live.integrate(&update_of(&doc)).unwrap();
    assert_eq!(check(&mut live, 1).cells()[0].source(), "abc");
}

#[test]
fn values_nested_too_deep_are_refused() {
    let mut value = Any::Null;
    for _ in 0..300 {
        value = Any::Array([value].into());
    }
    let doc = Doc::new();
    doc.get_or_insert_map("meta").insert(&mut doc.transact_mut(), "metadata", value);
    let mut live = LiveNotebook::new();
    assert!(matches!(live.integrate(&update_of(&doc)), Err(YError::TooDeep(_))));
    // The same by hand, as deep as the stack is not.
    let mut update = vec![1, 1, 1, 0, 0x28, 1, 4];
    update.extend_from_slice(b"meta");
    update.extend_from_slice(&[1, b'k', 1]);
    update.extend([117, 1].repeat(5_000_000));
    update.extend_from_slice(&[126, 0]);
    assert!(matches!(live.integrate(&update), Err(YError::TooDeep(_))));
    assert_eq!(live.snapshot().unwrap().cells().len(), 0);
}

#[test]
fn shared_types_can_be_nested_deep() {
    let doc = Doc::new();
    let cells = doc.get_or_insert_array("cells");
    let mut txn = doc.transact_mut();
    let cell = cells.push_back(&mut txn, MapPrelim::from([("id", "a"), ("cell_type", "code")]));
    let mut inner = cell;
    for _ in 0..2_000 {
        inner = inner.insert(&mut txn, "metadata", MapPrelim::default());
    }
    drop(txn);
    let mut live = LiveNotebook::new();
    live.integrate(&update_of(&doc)).unwrap();
    check(&mut live, 1);
    live.apply(&[Edit::Delete { ids: vec!["a".into()] }]).unwrap();
}

/// A few bytes that announce billions of things.
#[test]
fn announced_counts_allocate_nothing() {
    let huge = [0xff, 0xff, 0xff, 0xff, 0x0f];
    let mut live = LiveNotebook::new();
    for prefix in [&[][..], &[1], &[1, 1, 1, 0, 0x28, 1, 1, b'm', 1, b'k'], &[1, 1, 1, 0, 8, 1, 1, b'm']] {
        let update = [prefix, &huge, &[0]].concat();
        assert!(matches!(live.integrate(&update), Err(YError::Malformed(_))), "{prefix:?}");
        assert!(live.update_since(&huge).is_err());
    }
}

fn number(number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.write_var(number);
    bytes
}

/// Clients have ids of 53 bits; the library would panic, or take a larger one for another's.
#[test]
fn invalid_client_ids_are_refused() {
    for (client, is_right) in [((1 << 53) - 1, true), (1 << 53, false), (u64::MAX, false)] {
        let client = number(client);
        let state_vector = [&[1][..], &client, &[0]].concat();
        let change = [&[1, 1][..], &client, &[0, 8, 1, 4], b"meta", &[1, 126, 0]].concat();
        let beside = [&[1, 1, 1, 0, 0x88][..], &client, &[0, 1, 126, 0]].concat();
        let deletion = [&[0, 1][..], &client, &[1, 0, 1]].concat();
        let mut live = LiveNotebook::new();
        assert_eq!(live.update_since(&state_vector).is_ok(), is_right, "{state_vector:?}");
        for update in [change, beside, deletion] {
            assert_eq!(live.integrate(&update).is_ok(), is_right, "{update:?}");
        }
    }
}

/// Somebody knows one half of a character that JavaScript counts as two.
#[test]
fn a_state_vector_can_end_within_a_character() {
    let doc = Doc::with_client_id(1);
    doc.get_or_insert_text("source").push(&mut doc.transact_mut(), "\u{1d518}\u{1d518}");
    let mut live = LiveNotebook::new();
    live.integrate(&update_of(&doc)).unwrap();
    for clock in 0..=5 {
        live.update_since(&[1, 1, clock]).unwrap();
    }
}

/// Frames that start as real ones do.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let update = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/history.update")).unwrap();
    let mutated = (any::<prop::sample::Index>(), proptest::collection::vec(any::<u8>(), 1..4)).prop_map(
        move |(at, bytes)| {
            let mut update = update.clone();
            let at = at.index(update.len());
            let end = (at + bytes.len()).min(update.len());
            update.splice(at..end, bytes);
            Room::open(&LiveNotebook::new()).0.update(&update)
        },
    );
    let random = proptest::collection::vec(any::<u8>(), 0..60);
    let tagged =
        (0..4u8, 0..4u8, random.clone()).prop_map(|(tag, step, rest)| [vec![tag, step], rest].concat());
    let numbers =
        prop_oneof![4 => 0..12u64, 1 => 0..300u64, 1 => (0..64u32).prop_map(|shift| u64::MAX >> shift)];
    let counted = (0..3u8, proptest::collection::vec(numbers, 0..40))
        .prop_map(|(step, numbers)| (step, numbers.into_iter().flat_map(number).collect::<Vec<u8>>()))
        .prop_map(|(step, body)| [vec![0, step], number(body.len() as u64), body].concat());
    prop_oneof![1 => random, 2 => tagged, 2 => counted, 3 => mutated]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing that arrives ends the program, and what can be read afterwards can be written.
    #[test]
    fn no_frame_causes_a_panic(frames in proptest::collection::vec(frames(), 1..4)) {
        let mut live = LiveNotebook::new();
        let (mut room, _) = Room::open(&live);
        for frame in frames {
            let events = room.receive(&frame, Instant::now(), &mut live);
            if events.contains(&RoomEvent::Broken) {
                prop_assert_eq!(live.snapshot().unwrap_err(), YError::Broken);
                return Ok(());
            }
            let notebook = live.snapshot().unwrap();
            let outputs: Vec<Vec<Output>> = notebook.cells().iter().map(notebook::Cell::outputs).collect();
            prop_assert_eq!(outputs.len(), notebook.cells().len());
            Notebook::parse(notebook.to_bytes().into()).unwrap();
        }
    }
}

/// Text that stands in a list itself, where the library would look for its end for ever.
#[test]
fn text_in_a_list_is_ignored() {
    let doc = Doc::new();
    let cells = doc.get_or_insert_array("cells");
    let mut txn = doc.transact_mut();
    let cell = cells.push_back(&mut txn, MapPrelim::from([("id", "a"), ("cell_type", "code")]));
    let outputs = cell.insert(&mut txn, "outputs", ArrayPrelim::default());
    let as_text = TextRef::from(BranchPtr::from(AsRef::<Branch>::as_ref(&outputs)));
    as_text.insert(&mut txn, 0, "\u{1d518}");
    drop(txn);
    let mut live = LiveNotebook::new();
    live.integrate(&update_of(&doc)).unwrap();
    let notebook = check(&mut live, 1);
    assert_eq!(notebook.cells()[0].output_count(), 0);
    let text = notebook::Text::from("printed");
    let outputs = [Output::Stream { name: "stdout".to_owned(), text }].into();
    let edit = Edit::SetOutputs { id: "a".into(), outputs, execution_count: None };
    live.apply(std::slice::from_ref(&edit)).unwrap();
    assert!(edit.is_applied(&live.snapshot().unwrap()));
    let as_text = TextRef::from(BranchPtr::from(AsRef::<Branch>::as_ref(&cells)));
    as_text.insert(&mut doc.transact_mut(), 0, "\u{1d518}");
    live.integrate(&update_of(&doc)).unwrap();
    assert_eq!(live.snapshot().unwrap().cells().len(), 0);
}

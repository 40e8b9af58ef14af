use notebook::{CellId, CellType, Edit, NewCell};
use yrs::{Map, Out, Transact};

use crate::LiveNotebook;

fn live() -> (LiveNotebook, CellId) {
    let mut live = LiveNotebook::new();
    let mut cell = NewCell::new(CellType::Code, "a\u{1f600}b");
    cell.id = "cell".into();
    live.apply(&[Edit::Insert { index: 0, cell }]).unwrap();
    (live, "cell".into())
}

#[test]
fn path_and_hash_are_read_from_the_state() {
    let (live, _) = live();
    assert_eq!((live.path(), live.hash()), (None, None));
    let mut txn = live.doc.transact_mut();
    live.state.insert(&mut txn, "path", "a/b.ipynb");
    live.state.insert(&mut txn, "hash", "0f");
    drop(txn);
    assert_eq!((live.path(), live.hash()), (Some("a/b.ipynb".to_owned()), Some("0f".to_owned())));
}

#[test]
fn running_is_sent_once_and_is_not_in_the_notebook() {
    let (mut live, id) = live();
    let before = live.snapshot().unwrap().to_bytes();
    let update = live.set_running(&id, true).unwrap();
    assert_eq!(live.set_running(&id, true), None);
    assert_eq!(live.snapshot().unwrap().to_bytes(), before);
    let mut other = LiveNotebook::new();
    other.integrate(&live.update_since(&other.state_vector()).unwrap()).unwrap();
    other.integrate(&update).unwrap();
    let txn = other.doc.transact();
    let (_, cell) = other.find(&id, &txn).unwrap();
    assert_eq!(cell.get(&txn, "execution_state"), Some(Out::from("running")));
    drop(txn);
    assert_eq!(other.running(), std::slice::from_ref(&id));
    assert!(live.set_running(&id, false).is_some());
    assert!(live.running().is_empty());
    assert_eq!(live.set_running(&"gone".into(), true), None);
}

use notebook::{CellId, CellType, Edit, NewCell};
use yrs::{Map, Transact};

use super::*;

fn insert(live: &mut LiveNotebook, index: usize, source: &str) -> CellId {
    let cell = NewCell::new(CellType::Code, source);
    let id = cell.id.clone();
    live.apply(&[Edit::Insert { index, cell }]).unwrap();
    id
}

fn two() -> (LiveNotebook, LiveNotebook, CellId) {
    let (mut one, mut two) = (LiveNotebook::new(), LiveNotebook::new());
    let id = insert(&mut one, 0, "1");
    two.integrate(&one.update_since(&two.state_vector()).unwrap()).unwrap();
    (one, two, id)
}

#[test]
fn a_live_notebook_is_send() {
    fn is_send<T: Send>(_: &T) {}
    is_send(&LiveNotebook::new());
}

#[test]
fn only_the_notebook_counts_as_changed() {
    let (mut one, mut two, id) = two();
    let mut sync = |one: &mut LiveNotebook| {
        let update = one.update_since(&two.state_vector()).unwrap();
        two.integrate(&update).unwrap()
    };
    assert!(!sync(&mut one));
    // Nobody has read the cell so far.
    one.apply(&[Edit::SetSource { id: id.clone(), source: "2".to_owned() }]).unwrap();
    assert!(sync(&mut one));
    two.snapshot().unwrap();
    let mut sync = |one: &mut LiveNotebook| {
        let update = one.update_since(&two.state_vector()).unwrap();
        two.integrate(&update).unwrap()
    };
    one.apply(&[Edit::SetSource { id, source: "3".to_owned() }]).unwrap();
    assert!(sync(&mut one));
    one.state.insert(&mut one.doc.transact_mut(), "path", "a.ipynb");
    assert!(!sync(&mut one));
    one.apply(&[Edit::set_language_info(notebook::Json::empty_object())]).unwrap();
    assert!(sync(&mut one));
    insert(&mut one, 0, "0");
    assert!(sync(&mut one));
}

/// What did not change is the same cell, not one that looks like it.
#[test]
fn cells_that_did_not_change_are_not_read_again() {
    let (mut one, mut two, _) = two();
    let second = insert(&mut one, 1, "2");
    two.integrate(&one.update_since(&two.state_vector()).unwrap()).unwrap();
    let place = |live: &mut LiveNotebook, index: usize| {
        live.snapshot().unwrap().cells()[index].metadata().bytes().as_ptr()
    };
    let before = [place(&mut two, 0), place(&mut two, 1)];
    assert_eq!(before, [place(&mut two, 0), place(&mut two, 1)]);
    let update = one.apply(&[Edit::SetSource { id: second, source: "3".to_owned() }]).unwrap();
    two.integrate(&update).unwrap();
    insert(&mut two, 0, "0");
    assert_eq!(place(&mut two, 1), before[0]);
    assert_ne!(place(&mut two, 2), before[1]);
    assert_eq!(two.snapshot().unwrap().cells()[2].source(), "3");
}

#[test]
fn a_malformed_update_changes_nothing() {
    let (mut one, _, _) = two();
    let before = one.state_vector();
    for update in [&b""[..], b"\x01", b"\xff", &[0; 50], b"\x00\x00trailing"] {
        let _ = one.integrate(update);
    }
    assert_eq!(one.state_vector(), before);
    assert!(one.update_since(b"").is_err());
    assert_eq!(one.snapshot().unwrap().cells().len(), 1);
}

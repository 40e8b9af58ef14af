use std::time::UNIX_EPOCH;

use super::*;

fn entry(id: &str) -> Entry {
    Entry {
        id: MachineId::parse(id).unwrap(),
        kind: MachineKind { variant: "GPU".into(), accelerator: Some("T4".into()), has_high_memory: false },
        account: Some("ada@example.com".into()),
        keeps: false,
        at: UNIX_EPOCH + Duration::from_secs(1_000_000),
    }
}

#[test]
fn a_machine_is_known_to_the_next_process_from_before_its_request_on() {
    let state = tempfile::tempdir().unwrap();
    let (entry, here) = (entry("cellbridge-t4-1"), Ledger::new(state.path()));
    assert_eq!((here.entries(), here.origin(&entry.id)), (Vec::new(), MachineOrigin::Elsewhere));
    here.record(&entry).unwrap();
    assert_eq!(here.origin(&entry.id), MachineOrigin::Here { keeps: false, is_shared: false });
    // Each ledger opens files of its own, as another process does.
    let other = Ledger::new(state.path());
    let of = |is_running, keeps| MachineOrigin::OtherProcess { at: entry.at, is_running, keeps };
    assert_eq!((other.entries(), other.origin(&entry.id)), (vec![entry.clone()], of(true, false)));
    here.keep(&entry).unwrap();
    assert_eq!(other.origin(&entry.id), of(true, true));
    drop(here);
    assert_eq!(other.origin(&entry.id), of(false, true));
    other.remove(&entry.id);
    other.remove(&entry.id);
    assert_eq!(other.origin(&entry.id), MachineOrigin::Elsewhere);
    assert_eq!(fs::read_dir(&other.folder).unwrap().count(), 0);
}

#[test]
fn the_last_process_that_uses_a_machine_knows_that_it_is_the_last() {
    let state = tempfile::tempdir().unwrap();
    let (entry, here) = (entry("cellbridge-t4-1"), Ledger::new(state.path()));
    here.record(&entry).unwrap();
    let other = Ledger::new(state.path());
    other.hold(&entry.id).unwrap();
    assert!(matches!(other.origin(&entry.id), MachineOrigin::OtherProcess { is_running: true, .. }));
    assert!(here.release(&entry.id).is_none());
    let last = other.release(&entry.id);
    assert!(last.is_some());
    // Nobody starts to use what is being ended.
    assert!(here.hold(&entry.id).is_err());
    drop(last);
    here.hold(&entry.id).unwrap();
}

#[test]
fn a_machine_of_a_process_that_has_ended_becomes_that_of_its_user() {
    let state = tempfile::tempdir().unwrap();
    let entry = entry("cellbridge-t4-1");
    Ledger::new(state.path()).record(&entry).unwrap();
    let next = Ledger::new(state.path());
    next.hold(&entry.id).unwrap();
    next.hold(&entry.id).unwrap();
    assert_eq!(next.origin(&entry.id), MachineOrigin::Here { keeps: false, is_shared: false });
    assert_eq!(next.held(), [entry]);
}

#[test]
fn machines_of_others_are_neither_recorded_nor_held() {
    let state = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(state.path());
    let id = MachineId::parse("r-1").unwrap();
    ledger.hold(&id).unwrap();
    assert_eq!((ledger.held(), ledger.folder.exists()), (Vec::new(), false));
}

#[test]
fn a_machine_that_is_not_listed_is_over_once_it_cannot_be_on_its_way() {
    let state = tempfile::tempdir().unwrap();
    let (entry, ledger) = (entry("cellbridge-t4-1"), Ledger::new(state.path()));
    ledger.record(&entry).unwrap();
    assert!(!ledger.is_settled(&entry.id));
    assert!(!ledger.is_over(&entry, entry.at) && !ledger.is_over(&entry, entry.at + UNSETTLED));
    assert!(ledger.is_over(&entry, entry.at + UNSETTLED + Duration::from_secs(1)));
    ledger.settle(&entry.id);
    assert!(ledger.is_settled(&entry.id) && ledger.is_over(&entry, entry.at));
    // Its start ends it, if the program ends.
    assert_eq!(ledger.held(), []);
    ledger.end_start(&entry.id);
    assert_eq!(ledger.held(), std::slice::from_ref(&entry));
}

#[test]
#[cfg(unix)]
fn only_the_owner_can_read_the_records_and_a_damaged_one_is_left_out() {
    use std::os::unix::fs::MetadataExt as _;
    let state = tempfile::tempdir().unwrap();
    let (entry, ledger) = (entry("cellbridge-t4-1"), Ledger::new(state.path()));
    ledger.record(&entry).unwrap();
    let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
    assert_eq!(mode(&ledger.folder), 0o700);
    assert_eq!((mode(&ledger.file(&entry.id)), mode(&ledger.lock_file(&entry.id))), (0o600, 0o600));
    fs::write(ledger.folder.join("cellbridge-t4-2.json"), "{").unwrap();
    fs::write(ledger.folder.join(".x.json"), "{}").unwrap();
    assert_eq!(ledger.entries(), [entry]);
}

#[test]
#[cfg(unix)]
fn a_machine_that_others_use_too_is_said_and_stays_in_use() {
    let state = tempfile::tempdir().unwrap();
    let (entry, ours, other) =
        (entry("cellbridge-t4-1"), Ledger::new(state.path()), Ledger::new(state.path()));
    ours.record(&entry).unwrap();
    let is = |is_shared| assert_eq!(ours.origin(&entry.id), MachineOrigin::Here { keeps: false, is_shared });
    is(false);
    other.hold(&entry.id).unwrap();
    is(true);
    assert!(other.release(&entry.id).is_none(), "it is still in use here");
    is(false);
    assert!(other.release(&entry.id).is_none());
}

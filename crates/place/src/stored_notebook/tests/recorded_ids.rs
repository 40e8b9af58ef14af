//! The ids of cells in a file without ids: in a later program, and in others at the same time.

use notebook::CellId;
use operations::IdRecords;

use super::*;

/// A file of nbformat 4.4, and what programs have recorded of it.
struct Machine {
    store: Store,
    records: IdRecords,
    _folder: tempfile::TempDir,
}

impl Machine {
    fn new(sources: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let records = IdRecords::new(folder.path().join("records"));
        let machine = Self { store: Store::default(), records, _folder: folder };
        machine.save(sources);
        machine
    }

    /// A person saves the notebook.
    fn save(&self, sources: &[&str]) {
        let cells: Vec<_> = sources
            .iter()
            .map(|source| format!(r#"{{"cell_type": "raw", "metadata": {{}}, "source": "{source}"}}"#))
            .collect();
        let text = format!(r#"{{"nbformat": 4, "nbformat_minor": 4, "cells": [{}]}}"#, cells.join(","));
        self.store.0.lock().save(Notebook::parse(text.into()).unwrap());
    }

    async fn program(&self) -> StoredNotebook<Store> {
        let stored = StoredNotebook::new(self.store.clone(), watch::Sender::new(0));
        // As when it is opened.
        stored.snapshot().await.unwrap();
        stored.record_ids(self.records.of("x")).await;
        stored
    }
}

async fn ids(stored: &StoredNotebook<Store>) -> Vec<CellId> {
    stored.snapshot().await.unwrap().cells().iter().map(|cell| cell.id().clone()).collect()
}

async fn set(stored: &StoredNotebook<Store>, id: &CellId, source: &str) {
    let edit = Edit::SetSource { id: id.clone(), source: source.to_owned() };
    stored.apply(&[edit], &[]).await.unwrap();
}

async fn insert(stored: &StoredNotebook<Store>, index: usize, source: &str) {
    let cell = NewCell::new(CellType::Raw, source);
    stored.apply(&[Edit::Insert { index, cell }], &[]).await.unwrap();
}

#[tokio::test]
async fn a_later_program_calls_the_cells_the_same() {
    let machine = Machine::new(&["a", "b", "c"]);
    let first = machine.program().await;
    let told = ids(&first).await;
    set(&first, &told[1], "b, changed").await;
    insert(&first, 3, "b").await;
    let moved = Edit::Move { id: told[2].clone(), index: 0 };
    first.apply(&[moved], &[]).await.unwrap();
    let last = ids(&first).await;
    assert_eq!(last[..3], [told[2].clone(), told[0].clone(), told[1].clone()]);
    drop(first);
    assert_eq!(ids(&machine.program().await).await, last);
    machine.save(&["c", "a", "b, changed twice", "new", "b"]);
    let later = ids(&machine.program().await).await;
    assert_eq!([&later[..3], &later[4..]].concat(), last);
    assert_eq!(ids(&machine.program().await).await, later);
}

#[tokio::test]
async fn what_was_only_read_is_known_as_well() {
    let machine = Machine::new(&["x", "show", "y", "show"]);
    let told = ids(&machine.program().await).await;
    machine.save(&["x", "y", "show"]);
    assert_eq!(ids(&machine.program().await).await, [&*told[0], &*told[2], &*told[3]]);
}

#[tokio::test]
async fn programs_that_have_it_open_agree() {
    let machine = Machine::new(&["a", "b"]);
    let (one, other) = (machine.program().await, machine.program().await);
    insert(&one, 0, "new").await;
    let told = ids(&one).await;
    assert_eq!(ids(&other).await, told);
    set(&other, &told[0], "new, changed").await;
    assert_eq!(ids(&one).await, told);
    machine.save(&["new, changed", "by a person", "a", "b"]);
    let seen = ids(&one).await;
    assert_eq!((&seen[0], &seen[2..]), (&told[0], &told[1..]));
    assert_eq!(ids(&other).await, seen);
}

#[tokio::test]
async fn an_empty_notebook_and_one_that_loses_its_cells_are_recorded() {
    let machine = Machine::new(&[]);
    let first = machine.program().await;
    insert(&first, 0, "a").await;
    let told = ids(&first).await;
    assert_eq!(ids(&machine.program().await).await, told);
    first.apply(&[Edit::Delete { ids: told.clone() }], &[]).await.unwrap();
    machine.save(&["a"]);
    assert_ne!(ids(&machine.program().await).await, told, "another cell with the same source");
}

#[tokio::test]
async fn without_its_record_a_program_goes_by_what_it_has_read() {
    let mut machine = Machine::new(&["a", "b"]);
    let records = machine.records.clone();
    // Below a file, nothing can be written.
    machine.records = IdRecords::new("/dev/null/records".into());
    let stored = machine.program().await;
    let told = ids(&stored).await;
    set(&stored, &told[1], "b, changed").await;
    machine.save(&["new", "a", "b, changed"]);
    assert_eq!(ids(&stored).await[1..], told);
    // While another program has it, neither waits for long.
    machine.records = records;
    let stored = machine.program().await;
    let told = ids(&stored).await;
    let locked = machine.records.of("x").lock(true).unwrap();
    set(&stored, &told[0], "newer").await;
    insert(&stored, 0, "newest").await;
    let last = ids(&stored).await;
    drop(locked);
    machine.save(&["newest", "newer", "a", "b, changed", "end"]);
    assert_eq!(ids(&stored).await[..4], last, "the record does not know the cell that was inserted");
    assert_eq!(ids(&machine.program().await).await, ids(&stored).await);
}

//! The ids of cells without ids in their file, from one reading to the next.

use std::collections::BTreeSet;

use notebook::{CellId, CellType, Edit, NewCell, Notebook};
use serde_json::{Value, json};

use crate::files::{of_corpus, parse};

fn read(minor: u64, cells: &[Value]) -> Notebook {
    let text = json!({ "nbformat": 4, "nbformat_minor": minor, "metadata": {}, "cells": cells });
    parse(text.to_string()).unwrap()
}

/// nbformat 4.4 without ids.
fn without_ids(sources: &[&str]) -> Notebook {
    let cell = |source| json!({ "cell_type": "raw", "metadata": {}, "source": source });
    read(4, &sources.iter().map(cell).collect::<Vec<_>>())
}

/// nbformat 4.5 with these ids and sources.
fn with_ids(cells: &[(&str, &str)]) -> Notebook {
    let cell =
        |(id, source): &(_, _)| json!({ "cell_type": "raw", "id": id, "metadata": {}, "source": source });
    read(5, &cells.iter().map(cell).collect::<Vec<_>>())
}

fn ids(notebook: &Notebook) -> Vec<CellId> {
    notebook.cells().iter().map(|cell| cell.id().clone()).collect()
}

/// The ids of `new` after `old` was read before it.
fn carried(old: &Notebook, mut new: Notebook) -> Vec<CellId> {
    new.carry_ids(old);
    assert!(!new.is_modified());
    let now = ids(&new);
    assert_eq!(now.iter().collect::<BTreeSet<_>>().len(), now.len(), "{now:?}");
    now
}

#[test]
fn ids_are_carried_from_one_reading_to_the_next() {
    let old = without_ids(&["a", "b", "c", "d", "c"]);
    let before = ids(&old);
    let carried = |sources: &[&str]| carried(&old, without_ids(sources));
    assert_eq!(carried(&["a", "b", "c", "d", "c"]), before);
    assert_eq!(carried(&["a", "changed", "c", "d", "c"]), before);
    assert_eq!(carried(&["new", "a", "b", "c", "d", "c"])[1..], before);
    assert_eq!(carried(&["a", "c", "c"]), [&*before[0], &*before[2], &*before[4]]);
    let text = String::from_utf8(old.to_bytes()).unwrap().replacen("raw", "markdown", 1);
    let mut retyped = parse(text).unwrap();
    retyped.carry_ids(&old);
    assert_ne!(ids(&retyped)[0], before[0]);
    assert_eq!(ids(&retyped)[1..], before[1..]);
}

#[test]
fn what_was_edited_keeps_its_id_when_it_is_edited_again_or_moved() {
    let old = without_ids(&["a", "b", "c"]);
    let before = ids(&old);
    let mut second = without_ids(&["a", "changed", "c"]);
    second.carry_ids(&old);
    assert_eq!(carried(&second, without_ids(&["a", "changed twice", "c"])), before);
    let moved = carried(&second, without_ids(&["changed", "a", "c"]));
    assert_eq!(moved, [&*before[1], &*before[0], &*before[2]]);
}

#[test]
fn an_edited_cell_is_found_beside_deleted_and_inserted_ones() {
    let old = without_ids(&["a", "df = load(path)", "total = df.sum()", "z"]);
    let before = ids(&old);
    let deleted = carried(&old, without_ids(&["a", "total = df.sum() + 1", "z"]));
    assert_eq!(deleted, [&*before[0], &*before[2], &*before[3]]);
    let inserted = ["a", "new", "df = load(path)[:9]", "total = df.mean()", "z"];
    let inserted = carried(&old, without_ids(&inserted));
    assert!(!before.contains(&inserted[1]), "{inserted:?}");
    assert_eq!(inserted[2..], before[1..]);
    let old = without_ids(&["x = 1", "y = 2", "z"]);
    let numbers = carried(&old, without_ids(&["a = 1", "b = 2", "y = 3", "z"]));
    assert_eq!(numbers[2..], ids(&old)[1..]);
    assert!(!ids(&old).contains(&numbers[0]), "a number in common tells nothing");
}

#[test]
fn a_new_cell_never_has_an_id_that_another_had() {
    let old = without_ids(&["a", "b"]);
    let before = ids(&old);
    let mut edited = without_ids(&["a", "changed"]);
    edited.carry_ids(&old);
    let mut without = edited.clone();
    without.apply(&Edit::Delete { ids: vec![before[1].clone()] }).unwrap();
    assert_ne!(carried(&without, without_ids(&["a", "b"]))[1], before[1]);
    let long = |name: &str| format!("{name} = {name}_one({name}_two, {name}_three, {name}_four)");
    let (old, new) = (without_ids(&["a", &long("x")]), without_ids(&["a", &long("y")]));
    assert_ne!(carried(&old, new)[1], ids(&old)[1], "they have nothing in common");
}

#[test]
fn an_id_that_two_cells_had_names_the_one_it_named() {
    let old = with_ids(&[("a", "x"), ("same", "old"), ("b", "y"), ("same", "precious")]);
    let before = ids(&old);
    assert_eq!(before[1], "same");
    let mut left = with_ids(&[("a", "x"), ("b", "y"), ("same", "precious")]);
    left.carry_ids(&old);
    assert_eq!(ids(&left), [&*before[0], &*before[2], &*before[3]]);
    assert_eq!(carried(&left, with_ids(&[("b", "y"), ("same", "precious")])), before[2..]);
    let first = with_ids(&[("a", "x"), ("same", "old"), ("b", "y")]);
    assert_eq!(carried(&old, first), before[..3]);
    assert_eq!(
        carried(&old, with_ids(&[("a", "x"), ("same", "old"), ("b", "y"), ("c", "precious")]))[3],
        "c"
    );
    // Once it is written, the file tells them apart.
    left.apply(&Edit::Delete { ids: vec![before[0].clone()] }).unwrap();
    assert_eq!(ids(&parse(left.to_bytes()).unwrap()), before[2..]);
}

#[test]
fn ids_are_taken_from_a_record_as_from_the_notebook() {
    for (old, new) in [
        (without_ids(&["a", "df = 1", "df = 2"]), without_ids(&["df = 2", "b", "df = 3"])),
        (with_ids(&[("a", "x"), ("a", "y")]), with_ids(&[("a", "y")])),
    ] {
        let record = serde_json::to_string(&old.assigned_ids()).unwrap();
        let mut taken = new.clone();
        taken.take_ids(&serde_json::from_str(&record).unwrap());
        let (carried, before) = (carried(&old, new), ids(&old));
        let known = |ids: Vec<CellId>| -> Vec<_> {
            ids.iter().map(|id| before.iter().position(|it| it == id)).collect()
        };
        assert_eq!(known(ids(&taken)), known(carried));
    }
}

#[test]
fn a_file_tells_cells_apart_or_not() {
    for (name, lacks, written) in [
        ("clean-4.5", false, false),
        ("clean-4.4", true, true),
        ("missing-ids-4.5", true, false),
        ("duplicate-ids", true, false),
        ("nbformat-3-simple", true, false),
    ] {
        let mut notebook = of_corpus(name);
        assert_eq!(notebook.lacks_ids(), lacks, "{name}");
        let cell = NewCell::new(CellType::Raw, "new");
        notebook.apply(&Edit::Insert { index: 0, cell }).unwrap();
        assert_eq!(notebook.lacks_ids(), written, "{name}");
        assert_eq!(parse(notebook.to_bytes()).unwrap().lacks_ids(), written, "{name}");
    }
}

#[test]
fn ids_in_the_file_win_over_carried_ids() {
    let old = of_corpus("missing-ids-4.5");
    let made_up = old.cells()[0].id();
    let mut new = read(
        5,
        &[
            json!({ "cell_type": "markdown", "metadata": {}, "source": old.cells()[0].source() }),
            json!({ "cell_type": "raw", "id": made_up.as_str(), "metadata": {}, "source": "" }),
        ],
    );
    new.carry_ids(&old);
    assert_eq!(new.cells()[1].id(), made_up);
    assert_ne!(new.cells()[0].id(), made_up);
}

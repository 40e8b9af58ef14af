use std::collections::BTreeMap;

use names::Names;
use syntax::is_blank;

use super::*;
use crate::{Facts, History, StaleState, states};

type Shown<'a> = (&'a str, &'a str, Option<u64>);

/// The states of cells, given as id, source and number, after these have run.
fn after(ran: &[(&str, &str)], cells: &[Shown<'_>]) -> Vec<StaleState> {
    in_turn(ran, &[cells])
}

/// The states of the last of several notebooks, each of which is looked at, after these have run.
fn in_turn(ran: &[(&str, &str)], notebooks: &[&[Shown<'_>]]) -> Vec<StaleState> {
    let (mut history, mut codes) = (History::default(), Codes::new());
    for (count, (id, source)) in (1..).zip(ran) {
        history.add(Run { execution_count: Some(count), ..Run::well(Some((*id).into()), source) }, None);
        remember(&mut codes, source, history.runs());
    }
    let mut runs = history.runs().to_vec();
    let mut found = Vec::new();
    for cells in notebooks {
        (found, runs) = look(cells, runs, &mut codes);
    }
    found
}

/// The states of the cells, and the runs that count from then on.
fn look(cells: &[Shown<'_>], runs: Vec<Run>, codes: &mut Codes) -> (Vec<StaleState>, Vec<Run>) {
    let cell = |(index, (id, source, execution_count)): (usize, &Shown<'_>)| Cell {
        index,
        id: (*id).into(),
        source: hash(source),
        names: Arc::new(Names::of_cell(source)),
        random: BTreeMap::new(),
        is_blank: is_blank(source),
        shows: Vec::new(),
        has_outputs: false,
        execution_count: *execution_count,
        outputs: None,
    };
    let sources: Vec<String> = cells.iter().map(|(_, source, _)| (*source).to_owned()).collect();
    let cells: Vec<Cell> = cells.iter().enumerate().map(cell).collect();
    let names = |at: usize| cells[at].names.clone();
    let present = Present { cells: &cells, sources: &sources, names: &names };
    let (runs, given) = carried(&present, runs, codes, Some(1));
    codes.extend(given.into_iter().map(|at| (cells[at].source, code(&sources[at]))));
    let clock = |_| String::new();
    let facts =
        Facts { cells: &cells, runs: &runs, instance: Some(1), modules: &BTreeMap::new(), clock: &clock };
    (states(facts).into_iter().map(|state| state.state).collect(), runs)
}

use StaleState::{
    Edited, InputChanged, MayHaveChanged, NeverRun, OutOfOrder, OutputsFromElsewhere, UpToDate,
};

#[test]
fn the_parts_of_a_cell_that_was_split_have_run() {
    let ran = [("a", "x = f()\n\ny = x + 1\nprint(y)"), ("b", "y")];
    let parts = [("a", "x = f()", Some(1)), ("n", "y = x + 1\nprint(y)", None), ("b", "y", Some(2))];
    assert_eq!(after(&ran, &parts), [UpToDate; 3]);
    // The person's front end leaves the id to the last part.
    let parts =
        [("n", "x = f()", None), ("m", "y = x + 1\n", None), ("a", "print(y)", Some(1)), ("b", "y", Some(2))];
    assert_eq!(after(&ran, &parts), [UpToDate; 4]);
    let changed = [("a", "x = f()", Some(1)), ("n", "y = x + 2\nprint(y)", None), ("b", "y", Some(2))];
    assert_eq!(after(&ran, &changed)[..2], [Edited, NeverRun]);
    let twice = [("a", "x = f()", Some(1)), ("b", "y", Some(2)), ("n", "y = x + 1\nprint(y)", None)];
    assert_eq!(after(&ran, &twice)[0], Edited, "they are not one after the other");
}

#[test]
fn a_cell_that_was_merged_from_others_has_run() {
    let ran = [("a", "x = f()"), ("b", "y = x"), ("c", "print(y)")];
    let merged = |count| [("a", "x = f()\n\ny = x", count), ("c", "print(y)", Some(3))];
    assert_eq!(after(&ran, &merged(Some(1))), [UpToDate; 2]);
    assert_eq!(after(&ran, &merged(None)), [UpToDate; 2]);
    let whole = [("n", "x = f()\ny = x\nprint(y)", None)];
    assert_eq!(after(&ran, &whole), [UpToDate]);
    // Something ran between, or the others are still there.
    let between = [("a", "x = f()"), ("c", "print(y)"), ("b", "y = x")];
    assert_eq!(after(&between, &merged(Some(1)))[0], Edited);
    let there = [("a", "x = f()\ny = x", Some(1)), ("b", "y = x", Some(2)), ("c", "print(y)", Some(3))];
    assert_eq!(after(&ran, &there)[0], Edited);
}

#[test]
fn what_was_split_and_then_merged_has_run() {
    let ran = [("a", "x = f()\ny = x"), ("b", "z = y"), ("c", "print(z)")];
    // The second part of `a` was merged with `b`.
    let moved = [("a", "x = f()", Some(1)), ("n", "y = x\nz = y", None), ("c", "print(z)", Some(3))];
    assert_eq!(after(&ran, &moved), [UpToDate; 3]);
    let kept = [("a", "x = f()", None), ("b", "y = x\n\nz = y", Some(2)), ("c", "print(z)", Some(3))];
    assert_eq!(after(&ran, &kept), [UpToDate; 3]);
    // Merged, and split elsewhere.
    let other = [("a", "x = f()", None), ("n", "y = x\nz = y\nprint(z)", None)];
    assert_eq!(after(&ran, &other), [UpToDate; 2]);
    let changed = [("a", "x = f()", Some(1)), ("n", "y = x\nz = 2", None), ("c", "print(z)", Some(3))];
    assert_eq!(after(&ran, &changed)[..2], [Edited, NeverRun]);
    // Merged, and split again where they were merged; the second part has the id of the first.
    let back = [("n", "x = f()\ny = x", None), ("a", "z = y", None), ("c", "print(z)", Some(3))];
    assert_eq!(after(&ran, &back), [UpToDate; 3]);
    let twice = [("m", "x = f()\ny = x", None), ("n", "z = y", None), ("a", "print(z)", None)];
    assert_eq!(after(&ran, &twice), [UpToDate; 3]);
    // Something ran between.
    let between = [("a", "x = f()\ny = x"), ("c", "print(z)"), ("b", "z = y")];
    assert_eq!(after(&between, &moved)[1], NeverRun);
    // A copy that was split.
    let ran = [("a", "x = f()\nprint(x)"), ("b", "y = 1")];
    let copy = [
        ("a", "x = f()\nprint(x)", Some(1)),
        ("d", "x = f()", None),
        ("n", "print(x)", Some(1)),
        ("b", "y = 1", Some(2)),
    ];
    assert_eq!(after(&ran, &copy), [UpToDate; 4]);
}

#[test]
fn a_duplicate_with_the_number_of_its_original_has_run() {
    let ran = [("a", "x = f()"), ("b", "print(x)")];
    let copied = |count| [("a", "x = f()", Some(1)), ("b", "print(x)", Some(2)), ("n", "print(x)", count)];
    assert_eq!(after(&ran, &copied(Some(2)))[2], UpToDate);
    assert_eq!(after(&ran, &copied(Some(7)))[2], OutputsFromElsewhere);
    assert_eq!(after(&ran, &copied(None))[2], NeverRun);
    // A part of a cell that was split shows no number, and neither does its copy.
    let parts = [("a", "x = f()", None), ("m", "x = f()", None), ("n", "y = x", Some(1))];
    assert_eq!(after(&[("a", "x = f()\ny = x")], &parts), [UpToDate; 3]);
    // Cut and pasted.
    assert_eq!(after(&ran, &[("n", "x = f()", Some(1)), ("b", "print(x)", Some(2))]), [UpToDate; 2]);
}

/// A fresh run does it twice.
#[test]
fn a_duplicate_that_changes_its_input_has_not_done_so() {
    for (source, copy, reader) in [
        ("n += 1", OutOfOrder, InputChanged),
        ("n.append(1)", OutOfOrder, InputChanged),
        ("n = n.head()", OutOfOrder, OutOfOrder),
        ("n['x'] *= 2", OutOfOrder, InputChanged),
        ("n.advance()", MayHaveChanged, MayHaveChanged),
        ("n['x'] = 1", UpToDate, UpToDate),
        // Its second run has another value to decide on.
        ("if n: n = 1", UpToDate, OutOfOrder),
        ("m = n + 1", UpToDate, UpToDate),
    ] {
        let ran = [("a", "n = f()"), ("b", source), ("c", "print(n)")];
        let cells = [
            ("a", ran[0].1, Some(1)),
            ("b", source, Some(2)),
            ("n", source, Some(2)),
            ("c", ran[2].1, Some(3)),
        ];
        assert_eq!(after(&ran, &cells), [UpToDate, UpToDate, copy, reader], "{source}");
    }
}

#[test]
fn an_old_source_that_is_back_has_not_run_last() {
    let ran = [("a", "x = 1"), ("b", "print(x)"), ("a", "x = 2")];
    let back = |count| after(&ran, &[("a", "x = 1", count), ("b", "print(x)", Some(2))]);
    assert_eq!(back(Some(1)), [OutputsFromElsewhere, UpToDate], "it shows what the old source gives");
    assert_eq!(back(None), [Edited, UpToDate]);
    let again = [("a", "x = 1"), ("b", "print(x)"), ("a", "x = 2"), ("b", "print(x)")];
    let cells = [("a", "x = 1", Some(1)), ("b", "print(x)", Some(4))];
    assert_eq!(after(&again, &cells), [OutputsFromElsewhere, InputChanged]);
}

#[test]
fn what_changed_before_a_part_still_counts() {
    let ran = [("f", "n = f()"), ("a", "x = n\nprint(x)"), ("f", "n = f()")];
    let parts = [("f", "n = f()", Some(3)), ("a", "x = n", Some(2)), ("n", "print(x)", None)];
    assert_eq!(after(&ran, &parts), [UpToDate; 3]);
}

#[test]
fn a_split_that_was_merged_back_has_run() {
    let ran = [("a", "x = f()\nprint(x)"), ("b", "x")];
    let merged = |shown| [("a", "x = f()\n\nprint(x)", shown), ("b", "x", Some(2))];
    assert_eq!(after(&ran, &merged(None)), [UpToDate; 2], "it was split before this server knew of it");
    assert_eq!(after(&ran, &merged(Some(1)))[0], Edited, "a blank line may be one of a text");
}

#[test]
fn cells_have_run_after_their_merge_is_undone() {
    let ran = [("a", "x = f()"), ("b", "print(x)")];
    let merged: &[_] = &[("a", "x = f()\n\nprint(x)", None)];
    let undone: &[_] = &[("a", "x = f()", Some(1)), ("b", "print(x)", Some(2))];
    assert_eq!(in_turn(&ran, &[merged, undone]), [UpToDate; 2]);
    let outdated: &[_] = &[("a", "x = f()", Some(1)), ("b", "print(x)", Some(7))];
    assert_eq!(in_turn(&ran, &[merged, outdated]), [UpToDate, OutputsFromElsewhere]);
}

#[test]
fn cells_whose_edits_are_undone_have_not_run_again() {
    let old = [("a", "x = 1"), ("b", "print(x)"), ("c", "x")];
    let ran = [old[0], old[1], old[2], ("a", "x = 7"), ("b", "print(x, 2)"), old[2]];
    let shown = |counts: [u64; 3]| {
        let cells = old.iter().zip(counts).map(|((id, source), count)| (*id, *source, Some(count)));
        after(&ran, &cells.collect::<Vec<_>>())
    };
    assert_eq!(shown([1, 2, 3]), [OutputsFromElsewhere; 3], "the outputs were undone, too");
    assert_eq!(shown([4, 5, 6]), [Edited, Edited, InputChanged]);
}

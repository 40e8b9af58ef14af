//! What the memory of the kernel shows of runs, and names do not.

use staleness::StaleState;

use crate::story::{Story, check};

#[test]
fn what_a_run_has_changed_counts_where_names_do_not_show_it() {
    // A library changes its argument.
    let mut story = Story::of(&["h = []", "heappush(h, 1)", "print(h)"]);
    story.run("a");
    story.run_assigning("b", &["h"]);
    story.run("c");
    check(&story, &["up to date"; 3]);
    story.edit("b", "heappush(h, 2)");
    check(&story, &["up to date", "edited", "input changed"]);
    assert_eq!(story.planned(&["a", "b", "c"], true), ["a", "b", "c"]);
    // Code from elsewhere binds a name.
    let mut story = Story::of(&["k = 1", "%run other.py", "print(z)"]);
    story.run("a");
    story.run_assigning("b", &["z"]);
    story.run("c");
    check(&story, &["up to date", "nothing known", "up to date"]);
    story.edit("b", "%run another.py");
    check(&story, &["up to date", "edited", "input changed"]);
    // A method has made its object longer.
    let mut story = Story::of(&["log = []", "log.note(1)", "print(log)"]);
    story.run("a");
    story.run_assigning("b", &["log"]);
    story.run("c");
    story.run_assigning("b", &["log"]);
    check(&story, &["up to date", "out of order", "input changed"]);
}

#[test]
fn what_a_run_has_assigned_decides() {
    let cells = ["n = 10", "d = False", "if d: n = 2", "print(n)"];
    let mut story = Story::of(&cells);
    story.run_each(&["a", "b"]);
    story.run_assigning("c", &["n"]);
    story.run("d");
    story.edit("a", "n = 11");
    check(&story, &["edited", "up to date", "up to date", "up to date"]);
    story.edit("b", "d = 0");
    check(&story, &["edited", "edited", "input changed", "input changed"]);
    let mut story = Story::of(&cells);
    story.run_each(&["a", "b"]);
    story.run_assigning("c", &[]);
    story.run("d");
    story.edit("a", "n = 11");
    check(&story, &["edited", "up to date", "up to date", "input changed"]);
    // Its own branch has bound the name that it uses.
    let mut story = Story::of(&["n = 1", "if d: n = 2\nprint(n)"]);
    story.run("a");
    story.run_assigning("b", &["n"]);
    story.edit("a", "n = 3");
    check(&story, &["edited", "up to date"]);
}

#[test]
fn below_an_expected_error_cells_are_up_to_date() {
    let mut story = Story::of(&["x = 1", "y = x\n1 / 0", "print(y)", "print(x)"]);
    for _ in 0..2 {
        story.run("a");
        story.fail("b");
        story.run_each(&["c", "d"]);
        check(&story, &["up to date"; 4]);
    }
    story.edit("a", "x = 2");
    check(&story, &["edited", "input changed", "input changed", "input changed"]);
    assert_eq!(story.planned(&["a", "b", "c", "d"], true), ["a", "b", "c", "d"]);
    // What a run defined that did not fail is still there; only the kernel knows whether this one has, too.
    let mut story = Story::ran(&["y = f()", "print(y)"]);
    story.fail("a");
    story.run("b");
    check(&story, &["up to date", "input changed: uses y: cell 0 defines it and has failed (run 9:03)"]);
    let mut story = Story::ran(&["y = f()\ng()", "print(y)"]);
    story.fail_assigning("a", &["y"]);
    story.run("b");
    check(&story, &["up to date", "up to date"]);
    // It ended before it defined the name: that is still the one above.
    let mut story = Story::of(&["y = 1", "h()\ny = 2", "print(y)"]);
    story.run("a");
    story.fail_assigning("b", &[]);
    story.run("c");
    check(&story, &["up to date"; 3]);
    story.edit("a", "y = 3");
    check(&story, &["edited", "up to date", "input changed"]);
}

#[test]
fn a_name_that_a_branch_has_left_is_no_longer_sure() {
    let mut story = Story::of(&["big = True", "if big: label = 'big'", "print(label)"]);
    story.run_assigning("a", &["big"]);
    story.run_assigning("b", &["label"]);
    story.run_assigning("c", &[]);
    assert!(story.states().iter().all(|state| state.state == StaleState::UpToDate));
    // The same objects again, which the memory does not show.
    for id in ["a", "b", "c"] {
        story.run_assigning(id, &[]);
    }
    assert!(story.states().iter().all(|state| state.state == StaleState::UpToDate));
    story.edit("a", "big = False");
    story.run_assigning("a", &["big"]);
    story.run_assigning("b", &[]);
    story.run_assigning("c", &[]);
    let states = story.states();
    assert_eq!(states[2].state, StaleState::MayHaveChanged);
    assert_eq!(states[2].evidence, "uses label: cell 1 may define it, but did not (run 9:08)");
}

#[test]
fn what_only_the_memory_has_shown_counts_after_an_equal_run() {
    let mut story = Story::of(&["exec('m = 1')", "m"]);
    story.run_assigning("a", &["m"]);
    story.run_assigning("b", &[]);
    story.edit("a", "exec('m = 2')");
    story.run_assigning("a", &["m"]);
    story.run_assigning("a", &[]);
    check(&story, &["nothing known", "input changed"]);
}

#[test]
fn a_method_that_draws_and_is_not_called_moves_no_state() {
    let class = "class Dice:\n def roll(self): return random.random()\n def name(self): return 'd'";
    let mut story =
        Story::of(&["import random\nrandom.seed(3)", class, "d = Dice()\nd.name()", "random.random()"]);
    story.run_each(&["a", "b"]);
    story.run_assigning("c", &["d"]);
    story.run("d");
    story.edit("c", "d = Dice()\nd.name() + '!'");
    story.run_assigning("c", &["d"]);
    check(&story, &["up to date"; 4]);
}

//! Which cells `run_cells` runs for stale ones.

use crate::story::Story;

fn check(story: &Story, wanted: &[&str], all: bool, expected: &[&str]) {
    assert_eq!(story.planned(wanted, all), expected, "{:#?}", story.states());
}

#[test]
fn stale_cells_run_in_order() {
    let mut story = Story::ran(&["x = 1", "y = 2", "z = x", "z"]);
    check(&story, &["a", "b", "c", "d"], true, &[]);
    story.edit("a", "x = 2");
    check(&story, &["a", "b", "c", "d"], true, &["a", "c", "d"]);
}

#[test]
fn a_range_takes_its_stale_ancestors_along() {
    let mut story = Story::ran(&["x = 1", "y = x", "w = x", "y"]);
    story.edit("a", "x = 2");
    check(&story, &["d"], false, &["a", "b", "d"]);
    check(&story, &["a"], false, &["a"]);
    let story = Story::of(&["x = 1", "y = 2", "x"]);
    check(&story, &["c"], false, &["a", "c"]);
}

#[test]
fn what_was_overwritten_since_runs_again() {
    let mut story = Story::ran(&["x = 1", "x", "x = 2", "x"]);
    story.run("b");
    // The last makes the value of the end again.
    check(&story, &["a", "b", "c", "d"], true, &["a", "b", "c"]);
    let mut story = Story::ran(&["x = 1", "y = x", "x = 2", "x"]);
    story.edit("b", "y = x + 1");
    check(&story, &["b"], false, &["a", "b"]);
}

#[test]
fn cells_whose_input_is_made_again_follow() {
    let mut story = Story::ran(&["x, w = 1, 2", "y = x", "x = 2", "w"]);
    story.edit("b", "y = x + 1");
    check(&story, &["a", "b", "c", "d"], true, &["a", "b", "c"]);
    check(&story, &["b"], false, &["a", "b"]);
}

#[test]
fn what_may_have_changed_is_not_stale() {
    let mut story = Story::ran(&["model = Model()", "model.fit()", "model.score"]);
    story.run("b");
    check(&story, &["a", "b", "c"], true, &[]);
}

#[test]
fn after_the_plan_nothing_is_stale() {
    let mut story = Story::ran(&["x = 1", "y = x", "x = 2", "z = x + y", "z"]);
    story.edit("b", "y = x + 1");
    let all = story.ids();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    for id in story.planned(&all, true) {
        story.run(&id);
    }
    assert!(story.states().iter().all(|state| !state.state.is_stale()), "{:#?}", story.states());
}

#[test]
fn what_waits_for_its_turn_runs_again_only_after_new_input() {
    let mut story = Story::ran(&["a = 1", "b = a + 1", "print(b)", "c = 1"]);
    story.edit("a", "a = 800");
    let mut states = story.states();
    for position in [1, 2, 3] {
        states[position].runs("run r1 is queued".to_owned());
    }
    assert_eq!(story.plan_of(&states, &[0, 1, 2, 3], true), [0, 1, 2]);
    states[0].runs("run r1 is running".to_owned());
    assert!(story.plan_of(&states, &[0, 1, 2, 3], true).is_empty());
}

/// What cells below have changed in an object is gone once the cell that makes it has run again.
#[test]
fn changes_of_an_object_that_was_made_again_are_lost() {
    let cells = ["xs = []\nk = 1", "xs.append(1)", "xs.append(2)", "print(xs)", "print(k)"];
    let mut story = Story::ran(&cells);
    story.edit("a", "xs = []\nk = 2");
    for id in ["a", "e"] {
        story.run(id);
    }
    let all = ["a", "b", "c", "d", "e"];
    check(&story, &all, true, &[]);
    story.insert(5, "f", "print(len(xs))");
    check(&story, &["f"], true, &["b", "c", "f"]);
    story.delete("f");
    story.edit("c", "xs.append(3)");
    check(&story, &all, true, &["b", "c", "d"]);
    let mut story = Story::ran(&cells);
    story.run("a");
    story.run("d");
    check(&story, &all, true, &["b", "c", "d"]);
}

//! Small stories about runs and edits, each with what is said of the cells at its end.

use crate::story::{Story, UP, check, ran};

const THREE: [&str; 3] = ["x = 1", "y = x", "print(y)"];
const VARYING: [&str; 3] = ["x = time.time()", "y = x", "print(y)"];

#[test]
fn without_names() {
    check(&Story::of(&["x = 1"]), &["never run: Cellbridge has seen no run of this cell"]);
    ran(&THREE, |_| {}, &[UP, UP, UP]);
    ran(&["", "# later", "x"], Story::restart, &[UP, UP, "other kernel"]);
    ran(&THREE, |story| story.edit("c", "print(y, 1)"), &[UP, UP, "edited: edited after its run 9:03"]);
    ran(
        &THREE,
        |story| {
            story.edit("c", "print(y, 1)");
            story.edit("c", "print(y)");
        },
        &[UP, UP, UP],
    );
    ran(&["x"], Story::restart, &["other kernel: run 9:01, before the kernel was restarted"]);
    ran(&["x"], Story::shut_down, &["other kernel: run 9:01, and its kernel has stopped"]);
    ran(&["x"], Story::forget, &["outputs from elsewhere: In[1] is from a run that Cellbridge did not see"]);
    ran(
        &["x"],
        |story| story.run_elsewhere("a"),
        &["outputs from elsewhere: it shows In[2]; the last run that Cellbridge saw was In[1] (run 9:01)"],
    );
    ran(&["x"], |story| story.clear("a"), &[UP]);
    ran(
        &["x"],
        |story| story.shows("a", 7),
        &["outputs from elsewhere: its outputs are not those of its last run here (run 9:01)"],
    );
    ran(
        &["x"],
        |story| {
            story.shows("a", 7);
            story.clear("a");
        },
        &[UP],
    );
    ran(
        &THREE,
        |story| {
            story.edit("a", "x = 2");
            story.restart();
        },
        &["edited", "other kernel", "other kernel"],
    );
    ran(&["1 + 1", "print('a')"], |story| story.run("a"), &[UP, UP]);
}

#[test]
fn edits_and_reruns() {
    ran(
        &THREE,
        |story| story.edit("a", "x = 2"),
        &[
            "edited",
            "input changed: uses x: cell 0 defines it and was edited after its run 9:01",
            "input changed: uses y: cell 1 defines it and is stale: input changed",
        ],
    );
    // It gives the same value again.
    ran(&THREE, |story| story.run("a"), &[UP, UP, UP]);
    ran(
        &VARYING,
        |story| story.run("a"),
        &[UP, "input changed: uses x: cell 0 defines it and was rerun (run 9:04)", "input changed"],
    );
    ran(
        &THREE,
        |story| {
            story.edit("a", "x = 2");
            story.run("a");
        },
        &[UP, "input changed: uses x: cell 0 defines it and was rerun (run 9:04)", "input changed"],
    );
    ran(
        &THREE,
        |story| {
            story.edit("a", "x = 2");
            story.run("a");
            story.run("b");
        },
        &[UP, UP, "input changed: uses y: cell 1 defines it and was rerun (run 9:05)"],
    );
    ran(
        &THREE,
        |story| {
            story.edit("a", "x = 2");
            story.run_all();
        },
        &[UP, UP, UP],
    );
    ran(&THREE, |story| story.run("c"), &[UP, UP, UP]);
    ran(&["x = 1", "y = 2", "x, y"], |story| story.edit("b", "y = 3"), &[UP, "edited", "input changed"]);
    ran(&["x = 1", "y = 2", "y"], |story| story.edit("a", "x = 3"), &["edited", UP, UP]);
    ran(
        &["x = 1", "x"],
        |story| story.fail("a"),
        &[UP, "input changed: uses x: cell 0 defines it and was rerun (run 9:03)"],
    );
    ran(
        &["x = 1", "x"],
        |story| {
            story.fail("a");
            story.run("b");
        },
        &[UP, "input changed: uses x: cell 0 defines it and has failed (run 9:03)"],
    );
}

#[test]
fn order() {
    let mut story = Story::of(&THREE);
    story.run_each(&["b", "a"]);
    check(&story, &[UP, "out of order: uses x: cell 0 defines it and ran after it (run 9:02)", "never run"]);
    let mut story = Story::of(&["x = 1", "x"]);
    story.run("b");
    check(&story, &["never run", "out of order: uses x: cell 0 defines it and has not run in this kernel"]);
    ran(
        &THREE,
        |story| {
            story.restart();
            story.run("c");
        },
        &["other kernel", "other kernel", "out of order"],
    );
    ran(
        &["x = 1", "x", "x = 2", "x"],
        |story| story.run("b"),
        &[UP, "out of order: uses x: cell 2 (run 9:03) wrote it after cell 0 and before this ran", UP, UP],
    );
    ran(
        &["x = 1", "x", "x = 2", "x"],
        |story| {
            story.run("a");
            story.run("d");
        },
        &[UP, UP, UP, "out of order: uses x: cell 0 (run 9:05) wrote it after cell 2 and before this ran"],
    );
    // A cell below is not an input.
    ran(&["x = 1", "x", "x = 2"], |story| story.run("c"), &[UP, UP, UP]);
    ran(&["x = 1", "x", "x = 2"], |story| story.edit("c", "x = 3"), &[UP, UP, "edited"]);
    let mut story = Story::of(&["x", "x = 1"]);
    story.run_each(&["b", "a"]);
    check(
        &story,
        &["out of order: uses x: it came from cell 1 (run 9:01), and only cell 1 defines it, below", UP],
    );
    ran(
        &["x = 1", "x"],
        |story| {
            story.run_code("x = 5");
            story.run("b");
        },
        &[
            UP,
            "out of order: uses x: code outside the cells (run 9:03) wrote it after cell 0 and before this ran",
        ],
    );
    ran(&["x = 1", "x"], |story| story.run_code("x = 5"), &[UP, UP]);
    ran(&["x = 1", "x"], |story| story.run_code("print(x)"), &[UP, UP]);
}

#[test]
fn insertions_moves_and_deletions() {
    ran(
        &["x = 1", "x"],
        |story| story.insert(1, "n", "x = 2"),
        &[UP, "never run", "out of order: uses x: cell 1 defines it and has not run in this kernel"],
    );
    ran(
        &["x = 1", "x"],
        |story| {
            story.insert(1, "n", "x = 2");
            story.run("n");
        },
        &[UP, UP, "out of order: uses x: cell 1 defines it and ran after it (run 9:03)"],
    );
    ran(&["x = 1", "x"], |story| story.insert(1, "n", "y = x"), &[UP, "never run", UP]);
    ran(
        &["x = 1", "x", "x = 2"],
        |story| story.move_to("c", 1),
        &[UP, UP, "out of order: uses x: cell 1 defines it and ran after it (run 9:03)"],
    );
    ran(
        &["x = 1", "x"],
        |story| story.move_to("b", 0),
        &["out of order: uses x: it came from cell 1 (run 9:01), and only cell 1 defines it, below", UP],
    );
    ran(&["x = 1", "y = 2", "x"], |story| story.move_to("b", 0), &[UP, UP, UP]);
    ran(
        &THREE,
        |story| story.delete("a"),
        &[
            "undefined name: uses x: it came from a deleted cell (run 9:01), and no cell defines it",
            "input changed: uses y: cell 0 defines it and is stale: undefined name",
        ],
    );
    ran(
        &THREE,
        |story| {
            story.delete("a");
            story.restart();
            story.fail("b");
        },
        &[
            "undefined name: uses x: the code that last defined it no longer exists (run 9:01)",
            "other kernel",
        ],
    );
    ran(&THREE, |story| story.delete("c"), &[UP, UP]);
    ran(
        &THREE,
        |story| story.edit("a", "z = 1"),
        &[
            "edited",
            "undefined name: uses x: it came from cell 0 (run 9:01), and no cell defines it",
            "input changed",
        ],
    );
    ran(
        &["x = 0", "x = 1", "x"],
        |story| story.delete("b"),
        &[UP, "out of order: uses x: a deleted cell (run 9:02) wrote it after cell 0 and before this ran"],
    );
    let mut story = Story::of(&["x"]);
    story.run_code("x = 1");
    story.run("a");
    check(
        &story,
        &["undefined name: uses x: it came from code outside the cells (run 9:01), and no cell defines it"],
    );
    ran(&["unknown_to_all"], |_| {}, &[UP]);
    // A fresh kernel has the built-in one.
    ran(
        &["sum = 1", "sum(xs)", "print(xs)"],
        |story| {
            story.delete("a");
            story.run("b");
        },
        &[
            "may have changed: uses sum: a deleted cell (run 9:01) defines it until the kernel restarts, and ran before it",
            UP,
        ],
    );
    ran(
        &["sum = 1", "sum(xs)"],
        |story| {
            story.delete("a");
            story.run_code("del sum");
            story.run("b");
        },
        &[UP],
    );
    ran(
        &["sum = 1", "sum(xs)"],
        |story| {
            story.delete("a");
            story.restart();
            story.run("b");
        },
        &[UP],
    );
    ran(&["del x", "x = 1", "del x"], |story| story.edit("b", "x = 2"), &[UP, "edited", "input changed"]);
}

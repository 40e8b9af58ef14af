//! Edits after which a cell reads what it has written, and cells that are deleted after others have run again.

use crate::story::{Story, UP, check as states, ran};
use crate::table::check;

#[test]
fn an_edited_cell_that_now_reads_its_part_runs_with_the_definition() {
    check(&[
        ("d = {'t': 3} | d['t'] = 1 | print(d)", "b: d['t'] += 1", "ok edited input", "abc"),
        ("d = {'t': 3} | d['t'] = 1 | print(d)", "b: d['t'] = d['t'] + 1", "ok edited input", "abc"),
        ("df = f() | df['x'] = 5 | print(df.x)", "b: df['x'] += 5", "ok edited input", "abc"),
        ("c = C() | c.tax = 1 | print(c.tax)", "b: c.tax += 1", "ok edited input", "abc"),
        ("n = 0 | n = 1 | print(n)", "b: n += 1", "ok edited input", "abc"),
        ("d = {'t': 3} | d['t'] = 1 | print(d)", "b: d['t'] = 2", "ok edited input", "bc"),
        ("d = {'t': 3} | d['t'] = d['u'] | print(d)", "b: d['t'] = d['u'] + 1", "ok edited input", "bc"),
    ]);
    let again = "out of order: uses d: it has changed it more than once since cell 0 ran";
    ran(
        &["d = {'t': 3}", "d['t'] = 1", "print(d)"],
        |story| {
            story.edit("b", "d['t'] += 1");
            story.run("b");
        },
        &[UP, again, "input changed"],
    );
}

#[test]
fn a_deleted_cell_counts_after_the_definition_has_run_again() {
    let cells = ["xs = [1]\ntmp = 4", "del xs", "try: print(xs)\nexcept NameError: pass", "print(tmp)"];
    let deleted =
        "out of order: uses xs: a deleted cell (run 9:02) wrote it after cell 0 and before this ran";
    ran(&cells, |story| story.delete("b"), &[UP, deleted, UP]);
    let mut story = Story::ran(&cells);
    story.edit("a", "xs = [1]\ntmp = 5");
    for id in story.planned(&["a", "b", "c", "d"], true) {
        story.run(&id);
    }
    states(&story, &[UP, UP, UP, UP]);
    story.delete("b");
    states(&story, &[UP, "out of order", UP]);
    assert_eq!(story.planned(&["a", "c", "d"], true), ["a", "c"]);
    let cells = ["xs = [1]\ntmp = 4", "xs = [2]", "print(xs)"];
    let mut story = Story::ran(&cells);
    story.edit("a", "xs = [1]\ntmp = 5");
    story.run("a");
    states(&story, &[UP, UP, UP]);
}

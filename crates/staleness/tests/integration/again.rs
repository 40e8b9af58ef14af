//! Cells that run again, of which the kernel says whether that has changed a value.

use crate::story::{Story, check};

#[test]
fn another_run_that_changes_an_object_again_is_out_of_order() {
    for (made, change) in [
        ("l = [3, 1, 2]", "del l[0]"),
        ("l = [3, 1, 2]", "l[0], l[1] = l[1], l[0]"),
        ("l = [3, 1, 2]", "l[:] = l[1:]"),
        ("l = Point()", "l.z = getattr(l, 'z', 0) + 1"),
        ("l = Point()", "bump(l)"),
        ("l = Point()", "l['a'] = 1"),
        ("o = Point()\nl = Point()", "o.hit()"),
        ("l = Point()", "l.partial_fit(1)"),
    ] {
        let mut story = Story::of(&[made, &format!("{change}\nprint(l)"), "print(l)"]);
        story.run_assigning("a", &["l"]);
        story.run_assigning("b", &["l"]);
        story.run_assigning("c", &[]);
        check(&story, &["up to date"; 3]);
        story.run_assigning("b", &["l"]);
        check(&story, &["up to date", "out of order", "input changed"]);
        story.run_assigning("c", &[]);
        check(&story, &["up to date", "out of order", "input changed"]);
        assert_eq!(story.planned(&["a", "b", "c"], true), ["a", "b", "c"], "{change}");
    }
}

#[test]
fn another_run_that_changes_nothing_is_none() {
    for (made, change) in [
        ("m = Model()", "m.fit(1)"),
        ("m = {}", "m['a'] = slow(3)"),
        ("m = Lazy()", "print(m.heavy)"),
        ("m = []", "fill(m)"),
    ] {
        let mut story = Story::of(&[made, change, "print(m)"]);
        story.run_assigning("a", &["m"]);
        story.run_assigning("b", &["m"]);
        story.run_assigning("c", &[]);
        for _ in 0..3 {
            story.run_leaving_equal("b", &["m"], &[]);
            check(&story, &["up to date"; 3]);
        }
        story.run_assigning("c", &[]);
        check(&story, &["up to date"; 3]);
        // The change itself still counts.
        story.edit("b", "m.clear()");
        check(&story, &["up to date", "edited", "input changed"]);
    }
}

#[test]
fn a_run_that_shows_something_else_may_have_met_what_it_has_done_itself() {
    // `square` prints where its result is not in `cache` yet.
    let mut story = Story::of(&["cache = {}", "square(cache)", "print(cache)"]);
    story.run_assigning("a", &["cache"]);
    story.run_assigning("b", &["cache"]);
    story.run_assigning("c", &[]);
    story.run_otherwise_leaving_equal("b", &["cache"], &[]);
    check(&story, &["up to date", "may have changed", "may have changed"]);
    let mut story = Story::of(&["cache = {}", "square(cache)", "print(cache)"]);
    story.run_assigning("a", &["cache"]);
    story.run_assigning("b", &["cache"]);
    story.edit("b", "square(cache, 4)");
    story.run_assigning("b", &["cache"]);
    story.edit("b", "square(cache)");
    story.run_otherwise_leaving_equal("b", &["cache"], &[]);
    check(&story, &["up to date", "out of order", "never run"]);
}

#[test]
fn a_change_below_counts_also_for_a_run_that_leaves_an_equal_value() {
    let mut story = Story::of(&["df = f()", "df['tax'] = df.price * 2", "df.price *= 2"]);
    story.run_assigning("a", &["df"]);
    story.run_assigning("b", &["df"]);
    story.run_assigning("c", &["df"]);
    story.run_assigning("b", &["df"]);
    story.run_leaving_equal("b", &["df"], &[]);
    check(&story, &["up to date", "out of order", "input changed"]);
}

#[test]
fn another_run_that_may_have_changed_an_object_is_named_until_a_restart() {
    let mut story = Story::of(&["m = Forest()", "m.fit(1)", "print(m)"]);
    story.run_assigning("a", &["m"]);
    story.run_assigning("b", &["m"]);
    story.run_assigning("c", &[]);
    story.run_assigning("b", &[]);
    check(&story, &["up to date", "up to date", "may have changed"]);
    story.run_assigning("c", &[]);
    check(&story, &["up to date", "up to date", "may have changed"]);
}

#[test]
fn an_equal_value_is_no_other_input() {
    for made in ["df = load()", "df = read_csv('a.csv')", "rng = default_rng(7)\ndf = rng.normal()"] {
        let mut story = Story::of(&[made, "print(df)", "n = len(df)", "print(n)"]);
        story.run_assigning("a", &["df", "rng"]);
        story.run_assigning("b", &[]);
        story.run_assigning("c", &["n"]);
        story.run_assigning("d", &[]);
        for _ in 0..2 {
            story.run_leaving_equal("a", &["df", "rng"], &["df", "rng"]);
            check(&story, &["up to date"; 4]);
        }
        story.run_assigning("a", &["df", "rng"]);
        check(&story, &["up to date", "input changed", "input changed", "input changed"]);
        // It is equal to what is there now, and not to what its readers have got.
        story.run_leaving_equal("a", &["df", "rng"], &["df", "rng"]);
        check(&story, &["up to date", "input changed", "input changed", "input changed"]);
    }
}

#[test]
fn a_value_that_equals_one_of_another_cell_is_not_the_earlier_one() {
    let mut story = Story::of(&["x = read_csv('a.csv')", "print(x)", "x = g()"]);
    story.run_assigning("a", &["x"]);
    story.run_assigning("b", &[]);
    story.run_assigning("c", &["x"]);
    story.run_leaving_equal("a", &["x"], &["x"]);
    check(&story, &["up to date", "input changed", "up to date"]);
}

#[test]
fn a_cell_without_code_that_still_shows_outputs_is_edited() {
    let mut story = Story::ran(&["x = 1", "print(x)"]);
    story.edit("b", "# nothing");
    check(&story, &["up to date", "edited"]);
    story.run("b");
    story.clear("b");
    check(&story, &["up to date"; 2]);
}

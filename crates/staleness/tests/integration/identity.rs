//! Classes and functions that are defined again, and the objects of before.

use crate::story::{Story, UP, check as states, ran};
use crate::table::{check, check_rows};

const CLASS: &str = "K = 1\nclass P:\n    def __init__(self, v): self.v = v";
const EDIT: &str = "a: K = 2\nclass P:\n    def __init__(self, v): self.v = v";

fn rows(rows: &[(&str, &str, &str)]) {
    for (cells, states, planned) in rows {
        check(&[(&format!("{CLASS} | {cells}"), EDIT, states, planned)]);
    }
}

#[test]
fn objects_are_made_again_with_their_class_where_both_are_used() {
    rows(&[
        ("p = P(3) | print(isinstance(p, P), K)", "edited ok input", "abc"),
        ("p = P(3) | q = [p] | print(P(3) in q, K)", "edited ok ok input", "abcd"),
        ("p = P(3) | q = p | print(isinstance(q, P), K)", "edited ok ok input", "abcd"),
        ("def has(x): return isinstance(x, P) | p = P(3) | print(has(p), K)", "edited ok ok input", "acd"),
        (
            "errors = [P(1)] | for e in errors:\n    try: raise e\n    except P: print(K)",
            "edited ok input",
            "abc",
        ),
        ("p = P(3) | import pickle\npickle.dumps(p)\nprint(K)", "edited ok input", "abc"),
        ("p = P(3) | print(p.v, K) | print(isinstance(p, P), K)", "edited ok input input", "abcd"),
        // Where nothing compares them, they stay as they are.
        ("p = P(3) | print(p.v, K)", "edited ok input", "ac"),
        ("p = P(3) | p.fit(1) | print(p.score(), K)", "edited ok ok input", "ad"),
        ("p = P(3) | print(isinstance(p, P))", "edited ok ok", "a"),
        ("p = 3 | print(isinstance(p, P), K)", "edited ok input", "ac"),
        ("import pickle\np = 3 | pickle.dumps(p)\nprint(K)", "edited ok input", "ac"),
    ]);
    check_rows(
        r"
        from collections import namedtuple\nPt = namedtuple('Pt', 'x y')\nk = 2 | p = Pt(1, 2)
            | print(type(p) is Pt, k) :: a: 2 => 3 :: edited ok input :: abc
        K = 3\nclass Color(Enum):\n    RED = 1 | fav = Color.RED | print(fav is Color.RED, K)
            :: a: K = 4\nclass Color(Enum):\n    RED = 1 :: edited ok input :: abc
        K = 1\ndef double(x): return 2 * x | names = {double: 'd'} | print(names[double], double(K))
            :: a: K = 2\ndef double(x): return 2 * x :: edited ok input :: abc
        // What a function gives is no matter of which function it was.
        K = 1\ndef load(): return 1 | df = load() | print(load(), df, K) :: a: K = 2\ndef load(): return 1
            :: edited ok input :: ac
        ",
    );
}

#[test]
fn what_was_compared_with_a_class_of_before_is_out_of_order() {
    let edited = EDIT.split_once(": ").unwrap().1;
    let cells = [CLASS, "p = P(3)", "print(isinstance(p, P))", "print(p.v)"];
    let mut story = Story::ran(&cells);
    story.edit("a", edited);
    story.run_each(&["a", "c", "d"]);
    let made = "out of order: uses p: it was created with P before P was redefined";
    states(&story, &[UP, UP, made, UP]);
    assert_eq!(story.planned(&["c"], false), ["b", "c"]);
    assert_eq!(story.planned(&["a", "b", "c", "d"], true), ["b", "c"]);
    ran(&cells, |story| story.run("c"), &[UP, UP, UP, UP]);
}

#[test]
fn functions_that_are_registered_for_another_one_are_registered_again() {
    let made = "import functools\nSEP = '-'\n@functools.singledispatch\ndef show(x): return 'obj'";
    let edit = "a: import functools\nSEP = '+'\n@functools.singledispatch\ndef show(x): return 'obj'";
    check(&[
        (
            &format!("{made} | @show.register\ndef _(x: int): return 'int' | print(SEP, show(3))"),
            edit,
            "edited ok input",
            "abc",
        ),
        (
            &format!("{made} | @show.register(int)\ndef f(x): return 'int' | print(SEP, show(3))"),
            edit,
            "edited ok input",
            "abc",
        ),
        (
            &format!("{made} | @show.register\ndef f(x: int): return 'int' | print(show(3))"),
            "b: @show.register\ndef f(x: int): return 'i'",
            "ok edited input",
            "bc",
        ),
        (
            "import atexit | @atexit.register\ndef f(): pass | import atexit\nprint(1)",
            "b: @atexit.register\ndef f(): return 1",
            "ok edited ok",
            "b",
        ),
    ]);
}

//! Lambdas and functions that go into an object: the names that they use are looked up when something calls them.

use crate::story::{Story, UP, check as states};
use crate::table::{check, check_rows};

#[test]
fn lambdas_use_what_the_cell_defines_below_them() {
    check_rows(
        r"
        fs = [lambda x: x + OFF]\nOFF = 1 | print(fs[0](0)) :: a: 1 => 2 :: edited input :: ab
        fs = []\nfor i in range(3):\n    fs.append(lambda x, i=i: x + OFF)\nOFF = 1 | print(fs) :: a: 1 => 2
            :: edited input :: ab
        hs = {}\ndef register(n): hs[n] = lambda v: v * K\nregister('a')\nK = 2 | print(hs['a'](4))
            :: a: 2 => 3 :: edited input :: ab
        d = {'a': lambda: K}\nK = 1 | d['a']() :: a: d = {'a': lambda: K}\nK = 2 :: edited input :: ab
        hs = {} | hs['a'] = lambda: K\nK = 1 | hs['a']() :: b: 1 => 2 :: ok edited input :: bc
        // Others are called at once, with what is defined above.
        K = 1 | ys = sorted(xs, key=lambda v: v * K)\nK = 2 | ys :: a: K = 3 :: edited input input :: abc
        K = 1 | fs = [lambda: K]\nprint(fs[0]())\nK = 2 | K :: c: K + 1 :: ok ok edited :: c
        k = 1 | fs = [] | fs.append(lambda: k) | fs[0]() :: a: k = 2 :: edited ok ok input :: ad
        ",
    );
    for source in ["fs = [lambda x: x + OFF]\nOFF = 1", "fs = []\nfs.append(lambda x: x + OFF)\nOFF = 1"] {
        let mut story = Story::ran(&[source, "fs"]);
        story.edit("a", &source.replace('1', "2"));
        story.run("a");
        story.run("b");
        states(&story, &[UP, UP]);
    }
}

#[test]
fn functions_that_cells_register_use_names_when_they_are_called() {
    let made = "H = {}\nM = 'x'\ndef on(name):\n    def deco(f):\n        H[name] = f\n        return f\n    return deco";
    let cells = format!(
        "{made} | @on('a')\ndef a(): return 's' + M | @on('b')\ndef b(): return 't' + M | print(H['a']()) | def go(k): return H[k]() | go('b')"
    );
    let edit = format!("a: {}", made.replace("'x'", "'y'"));
    check(&[
        (&cells, &edit, "edited ok ok input ok input", "abcdf"),
        (&cells, "c: @on('b')\ndef b(): return 'u' + M", "ok ok edited input ok input", "abcdf"),
        (
            "M = 1 | app = App() | @app.route('/')\ndef home(): return M | print(app.get('/'))",
            "a: M = 2",
            "edited ok ok input",
            "ad",
        ),
        (
            "M = 1 | H = {} | def f(): return M | H['a'] = f | H['b'] = 2 | H['a']()",
            "a: M = 2",
            "edited ok ok ok ok input",
            "af",
        ),
        (
            "M = 1 | fs = [] | def f(): return M | fs.append(f) | fs.append(2) | fs[0]()",
            "a: M = 2",
            "edited ok ok ok ok input",
            "af",
        ),
        (
            "M = 1 | class B: pass | def p(self): return M | B.head = p | b = B() | print(b.head())",
            "a: M = 2",
            "edited ok ok ok input input",
            "aef",
        ),
        (
            "M = 1 | class B: pass | def p(self): return M | b = B() | B.head = p | print(b.head())",
            "a: M = 2",
            "edited ok ok ok ok input",
            "af",
        ),
        // Decorators of libraries keep nothing that others see, and values are no functions.
        (
            "import functools\nM = 1 | @functools.wraps(g)\ndef f(): return M | functools.reduce(add, xs)",
            "a: import functools\nM = 2",
            "edited ok ok",
            "a",
        ),
        (
            "M = 1 | def timed(f): return f | @timed\ndef f(): return M | timed(g)",
            "a: M = 2",
            "edited ok ok ok",
            "a",
        ),
        (
            "k = 1 | xs = [] | xs.append(k) | print(xs) | k = 2 | print(xs)",
            "e: k = 3",
            "ok ok ok ok edited ok",
            "e",
        ),
    ]);
}

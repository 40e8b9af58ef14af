//! Objects of the notebook's own classes, and several names that one assignment binds.

use crate::story::ran;
use crate::table::{self, check, check_rows};

const COUNTER: &str = "class Counter:\n    def __init__(self): self.n = 0\n    def __call__(self): self.n += 1; return self.n\ntick = Counter()";
const TRACKER: &str = "class Tracker:\n    def __enter__(self): self.names.append('in'); return self\n    def __exit__(self, *a): pass\n    def note(self, s): self.names.append(s)\ntr = Tracker()";
const FLOW: &str = "class Flow:\n    def __rshift__(self, o): self.down.append(o); return o\n    def __add__(self, o): self.n += o\na, b, c = Flow('a'), Flow('b'), Flow('c')";

fn rows(made: &str, text: &str) {
    for [cells, edit, states, planned] in table::rows(text) {
        check(&[(&format!("{made} | {cells}"), &edit, &states, &planned)]);
    }
}

#[test]
fn a_call_of_an_object_changes_it() {
    rows(
        COUNTER,
        r"
        tick() | print(tick()) | print(tick.n) :: b: tick(); tick() :: ok edited input input :: abcd
        x = tick() | print(tick.n) :: b: x = tick() + 1 :: ok edited input :: abc
        t = tick | t() | print(tick.n) :: c: t(); t() :: ok ok edited input :: abcd
        def go(): tick() | go() | print(tick.n) :: c: go(); go() :: ok ok edited input :: acd
        print(tick) | print(tick.n) :: b: print(tick, 1) :: ok edited ok :: b
        tick.n | print(tick.n) :: b: tick.n + 1 :: ok edited ok :: b
        ",
    );
    check_rows(
        r"
        k = 1 | class A:\n    def __call__(self, n): self.n += n | a = A()\na(k) | print(a.n) :: a: k = 2
            :: edited ok input input :: acd
        class A:\n    def __call__(self, n): self.add(n)\n    def add(self, n): self.n += n | class B(A): pass
            | b = B() | b(5) | print(b.n) :: d: b(6) :: ok ok ok edited input :: cde
        // It only reads, as the models of many notebooks do.
        class P:\n    def __call__(self, x): return self.k * self.ev(x)\n    def ev(self, x): return x\np = P()
            | y = p(3) | print(p.k) :: b: y = p(4) :: ok edited ok :: b
        f = partial(g, 1) | y = f(3) | print(f) :: b: y = f(4) :: ok edited ok :: b
        ",
    );
}

#[test]
fn a_block_with_an_object_changes_it() {
    rows(
        TRACKER,
        r"
        with tr: x = 1 | print(tr.names) :: b: with tr: x = 2 :: ok edited input :: abc
        with tr as t: t.note('deep') | print(tr.names) :: b: deep => flat :: ok edited input :: abc
        ",
    );
    check_rows(
        r"
        lock = Lock() | with lock: x = 1 | print(lock) :: b: with lock: x = 2 :: ok edited ok :: b
        class L:\n    def __enter__(self): return self\n    def __exit__(self, *a): print(a)\nl = L()
            | with l: x = 1 | print(l) :: b: with l: x = 2 :: ok edited ok :: b
        db = connect() | with db as c: c.execute(1) | db :: b: 1 => 2 :: ok edited input :: abc
        ",
    );
    let deleted =
        "may have changed: uses tr: a deleted cell (run 9:02) calls a method of it and ran before it";
    let cells = [TRACKER, "with tr: x = 1", "print(tr.names)"];
    ran(&cells, |story| story.delete("b"), &["up to date", deleted]);
}

#[test]
fn operators_between_objects_change_them() {
    rows(
        FLOW,
        r"
        a >> b >> c | print(a.down, b.down) :: b: a >> c :: ok edited order :: abc
        a >> b >> c | print(a.down) :: b: a >> c >> b :: ok edited input :: abc
        a >> [b, c] | print(a.down) :: b: a >> [c, b] :: ok edited input :: abc
        x = a >> b | print(a.down) :: b: x = a >> c :: ok edited input :: abc
        a + 1 | print(a.n) :: b: a + 2 :: ok edited input :: abc
        y = (a.n + 1) * 2 | print(a.n) :: b: y = (a.n + 1) * 3 :: ok edited ok :: b
        ",
    );
    check_rows(
        r"
        n = 1 | n << 3 | print(n) :: b: n << 4 :: ok edited ok :: b
        s = {1} | s - {2} | s :: b: s - {3} :: ok edited ok :: b
        class V:\n    def __add__(self, o): return V(self.x + o.x)\nv, w = V(1), V(2) | v + w | print(v.x)
            :: b: w + v :: ok edited ok :: b
        ",
    );
}

#[test]
fn iterators_that_an_unpacking_binds_give_each_item_once() {
    check_rows(
        r"
        t, u = iter(xs), iter(xs) | print(next(t)) | print(next(t), next(u)) | print(next(u))
            :: b: print(next(t), next(t)) :: ok edited input input :: abcd
        import itertools\nt, u = itertools.tee(xs) | print(next(t)) | print(next(t), next(u))
            :: b: print(next(t), next(t)) :: ok edited input :: abc
        t, u = tee(iter(xs)) if False else (iter(xs), iter(xs)) | print(next(t)) | print(next(t))
            :: b: print(next(t), next(t)) :: ok edited input :: abc
        class N:\n    def __next__(self): self.i += 1; return self.i\nit = N() | print(next(it))
            | print(next(it)) :: b: print(next(it), next(it)) :: ok edited input :: abc
        t, u = [1], [2] | print(t[0]) | print(t[0]) :: b: print(t[-1]) :: ok edited ok :: b
        (t, *u), v = iter(xs), 1 | print(t) | print(t, v) :: b: print(t, 1) :: ok edited ok :: b
        ",
    );
}

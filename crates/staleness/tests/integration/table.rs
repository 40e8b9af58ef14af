//! A notebook and an edit in a line each: what is said of the cells then, and what `run_cells(stale)` runs.

use staleness::State;

use crate::story::Story;

/// The cells in order, the letter of one and its new source or what is replaced in it (`b: 2 => 3`), the states, and the letters of the
/// cells that run.
type Row<'a> = (&'a str, &'a str, &'a str, &'a str);

fn short(state: State) -> &'static str {
    match state {
        State::UpToDate => "ok",
        State::Edited => "edited",
        State::InputChanged => "input",
        State::OutOfOrder => "order",
        State::MayHaveChanged => "may",
        State::NothingKnown => "unknown",
        State::UndefinedName => "undefined",
        other => other.name(),
    }
}

pub(crate) fn check(rows: &[Row<'_>]) {
    let mut wrong = Vec::new();
    for row in rows {
        let (cells, edit, states, planned) = *row;
        let cells: Vec<&str> = cells.split(" | ").collect();
        let mut story = Story::ran(&cells);
        let (id, change) = edit.split_once(": ").unwrap();
        let source = match change.split_once(" => ") {
            Some((part, other)) => {
                let before = cells[usize::from(id.as_bytes()[0] - b'a')];
                assert!(before.contains(part), "{edit}");
                before.replace(part, other)
            }
            None => change.to_owned(),
        };
        story.edit(id, &source);
        let found: Vec<_> = story.states().iter().map(|state| short(state.state)).collect();
        let ids = story.ids();
        let all: Vec<&str> = ids.iter().map(String::as_str).collect();
        let plan = story.planned(&all, true);
        for id in &plan {
            story.run(id);
        }
        let after: Vec<_> = story.states().into_iter().filter(|state| state.state.is_stale()).collect();
        if found.join(" ") != states || plan.concat() != planned || !after.is_empty() {
            let found = (cells.join(" | "), edit.to_owned(), found.join(" "), plan.concat());
            wrong.push(format!("{found:?}\nexpected {states:?} {planned:?}, stale afterwards: {after:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

/// The same for the rows of a text, whose parts stand between ` :: `.
pub(crate) fn check_rows(text: &str) {
    let rows = rows(text);
    let rows: Vec<Row<'_>> =
        rows.iter().map(|[cells, edit, states, runs]| (&**cells, &**edit, &**states, &**runs)).collect();
    check(&rows);
}

/// The parts of these rows. A line that is indented further continues a row, `\n` is a line break in a cell, and `//` begins a comment.
pub(crate) fn rows(text: &str) -> Vec<[String; 4]> {
    let is_row = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    let mut rows = Vec::<String>::new();
    for line in text.lines().filter(is_row) {
        match rows.last_mut().filter(|_| line.starts_with("            ")) {
            Some(row) => row.push_str(&format!(" {}", line.trim())),
            None => rows.push(line.trim().to_owned()),
        }
    }
    let parts = |row: &String| row.split(" :: ").map(|part| part.replace("\\n", "\n")).collect::<Vec<_>>();
    rows.iter().map(|row| parts(row).try_into().expect(row)).collect()
}

#[test]
fn a_definition_that_may_not_happen_hides_none_above() {
    check_rows(
        r"
        n = 10 | d = False | if d: n = 2 | print(n) :: a: n = 11 :: edited ok ok input :: acd
        n = 10 | d = False | if d: n = 2 | print(n) :: b: d = True :: ok edited input input :: bcd
        n = 10 | d = False | if d: n = 2 | print(n) :: c: if d: n = 3 :: ok ok edited input :: cd
        n = 1 | if d:\n n = 2\nelse:\n n = 3 | n :: a: n = 5 :: edited ok ok :: a
        n = 1 | if d:\n n = 2\nelif e:\n n = 3 | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | if d:\n n = 2\nelse:\n raise E() | n :: a: n = 5 :: edited ok ok :: a
        n = 1 | if True: n = 2 | n :: a: n = 5 :: edited ok ok :: a
        n = 1 | for n in xs: pass | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | for i in xs: n = i | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | for n in range(3): pass | n :: a: n = 5 :: edited ok ok :: a
        n = 1 | for i in range(3):\n  if i: break\n  n = i | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | while go(): n = 2 | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | try:\n n = f()\nexcept E:\n pass | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | try:\n n = f()\nexcept E:\n n = 0 | n :: a: n = 5 :: edited ok ok :: a
        n = 1 | try:\n n = f()\nexcept E:\n raise | n :: a: n = 5 :: edited ok ok :: a
        n = 1 | try:\n n = f()\nfinally:\n g() | n :: a: n = 5 :: edited ok ok :: a
        import json | try:\n import ujson as json\nexcept ImportError:\n pass | json.dumps(1)
            :: a: import json5 as json :: edited ok input :: abc
        n = 1 | match k:\n case 1: n = 2 | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | match k:\n case 1: n = 2\n case _: n = 3 | n :: a: n = 5 :: edited ok ok :: a
        n = 1 | with suppress(E): n = f() | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | with contextlib.suppress(E): n = f() | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | with open(p) as n: pass | n :: a: n = 5 :: edited ok ok :: a
        n = 1 | ok and (n := 2) | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | (n := 2) and ok | n :: a: n = 5 :: edited ok ok :: a
        n = 1 | x = (n := 2) if ok else 3 | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | [(n := i) for i in xs] | n :: a: n = 5 :: edited ok input :: abc
        def f(): return 1 | if d:\n def f(): return 2 | f() :: a: 1 => 3 :: edited ok input :: abc
        n = 1 | def g():\n global n\n n = 2 | g() | n :: a: n = 5 :: edited ok ok input :: acd
        n = 1 | if d: n = 2\nprint(n) :: a: n = 5 :: edited input :: ab
        n = 1 | for i in xs: n = i\nprint(n) :: a: n = 5 :: edited ok :: a
        n = 1 | if d: n = 2 | n = 3 | n :: a: n = 5 :: edited ok ok ok :: a
        ",
    );
}

#[test]
fn what_changes_its_own_input_runs_with_what_defines_it() {
    check_rows(
        r"
        df = f() | df['x'] = df['x'] * 2 | print(df.x) :: b: 2 => 3 :: ok edited input :: abc
        df = f() | df['x'] = df['y'] * 2 | print(df.x) :: b: 2 => 3 :: ok edited input :: bc
        df = f() | df['x'] = 1 | df :: b: df['y'] = 1 :: ok edited input :: abc
        k = 2 | df = f() | df['x'] = df['x'] * k | df :: a: k = 3 :: edited ok input input :: abcd
        n = 0 | n += 1 | n :: b: n += 2 :: ok edited input :: abc
        k = 1 | n = 0 | n += k | n :: a: k = 2 :: edited ok input input :: abcd
        xs = [] | xs.append(1) | xs :: b: xs.append(2) :: ok edited input :: abc
        xs = [1, 2] | y = xs.pop() | y :: b: y = xs.pop() + 1 :: ok edited input :: abc
        xs = [1] | xs.extend([2]) | xs :: b: xs.extend([3]) :: ok edited input :: abc
        xs = [1] | xs.insert(0, 2) | xs :: b: xs.insert(0, 3) :: ok edited input :: abc
        d = {} | d.update(a=1) | d :: b: d.update(b=1) :: ok edited input :: abc
        d = {'a': 1} | del d['a'] | d :: b: del d['b'] :: ok edited input :: abc
        df = f() | df.dropna(inplace=True) | df :: b: inplace => axis=1, inplace :: ok edited input :: abc
        df = f() | df = df.dropna() | df :: b: df = df.dropna(axis=1) :: ok edited input :: abc
        df = f() | df = df[df.a > 1] | df | df = df.head() | df :: b: df = df[df.a > 2]
            :: ok edited input input input :: abcde
        df = f() | df.columns = [c.lower() for c in df.columns] | df
            :: b: df.columns = [c.upper() for c in df.columns] :: ok edited input :: abc
        df = f() | df.loc[df.x > 1, 'x'] = 0 | df :: b: 1 => 2 :: ok edited input :: abc
        df = f() | df['x'] += 1 | df :: b: df['x'] += 2 :: ok edited input :: abc
        // Transitively, with everything that changed the object between.
        df = f() | df['a'] = 1 | df['x'] = df['x'] * 2 | df :: c: 2 => 3 :: ok ok edited input :: abcd
        df = f() | df['x'] *= 2 | df['x'] += 1 | df :: b: df['x'] *= 3 :: ok edited input input :: abcd
        df = f() | df['x'] *= 2 | df['x'] += 1 | df :: c: df['x'] += 5 :: ok ok edited input :: abcd
        k = 1 | df = f(k) | df['x'] *= 2 | df :: c: df['x'] *= 3 :: ok ok edited input :: bcd
        raw = f() | df = raw | df['x'] *= 2 | df :: c: df['x'] *= 3 :: ok ok edited input :: abcd
        // A cell below has changed what a cell above reads again.
        xs = [] | print(xs) | xs.append(1) | xs :: b: print(xs, 1) :: ok edited ok ok :: abcd
        n = 0 | print(n) | n += 1 | n :: b: print(n, 1) :: ok edited ok ok :: abcd
        df = f() | df.head() | df['x'] = 1 | df :: b: df.tail() :: ok edited ok ok :: abcd
        a = f() | a.sort() | a :: b: a.sort(reverse=True) :: ok edited input :: abc
        s = set() | s.add(1) | s :: b: s.add(2) :: ok edited input :: abc
        q = deque() | q.appendleft(1) | q :: b: q.appendleft(2) :: ok edited input :: abc
        a = np.zeros(3) | a[0] = 1 | a :: b: a[0] = 2 :: ok edited input :: bc
        a = np.zeros(3) | a[0] = 1 | a :: b: a[1] = 2 :: ok edited input :: abc
        def f(to): to.append(1) | xs = [] | f(xs) | xs :: c: f(xs); f(xs) :: ok ok edited input :: bcd
        ",
    );
}

#[test]
fn a_method_that_runs_with_new_input_changes_its_object() {
    check_rows(
        r"
        x = 1 | m = M() | m.fit(x, y) | print(m.coef_) :: a: x = 2 :: edited ok input input :: abcd
        x = 1 | m = M() | m.fit(x, y) | print(m.coef_) :: c: m.fit(x, z) :: ok ok edited input :: bcd
        x = 1 | m = M() | m.fit(x, y) | print(m.coef_) :: b: m = N() :: ok edited input input :: bcd
        x = 1 | s = S() | z = s.fit_transform(x) | z :: a: x = 2 :: edited ok input input :: abcd
        x = 1 | s = S() | z = s.fit_transform(x) | s.mean_ :: a: x = 2 :: edited ok input input :: abcd
        x = 1 | fig, ax = plt.subplots() | ax.plot(x) | ax.get_lines() :: a: x = 2 :: edited ok input input
            :: abcd
        q = 'a' | c = connect() | c.execute(q) | c.fetchall() :: a: q = 'b' :: edited ok input input :: abcd
        lr = 1 | net = Net() | net.train(lr) | net.loss :: a: lr = 2 :: edited ok input input :: abcd
        x = 1 | m = M() | m.fit(x) | p = m.predict(z) | score(p) :: a: x = 2 :: edited ok input input input
            :: abcde
        x = 1 | m = M() | m.fit(x) | p = m.predict(z) | score(p) :: d: z => w :: ok ok ok edited input :: de
        x = 1 | m = M() | m.fit(x)\nm.score(x) | m.coef_ :: a: x = 2 :: edited ok input input :: abcd
        x = 1 | m = M().fit(x) | m.coef_ :: a: x = 2 :: edited input input :: abc
        k = 1 | def train(m): m.fit(k) | m = M() | train(m) | m.coef_ :: a: k = 2 :: edited ok ok input input
            :: acde
        // A method of an object that gets nothing new leaves it as it is.
        x = 1 | m = M() | m.fit(y) | print(m.coef_) :: a: x = 2 :: edited ok ok ok :: a
        ",
    );
}

#[test]
fn a_name_depends_on_its_own_right_hand_side() {
    check_rows(
        r"
        // From scikit-learn's plot_polynomial_interpolation.
        import numpy as np | def f(x): return x * np.sin(x)
            | x = np.linspace(0, 1, 9); y = f(x); X = x[:, None] | show(X)
            :: b: def f(x): return x + np.sin(x) :: ok edited input ok :: bc
        import numpy as np | P = 1 | F = np.array(a); draw(F @ P) | det(F) :: b: P = 2 :: ok edited input ok
            :: bc
        P = 1 | F = array(a); draw(F @ P) | det(F) :: b: P => P, 2 :: ok edited ok :: b
        P = 1 | F = np.array(a); draw(F @ P) | det(F) :: b: a) => c) :: ok edited input :: bc
        P = 1 | F = P + 1; G = 2 | F | G :: a: P = 2 :: edited input input ok :: abc
        P = 1 | F = P + 1; G = F | F | G :: a: P = 2 :: edited input input input :: abcd
        x = 1; y = 2 | x | y :: a: x = 1; y = 3 :: edited ok input :: ac
        x = 1\ny = 2\nprint(x) | x | y :: a: x = 1\ny = 2\nprint(y) :: edited ok ok :: a
        x = 1\ny = 2 | x | y :: a: # one\nx = 1\n\ny = 2 :: edited ok ok :: a
        x = 1\ny = x + 1 | x | y :: a: x = 5\ny = x + 1 :: edited input input :: abc
        k = 1 | def f(): return k\nx = f()\nz = 3 | x | z :: a: k = 2 :: edited input input ok :: abc
        k = 1 | if k: x = 1\ny = 2 | x | y :: a: k = 0 :: edited input input ok :: abc
        k = 1 | for i in range(k): x = i\ny = 2 | x | y :: a: k = 3 :: edited input input ok :: abc
        k = 1 | x = []\nx.append(k)\ny = 2 | x | y :: a: k = 3 :: edited input input ok :: abc
        k = 1 | df = g()\ndf['a'] = k\ne = g() | df | e :: a: k = 3 :: edited input input ok :: abc
        k = 1 | a, b = k, 2 | a | b :: a: k = 3 :: edited input input input :: abcd
        k = 1 | x = 2\nprint(k) | x :: a: k = 3 :: edited input ok :: ab
        // Its value may be another one now, because the cell runs again.
        k = 1 | x = np.random.rand()\nprint(k) | x :: a: k = 3 :: edited input ok :: abc
        k = 1 | df = pd.read_csv(p)\nprint(k) | df :: a: k = 3 :: edited input ok :: abc
        k = 1 | x = g(x0)\nprint(k) | y = x | y :: a: k = 3 :: edited input ok ok :: ab
        a = df2\nb = M(1).fit(a) | p(b.score(a)) | c = N(2).fit(a)\nprint(c) :: a: a = df2\nb = M(3).fit(a)
            :: edited input ok :: ab
        ",
    );
}

#[test]
fn what_is_known_comes_before_what_is_not() {
    check(&[
        ("x = 1 | eval('x') + x", "a: x = 2", "edited input", "ab"),
        ("x = 1 | eval('x')", "a: x = 2", "edited unknown", "a"),
        ("x = 1 | def h(s): return eval(s) | y = h('1') + x | y", "a: x = 2", "edited ok input input", "acd"),
        ("x = 1 | exec('z = 1')\nprint(x)", "a: x = 2", "edited input", "ab"),
        ("x = 1 | %run other.py\nprint(x)", "a: x = 2", "edited input", "ab"),
        ("x = 1 | from m import *\ny = x | y", "a: x = 2", "edited input input", "abc"),
        ("x = 1 | from m import *\ny = 2 | y", "a: x = 2", "edited unknown ok", "a"),
    ]);
}

#[test]
fn blank_cells_are_no_cells() {
    check(&[
        ("x = 1 |  | x", "a: x = 2", "edited ok input", "ac"),
        ("x = 1 | \n\t | x", "b: # later", "ok ok ok", ""),
        ("x = 1 | y = 1 | x", "b:  ", "ok ok ok", ""),
    ]);
}

const SEED: &str = "import numpy as np, random\nnp.random.seed(0)";

#[test]
fn random_numbers_come_from_the_state_of_a_fresh_run() {
    let seed = |rest: &str| format!("{SEED} | {rest}");
    for (cells, edit, states, planned) in [
        ("x = np.random.rand(3) | print(x)", "b: x = np.random.rand(4)", "ok edited input", "abc"),
        (
            "x = np.random.rand(3) | y = np.random.rand(3) | print(y)",
            "c: y = np.random.rand(4)",
            "ok ok edited input",
            "abcd",
        ),
        (
            "x = np.random.rand(3) | y = np.random.rand(3) | print(y)",
            "b: x = np.random.rand(4)",
            "ok edited input input",
            "abcd",
        ),
        (
            "x = np.random.rand(3) | y = np.random.rand(3) | print(y)",
            "b: x = np.random.rand(3); print(x)",
            "ok edited ok ok",
            "abcd",
        ),
        (
            "k = 1 | x = np.random.normal(k, 1, 3) | y = np.random.rand(3) | y",
            "b: k = 2",
            "ok edited input ok ok",
            "abcde",
        ),
        (
            "n = 1 | x = np.random.normal(0, 1, n) | y = np.random.rand(3) | y",
            "b: n = 2",
            "ok edited input input input",
            "abcde",
        ),
        ("x = random.random() | x", "b: x = random.random() + 1", "ok edited input", "bc"),
        ("x = f() | x", "b: x = g()", "ok edited input", "bc"),
        (
            "from sklearn.model_selection import train_test_split\nX = np.random.randn(9) | a, b = train_test_split(X, test_size=0.5) | print(a.mean())",
            "c: a, b = train_test_split(X, test_size=0.25)",
            "ok ok edited input",
            "abcd",
        ),
    ] {
        check(&[(&seed(cells), edit, states, planned)]);
    }
}

#[test]
fn generators_and_functions_draw_from_the_right_state_too() {
    check_rows(
        r"
        import random; random.seed(1) | xs = [1, 2]; random.shuffle(xs) | xs
            :: b: xs = [1, 2, 3]; random.shuffle(xs) :: ok edited input :: abc
        import torch; torch.manual_seed(0) | w = torch.randn(3) | w :: a: 0 => 1 :: edited input input :: abc
        import torch; torch.manual_seed(0) | w = torch.randn(3) | w :: b: 3 => 4 :: ok edited input :: abc
        import numpy as np | x = np.random.rand(3) | y = np.random.rand(3) | y :: b: x = np.random.rand(4)
            :: ok edited ok ok :: b
        import numpy as np; np.random.seed(0) | def draw(n): return np.random.rand(n) | x = draw(3) | x
            :: c: x = draw(4) :: ok ok edited input :: acd
        rng = default_rng(0) | x = rng.normal(size=3) | x :: b: 3 => 4 :: ok edited input :: abc
        rng = default_rng(0) | x = rng.normal(size=3) | y = rng.normal(size=3) | y
            :: c: y = rng.normal(size=4) :: ok ok edited input :: abcd
        rng = default_rng(0) | x = rng.normal(size=3) | y = rng.normal(size=3) | y
            :: b: x = rng.normal(size=4) :: ok edited input input :: abcd
        rng = default_rng(0) | x = f() | a = split(x, random_state=rng) | a
            :: c: a = split(x, 2, random_state=rng) :: ok ok edited input :: acd
        import numpy as np | np.random.seed(0); x = np.random.rand(3) | x
            :: b: np.random.seed(1); x = np.random.rand(3) :: ok edited input :: bc
        ",
    );
}

#[test]
fn what_gives_each_item_once_is_made_again() {
    check_rows(
        r"
        raw = StringIO('1') | df = pd.read_csv(raw) | df :: b: raw => raw, sep=';' :: ok edited input :: abc
        t = 'a' | raw = io.StringIO(t) | df = pd.read_csv(raw) | df :: a: t = 'b' :: edited input input input
            :: abcd
        raw = StringIO('1') | raw.seek(0); df = pd.read_csv(raw) | df
            :: b: raw.seek(0); df = pd.read_csv(raw, 2) :: ok edited input :: bc
        raw = StringIO() | raw.write('a') | print(raw.getvalue()) :: c: raw.getvalue() :: ok ok edited :: c
        f = open(p) | for line in f: print(line) :: b: for line in f: print(line, 1) :: ok edited :: ab
        f = open(p) | a = f.readline() | b = f.readline() | b :: b: ) => 3) :: ok edited input input :: abcd
        f = open(p) | x = f.read() | f.close() | x :: b: x = f.read(5) :: ok edited input input :: abcd
        it = iter(xs) | a = next(it) | b = next(it) | b :: c: ) => ) + 1 :: ok ok edited input :: abcd
        z = zip(a, b) | d = dict(z) | d :: b: d = dict(z, k=1) :: ok edited input :: abc
        z = map(f, xs) | ys = list(z) | ys :: b: ys = sorted(z) :: ok edited input :: abc
        z = (i for i in xs) | s = sum(z) | s :: b: s = sum(z) + 1 :: ok edited input :: abc
        z = list(zip(a, b)) | d = dict(z) | d :: b: d = dict(z, k=1) :: ok edited input :: bc
        s = d.map(f) | t = s.sum() | t :: b: t = s.mean() :: ok edited input :: bc
        def g(n):\n  yield n | it = g(3) | a = list(it) | a :: c: a = set(it) :: ok ok edited input :: bcd
        def g(n):\n  return n | it = g(3) | a = list(it) | a :: c: a = set(it) :: ok ok edited input :: cd
        import csv | r = csv.reader(f) | rows = list(r) | rows :: c: ) => )[1:] :: ok ok edited input :: bcd
        c = itertools.count() | a = next(c) | a :: b: a = next(c) + 1 :: ok edited input :: abc
        // Only looked at.
        it = iter(xs) | print(it) | it | type(it) :: b: print(it, it) :: ok edited ok ok :: b
        def load(f): return f.read() | f = open(p) | x = load(f) | x :: c: x = load(f)[1:]
            :: ok ok edited input :: bcd
        f = open(p) | def nextline(): return next(f) | x = nextline() | x :: c: x = nextline() + 1
            :: ok ok edited input :: acd
        ",
    );
}

/// Whatever they are called.
#[test]
fn generators_of_random_numbers_are_made_again() {
    check_rows(
        r"
        gen = np.random.default_rng(0) | x = gen.normal(size=3) | x :: b: 3 => 4 :: ok edited input :: abc
        rs = np.random.RandomState(0) | x = rs.rand(3); a = 5 | x :: b: 5 => 3 :: ok edited ok :: abc
        r = random.Random(1) | x = r.random() | y = r.random() | y :: c: y = r.random() + 1
            :: ok ok edited input :: abcd
        gen = np.random.default_rng(0) | a, b = split(x, random_state=gen) | a
            :: b: a, b = split(x, 2, random_state=gen) :: ok edited input :: abc
        ",
    );
}

#[test]
fn what_a_cell_makes_that_fails_in_a_fresh_run_is_stale() {
    // From statsmodels' ols: without its first line, the second cell fails before it draws.
    let mut story =
        Story::ran(&[SEED, "t = 1\ny = t + np.random.normal()", "z = np.random.normal()", "print(z)"]);
    story.edit("b", "y = t + np.random.normal()");
    story.run_each(&["a", "b", "c", "d"]);
    crate::story::check(&story, &["up to date", "undefined name", "input changed", "input changed"]);
}

#[test]
fn what_a_run_has_drawn_counts_where_names_do_not_show_it() {
    let cells = [SEED, "X = load()", "m = KMeans(3).fit(X)", "b = 5", "y = draw(m)", "print(y)"];
    let run = || {
        let mut story = Story::of(&cells);
        story.run_each(&["a", "b"]);
        story.run_drawing("c");
        story.run("d");
        story.run_drawing("e");
        story.run("f");
        story
    };
    let all = ["a", "b", "c", "d", "e", "f"];
    let mut story = run();
    assert!(story.states().iter().all(|state| state.state == State::UpToDate));
    // What it draws comes from where the seed and the draws before it leave the state.
    story.edit("e", "y = draw(m, 2)");
    crate::story::check(
        &story,
        &["up to date", "up to date", "up to date", "up to date", "edited", "input changed"],
    );
    assert_eq!(story.planned(&all, true), ["a", "c", "e", "f"]);
    let mut story = run();
    story.edit("a", "import numpy as np, random\nnp.random.seed(1)");
    assert_eq!(story.planned(&all, true), ["a", "c", "e", "f"]);
    let mut story = run();
    story.edit("d", "b = 6");
    assert_eq!(story.planned(&all, true), ["d"]);
    // Without a seed, no state can be repeated.
    let mut story = Story::of(&["import numpy as np", "m = KMeans(3)", "print(m)"]);
    story.run("a");
    story.run_drawing("b");
    story.run("c");
    story.edit("b", "m = KMeans(4)");
    assert_eq!(story.planned(&["a", "b", "c"], true), ["b", "c"]);
}

#[test]
fn what_a_run_has_changed_counts_where_names_do_not_show_it() {
    // A library changes its argument.
    let mut story = Story::of(&["h = []", "heappush(h, 1)", "print(h)"]);
    story.run("a");
    story.run_assigning("b", &["h"]);
    story.run("c");
    crate::story::check(&story, &["up to date"; 3]);
    story.edit("b", "heappush(h, 2)");
    crate::story::check(&story, &["up to date", "edited", "input changed"]);
    assert_eq!(story.planned(&["a", "b", "c"], true), ["a", "b", "c"]);
    // Code from elsewhere binds a name.
    let mut story = Story::of(&["k = 1", "%run other.py", "print(z)"]);
    story.run("a");
    story.run_assigning("b", &["z"]);
    story.run("c");
    crate::story::check(&story, &["up to date", "nothing known", "up to date"]);
    story.edit("b", "%run another.py");
    crate::story::check(&story, &["up to date", "edited", "input changed"]);
    // A method has made its object longer.
    let mut story = Story::of(&["log = []", "log.note(1)", "print(log)"]);
    story.run("a");
    story.run_assigning("b", &["log"]);
    story.run("c");
    story.run_assigning("b", &["log"]);
    crate::story::check(&story, &["up to date", "out of order", "input changed"]);
}

#[test]
fn what_a_run_has_assigned_decides() {
    let cells = ["n = 10", "d = False", "if d: n = 2", "print(n)"];
    let mut story = Story::of(&cells);
    story.run_each(&["a", "b"]);
    story.run_assigning("c", &["n"]);
    story.run("d");
    story.edit("a", "n = 11");
    crate::story::check(&story, &["edited", "up to date", "up to date", "up to date"]);
    story.edit("b", "d = 0");
    crate::story::check(&story, &["edited", "edited", "input changed", "input changed"]);
    let mut story = Story::of(&cells);
    story.run_each(&["a", "b"]);
    story.run_assigning("c", &[]);
    story.run("d");
    story.edit("a", "n = 11");
    crate::story::check(&story, &["edited", "up to date", "up to date", "input changed"]);
    // Its own branch has bound the name that it uses.
    let mut story = Story::of(&["n = 1", "if d: n = 2\nprint(n)"]);
    story.run("a");
    story.run_assigning("b", &["n"]);
    story.edit("a", "n = 3");
    crate::story::check(&story, &["edited", "up to date"]);
}

#[test]
fn below_an_expected_error_cells_are_up_to_date() {
    let mut story = Story::of(&["x = 1", "y = x\n1 / 0", "print(y)", "print(x)"]);
    for _ in 0..2 {
        story.run("a");
        story.fail("b");
        story.run_each(&["c", "d"]);
        crate::story::check(&story, &["up to date"; 4]);
    }
    story.edit("a", "x = 2");
    crate::story::check(&story, &["edited", "input changed", "input changed", "input changed"]);
    assert_eq!(story.planned(&["a", "b", "c", "d"], true), ["a", "b", "c", "d"]);
    // What a run defined that did not fail is still there; only the kernel knows whether this one has, too.
    let mut story = Story::ran(&["y = f()", "print(y)"]);
    story.fail("a");
    story.run("b");
    crate::story::check(
        &story,
        &["up to date", "input changed: uses y: cell 0 defines it and has failed (run 9:03)"],
    );
    let mut story = Story::ran(&["y = f()\ng()", "print(y)"]);
    story.fail_assigning("a", &["y"]);
    story.run("b");
    crate::story::check(&story, &["up to date", "up to date"]);
    // It ended before it defined the name: that is still the one above.
    let mut story = Story::of(&["y = 1", "h()\ny = 2", "print(y)"]);
    story.run("a");
    story.fail_assigning("b", &[]);
    story.run("c");
    crate::story::check(&story, &["up to date"; 3]);
    story.edit("a", "y = 3");
    crate::story::check(&story, &["edited", "up to date", "input changed"]);
}

#[test]
fn a_definition_in_a_branch_depends_on_the_condition() {
    check_rows(
        r"
        k = True | if k:\n def f(x): return x\nelse:\n def f(x): return -x | print(f(3)) :: a: k = False
            :: edited input input :: abc
        k = True | if k:\n from math import floor as f\nelse:\n from math import ceil as f | print(f(3))
            :: a: k = False :: edited input input :: abc
        k = True
            | try:\n  if not k: raise ImportError\n  def f(x): return x\nexcept ImportError:\n  def f(x): return -x
            | print(f(3)) :: a: k = False :: edited input input :: abc
        try:\n  import a as m\nexcept ImportError:\n  import b as m\nx = 1 | m.f()
            :: a: try:\n  import a as m\nexcept ImportError:\n  import b as m\nx = 2 :: edited ok :: a
        ",
    );
}

#[test]
fn settings_of_modules_are_followed() {
    check_rows(
        r"
        import os\nos.environ['M'] = 'a' | print(os.environ['M']) | print(1)
            :: a: import os\nos.environ['M'] = 'b' :: edited input ok :: ab
        import pandas as pd\nx = 1 | pd.f() | x :: a: import pandas as pd\nx = 2 :: edited ok input :: ac
        import warnings | warnings.filterwarnings('ignore') | warnings.warn('x')
            :: b: warnings.filterwarnings('error') :: ok edited input :: bc
        import os\nos.environ['M'] = 'a' | y = 1 | print(os.environ['M'], y) :: b: y = 2 :: ok edited input
            :: bc
        ",
    );
}

#[test]
fn names_in_queries_and_formulas_are_read() {
    check_rows(
        r"
        df = f() | lim = 1 | big = df.query('v > @lim') | print(len(big)) :: b: lim = 2
            :: ok edited input input :: bcd
        df = f() | lim = 1 | print(df.eval('v * @lim')) :: b: lim = 2 :: ok edited input :: abc
        df = f() | def tr(x): return x | print(smf.ols('y ~ tr(x) + C(z)', df).fit())
            :: b: def tr(x): return 2 * x :: ok edited input :: bc
        df = f() | y = 1 | print(smf.ols('y ~ x', df).fit()) :: b: y = 2 :: ok edited ok :: b
        ",
    );
}

#[test]
fn earlier_outputs_are_not_followed() {
    check(&[
        ("5 | r = _ + 1 | print(r)", "a: 6", "edited unknown ok", "a"),
        ("5 | print(Out[1])", "a: 6", "edited unknown", "a"),
        ("for _ in range(3): pass | print(_)", "a: for _ in range(4): pass", "edited input", "ab"),
    ]);
}

#[test]
fn what_functions_keep_from_call_to_call_is_made_again() {
    check_rows(
        r"
        def add(x, acc=[]):\n  acc.append(x)\n  return acc | print(add(1)) | print(add(2)) :: b: print(add(5))
            :: ok edited input :: abc
        def add(x, acc=[]):\n  return acc + [x] | print(add(1)) | print(add(2)) :: b: print(add(5))
            :: ok edited ok :: b
        def counter():\n  c = 0\n  def inc():\n    nonlocal c\n    c += 1\n    return c\n  return inc
            | inc = counter() | print(inc()) | print(inc()) :: c: print(inc(), 1) :: ok ok edited input :: bcd
        cache = {}\ndef get(x):\n  cache[x] = 1\n  return x | y = get(3) | print(cache, y) :: b: y = get(4)
            :: ok edited input :: abc
        memo = {} | k = 2 | def sq(n):\n  if n not in memo: memo[n] = n * k\n  return memo[n] | print(sq(3))
            :: b: k = 3 :: ok edited ok input :: abd
        ",
    );
}

#[test]
fn objects_are_changed_through_calls_too() {
    check_rows(
        r"
        d = {'x': []} | d.get('x').append(1) | print(d) :: b: 1 => 2 :: ok edited input :: abc
        g = {} | for w in ws: g.setdefault(w[0], []).append(w) | print(g)
            :: b: for w in vs: g.setdefault(w[0], []).append(w) :: ok edited input :: abc
        st = df.style | st.format('{:.2f}'); | st :: b: st.format('{:.3f}'); :: ok edited input :: abc
        t = 'x{}' | print(t.format(1)) | t :: b: print(t.format(2)) :: ok edited ok :: b
        ",
    );
}

#[test]
fn draws_count_as_often_as_they_are_made() {
    let est = "import random; random.seed(0) | def est(n): return sum(random.random() < 0.5 for _ in range(n)) | s = [est(5) for _ in range(3)] | random.random()";
    check(&[
        (est, "c: s = [est(5) for _ in range(2)]", "ok ok edited input", "acd"),
        (
            "import random; random.seed(0) | s = [random.random() for _ in range(3)] | random.random()",
            "b: s = [random.random() for _ in range(2)]",
            "ok edited input",
            "abc",
        ),
        (
            "import random; random.seed(0) | k = 3 | for _ in range(k): random.random() | random.random()",
            "b: k = 2",
            "ok edited input input",
            "abcd",
        ),
    ]);
    // A draw that a fresh run does not make any longer.
    let rand = "print(np.random.rand(2))";
    let mut story = Story::ran(&["import numpy as np\nnp.random.seed(3)", rand, rand]);
    story.delete("b");
    let states: Vec<_> = story.states().into_iter().map(|state| state.state).collect();
    assert_eq!(states, [State::UpToDate, State::OutOfOrder]);
    assert_eq!(story.planned(&["a", "c"], true), ["a", "c"]);
    story.run_each(&["a", "c"]);
    assert!(story.states().iter().all(|state| state.state == State::UpToDate));
    // One that only its run has shown.
    let mut story = Story::of(&["import numpy as np\nnp.random.seed(3)", "fit(X)", rand]);
    story.run("a");
    story.run_drawing("b");
    story.run("c");
    story.delete("b");
    let states: Vec<_> = story.states().into_iter().map(|state| state.state).collect();
    assert_eq!(states, [State::UpToDate, State::OutOfOrder]);
}

#[test]
fn unknown_code_elsewhere_hides_no_undefined_name() {
    let words = |cells: &[&str], id: &str, source: &str| {
        let mut story = Story::ran(cells);
        story.edit(id, source);
        story.states().iter().map(|state| short(state.state)).collect::<Vec<_>>().join(" ")
    };
    let asked = "if 'MS' in globals(): print('there')";
    for below in ["print(eval('1 + 1'))", asked, "exec('y = 1')", "from m import *"] {
        let states = words(&["k = 3", "print(k)", below], "a", "j = 3");
        assert_eq!(states, "edited undefined unknown", "{below}");
    }
    for above in ["%%writefile m.py\ny = 1", "print(eval('1 + 1'))"] {
        let states = words(&[above, "import math as M", "print(M.pi)"], "b", "import math as N");
        assert_eq!(states, "unknown edited undefined", "{above}");
    }
    assert_eq!(words(&["exec(code)", "k = 3", "print(k)"], "b", "j = 3"), "unknown edited ok");
}

#[test]
fn a_name_that_a_branch_has_left_is_no_longer_sure() {
    let mut story = Story::of(&["big = True", "if big: label = 'big'", "print(label)"]);
    story.run_assigning("a", &["big"]);
    story.run_assigning("b", &["label"]);
    story.run_assigning("c", &[]);
    assert!(story.states().iter().all(|state| state.state == State::UpToDate));
    // The same objects again, which the memory does not show.
    for id in ["a", "b", "c"] {
        story.run_assigning(id, &[]);
    }
    assert!(story.states().iter().all(|state| state.state == State::UpToDate));
    story.edit("a", "big = False");
    story.run_assigning("a", &["big"]);
    story.run_assigning("b", &[]);
    story.run_assigning("c", &[]);
    let states = story.states();
    assert_eq!(states[2].state, State::MayHaveChanged);
    assert_eq!(states[2].evidence, "uses label: cell 1 may define it and did not (run 9:08)");
}

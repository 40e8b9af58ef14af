//! A notebook and an edit in a line each: what is said of the cells then, and what `run_cells(stale)` runs.

use staleness::StaleState;

use crate::story::Story;

/// The cells in order, the letter of one and its new source or what is replaced in it (`b: 2 => 3`), the states, and the letters of the
/// cells that run.
type Row<'a> = (&'a str, &'a str, &'a str, &'a str);

pub(crate) fn short(state: StaleState) -> &'static str {
    match state {
        StaleState::UpToDate => "ok",
        StaleState::Edited => "edited",
        StaleState::InputChanged => "input",
        StaleState::OutOfOrder => "order",
        StaleState::MayHaveChanged => "may",
        StaleState::NothingKnown => "unknown",
        StaleState::UndefinedName => "undefined",
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

/// The parts of these rows. A line that is indented further continues a row, `\n` is a line break in a cell, and `//` starts a comment.
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
        n = 1 | if d:\n n = 2\nelse:\n n = 3 | n :: a: n = 5 :: edited ok ok :: ab
        n = 1 | if d:\n n = 2\nelif e:\n n = 3 | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | if d:\n n = 2\nelse:\n raise E() | n :: a: n = 5 :: edited ok ok :: ab
        n = 1 | if True: n = 2 | n :: a: n = 5 :: edited ok ok :: ab
        n = 1 | for n in xs: pass | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | for i in xs: n = i | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | for n in range(3): pass | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | for i in range(3):\n  if i: break\n  n = i | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | while go(): n = 2 | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | try:\n n = f()\nexcept E:\n pass | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | try:\n n = f()\nexcept E:\n n = 0 | n :: a: n = 5 :: edited ok ok :: ab
        n = 1 | try:\n n = f()\nexcept E:\n raise | n :: a: n = 5 :: edited ok ok :: ab
        n = 1 | try:\n n = f()\nfinally:\n g() | n :: a: n = 5 :: edited ok ok :: ab
        import json | try:\n import ujson as json\nexcept ImportError:\n pass | json.dumps(1)
            :: a: import json5 as json :: edited ok input :: abc
        n = 1 | match k:\n case 1: n = 2 | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | match k:\n case 1: n = 2\n case _: n = 3 | n :: a: n = 5 :: edited ok ok :: ab
        n = 1 | with suppress(E): n = f() | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | with contextlib.suppress(E): n = f() | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | with open(p) as n: pass | n :: a: n = 5 :: edited ok ok :: abc
        n = 1 | ok and (n := 2) | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | (n := 2) and ok | n :: a: n = 5 :: edited ok ok :: ab
        n = 1 | x = (n := 2) if ok else 3 | n :: a: n = 5 :: edited ok input :: abc
        n = 1 | [(n := i) for i in xs] | n :: a: n = 5 :: edited ok input :: abc
        def f(): return 1 | if d:\n def f(): return 2 | f() :: a: 1 => 3 :: edited ok input :: abc
        n = 1 | def g():\n global n\n n = 2 | g() | n :: a: n = 5 :: edited ok ok input :: acd
        n = 1 | if d: n = 2\nprint(n) :: a: n = 5 :: edited input :: ab
        n = 1 | for i in xs: n = i\nprint(n) :: a: n = 5 :: edited ok :: ab
        n = 1 | if d: n = 2 | n = 3 | n :: a: n = 5 :: edited ok ok ok :: ac
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
        xs = [] | print(xs) | xs.append(1) | xs :: b: print(xs, 1) :: ok edited ok ok :: abc
        n = 0 | print(n) | n += 1 | n :: b: print(n, 1) :: ok edited ok ok :: abc
        df = f() | df.head() | df['x'] = 1 | df :: b: df.tail() :: ok edited ok ok :: abc
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

#[test]
fn what_gives_each_item_once_is_made_again() {
    check_rows(
        r"
        raw = StringIO('1') | df = pd.read_csv(raw) | df :: b: raw => raw, sep=';' :: ok edited input :: abc
        t = 'a' | raw = io.StringIO(t) | df = pd.read_csv(raw) | df :: a: t = 'b' :: edited input input input
            :: abcd
        raw = StringIO('1') | raw.seek(0); df = pd.read_csv(raw) | df
            :: b: raw.seek(0); df = pd.read_csv(raw, 2) :: ok edited input :: abc
        raw = StringIO() | raw.write('a') | print(raw.getvalue()) :: c: raw.getvalue() :: ok ok edited :: abc
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
        it = iter(xs) | print(it) | it | type(it) :: b: print(it, it) :: ok edited input input :: abcd
        def load(f): return f.read() | f = open(p) | x = load(f) | x :: c: x = load(f)[1:]
            :: ok ok edited input :: bcd
        f = open(p) | def nextline(): return next(f) | x = nextline() | x :: c: x = nextline() + 1
            :: ok ok edited input :: acd
        ",
    );
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

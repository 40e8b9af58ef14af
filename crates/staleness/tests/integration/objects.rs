//! Small stories about objects, functions and what is not known.

use crate::story::{Story, UP, check, ran};
use crate::table;

#[test]
fn changed_objects() {
    let frame = ["df = load()", "df['a'] = 1", "df.head()", "df.shape"];
    ran(
        &frame,
        |story| story.edit("b", "df['a'] = 2"),
        &[
            UP,
            "edited",
            "input changed: uses df: cell 1 changes it and was edited after its run 9:02",
            "input changed",
        ],
    );
    ran(&frame, |story| story.run("a"), &[UP, "input changed", "input changed", "input changed"]);
    ran(&frame, |story| story.run("c"), &[UP, UP, UP, UP]);
    ran(
        &["df = load()", "df.shape", "df['a'] = 1"],
        |story| story.run("b"),
        &[UP, "out of order: uses df: cell 2 (run 9:03) wrote it after cell 0 and before this ran", UP],
    );
    ran(
        &["n = 0", "n += 1", "n"],
        |story| story.edit("b", "n += 2"),
        &[UP, "edited", "input changed: uses n: cell 1 changes it and was edited after its run 9:02"],
    );
    let list = ["xs = []", "xs.append(1)", "xs"];
    ran(
        &list,
        |story| story.run("b"),
        &[
            UP,
            "out of order: uses xs: it has changed it more than once since cell 0 ran",
            "input changed: uses xs: cell 1 changes it and was rerun (run 9:04)",
        ],
    );
    ran(&list, |story| story.edit("b", "xs.append(2)"), &[UP, "edited", "input changed"]);
    // They have had what a fresh run gives.
    ran(&list, |story| story.run("a"), &[UP, UP, UP]);
    ran(
        &["xs = []", "xs", "xs.append(1)"],
        |story| story.run("b"),
        &[UP, "out of order: uses xs: cell 2 (run 9:03) wrote it after cell 0 and before this ran", UP],
    );
    ran(
        &["df = load()", "df.dropna(inplace=True)", "df"],
        |story| story.run("b"),
        &[UP, UP, "input changed: uses df: cell 1 changes it and was rerun (run 9:04)"],
    );
    // Later cells of a cell that may have changed may have changed, too.
    ran(
        &["model = Model()", "model.fit()", "ys = list(model)", "ys"],
        |story| story.run("b"),
        &[
            UP,
            UP,
            "may have changed",
            "may have changed: uses ys: cell 2 defines it and may have changed itself",
        ],
    );
}

#[test]
fn objects_that_functions_change() {
    ran(
        &["o = make()", "setattr(o, 'a', 1)", "o.a"],
        |story| story.edit("b", "setattr(o, 'a', 2)"),
        &[UP, "edited", "input changed: uses o: cell 1 changes it and was edited after its run 9:02"],
    );
    ran(&["o = make()", "delattr(o, 'a')", "o"], |story| story.run("b"), &[UP, UP, "input changed"]);
    let list = ["import random\nxs = []", "random.shuffle(xs)", "xs"];
    ran(&list, |story| story.run("b"), &[UP, UP, "may have changed"]);
    let passed =
        "may have changed: uses xs: cell 2 passes it to a function that changes it and was rerun (run 9:05)";
    let function = ["def f(to, n=1): to.append(n)", "xs = []", "f(xs, 2)", "xs"];
    ran(&function, |story| story.run("c"), &[UP, UP, UP, passed]);
    for changing in [
        "def f(to, n): to[0] = n",
        "def f(n, *, to): to.items += [n]",
        "def f(a, to):\n    if a:\n        setattr(to, 'a', 1)",
        "def f(a, to):\n    for it in a: to[it].update(a)",
    ] {
        let function = [changing, "xs = []", "f(1, to=xs)", "xs"];
        ran(&function, |story| story.run("c"), &[UP, UP, UP, passed]);
    }
    // Through another function, and of a name in one.
    let function = ["def f(to): to.append(1)\ndef g(): f(xs)", "xs = []", "g()", "xs"];
    ran(&function, |story| story.run("c"), &[UP, UP, UP, passed]);
    // Through functions that pass their parameter on, also in a circle.
    for helper in [
        "def g(a, b): b['x'] = 1\ndef f(n, to): g(n, to)",
        "def f(n, to):\n    if n: f(0, to)\n    g(b=to)\ndef g(*, b):\n    b.pop()\n    f(0, b)",
        "g = lambda b: b.pop()\ndef f(n, to):\n    it = to\n    return g(it)",
    ] {
        let function = [helper, "xs = []", "f(1, xs)", "xs"];
        ran(&function, |story| story.run("c"), &[UP, UP, UP, passed]);
        // The helper is in a cell of its own.
        let (first, second) = helper.split_once("\ndef ").unwrap();
        let function = [first, &format!("xs = []\ndef {second}"), "f(1, xs)", "xs"];
        ran(&function, |story| story.run("c"), &[UP, UP, UP, passed]);
    }
    for reading in [
        "def g(b): return b\ndef f(n, to): g(to)",
        "def g(b): b.pop()\ndef f(n, to): g(n)",
        "def f(n, to): f(n, to)",
        "def f(to, n): return to.head(n)",
        "def f(n, to): n.append(to)",
        "def f(n, to): print(to)",
        "def f(n, to):\n    other = 1\n    other.append(to)",
    ] {
        let function = [reading, "xs = []", "f(1, to=xs)", "xs"];
        ran(&function, |story| story.run("c"), &[UP, UP, UP, UP]);
    }
}

#[test]
fn two_names_for_one_object() {
    let changed = "input changed: uses df: cell 2 changes it and was rerun (run 9:05)";
    for (alias, change) in [
        ("a = df", "a.drop('x', inplace=True)"),
        ("a = b = df", "b['x'] = 1"),
        ("b = df\na = b", "del a.x"),
        ("other = 1", "a = df\na['x'] = 1"),
        ("other = 1", "def f():\n    global df\n    a = df\n    a['x'] = 1\nf()"),
        ("a = df\ndef f(): a['x'] = 1", "f()"),
    ] {
        let [alias, change] = [alias, change].map(|code| code.replace("= 1", "= time.time()"));
        ran(&["df = load()", &alias, &change, "df"], |story| story.run("c"), &[UP, UP, UP, changed]);
    }
    ran(
        &["df = load()", "a = df", "a['x'] = 1\na = 1", "df"],
        |story| story.run("c"),
        &[UP, UP, "out of order: uses a: it has changed it more than once since cell 1 ran", changed],
    );
    // The other way round.
    ran(
        &["df = load()", "a = df", "df['x'] = time.time()", "a"],
        |story| story.run("c"),
        &[UP, UP, UP, "input changed: uses a: cell 2 changes it and was rerun (run 9:05)"],
    );
    let called = "may have changed: uses m: cell 1 calls a method of it and was rerun (run 9:04)";
    ran(&["m = M()", "a = m\na.fit(1)", "m"], |story| story.run("b"), &[UP, UP, called]);
    for (alias, other) in [
        ("a = df.copy()", "a['x'] = 1"),
        ("a = df\na = load()", "a['x'] = 1"),
        ("a = df", "a = load()\na['x'] = 1"),
        ("a = df", "a.head()"),
        ("other = 1", "a = df\na += 1\na['x'] = 1"),
        ("def f():\n    a = df\n    a = load()\n    a['x'] = 1", "f()"),
    ] {
        ran(&["df = load()", alias, other, "df"], |story| story.run("c"), &[UP, UP, UP, UP]);
    }
    ran(&["df = load()", "a = df", "a += 1", "df"], |story| story.run("c"), &[UP, UP, "out of order", UP]);
    // The first object has only its second name now.
    ran(
        &["df = load()", "a = df", "df = df.head()", "a['x'] = 1", "df"],
        |story| story.run("d"),
        &[UP, UP, UP, UP, UP],
    );
}

#[test]
fn functions_and_imports() {
    let function = ["k = 2", "def f(x): return k * x", "f(1)", "k"];
    ran(
        &function,
        |story| story.edit("a", "k = 3"),
        &[
            "edited",
            UP,
            "input changed: uses k through f(): cell 0 defines it and was edited after its run 9:01",
            "input changed",
        ],
    );
    ran(
        &function,
        |story| story.edit("b", "def f(x): return k + x"),
        &[UP, "edited", "input changed: uses f: cell 1 defines it and was edited after its run 9:02", UP],
    );
    // Defining the same function again changes nothing.
    ran(&function, |story| story.run("b"), &[UP, UP, UP, UP]);
    ran(&function, |story| story.edit("b", "def f(x): return k * x\nprint(1)"), &[UP, "edited", UP, UP]);
    ran(
        &["n = 0", "def f():\n    global n\n    n = 5", "n", "f()", "n"],
        |story| story.run("c"),
        &[
            UP,
            UP,
            "out of order: uses n: cell 3 (run 9:04) wrote it after cell 0 and before this ran",
            UP,
            UP,
        ],
    );
    ran(
        &["def g(): return h()", "def h(): return k", "k = 1", "g()"],
        |story| story.edit("c", "k = 2"),
        &[
            UP,
            UP,
            "edited",
            "input changed: uses k through h(): cell 2 defines it and was edited after its run 9:03",
        ],
    );
    ran(
        &["class A:\n    def m(self): return k", "k = 1", "A().m()"],
        |story| {
            story.edit("b", "k = 2");
            story.run("b");
        },
        &[UP, UP, "input changed: uses k through A(): cell 1 defines it and was rerun (run 9:04)"],
    );
    for (definition, edited, use_) in [
        ("def g(x): return x + 1", "def g(x): return x + 2", "g(1)"),
        ("from math import floor as f", "from math import ceil as f", "f(1.5)"),
        ("import numpy as np", "import numpy.ma as np", "np.ones(2)"),
        ("class A:\n    x = 1", "class A:\n    x = 2", "A().x"),
    ] {
        let rerun = |story: &mut Story| {
            story.edit("a", edited);
            story.run("a");
        };
        ran(&[definition, use_], rerun, &[UP, "input changed"]);
    }
    ran(
        &["k = 1", "f = lambda: k", "f()"],
        |story| story.edit("a", "k = 2"),
        &["edited", UP, "input changed"],
    );
    let imports = ["import numpy as np", "a = np.zeros(3)", "a"];
    ran(&imports, |story| story.run("a"), &[UP, UP, UP]);
    ran(&imports, |story| story.edit("a", "import numpy as np\nimport os"), &["edited", UP, UP]);
    ran(
        &imports,
        |story| story.edit("a", "import cupy as np"),
        &["edited", "input changed", "input changed"],
    );
    ran(
        &["import numpy as np", "np.random.rand()", "np.random.seed(0)"],
        |story| story.run("b"),
        &[UP, UP, UP],
    );
    ran(
        &["import matplotlib.pyplot as plt", "plt.plot()", "plt.rcParams['a'] = 1"],
        |story| story.run("b"),
        &[UP, "may have changed", UP],
    );
}

#[test]
fn shadows_and_scopes() {
    ran(&["x = 1", "[x for x in range(3)]"], |story| story.run("a"), &[UP, UP]);
    ran(&["x = 1", "def f(x): return x", "f(2)"], |story| story.run("a"), &[UP, UP, UP]);
    ran(&["x = 1", "x = 2", "x"], |story| story.edit("a", "x = 3"), &["edited", UP, UP]);
    ran(&["i = 0", "for i in range(3): print(i)"], |story| story.run("a"), &[UP, UP]);
    ran(
        &["x = time.time()", "x = x + 1", "x"],
        |story| story.run("a"),
        &[UP, "input changed", "input changed: uses x: cell 1 defines it and is stale: input changed"],
    );
    // What an earlier source of a cell defined is still there.
    ran(
        &["x = 1", "y = 2", "x"],
        |story| {
            story.edit("a", "z = 1");
            story.run("a");
            story.run("c");
        },
        &[
            UP,
            UP,
            "undefined name: uses x: it came from an earlier source of cell 0 (run 9:01), and no cell defines it",
        ],
    );
    ran(
        &["x = 1", "x = x + 1"],
        |story| {
            story.edit("b", "x = x + 2");
            story.run("b");
        },
        &[
            UP,
            "out of order: uses x: an earlier source of cell 1 (run 9:02) wrote it after cell 0 and before this ran",
        ],
    );
    // The cell's own earlier run is no input in a fresh run.
    ran(
        &["x = 1", "x = x + 1", "x"],
        |story| story.run("b"),
        &[UP, "out of order: uses x: it has changed it more than once since cell 0 ran", "input changed"],
    );
}

#[test]
fn nothing_known() {
    ran(
        &["from os import *", "path", "1 + 1"],
        |_| {},
        &["nothing known: its names cannot be determined: from os import *", UP, UP],
    );
    ran(
        &["from os import *", "path", "print(1)"],
        |story| story.run("a"),
        &[
            "nothing known",
            "may have changed: uses path: cell 0 (from os import *) may define it, but has not run since, or ran too late",
            UP,
        ],
    );
    ran(
        &["x = 1", "exec('x = 2')", "x"],
        |story| story.edit("a", "x = 3"),
        &["edited", "nothing known: its names cannot be determined: exec()", "input changed"],
    );
    ran(&["x = 1", "%run other.py", "x"], |_| {}, &[UP, "nothing known", UP]);
    ran(&["%%bash\nls"], |story| story.edit("a", "%%bash\nls -l"), &["edited"]);
    ran(&["x = 1", "%%time\ny = x"], |story| story.edit("a", "x = 2"), &["edited", "input changed"]);
    // A name that a star import may define is not called undefined.
    ran(&["x = 1", "from m import *", "x"], |story| story.delete("a"), &["nothing known", UP]);
    let mut story = Story::of(&["x <- 1", "x", "y"]).in_another_language();
    story.run_each(&["a", "b"]);
    story.edit("b", "x + 1");
    check(&story, &["nothing known: its names cannot be determined: not Python", "edited", "never run"]);
}

#[test]
fn runs_of_others() {
    // The count tells that somebody ran the cell above after this one.
    ran(&["x = 1", "x"], |story| story.run_elsewhere("a"), &["outputs from elsewhere", UP]);
    ran(
        &["x = time.time()", "x"],
        |story| story.run_elsewhere("a"),
        &["outputs from elsewhere", "out of order: uses x: cell 0 defines it and has run after it, as In[3]"],
    );
    let mut story = Story::of(&["x = 1", "x"]);
    story.run_elsewhere("a");
    story.run("b");
    check(&story, &["outputs from elsewhere", UP]);
}

#[test]
fn a_part_with_another_key_stays_unless_its_object_is_made_again() {
    table::check_rows(
        r"
        d = {} | k = 'a' | d[k] = 1 | print(d) :: b: k = 'b' :: ok edited input input :: abcd
        d = {} | k = 'a' | d['x'] = k | print(d) :: b: k = 'b' :: ok edited input input :: bcd
        d = {} | k = 'a' | d[k] = 1 | print(d) :: c: d[k + 'x'] = 1 :: ok ok edited input :: acd
        d = {} | d['a'] = 1 | print(d) :: b: d['a'] = 2 :: ok edited input :: bc
        d = {} | d['a'] = 1 | print(d) :: b: d['b'] = 1 :: ok edited input :: abc
        d = {} | keys = ['a', 'b'] | for k in keys: d[k] = len(k) | print(d) :: b: keys = ['a']
            :: ok edited input input :: abcd
        s = {1} | e = [3] | s.update(e) | print(s) :: b: e = [4] :: ok edited input input :: abcd
        d = {} | e = {1: 2} | d.update(e) | print(d) :: b: e = {2: 2} :: ok edited input input :: abcd
        d = {} | e = 1 | d.update(a=e) | print(d) :: b: e = 2 :: ok edited input input :: bcd
        d = {} | e = 1 | d.update({'a': e}) | print(d) :: b: e = 2 :: ok edited input input :: bcd
        d = {} | d.update(a=1) | print(d) :: b: d.update(b=1) :: ok edited input :: abc
        c = Counter('a') | c.update(['b']) | print(c) :: b: ) => )  # again :: ok edited ok :: ab
        c = Counter() | x = f() | c.update(x) | print(c) :: b: x = g() :: ok edited input input :: abcd
        import hashlib | h = hashlib.md5() | h.update(b'x') | h.hexdigest() :: c: h.update(b'x') #
            :: ok ok edited ok :: bc
        s = {1} | k = 3 | s.add(k) | print(s) :: b: k = 4 :: ok edited input input :: abcd
        s = {1, 2} | k = 1 | s.discard(k) | print(s) :: b: k = 2 :: ok edited input input :: abcd
        d = {} | k = 1 | d.setdefault(k, []) | print(d) :: b: k = 2 :: ok edited input input :: abcd
        class N: pass\nn = N() | name = 'x' | setattr(n, name, 5) | print(vars(n)) :: b: name = 'y'
            :: ok edited input input :: abcd
        n = N() | name = 'x' | setattr(n, name, 5) | print(vars(n)) :: b: name = 'y' :: ok edited input input
            :: abcd
        a = np.zeros(4) | i = 1 | a[i] = 5 | print(a) :: b: i = 2 :: ok edited input input :: abcd
        a = np.zeros(4) | a[1] = 5 | print(a) :: b: a[2] = 5 :: ok edited input :: abc
        a = np.zeros(4) | a[1:3] = 5 | print(a) :: b: a[2:3] = 5 :: ok edited input :: abc
        a = np.zeros(4) | v = 5 | a[1:3] = v | print(a) :: b: v = 6 :: ok edited input input :: bcd
        a = np.zeros(4) | v = 5 | a[1, -1] = v | print(a) :: b: v = 6 :: ok edited input input :: bcd
        a = np.zeros(4) | v = 5 | a[:] = v | print(a) :: b: v = 6 :: ok edited input input :: bcd
        o = O() | o.xs['a'] = 1 | print(o) :: b: o.xs['b'] = 1 :: ok edited input :: abc
        o = O() | k = 1 | o.xs[k] = 1 | print(o) :: b: k = 2 :: ok edited input input :: abcd
        d = {} | v = 1 | d['a']['b'] = v | print(d) :: b: v = 2 :: ok edited input input :: bcd
        df = f() | m = g() | df.loc[m, 'x'] = 0 | df :: b: m = h() :: ok edited input input :: abcd
        df = f() | v = 1 | df.loc[0, 'x'] = v | df :: b: v = 2 :: ok edited input input :: bcd
        df = f() | v = 1 | df.loc[:, 'x'] = v | df :: b: v = 2 :: ok edited input input :: bcd
        import os | k = 'A' | os.environ[k] = '1' | os.environ.get('A') :: b: k = 'B' :: ok edited input input
            :: bcd
        ",
    );
}

#[test]
fn what_draws_on_axes_changes_their_figure() {
    let edit = "b: fig, ax = plt.subplots()\nax.plot([1, 3])";
    let made = "import matplotlib.pyplot as plt | fig, ax = plt.subplots()\nax.plot([1, 2])";
    let row = |then: &str| format!("{made} | {then}");
    let (shown, titled) = (row("fig"), row("ax.set_title('a') | fig"));
    table::check(&[
        (&shown, edit, "ok edited input", "bc"),
        (&titled, "c: ax.set_title('b')", "ok ok edited input", "bcd"),
        (
            "k = 2 | fig, ax = plt.subplots()\nax.plot([1, k])\nplt.close(fig) | ax.set_title('t') | fig",
            "a: k = 3",
            "edited input input input",
            "abcd",
        ),
        (
            "fig, ((ax1, ax2), (ax3, ax4)) = plt.subplots(2, 2) | v = 1 | ax3.plot(v) | fig",
            "b: v = 2",
            "ok edited input input",
            "abcd",
        ),
        (
            "fig, axes = plt.subplots(2) | v = 1 | axes[0].plot(v) | fig",
            "b: v = 2",
            "ok edited input input",
            "abcd",
        ),
        (
            "fig = plt.figure() | ax = fig.add_subplot(111) | v = 1 | ax.plot(v) | fig",
            "c: v = 2",
            "ok ok edited input input",
            "abcde",
        ),
        (
            "fig = plt.figure()\nax = fig.add_subplot(111)\nax.plot(1) | fig",
            "a: fig = plt.figure()\nax = fig.add_subplot(111)\nax.plot(2)",
            "edited input",
            "ab",
        ),
        (
            "fig, ax = plt.subplots() | v = 1 | twin = ax.twinx()\ntwin.plot(v) | fig",
            "b: v = 2",
            "ok edited input input",
            "abcd",
        ),
        (
            "fig, ax = plt.subplots() | df = f() | df.plot(ax=ax) | fig",
            "b: df = g()",
            "ok edited input input",
            "abcd",
        ),
        (
            "fig, ax = plt.subplots() | d = f() | sns.histplot(d, ax=ax) | fig",
            "b: d = g()",
            "ok edited input input",
            "abcd",
        ),
        (
            "def draw(v, ax): ax.plot(v) | fig, ax = plt.subplots()\ndraw(5, ax) | fig",
            "a: def draw(v, ax): ax.plot(v, 'r')",
            "edited input input",
            "abc",
        ),
        // Another figure of the same name is not concerned.
        (
            "v = 1 | fig, ax = plt.subplots()\nax.plot(v) | fig, ax = plt.subplots()\nax.plot(2) | fig",
            "a: v = 2",
            "edited input ok ok",
            "abc",
        ),
    ]);
}

//! Cells and their names.

use names::{Effects, NameSet, Names};

/// The effects in words, empty ones left out.
fn effects(effects: &Effects) -> String {
    let list = |label: &str, names: &NameSet| {
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        if names.is_empty() { String::new() } else { format!("{label} {}", names.join(" ")) }
    };
    let unknown = effects.unknown.as_ref().map(|why| format!("unknown: {why}")).unwrap_or_default();
    let parts = [
        list("uses", &effects.uses),
        list("defines", &effects.defines),
        list("deletes", &effects.deletes),
        list("changes", &effects.changed().cloned().collect()),
        list("calls", &effects.called().cloned().collect()),
        unknown,
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

fn names(source: &str) -> String {
    let names = Names::of_cell(source);
    let mut text = effects(&names.effects);
    for (name, function) in &names.functions {
        text.push_str(&format!("; {name}(): {}", effects(function)));
    }
    text
}

fn check(cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        assert_eq!(names(source), *expected, "{source}");
    }
}

#[test]
fn statements() {
    check(&[
        ("", ""),
        ("# nothing", ""),
        ("x = 1", "defines x"),
        ("y = x + 1", "uses x, defines y"),
        ("x = x + 1", "uses x, defines x"),
        ("x = 1\ny = x", "defines x y"),
        ("y = x\nx = 1", "uses x, defines x y"),
        ("a, (b, *c) = d", "uses d, defines a b c"),
        ("[a, b] = d", "uses d, defines a b"),
        ("a = b = c", "uses c, defines a b"),
        ("x: int = y", "uses int y, defines x"),
        ("x: T", "uses T"),
        ("x += y", "uses x y, changes x"),
        ("x = 0\nx += y", "uses y, defines x"),
        ("for i in xs:\n    total = total + i", "uses total xs, defines i total"),
        ("while n:\n    n = n - 1\nelse:\n    done = 1", "uses n, defines done n"),
        ("if a:\n    b = 1\nelif c:\n    b = 2\nelse:\n    d", "uses a c d, defines b"),
        ("with open(p) as f, g as (h, i):\n    f", "uses g open p the file p, defines f h i"),
        ("try:\n    a\nexcept E as e:\n    e; b\nfinally:\n    c", "uses E a b c"),
        ("try:\n    x = 1\nexcept* E as e:\n    y = e\ny", "uses E y, defines x y"),
        ("raise E(a) from b", "uses E a b"),
        ("assert a, b", "uses a b"),
        ("del x", "uses x, deletes x"),
        ("x = 1\ndel x", "deletes x"),
        ("x = 1\ndel x\nx = 2", "defines x"),
        ("x = 1\ndel x\nx", "uses x, deletes x"),
        ("import a.b.c, d as e", "defines a e"),
        ("from .. import m\nfrom m import a as b", "defines b m"),
        ("from __future__ import annotations", ""),
        ("type V[T] = list[T | U]", "uses U list, defines V"),
        ("await a", "uses a"),
        ("global x\nx = y", "uses y, defines x"),
    ]);
}

#[test]
fn expressions() {
    check(&[
        ("f'{a!r:>{b}} {c=}'", "uses a b c"),
        ("t'{a}'", "uses a"),
        ("f\"{f'{a}'}\" 'b' rb'c'", "unknown: a syntax error"),
        ("[i for i in xs if i > k]", "uses k xs"),
        ("[j for i in xs for j in i]", "uses xs"),
        ("{i: j for i, j in d.items()}", "uses d"),
        ("{*a, *(b for b in c)}", "uses a c"),
        ("[x for x in x]", "uses x"),
        ("[(last := i) for i in xs]\nlast", "uses xs, defines last"),
        ("(n := len(xs)) > n", "uses len xs, defines n"),
        ("sorted(xs, key=lambda x, y=d: x[k])", "uses d k sorted xs"),
        ("a if b else c", "uses a b c"),
        ("a < b < c and not d", "uses a b c d"),
        ("a[b:c:d, ...]", "uses a b c d"),
        ("f(*a, b=c, **d)", "uses a c d f"),
        ("a @ b", "uses a b"),
    ]);
}

#[test]
fn what_an_object_suffers() {
    check(&[
        ("df['a'] = b", "uses b df, changes df"),
        ("df.a.b[0].c = 1", "uses df, changes df"),
        ("df.loc[m, 'a'] += 1", "uses df m, changes df"),
        ("del df['a']", "uses df, changes df"),
        ("a.b, c[0] = 1, 2", "uses a c, changes a c"),
        ("for d['k'] in xs: pass", "uses d xs, changes d"),
        ("f(x).y = 1", "uses f x"),
        ("df = {}\ndf['a'] = 1\ndf.update()", "defines df"),
        ("xs.append(1)", "uses xs, changes xs"),
        ("model.layers[0].freeze()", "uses model, calls model"),
        ("df.head()", "uses df"),
        ("df.groupby('a').b.mean()", "uses df"),
        ("df.sort_values('a', inplace=True)", "uses df, changes df"),
        ("df.sort_values('a', inplace=False)", "uses df"),
        ("y = model.fit(X)", "uses X model, defines y, calls model"),
        ("'a'.join(xs)", "uses xs"),
        ("[x.pop() for x in xs]", "uses xs, changes xs"),
    ]);
}

#[test]
fn functions_and_classes() {
    check(&[
        ("def f(): return k", "defines f; f(): uses k"),
        ("def f(a, *b, c=d, **e) -> R: return a, b, c, e, g", "uses R d, defines f; f(): uses g"),
        ("def f(a: T = D): pass", "uses D T, defines f; f(): "),
        ("def f[T: B](a: T) -> T: return T", "uses B, defines f; f(): "),
        ("@deco(o)\ndef f(): pass", "uses deco o, defines f; f(): "),
        ("def f():\n    x = 1\n    return x", "defines f; f(): "),
        ("def f():\n    print(x)\n    x = 1", "defines f; f(): uses print"),
        ("def f():\n    global n\n    n = m", "defines f; f(): uses m, defines n"),
        ("def f():\n    global n\n    n += 1", "defines f; f(): uses n, changes n"),
        ("def f():\n    global n\n    del n", "defines f; f(): uses n, deletes n"),
        ("def f():\n    data.append(1)\n    log['a'] = 1", "defines f; f(): uses data log, changes data log"),
        (
            "def f():\n    n = 0\n    def g():\n        nonlocal n\n        n += k\n    return g",
            "defines f; f(): uses k",
        ),
        ("def f():\n    return [i * k for i in xs]", "defines f; f(): uses k xs"),
        ("def f():\n    import os\n    for i in os.x: i", "defines f; f(): "),
        ("def f():\n    with a as b: b\n    try: c\n    except E as e: e", "defines f; f(): uses E a c"),
        (
            "def f(p):\n    match p:\n        case {'k': v, **rest}: return v, rest, w",
            "defines f; f(): uses w",
        ),
        ("def f(): return f()", "defines f; f(): uses f"),
        ("async def f():\n    async for i in g(): yield i", "defines f; f(): uses g"),
        ("f = lambda x: x + k", "defines f; f(): uses k"),
        ("k = 1\ndef f(): return k\nf()", "defines f k; f(): uses k"),
        ("def f(): pass\nf = 1", "defines f"),
        ("if a:\n    def f(): return b", "uses a, defines f; f(): uses b"),
        (
            "class A(B, metaclass=M):\n    x: int = 1\n    y = x + z\n    def m(self): return x, self.x, k",
            "uses B M int z, defines A; A(): uses k x",
        ),
        ("class A:\n    xs = 1\n    ys = [xs for _ in range(3)]", "uses range xs, defines A; A(): "),
        ("class A:\n    class C:\n        def m(self): return k", "defines A; A(): uses k"),
        ("class A[T](B[T]):\n    a: T", "uses B, defines A; A(): "),
        ("class A:\n    global g\n    g = 1\n    h = 2", "defines A g; A(): "),
        ("class A:\n    def m(self):\n        self.x = 1\n        self.y.append(2)", "defines A; A(): "),
    ]);
}

#[test]
fn patterns() {
    check(&[
        (
            "match p:\n    case [a, *b] if c: pass\n    case K(x=d) | M.e: pass\n    case _ as f: pass",
            "uses K M c p, defines a b d f",
        ),
        ("match p:\n    case {'k': v, **rest}: v", "uses p, defines rest v"),
        ("match p:\n    case 1 | None | 'a': pass", "uses p"),
        ("match = 1\ncase = match", "defines case match"),
    ]);
}

#[test]
fn what_cannot_be_known() {
    check(&[
        ("from os import *", "unknown: from os import *"),
        ("from . import *\nx = 1", "defines x, unknown: from . import *"),
        ("exec('x = 1')", "uses exec, unknown: exec()"),
        ("y = eval(s)", "uses eval s, defines y, unknown: eval()"),
        ("globals()['x'] = 1", "uses globals, unknown: globals()"),
        ("locals()", "uses locals, unknown: locals()"),
        ("vars(x)", "uses vars x"),
        ("def f(): return locals()", "defines f; f(): uses locals"),
        ("def f(): exec(s)", "defines f; f(): uses exec s, unknown: exec()"),
        ("eval = 1\neval(2)", "defines eval"),
        ("model.eval()", "uses model, calls model"),
        (
            "get_ipython().run_line_magic('run', 'x.py')",
            "uses get_ipython the file x.py, unknown: get_ipython().run_line_magic()",
        ),
        ("get_ipython().system('ls')", "uses get_ipython"),
        ("%run other.py", "unknown: %run"),
        ("x = 1\n%reset -f", "defines x, unknown: %reset"),
        ("def f(:", "unknown: a syntax error"),
        ("pip install x", "unknown: a syntax error"),
        ("SELECT * FROM t", "unknown: a syntax error"),
        ("%%bash\nls", "unknown: %%bash"),
        ("%%sql\nSELECT 1", "unknown: %%sql"),
        ("/f x", "unknown: a line that IPython calls"),
    ]);
}

#[test]
fn magics() {
    check(&[
        ("%matplotlib inline\nx = 1", "defines x, changes matplotlib's configuration"),
        ("%pip install pandas", ""),
        ("!ls {folder} $file", "uses file folder"),
        ("files = !ls {folder}", "uses folder, defines files"),
        ("here = %pwd", "defines here"),
        ("%cd {folder}", "uses folder"),
        ("x?", "uses x"),
        ("?x.y", "uses x"),
        ("%time y = f(x)", "uses f x, defines y"),
        ("y = %time f(x)", "uses f x, defines y"),
        ("%timeit -n 10 y = f(x); y", "uses f x"),
        ("%%time\ny = x", "uses x, defines y"),
        ("%%capture out\ny = x", "uses x, defines out y"),
        ("%%timeit n = 3\ny = x", "uses x"),
        ("if a:\n    !echo {b}\n    %time c", "uses a b c"),
        ("%time def", "unknown: a syntax error"),
    ]);
}

#[test]
fn definitions_that_always_give_the_same_value_are_known_by_their_text() {
    let fixed = |source: &str| Names::of_cell(source).fixed;
    let first = fixed("import a\nfrom b import c as d\ndef f(x): return x\nlater = 1");
    assert_eq!(first.keys().collect::<Vec<_>>(), ["a", "d", "f"]);
    let edited = fixed("from b import c as d\nimport a\nimport e\ndef f(x): return x + 1\n");
    assert_eq!((first["a"], first["d"]), (edited["a"], edited["d"]));
    assert_ne!(first["f"], edited["f"]);
    for source in [
        "@deco\ndef f(): pass",
        "def f(x=[]): pass",
        "import a\na = 1",
        "def outer():\n    def f(): pass",
        "class A:\n    import a",
        "x = 1",
    ] {
        let names = fixed(source);
        assert!(names.keys().all(|name| name == "outer"), "{source}: {names:?}");
    }
    assert_eq!(fixed("import a.b as c")["c"], fixed("import a.b as c, d")["c"]);
    assert_ne!(fixed("import a.b as c")["c"], fixed("import a.d as c")["c"]);
}

//! Names that no cell defines, or only one below.

use names::{Names, Needs, definers, undefined};

/// `1 uses x; 2 uses y, which 3 defines; 2 uses z in f()`
fn found(cells: &[&str]) -> String {
    let needs: Vec<_> = cells.iter().map(|source| Needs::of(&Names::of_cell(source))).collect();
    let cells: Vec<_> = needs.iter().enumerate().collect();
    let words = undefined(&cells).into_iter().map(|found| {
        let function = found.function.map(|function| format!(" in {function}()")).unwrap_or_default();
        let below = found.defined_in.map(|index| format!(", which {index} defines")).unwrap_or_default();
        format!("{} uses {}{function}{below}", found.index, found.name)
    });
    words.collect::<Vec<_>>().join("; ")
}

fn check(cases: &[(&[&str], &str)]) {
    for (cells, expected) in cases {
        assert_eq!(found(cells), *expected, "{cells:#?}");
    }
}

#[test]
fn a_name_that_nothing_defines_is_found() {
    check(&[
        (&["x"], "0 uses x"),
        (&["df = 1", "print(dff)"], "1 uses dff"),
        (&["x = 1", "x", "y"], "2 uses y"),
        (&["count += 1"], "0 uses count"),
        (&["df['a'] = 1"], "0 uses df"),
        (&["import numpy as np", "numpy.zeros(3)"], "1 uses numpy"),
        (&["import a.b as c", "a.x"], "1 uses a"),
        (&["from a import b", "a.b"], "1 uses a"),
        (&["f'{x!r}'"], "0 uses x"),
        (&["[y for x in xs if z]"], "0 uses xs; 0 uses y; 0 uses z"),
        (&["[x for x in range(3)]", "x"], "1 uses x"),
        (&["def f(a): return a + b", "f(1)"], "0 uses b in f()"),
        (&["class A:\n    def m(self): return helper(self)"], "0 uses helper in A()"),
        (&["def f(): x = 1", "x"], "1 uses x"),
        (&["try: 1\nexcept ValueError as e: pass", "e"], "1 uses e"),
        (&["%time f(x)"], "0 uses f; 0 uses x"),
        (&["@deco\ndef f(): pass"], "0 uses deco"),
        (&["class A(Base): pass"], "0 uses Base"),
        (&["f = lambda x: x + k"], "0 uses k in f()"),
        (&["def f(a=DEFAULT): pass"], "0 uses DEFAULT"),
        (&["%%bash\nx=1", "x"], "1 uses x"),
        (&["!echo x", "x"], "1 uses x"),
        (&["x = = 1", "y"], "1 uses y"),
        (&["eval('1')", "y"], "1 uses y"),
        (&["xrange(3)"], "0 uses xrange"),
    ]);
}

#[test]
fn a_name_that_is_defined_below_is_found_with_its_cell() {
    check(&[
        (&["x", "x = 1", "x = 2"], "0 uses x, which 1 defines"),
        (&["df.head()", "1", "import pandas as pd\ndf = pd.DataFrame()"], "0 uses df, which 2 defines"),
        (&["f()", "def f(): pass"], "0 uses f, which 1 defines"),
        // A function uses a name when it is called.
        (&["def f(): return x", "x = 1", "f()"], ""),
        (&["def f(): return g()", "def g(): return f()"], ""),
        (&["x = 1", "x", "x = 2"], ""),
    ]);
}

#[test]
fn what_may_come_from_elsewhere_is_no_alarm() {
    for cells in [
        // Python and IPython.
        &[
            "print(len([])), display(1), get_ipython(), In, Out, _, __, ___, _1, _i, _i2, _ih, _oh, _dh, _exit_code",
        ][..],
        &["exit; quit; __name__; __doc__; __builtins__; __debug__; open; NotImplemented; ExceptionGroup"],
        &["spark.sql('x'); dbutils.fs; mssparkutils.fs"],
        &["ls", "whos", "pwd"],
        &["%prun -q y = 1", "y"],
        // Anything may be bound.
        &["from numpy import *", "zeros(3)"],
        &["zeros(3)", "from numpy import *"],
        &["%pylab inline", "plot(x)"],
        &["%run setup.py", "x"],
        &["%load setup.py", "x"],
        &["exec(open('a.py').read())", "x"],
        &["globals()['x'] = 1", "x"],
        &["locals().update(a=1)", "a"],
        &["vars()['a'] = 1", "a"],
        &["def f(): globals()['x'] = 1", "f()", "x"],
        &["eval('1')\nexec('x = 1')", "x"],
        &["%store -r x", "x"],
        &["get_ipython().run_line_magic('run', 'a.py')", "x"],
        &["import builtins\nbuiltins.x = 1", "x"],
        &["import __main__\n__main__.x = 1", "x"],
        &["%sql result << SELECT 1", "result"],
        &["%R -o x", "x"],
        // The text has the name.
        &["%%R -o x\nx <- 1", "x"],
        &["%%sql result <<\nSELECT 1", "result"],
        &["%%bigquery df\nSELECT 1", "df"],
        &["%%bash --out text\nls", "text"],
        &["%mymagic x", "x"],
        &["%%mymagic\nx = 1", "x"],
        &["x = 1 +", "x"],
        &["pip install a\nx = 1", "x"],
        &[">>> x = 1", "x"],
        &["from sympy import var\nvar('x y')", "x + y"],
        &["import sympy as sp\nsp.var('x:z')", "x"],
        &["%%timeit x = 1\nx + 1"],
        // Bound in other ways.
        &["%%capture out\n1", "out"],
        &["x = !ls", "x.n"],
        &["x = %pwd", "x"],
        &["def f():\n    global x\n    x = 1", "f()", "x"],
        &["class A:\n    def m(self):\n        global x\n        x = 1", "x"],
        &["def f():\n    global x\n    x = 1\nf = g(f)\ng = 1", "x"],
        &["import a.b.c", "a.b"],
        &["for i in []: pass", "i"],
        &["with open('a') as f: pass", "f"],
        &["[y := 1 for _ in [1]]", "y"],
        &["match 1:\n    case x: pass", "x"],
        &["a, (b, *c) = 1, (2, 3)", "a + b + c"],
        &["x: int = 1", "x"],
        &["type T = int", "T"],
        &["if c := 0: x = 1\nelse: x = 2", "x"],
        &["del x"],
        &["x = 1\ndel x", "x"],
        // The code expects that it is missing.
        &["try: x\nexcept NameError: x = 1"],
        &["try: unicode\nexcept NameError: unicode = str"],
        &["try: x.y\nexcept: pass"],
        &["try: a()\nexcept (ImportError, NameError): pass"],
        &["try: a()\nexcept Exception as e: print(e)"],
        &["if False: x"],
        &["import sys\nif sys.version_info[0] < 3: range = xrange"],
        &["import sys\nPY3 = sys.version_info > (3,)\ntext = str if PY3 else unicode"],
        &["try: import builtins\nexcept ImportError: raw_input()"],
        &["if 0:\n    x"],
        // Not evaluated.
        &["def f(x: DataFrame) -> Series: pass"],
        &["x: Frame = 1"],
        &["'x' + r'{y}' # z"],
        // Not names of Python, or perhaps not.
        &["!echo $HOME ${USER} {x}"],
        &["!awk '{total += $1} END {print total}' file"],
        &["%cd $HOME"],
        &["x?"],
        &["%%bash\necho $x"],
        &["%%html\n<b>x</b>"],
        &["%%writefile a.py\nx"],
        // Own scopes.
        &["[x for x in range(3) if x]"],
        &["def f(a, *b, c=1, **d): return a, b, c, d, f"],
        &["class A:\n    x = 1\n    y = x\n    def m(self): return A, __class__"],
        &["def f[T](x: T) -> T: return T"],
        &["(lambda x, *y: x + y)(1)"],
        &["def f():\n    def g(): return h\n    h = 1\n    return g"],
        &["try: 1\nexcept ValueError as e: print(e)"],
        &[""],
    ] {
        assert_eq!(found(cells), "", "{cells:#?}");
    }
}

#[test]
fn a_cell_of_which_nothing_is_known_may_define_all() {
    let names = [Names::unknown(names::Unknown::TooLong), Names::of_cell("x")];
    let needs = names.map(|names| Needs::of(&names));
    assert_eq!(undefined(&needs.iter().enumerate().collect::<Vec<_>>()), []);
}

#[test]
fn the_cells_that_define_a_name_are_known() {
    let names = ["x = 1", "x", "def f():\n    global x\n    x = 2", "import x", "y.x = 1", "del x"]
        .map(Names::of_cell);
    let cells: Vec<_> = names.iter().enumerate().collect();
    assert_eq!(definers(&cells, "x"), [0, 2, 3]);
    assert_eq!(definers(&cells, "y"), [] as [usize; 0]);
}

#[test]
fn names_that_may_come_from_elsewhere_are_not_reported() {
    check(&[
        (&["get_ipython().user_ns['k'] = 1", "k"], ""),
        (&["ip = get_ipython()\nip.user_ns.update(k=1)", "k"], ""),
        (&["setattr(sys.modules['__main__'], 'k', 1)", "k"], ""),
        (&["%load_ext my_extension", "k"], ""),
        (&["%load_ext autoreload", "k"], "1 uses k"),
        (&["%reload_ext my.extension", "k"], ""),
        (&["%alias show ls", "show"], ""),
        (&["if 'zz' in dir(): print(zz)"], ""),
        (&["x = 1 if 'zz' in globals() else 2", "zz"], ""),
        (&["ls -la"], ""),
        (&["%prun y = 1", "y"], ""),
    ]);
}

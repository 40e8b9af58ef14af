//! Needs of cells from their surroundings, and syntax errors.

use syntax::{Needs, syntax_error};

fn attributes(source: &str) -> String {
    Needs::of_cell(source).attributes.into_iter().collect::<Vec<_>>().join(" ")
}

fn files(source: &str) -> String {
    Needs::of_cell(source).files.into_iter().collect::<Vec<_>>().join(" ")
}

#[test]
fn attributes_are_needed_where_no_branch_leaves_them_out() {
    for (source, expected) in [
        ("np.int(3)", "np.int"),
        ("x = np.random.foo.bar", "np.random.foo.bar"),
        ("def f(a=np.int): return np.float(a)", "np.float np.int"),
        ("%%time\nnp.int", "np.int"),
        ("f(x).real", ""),
        ("np.int = int", ""),
        ("if old: np.int", ""),
        ("x = np.int if old else int", ""),
        ("try: np.int\nexcept AttributeError: pass", ""),
        ("with suppress(AttributeError): np.int", ""),
        ("def f(x: np.int): pass", ""),
        ("%%bash\nnp.int", ""),
        ("np.int(", ""),
    ] {
        assert_eq!(attributes(source), expected, "{source}");
    }
    let set = |source| Needs::of_cell(source).set.into_iter().collect::<Vec<_>>();
    assert_eq!(set("np.int = int"), ["np.int"]);
    assert_eq!(set("setattr(np, 'int', int)"), ["np.int"]);
    assert_eq!(set("if hasattr(np, 'int'): pass"), ["np.int"]);
}

#[test]
fn files_are_those_that_a_call_reads_by_a_text() {
    for (source, expected) in [
        ("pd.read_csv('a/b.csv')", "a/b.csv"),
        ("pd.read_csv(filepath_or_buffer='b.csv')", "b.csv"),
        ("with open('x.txt') as f: f.read()", "x.txt"),
        ("open('x.txt', mode='rb')", "x.txt"),
        ("np.load('x.npy'); pl.scan_parquet('y.parquet')", "x.npy y.parquet"),
        ("open('x.txt', 'w'); open('y.txt', 'r+'); open('z.txt', mode)", ""),
        ("pd.read_csv('https://a.org/b.csv')", ""),
        ("pd.read_csv('data/*.csv'); pd.read_csv('/tmp/x.csv'); pd.read_csv('~/x.csv')", ""),
        ("pd.read_sql('select a.b', c); pd.read_json('{\"a\": 1.5}'); load('iris')", ""),
        ("if os.path.exists('x.csv'): pd.read_csv('x.csv')", ""),
    ] {
        assert_eq!(files(source), expected, "{source}");
    }
    for source in ["df.to_csv(path)", "open(path, 'w')", "plt.savefig(f'{x}.png')"] {
        assert!(Needs::of_cell(source).writes_files, "{source}");
    }
    assert!(!Needs::of_cell("open(path); df.to_csv('x.csv')").writes_files);
}

#[test]
fn syntax_errors_are_found_with_their_line() {
    let line = |source| syntax_error(source).map(|error| error.line);
    for (source, expected) in [
        ("x = 1\nprint 'a'", Some(2)),
        ("%%time\n\nx = = 1", Some(3)),
        ("if x:\npass", Some(2)),
        ("    x = 1\n    y = x", None),
        ("x = 1\n!ls\n%matplotlib inline\ny = !ls\nnp.array?\n?x\nawait f()", None),
        ("pip install numpy", None),
        ("x = 1\nls -la", None),
        ("cd ..", None),
        (">>> x = 1", None),
        ("In [1]: x", None),
        ("/f a b", None),
        ("%%html\n<b>", None),
        ("", None),
    ] {
        assert_eq!(line(source), expected, "{source}");
    }
}

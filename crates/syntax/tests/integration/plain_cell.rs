//! Cells as Python alone, and syntax errors.

use syntax::{imported_modules, plain_cell};

#[test]
fn commands_become_the_calls_that_ipython_makes() {
    for (source, expected) in [
        ("x = 1", Some("x = 1")),
        ("%run -i a.py\ny", Some("get_ipython().run_line_magic(\"run\", \"-i a.py\")\ny")),
        ("y = !ls \"a\"", Some("y = get_ipython().system(\"ls \\\"a\\\"\")")),
        ("if x:\n    !ls \\\n -l\nz", Some("if x:\n    get_ipython().system(\"ls  -l\")\n\nz")),
        ("np.array?\nx", Some("None\nx")),
        ("  x = 1\n  y", Some("x = 1\ny")),
        ("%%time\nx", Some("x")),
        ("%%bash\nx", None),
        ("ls -la x", None),
        ("# nothing", Some("")),
    ] {
        assert_eq!(plain_cell(source).unwrap().python.as_deref(), expected, "{source}");
    }
    assert_eq!(plain_cell("\n%%time\nx").unwrap().above, 2);
}

#[test]
fn syntax_errors_are_found_with_their_line() {
    let line = |source| plain_cell(source).err().map(|error| error.line);
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

#[test]
fn imports_count_where_nothing_catches_that_they_are_missing() {
    for (source, modules) in [
        ("import os, cv2 as cv\nimport a.b.c\nfrom . import x", &["a.b.c", "cv2", "os"][..]),
        ("from sklearn.linear_model import (\n    Ridge,\n)", &["sklearn.linear_model"]),
        ("try:\n    import optional\nexcept ImportError:\n    pass", &[]),
        ("text = \"\"\"\nimport nothing\n\"\"\"", &[]),
        ("%%bash\nimport x", &[]),
        ("%%time\nimport timed", &["timed"]),
        (
            "def load():\n    import pyarrow\n    try:\n        import fast\n    except E:\n        pass",
            &["pyarrow"],
        ),
        ("class A:\n    def m(self):\n        from scipy import stats", &["scipy"]),
        ("if on_colab:\n    import colab_only", &[]),
    ] {
        assert!(imported_modules(source).iter().eq(modules), "{source}");
    }
}

//! Cells as Python alone, and syntax errors.

use syntax::plain_cell;

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

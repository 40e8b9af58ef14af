//! Renaming a name in a notebook.

use proptest::prelude::*;
use syntax::{CannotRename, RenamedCell, rename};

fn renamed(cells: &[&str], old: &str, new: &str) -> Result<Vec<RenamedCell>, CannotRename> {
    let cells: Vec<_> = cells.iter().copied().enumerate().collect();
    rename(&cells, old, new)
}

/// Cells with `OLD` for each `old` that is renamed to `new`.
fn check(cells: &[&str]) {
    for cell in cells {
        check_pairs(&[(&cell.replace("OLD", "old"), &cell.replace("OLD", "new"))]);
    }
}

/// One cell after `old` was renamed to `new`.
fn check_pairs(cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        let cells = renamed(&[source], "old", "new").unwrap_or_else(|error| panic!("{source}: {error}"));
        assert_eq!(cells[0].source, *expected, "{source}");
        assert_eq!(cells[0].unread, None, "{source}");
        if cells[0].count > 0 {
            // Back again.
            let back = renamed(&[expected], "new", "old").unwrap();
            assert!(back[0].source == *source || source.contains("import"), "{source}");
        }
    }
}

fn refused(cells: &[&str], old: &str, new: &str) -> String {
    renamed(cells, old, new).expect_err(&cells.join("\n")).to_string()
}

#[test]
fn names_are_renamed_wherever_they_stand() {
    check(&[
        "OLD = 1\nprint(OLD)",
        "OLD += OLD.old[OLD:OLD]",
        "OLD.x = OLD['old']",
        "f(old=OLD, *OLD, **OLD)",
        "OLD: int = 1\nx: OLD = OLD",
        "OLD: int",
        "for OLD, (x, *y) in z: OLD",
        "with open(f) as OLD, g() as (a, OLD): pass",
        "del OLD, a.old",
        "if (OLD := f()) > OLD: pass",
        "[last for i in xs if (OLD := i)]",
        "a, b = OLD if OLD else not OLD",
        "def OLD(a: OLD = OLD) -> OLD: return OLD",
        "async def OLD(): await OLD()",
        "class OLD(OLD.Base, key=OLD): pass\nOLD()",
        "@OLD.deco(OLD)\ndef f(): pass",
        "try: f()\nexcept E as OLD: OLD",
        "try: f()\nexcept* OLD as e: e",
        "match OLD:\n    case [OLD, *r] | {'old': OLD, **r}: r\n    case K(old=OLD): pass",
        "match x:\n    case [*OLD]: pass\n    case {**OLD}: pass",
        "match x:\n    case _ as OLD if OLD: pass\n    case OLD.X: pass",
        "OLD = lambda x=OLD: OLD + x",
        "type OLD[T] = list[T]\nx: OLD[int]",
        "def f[T: OLD](x: T): return OLD",
        "try:\n    OLD\nfinally:\n    OLD",
        "while OLD: break\nelse: OLD",
        "assert OLD, OLD\nraise OLD from OLD",
        "OLD = (\n    1,  # old\n    'old')",
        "é = OLD; 'ä' ; OLD",
        "if x:\r\n    OLD = 1\r\nOLD",
        "[OLD for a in OLD for b in OLD[a] if OLD]",
        "{OLD: OLD for _ in x}",
        "print(OLD, end='');OLD",
        "_old = old_ = oldest = OLD",
    ]);
}

#[test]
fn expressions_in_strings_are_names_and_text_is_not() {
    check(&[
        "f'{OLD} old {OLD!r:>{OLD}} {{old}}'",
        "f'{OLD=}'",
        "f'{x[\"old\"]} {OLD.old}'",
        "f'''\n{OLD}\n''' 'old' f'{OLD}'",
        "t'{OLD}'",
        "f'{f\"{OLD}\"}'",
        "x = OLD; y = 'old' + \"\"\"old\"\"\" + r'old' + b'old'.decode()",
    ]);
    let cells = renamed(&["old = 1\n# old\ndf.query('@old > 1')\nx.old"], "old", "new").unwrap();
    assert_eq!((cells[0].count, &*cells[0].remaining), (1, &[2, 3, 4][..]));
}

#[test]
fn imports_keep_what_they_import() {
    check(&[
        "import a as OLD\nOLD.b",
        "from a import b as OLD, old as c\nOLD",
        "from old import x\nOLD = 1",
        "import a.old\nOLD = 2",
        "from a import new as OLD",
    ]);
    check_pairs(&[
        ("from a import (x,\n    old)\nold", "from a import (x,\n    old as new)\nnew"),
        ("import old\nold.x", "import old as new\nnew.x"),
    ]);
    let error = refused(&["x = 1\nimport old.part\nold.part"], "old", "new");
    assert_eq!(
        error,
        "cell 0, line 2, imports a module inside old: give it a name with `as`, or edit the text"
    );
}

#[test]
fn a_local_variable_of_the_same_name_stays() {
    check(&[
        "OLD = 1\ndef f(old): return old",
        "OLD = 1\ndef f(x, *old): return old",
        "OLD = 1\ndef f():\n    old = 2\n    return old",
        "OLD = 1\ndef f():\n    print(old)\n    old = 2",
        "OLD = 1\ndef f():\n    global OLD\n    OLD = 2",
        "OLD = 1\ndef f():\n    return OLD",
        "OLD = 1\ndef f():\n    old = 2\n    def g():\n        nonlocal old\n        old = 3\n    return old",
        "OLD = 1\ndef f():\n    old = 2\n    def g():\n        global OLD\n        return OLD",
        "OLD = 1\ndef f(a=OLD, old=OLD): pass",
        "OLD = 1\ng = lambda old: old\ng(OLD)",
        "OLD = 1\n[old for old in OLD]",
        "OLD = 1\n{old: 1 for x in OLD for old in x}",
        "OLD = 1\ndef f():\n    import old\n    old",
        "OLD = 1\ndef f():\n    for old in x: old\n    del old",
        "OLD = 1\ndef f():\n    try: g()\n    except E as old: old",
        "OLD = 1\ndef f():\n    if (old := 1): old",
        "OLD = 1\nclass A:\n    x = OLD\n    old = OLD\n    y = old\n    def m(self): return OLD, self.old",
        "OLD = 1\ndef f[old](x: old): pass",
        "OLD = 1\ndef f(x=[old for old in OLD]): return OLD",
    ]);
    let cells = renamed(&["old = 1", "def f(old): return old"], "old", "new").unwrap();
    assert_eq!((cells[1].count, &*cells[1].remaining), (0, &[1][..]));
}

#[test]
fn a_name_that_is_only_local_stays() {
    for source in [
        "x = 1\ndef f(old): return old",
        "x = 1\nf = lambda old: old",
        "x = 1\n[old for old in xs]",
        "class A:\n    old = 1\nA.old",
        "def f():\n    import old.part\n    return old.part",
    ] {
        assert_eq!(
            refused(&[source], "old", "new"),
            "old is only a local name, as in cell 0, line 2: edit the text",
            "{source}"
        );
    }
}

#[test]
fn magics_and_commands_have_names() {
    check(&[
        "%time OLD = OLD + 1",
        "%timeit -n 10 OLD(x)",
        "y = %timeit -o OLD(x)",
        "%time %timeit OLD",
        "%lprun -f OLD OLD(x)",
        "!ls {OLD} $OLD old ${OLD} {{old}} $$old",
        "!echo {OLD.old} {OLD + 1} {x[OLD]}  {OLD:>4} $OLD.old",
        "OLD = !ls {OLD}",
        "x = %env {OLD}",
        "if x:\n    !ls {OLD}\n    OLD",
        "%cd $OLD",
        "OLD?",
        "?OLD.old",
        "OLD.x??",
        "%%time\nOLD",
        "%%capture OLD\nOLD",
        "\n%%capture --no-stderr OLD\n%%time\nx = OLD",
        "%%timeit\nOLD(x)",
        "%%bash -s {OLD} $OLD\necho $old",
        "%%writefile {OLD}.txt\nold",
        "OLD = 1\n%matplotlib inline\nOLD",
    ]);
}

#[test]
fn what_cannot_be_read_is_reported() {
    for source in [
        "old = = 1",
        "%%sql\nSELECT * FROM {old}",
        "%%R -i old\nplot(old)",
        "%%bash --out old\nls",
        "%%timeit old = 1\nold",
        "%store old",
        "%run -i x.py {old}",
        ",f old",
        "!ls \\\n {old}",
    ] {
        let cells = renamed(&["old = 1", source], "old", "new").unwrap();
        assert!(cells[1].unread.is_some(), "{source}: {:?}", cells[1]);
        assert_eq!((cells[1].count, &*cells[1].source), (0, source));
    }
    // Without the word there is nothing to tell.
    assert_eq!(renamed(&["old = 1", "x = = 1", "%%sql\nSELECT"], "old", "new").unwrap().len(), 1);
}

#[test]
fn a_rename_that_would_change_what_code_means_is_refused() {
    for (cells, expected) in [
        (&["old = 1", "new = 2"][..], "new is already a name in cell 1"),
        (&["old = 1", "print(new)", "del new"], "new is already a name in cells 1 and 2"),
        (&["old = 1", "def f(): return new"], "new is already a name in cell 1"),
        (&["old = 1", "import new"], "new is already a name in cell 1"),
        (&["old = 1", "from x import new"], "new is already a name in cell 1"),
        (&["old = 1", "!ls {new}"], "new is already a name in cell 1"),
        (&["old = 1", "%%capture new\nx"], "new is already a name in cell 1"),
        (
            &["old = 1", "def f(new):\n    return old + new"],
            "a local variable new in cell 1, line 2, would take the place of old",
        ),
        (
            &["old = 1", "[old for new in x]"],
            "a local variable new in cell 1, line 1, would take the place of old",
        ),
        (
            &["old = 1", "def f():\n    new = 1\n    def g(): return old"],
            "a local variable new in cell 1, line 3, would take the place of old",
        ),
        (&["x = 1"], "no cell has the name old"),
        (&["x = 'old'"], "no cell has the name old"),
    ] {
        assert_eq!(refused(cells, "old", "new"), expected, "{cells:?}");
    }
    // A local variable of another function, an attribute and a keyword are no other meaning.
    assert!(renamed(&["old = 1", "def f(new): return new", "x.new", "f(new=1)"], "old", "new").is_ok());
    for new in ["__debug__", "1x", "a b", "", "for", "None", "a.b", "a()", " a", "a\n", "ö-1", "lambda"] {
        assert!(matches!(renamed(&["x = 1"], "x", new), Err(CannotRename::NotAName { .. })), "{new:?}");
    }
    for new in ["match", "type", "ö", "_", "x1"] {
        assert_eq!(renamed(&["x = 1"], "x", new).unwrap()[0].source, format!("{new} = 1"));
    }
    assert!(matches!(renamed(&["x = 1"], "x", "x"), Err(CannotRename::SameName { .. })));
}

#[test]
fn what_no_cell_defines_is_renamed_if_it_is_a_leftover() {
    // The definition was edited by hand before.
    let cells = renamed(&["new = 1", "print(old)"], "old", "new").unwrap();
    assert_eq!(cells[0].source, "print(new)");
    assert_eq!(
        refused(&["from os import *", "old"], "old", "new"),
        "no cell assigns old; cell 0 may do so (from os import *)"
    );
    assert_eq!(
        refused(&["print(1)"], "print", "show"),
        "no cell defines print: it is one of Python's own names"
    );
    // Above its definition, the name is Python's.
    let cells = renamed(&["sum(x)", "sum = 1", "sum + 1"], "sum", "total").unwrap();
    let sources: Vec<_> = cells.iter().map(|cell| &*cell.source).collect();
    assert_eq!(sources, ["sum(x)", "total = 1", "total + 1"]);
}

proptest! {
    #[test]
    fn any_text_can_be_searched(source in "\\PC{0,80}|[a b=(){}%!$?:\n'f.]{0,60}") {
        let _ = renamed(&[&source, "a = 1"], "a", "z");
    }
}

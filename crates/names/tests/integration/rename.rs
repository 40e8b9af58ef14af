//! Renaming a name in a notebook.

use names::{CannotRename, Names, RenamedCell, rename};
use proptest::prelude::*;

fn renamed(cells: &[&str], old: &str, new: &str) -> Result<Vec<RenamedCell>, CannotRename> {
    let cells: Vec<_> = cells.iter().copied().enumerate().collect();
    rename(&cells, old, new).map(|renamed| renamed.cells)
}

/// One cell after `old` was renamed to `new`.
fn check(cases: &[(&str, &str)]) {
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
        ("old = 1\nprint(old)", "new = 1\nprint(new)"),
        ("old += old.old[old:old]", "new += new.old[new:new]"),
        ("old.x = old['old']", "new.x = new['old']"),
        ("f(old=old, *old, **old)", "f(old=new, *new, **new)"),
        ("old: int = 1\nx: old = old", "new: int = 1\nx: new = new"),
        ("old: int", "new: int"),
        ("for old, (x, *y) in z: old", "for new, (x, *y) in z: new"),
        ("with open(f) as old, g() as (a, old): pass", "with open(f) as new, g() as (a, new): pass"),
        ("del old, a.old", "del new, a.old"),
        ("if (old := f()) > old: pass", "if (new := f()) > new: pass"),
        ("[last for i in xs if (old := i)]", "[last for i in xs if (new := i)]"),
        ("a, b = old if old else not old", "a, b = new if new else not new"),
        ("def old(a: old = old) -> old: return old", "def new(a: new = new) -> new: return new"),
        ("async def old(): await old()", "async def new(): await new()"),
        ("class old(old.Base, key=old): pass\nold()", "class new(new.Base, key=new): pass\nnew()"),
        ("@old.deco(old)\ndef f(): pass", "@new.deco(new)\ndef f(): pass"),
        ("try: f()\nexcept E as old: old", "try: f()\nexcept E as new: new"),
        ("try: f()\nexcept* old as e: e", "try: f()\nexcept* new as e: e"),
        (
            "match old:\n    case [old, *r] | {'old': old, **r}: r\n    case K(old=old): pass",
            "match new:\n    case [new, *r] | {'old': new, **r}: r\n    case K(old=new): pass",
        ),
        (
            "match x:\n    case [*old]: pass\n    case {**old}: pass",
            "match x:\n    case [*new]: pass\n    case {**new}: pass",
        ),
        (
            "match x:\n    case _ as old if old: pass\n    case old.X: pass",
            "match x:\n    case _ as new if new: pass\n    case new.X: pass",
        ),
        ("old = lambda x=old: old + x", "new = lambda x=new: new + x"),
        ("type old[T] = list[T]\nx: old[int]", "type new[T] = list[T]\nx: new[int]"),
        ("def f[T: old](x: T): return old", "def f[T: new](x: T): return new"),
        ("try:\n    old\nfinally:\n    old", "try:\n    new\nfinally:\n    new"),
        ("while old: break\nelse: old", "while new: break\nelse: new"),
        ("assert old, old\nraise old from old", "assert new, new\nraise new from new"),
        ("old = (\n    1,  # old\n    'old')", "new = (\n    1,  # old\n    'old')"),
        ("é = old; 'ä' ; old", "é = new; 'ä' ; new"),
        ("if x:\r\n    old = 1\r\nold", "if x:\r\n    new = 1\r\nnew"),
        ("[old for a in old for b in old[a] if old]", "[new for a in new for b in new[a] if new]"),
        ("{old: old for _ in x}", "{new: new for _ in x}"),
        ("print(old, end='');old", "print(new, end='');new"),
        ("_old = old_ = oldest = old", "_old = old_ = oldest = new"),
    ]);
}

#[test]
fn expressions_in_strings_are_names_and_text_is_not() {
    check(&[
        ("f'{old} old {old!r:>{old}} {{old}}'", "f'{new} old {new!r:>{new}} {{old}}'"),
        ("f'{old=}'", "f'{new=}'"),
        ("f'{x[\"old\"]} {old.old}'", "f'{x[\"old\"]} {new.old}'"),
        ("f'''\n{old}\n''' 'old' f'{old}'", "f'''\n{new}\n''' 'old' f'{new}'"),
        ("t'{old}'", "t'{new}'"),
        ("f'{f\"{old}\"}'", "f'{f\"{new}\"}'"),
        (
            "x = old; y = 'old' + \"\"\"old\"\"\" + r'old' + b'old'.decode()",
            "x = new; y = 'old' + \"\"\"old\"\"\" + r'old' + b'old'.decode()",
        ),
    ]);
    let cells = renamed(&["old = 1\n# old\ndf.query('@old > 1')\nx.old"], "old", "new").unwrap();
    assert_eq!((cells[0].count, &*cells[0].mentions), (1, &[2, 3][..]));
}

#[test]
fn imports_keep_what_they_import() {
    check(&[
        ("import a as old\nold.b", "import a as new\nnew.b"),
        ("from a import b as old, old as c\nold", "from a import b as new, old as c\nnew"),
        ("from a import (x,\n    old)\nold", "from a import (x,\n    old as new)\nnew"),
        ("import old\nold.x", "import old as new\nnew.x"),
        ("from old import x\nold = 1", "from old import x\nnew = 1"),
        ("import a.old\nold = 2", "import a.old\nnew = 2"),
        ("from a import new as old", "from a import new as new"),
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
        ("old = 1\ndef f(old): return old", "new = 1\ndef f(old): return old"),
        ("old = 1\ndef f(x, *old): return old", "new = 1\ndef f(x, *old): return old"),
        ("old = 1\ndef f():\n    old = 2\n    return old", "new = 1\ndef f():\n    old = 2\n    return old"),
        ("old = 1\ndef f():\n    print(old)\n    old = 2", "new = 1\ndef f():\n    print(old)\n    old = 2"),
        ("old = 1\ndef f():\n    global old\n    old = 2", "new = 1\ndef f():\n    global new\n    new = 2"),
        ("old = 1\ndef f():\n    return old", "new = 1\ndef f():\n    return new"),
        (
            "old = 1\ndef f():\n    old = 2\n    def g():\n        nonlocal old\n        old = 3\n    return old",
            "new = 1\ndef f():\n    old = 2\n    def g():\n        nonlocal old\n        old = 3\n    return old",
        ),
        (
            "old = 1\ndef f():\n    old = 2\n    def g():\n        global old\n        return old",
            "new = 1\ndef f():\n    old = 2\n    def g():\n        global new\n        return new",
        ),
        ("old = 1\ndef f(a=old, old=old): pass", "new = 1\ndef f(a=new, old=new): pass"),
        ("old = 1\ng = lambda old: old\ng(old)", "new = 1\ng = lambda old: old\ng(new)"),
        ("old = 1\n[old for old in old]", "new = 1\n[old for old in new]"),
        ("old = 1\n{old: 1 for x in old for old in x}", "new = 1\n{old: 1 for x in new for old in x}"),
        ("old = 1\ndef f():\n    import old\n    old", "new = 1\ndef f():\n    import old\n    old"),
        (
            "old = 1\ndef f():\n    for old in x: old\n    del old",
            "new = 1\ndef f():\n    for old in x: old\n    del old",
        ),
        (
            "old = 1\ndef f():\n    try: g()\n    except E as old: old",
            "new = 1\ndef f():\n    try: g()\n    except E as old: old",
        ),
        ("old = 1\ndef f():\n    if (old := 1): old", "new = 1\ndef f():\n    if (old := 1): old"),
        (
            "old = 1\nclass A:\n    x = old\n    old = old\n    y = old\n    def m(self): return old, self.old",
            "new = 1\nclass A:\n    x = new\n    old = new\n    y = old\n    def m(self): return new, self.old",
        ),
        ("old = 1\ndef f[old](x: old): pass", "new = 1\ndef f[old](x: old): pass"),
        (
            "old = 1\ndef f(x=[old for old in old]): return old",
            "new = 1\ndef f(x=[old for old in new]): return new",
        ),
    ]);
    let cells = renamed(&["old = 1", "def f(old): return old"], "old", "new").unwrap();
    assert_eq!((cells[1].count, cells[1].locals), (0, 2));
}

#[test]
fn a_name_that_is_only_local_is_renamed_there() {
    check(&[
        ("def f(old): return old\nf(1)", "def f(new): return new\nf(1)"),
        (
            "def f():\n    old = 1\n    return [old for x in y]",
            "def f():\n    new = 1\n    return [new for x in y]",
        ),
        ("[old for old in xs]", "[new for new in xs]"),
        ("f = lambda old: old", "f = lambda new: new"),
    ]);
    assert_eq!(
        refused(&["def f(old): return old", "f(1,\n  old=2)"], "old", "new"),
        "old is only a parameter, and cell 1 passes it by its name in line 2: edit the text"
    );
    assert_eq!(
        refused(&["class A:\n    old = 1\nA.old"], "old", "new"),
        "old is only an attribute of a class, in cell 0, line 2: edit the text"
    );
    assert_eq!(refused(&["def f(old): return old + new"], "old", "new"), "new is already a name in cell 0");
}

#[test]
fn magics_and_commands_have_names() {
    check(&[
        ("%time old = old + 1", "%time new = new + 1"),
        ("%timeit -n 10 old(x)", "%timeit -n 10 new(x)"),
        ("y = %timeit -o old(x)", "y = %timeit -o new(x)"),
        ("%time %timeit old", "%time %timeit new"),
        ("%lprun -f old old(x)", "%lprun -f new new(x)"),
        ("!ls {old} $old old ${old} {{old}} $$old", "!ls {new} $new old ${new} {{old}} $$old"),
        (
            "!echo {old.old} {old + 1} {x[old]}  {old:>4} $old.old",
            "!echo {new.old} {new + 1} {x[new]}  {new:>4} $new.old",
        ),
        ("old = !ls {old}", "new = !ls {new}"),
        ("x = %env {old}", "x = %env {new}"),
        ("if x:\n    !ls {old}\n    old", "if x:\n    !ls {new}\n    new"),
        ("%cd $old", "%cd $new"),
        ("old?", "new?"),
        ("?old.old", "?new.old"),
        ("old.x??", "new.x??"),
        ("%pinfo old", "%pinfo new"),
        ("%%time\nold", "%%time\nnew"),
        ("%%capture old\nold", "%%capture new\nnew"),
        ("\n%%capture --no-stderr old\n%%time\nx = old", "\n%%capture --no-stderr new\n%%time\nx = new"),
        ("%%timeit\nold(x)", "%%timeit\nnew(x)"),
        ("%%bash -s {old} $old\necho $old", "%%bash -s {new} $new\necho $old"),
        ("%%writefile {old}.txt\nold", "%%writefile {new}.txt\nold"),
        ("old = 1\n%matplotlib inline\nold", "new = 1\n%matplotlib inline\nnew"),
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
    /// The cell does the same with the new name as it did with the old one.
    #[test]
    fn effects_are_renamed_and_nothing_else(parts in prop::collection::vec(prop::sample::select(vec![
        "a = b\n", "b += a.b[a]\n", "def a(b, c=a): return a + b\n", "def f():\n  global a\n  a = b\n",
        "class a(b): a = b\n", "[a for b in a for a in b]\n", "for a, b in c: a\n", "try: a\nexcept E as a: b\n",
        "del a\n", "b = f'{a!r:{b}} a'\n", "c = lambda a=a: a\n", "%time a = b\n", "!ls {a} $b\n", "(a := b)\n",
        "with a as b: b\n", "match a:\n  case [a, *b]: c\n", "def g():\n  a = 1\n  def h(): return a\n", "f(a=b)\n",
    ]), 0..12)) {
        let source = parts.concat();
        let names = |source: &str| {
            let effects = Names::of_cell(source).effects;
            let set = |names: &names::NameSet| {
                names.iter().map(|name| if name == "a" { "z".to_owned() } else { name.clone() })
                    .collect::<names::NameSet>()
            };
            (set(&effects.uses), set(&effects.reads), set(&effects.defines), set(&effects.changes), set(&effects.deletes))
        };
        if let Ok(cells) = renamed(&[&source], "a", "z") {
            prop_assert_eq!(names(&source), names(&cells[0].source));
            let shared = Names::of_cell(&cells[0].source).effects;
            prop_assert!(!shared.reads.contains("a") && !shared.defines.contains("a"), "{}", cells[0].source);
        }
    }

    #[test]
    fn any_text_can_be_searched(source in "\\PC{0,80}|[a b=(){}%!$?:\n'f.]{0,60}") {
        let _ = renamed(&[&source, "a = 1"], "a", "z");
    }
}

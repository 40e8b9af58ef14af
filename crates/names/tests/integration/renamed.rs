//! Cells in which a name was renamed.

use names::{NameSet, Names};
use proptest::prelude::*;
use syntax::rename;

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
            let set = |names: &NameSet| {
                names.iter().map(|name| if name == "a" { "z".to_owned() } else { name.clone() })
                    .collect::<NameSet>()
            };
            (set(&effects.uses), set(&effects.reads), set(&effects.defines), set(&effects.changed().cloned().collect()), set(&effects.deletes))
        };
        if let Ok(cells) = rename(&[(0, &source)], "a", "z") {
            prop_assert_eq!(names(&source), names(&cells[0].source));
            let shared = Names::of_cell(&cells[0].source).effects;
            prop_assert!(!shared.reads.contains("a") && !shared.defines.contains("a"), "{}", cells[0].source);
        }
    }
}

//! No input makes it panic, hang or exhaust the stack.

use std::thread;

use names::{Names, Unknown};
use proptest::prelude::*;

/// Calls it on a stack as small as those of the threads that serve requests.
fn names(source: String) -> Names {
    let thread = thread::Builder::new().stack_size(1024 * 1024).spawn(move || Names::of_cell(&source));
    thread.unwrap().join().unwrap()
}

#[test]
fn deep_code_is_refused_and_not_walked() {
    let deep = |open: &str, middle: &str, close: &str, count: usize| {
        names(open.repeat(count) + middle + &close.repeat(count)).effects.unknown
    };
    for (open, middle, close) in [
        ("-", "1", ""),
        ("not ", "x", ""),
        ("[", "", "]"),
        ("(1,", "", ")"),
        ("{1:", "2", "}"),
        ("f(", "x", ")"),
        ("lambda: ", "x", ""),
        ("x if x else ", "x", ""),
        ("", "x", ".a"),
        ("", "x", "[0]"),
        ("", "x", "()"),
        ("", "1", "+1"),
        ("", "1", "**1"),
        ("await ", "x", ""),
        ("[x for x in ", "x", "]"),
        ("", "match x:\n case ", "[x]"),
    ] {
        let source = format!("{open}…{middle}…{close}");
        let enough = 20_000 / (open.len() + close.len());
        let refused = deep(open, middle, close, enough);
        assert!(matches!(refused, Some(Unknown::TooDeep | Unknown::SyntaxError)), "{source}: {refused:?}");
    }
    // The parser would take quadratic time for these.
    assert_eq!(deep("f'{", "x", "", 20_000), Some(Unknown::TooDeep));
    assert_eq!(deep("f'{x:{", "x", "", 300), Some(Unknown::TooDeep));
    // Deep in Python's grammar, not in the tree.
    assert_eq!(deep("(", "x", ")", 150), None);
    assert_eq!(deep("-", "1", "", 150), None);
    assert_eq!(deep("", "1", "+1", 150), None);
}

#[test]
fn deep_blocks_are_refused_and_not_walked() {
    for line in ["if x:", "def f():", "class A:", "for i in x:", "match x:"] {
        let source: String = (0..300).map(|depth| " ".repeat(depth) + line + "\n").collect();
        let unknown = names(format!("{source}{}x", " ".repeat(300))).effects.unknown;
        assert!(matches!(unknown, Some(Unknown::TooDeep | Unknown::SyntaxError)), "{line}: {unknown:?}");
    }
}

#[test]
fn the_longest_source_that_is_read_is_as_deep_as_it_may_be() {
    for part in
        ["-", "(", "[", "{", "f'{", "x.", "x+", "lambda:", "not ", "\\\n", "if x:\n ", "%time ", "%%time\n"]
    {
        for length in [1000, 65_536, 65_537, 1_000_000] {
            let source = part.repeat(length / part.len());
            let is_read = names(source.clone()).effects.unknown != Some(Unknown::TooLong);
            assert_eq!(is_read, source.len() <= 65_536 || part == "%%time\n", "{part} {length}");
        }
    }
}

/// The fuzz target found it: the parser takes the last line for one that `IPython` calls, within an expression.
#[test]
fn a_panic_of_the_parser_is_a_syntax_error() {
    assert_eq!(names("(,]\n,".to_owned()).effects.unknown, Some(Unknown::SyntaxError));
}

#[test]
fn a_long_flat_source_is_read() {
    let source = format!("xs = [{}]", "y, ".repeat(20_000));
    assert_eq!(names(source).effects.uses.len(), 1);
}

/// Fragments from which anything between nonsense and Python results.
fn fragments() -> impl Strategy<Value = String> {
    // Between dots.
    let fragments = "x·y·f· ·\n·\n ·\n    ·=·+=·:=·(·)·[·]·{·}·:·,·.·*·**·-·@·def ·class ·lambda ·for ·in ·if ·\
         else·elif ·while ·with ·as ·import ·from ·del ·global ·nonlocal ·match ·case ·_·try:·\
         except ·finally:·return ·yield ·await ·async ·type ·'·\"·'''·f'{·}'·t\"·rb'·#·\\·\\\n·%·%%·\
         %time ·%%capture ·!·!!·?·??·/·;·$x·1·0x·1e·é·𝑥·\u{feff}·\u{0}·\r·\t";
    let fragments = prop::sample::select(fragments.split('·').collect::<Vec<_>>());
    prop::collection::vec(fragments, 0..60).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_text_has_names(source in prop_oneof![fragments(), any::<String>()]) {
        let names = Names::of_cell(&source);
        prop_assert_eq!(&names, &Names::of_cell(&source));
        prop_assert!(names.effects.needs.iter().all(|name| names.effects.uses.contains(name)));
        syntax::nondeterminism(&[&source]);
    }
}

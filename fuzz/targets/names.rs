//! Looks for the names of arbitrary text, as if it were a cell.
#![no_main]

use std::panic;
use std::sync::Once;

use libfuzzer_sys::fuzz_target;
use names::Names;
use syntax::is_blank;

static HOOK: Once = Once::new();

fuzz_target!(|data: &[u8]| {
    HOOK.call_once(pass_over_the_parser);
    let source = String::from_utf8_lossy(data);
    let names = Names::of_cell(&source);
    assert!(names.effects.uses.is_subset(&names.effects.reads));
    assert!(!is_blank(&source) || names.is_empty());
});

/// libFuzzer's hook ends the process at a panic, also at one of the parser, which the crate catches.
fn pass_over_the_parser() {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|at| at.file().contains("ruff_python_parser")) {
            hook(panic);
        }
    }));
}

//! Looks for the names of arbitrary text, as if it were a cell.
#![no_main]

use libfuzzer_sys::fuzz_target;
use names::{Names, is_blank};

fuzz_target!(|data: &[u8]| {
    let source = String::from_utf8_lossy(data);
    // A panic within is caught, but libFuzzer's hook reports it first.
    let names = Names::of_cell(&source);
    assert!(names.effects.uses.is_subset(&names.effects.reads));
    assert!(!is_blank(&source) || names.is_empty());
});

//! Programs for tests. The crate `local` includes this file, too.

use std::fs;
use std::path::{Path, PathBuf};

/// Puts a program there, folders included, that does the steps. `examples/test_program.rs` says which there are. Returns its
/// path, which has another ending on Windows.
pub(crate) fn program(path: &Path, steps: &[&str]) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let name = format!("{}_test_program{}", env!("CARGO_PKG_NAME"), std::env::consts::EXE_SUFFIX);
    // Cargo builds examples with tests, in a folder beside theirs.
    let built = tests.ancestors().nth(2).unwrap().join("examples").join(name);
    let mut program = path.as_os_str().to_owned();
    program.push(std::env::consts::EXE_SUFFIX);
    let program = PathBuf::from(program);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut list = program.clone().into_os_string();
    list.push(".steps");
    fs::write(list, steps.join("\n")).unwrap();
    // A copy: some tests write other programs to the same path.
    if !program.exists() {
        fs::copy(&built, &program).unwrap();
    }
    program
}

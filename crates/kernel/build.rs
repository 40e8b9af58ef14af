//! Joins the modules of `src/memory/handler`, a Python package, to the one program that runs in kernels; `__init__.py` has the rules.

#![expect(clippy::disallowed_methods, reason = "Cargo tells a build script its folders in the environment")]

use std::path::{Path, PathBuf};
use std::{env, fs, io};

const PACKAGE: &str = "src/memory/handler";
const LAST: &str = "install";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={PACKAGE}");
    let package = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join(PACKAGE);
    let (mut joined, mut program) = (Vec::new(), String::new());
    join(&package, LAST, &mut joined, &mut program)?;
    fs::write(PathBuf::from(env::var("OUT_DIR").unwrap_or_default()).join("handler.py"), program)
}

/// Adds a module without its imports from the others, after those from which it imports.
fn join(package: &Path, module: &str, joined: &mut Vec<String>, program: &mut String) -> io::Result<()> {
    if joined.iter().any(|known| known == module) {
        return Ok(());
    }
    joined.push(module.to_owned());
    let source = fs::read_to_string(package.join(module).with_extension("py"))?;
    let mut own = String::new();
    let mut is_in_import = false;
    for line in source.lines() {
        if let Some((imported, names)) = line.strip_prefix("from .").and_then(|rest| rest.split_once(' ')) {
            join(package, imported, joined, program)?;
            is_in_import = names.ends_with('(');
        } else if is_in_import {
            is_in_import = line != ")";
        } else {
            own.extend([line, "\n"]);
        }
    }
    program.push_str(&own);
    Ok(())
}

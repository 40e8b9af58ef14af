//! `cellbridge demo` where it cannot go well. Where it can, it needs a Python: see `e2e/local/test_demo.py`.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::Result;

use crate::bridge::PROGRAM;

/// Runs the demo in an empty environment, without Python.
fn demo(folder: &Path, home: &Path) -> Result<Output> {
    let mut command = Command::new(PROGRAM);
    Ok(command.arg("demo").arg(folder).env_clear().env("HOME", home).env("PATH", home).output()?)
}

#[test]
fn a_foreign_notebook_is_not_replaced() -> Result<()> {
    let (folder, home) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let path = folder.path().join("cellbridge-demo.ipynb");
    let theirs =
        r#"{"cells":[{"cell_type":"code","source":"mine"}],"metadata":{},"nbformat":4,"nbformat_minor":5}"#;
    std::fs::write(&path, theirs)?;
    let output = demo(folder.path(), home.path())?;
    let stderr = String::from_utf8(output.stderr)?;
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("Name another folder"), "{stderr}");
    assert_eq!(std::fs::read_to_string(&path)?, theirs);
    Ok(())
}

#[test]
fn without_any_python_it_fails_and_says_what_to_install() -> Result<()> {
    let (folder, home) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let output = demo(folder.path(), home.path())?;
    let (stdout, stderr) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    assert_eq!(output.status.code(), Some(1), "{stdout}{stderr}");
    assert!(stdout.contains("agent calls use_notebook"), "{stdout}");
    assert!(stderr.contains("use_notebook failed") && stderr.contains("no Python"), "{stderr}");
    // A failed demo leaves nothing that stops the next one.
    assert!(!String::from_utf8(demo(folder.path(), home.path())?.stderr)?.contains("Name another folder"));
    Ok(())
}

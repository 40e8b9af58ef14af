//! The exit status of commands that a person or CI calls, where no kernel is needed to see it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use crate::bridge::{PROGRAM, WITHOUT_PYTHON};

const NOTEBOOK: &str = r#"{"cells": [
  {"cell_type": "code", "id": "12345678", "metadata": {}, "execution_count": null, "outputs": [], "source": "1"},
  {"cell_type": "code", "id": "b", "metadata": {}, "execution_count": null, "outputs": [], "source": "2"}
], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#;

pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).current_dir(folder).envs(WITHOUT_PYTHON);
    command.env("XDG_STATE_HOME", folder.join("state")).stdin(Stdio::null());
    command
}

fn folder() -> Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("a.ipynb"), NOTEBOOK)?;
    Ok(folder)
}

#[test]
fn a_verification_that_could_not_run_or_report_ends_with_3() -> Result<()> {
    let folder = folder()?;
    fs::write(
        folder.path().join("empty.ipynb"),
        r#"{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#,
    )?;
    for arguments in [
        &["verify", "none.ipynb"][..],
        &["verify", "a.ipynb", "--no-such-option"],
        &["verify"],
        &["verify", "none.ipynb", "--junit", "/dev/null/nowhere"],
    ] {
        let status = command(folder.path(), arguments).output()?.status;
        assert_eq!(status.code(), Some(3), "{arguments:?}");
    }
    assert_eq!(command(folder.path(), &["verify", "--help"]).output()?.status.code(), Some(0));
    Ok(())
}

#[test]
fn a_report_replaces_no_notebook_and_no_other_report() -> Result<()> {
    let folder = folder()?;
    #[cfg(unix)]
    std::os::unix::fs::symlink("a.ipynb", folder.path().join("link"))?;
    #[cfg(not(unix))]
    fs::hard_link(folder.path().join("a.ipynb"), folder.path().join("link.ipynb"))?;
    for (reports, cause) in [
        (&["--junit", "a.ipynb"][..], "give a name that ends in .xml"),
        (&["--junit", if cfg!(unix) { "link" } else { "link.ipynb" }], "is a notebook"),
        (&["--html", "./a.ipynb"], "give a name that ends in .html"),
        (&["--html", "other.IPYNB"], "is a notebook"),
        (&["--html", "report", "--junit", "./report"], "name the same file"),
    ] {
        let ended = command(folder.path(), &[&["verify", "a.ipynb"], reports].concat()).output()?;
        assert_eq!(ended.status.code(), Some(3), "{reports:?}");
        let said = String::from_utf8(ended.stderr)?;
        assert!(said.contains(cause), "{reports:?}: {said}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("a.ipynb"))?, NOTEBOOK);
    Ok(())
}

#[test]
fn outputs_that_cannot_be_written_are_refused_before_anything_runs() -> Result<()> {
    let folder = folder()?;
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("folder.ipynb"))?;
    fs::write(path("old.ipynb"), NOTEBOOK)?;
    let mut permissions = fs::metadata(path("old.ipynb"))?.permissions();
    permissions.set_readonly(true);
    fs::set_permissions(path("old.ipynb"), permissions)?;
    for (output, cause) in [
        ("a.ipynb", "it is the notebook itself"),
        ("./a.ipynb", "it is the notebook itself"),
        ("folder.ipynb", "it is a folder"),
        ("old.ipynb", "denied"),
        ("out.txt", "does not end in .ipynb"),
        ("no/such/folder/out.ipynb", "no/such/folder"),
        // There is no kernel, so nothing is written.
        ("out.ipynb", ""),
        ("folder.ipynb/out.ipynb", ""),
    ] {
        let ended = command(folder.path(), &["run", "a.ipynb", "-o", output]).output()?;
        let stderr = String::from_utf8(ended.stderr)?;
        assert!(stderr.contains(cause), "{output}: {stderr}");
        assert_eq!(ended.status.code(), Some(3), "{output}");
    }
    let ended = command(folder.path(), &["run", "old.ipynb"]).output()?;
    let stderr = String::from_utf8(ended.stderr)?;
    assert!(stderr.contains("old.ipynb cannot be written"), "{stderr}");
    assert_eq!(ended.status.code(), Some(3));
    for name in ["a.ipynb", "old.ipynb"] {
        assert_eq!(fs::read_to_string(path(name))?, NOTEBOOK, "{name}");
    }
    assert!(!path("out.ipynb").exists() && !path("out.txt").exists());
    assert_eq!(fs::read_dir(path("folder.ipynb"))?.count(), 0);
    Ok(())
}

#[test]
fn cells_in_the_wrong_order_are_an_error() -> Result<()> {
    let folder = folder()?;
    let ended = command(folder.path(), &["run", "a.ipynb", "--from", "b", "--until", "12345678"]).output()?;
    let stderr = String::from_utf8(ended.stderr)?;
    assert!(stderr.contains("--until"), "{stderr}");
    assert_eq!(ended.status.code(), Some(3));
    let ended = command(folder.path(), &["run", "a.ipynb", "-p", "class=1"]).output()?;
    assert!(String::from_utf8(ended.stderr)?.contains("class"));
    assert_eq!(ended.status.code(), Some(2));
    Ok(())
}

#[test]
fn a_reader_that_goes_away_is_no_error() -> Result<()> {
    let folder = folder()?;
    let mut child = command(folder.path(), &["history", "a.ipynb"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    drop(child.stdout.take());
    let ended = child.wait_with_output()?;
    assert_eq!(String::from_utf8(ended.stderr)?, "");
    assert_eq!(ended.status.code().context("a signal")?, 0);
    Ok(())
}

#[test]
fn an_export_writes_a_page_and_never_a_notebook() -> Result<()> {
    let folder = folder()?;
    let run = |arguments: &[&str]| command(folder.path(), arguments).output();
    let exported = run(&["export", "a.ipynb", "-o", "a.html"])?;
    assert_eq!(exported.status.code(), Some(0), "{exported:?}");
    let page = fs::read(folder.path().join("a.html"))?;
    assert!(page.starts_with(b"<!doctype html>"));
    assert_eq!(run(&["export", "a.ipynb", "-o", "-"])?.stdout, page);
    assert_eq!(run(&["export", "a.ipynb", "--output", "a.html", "--no-input"])?.status.code(), Some(0));
    assert_ne!(fs::read(folder.path().join("a.html"))?, page, "the file is replaced");
    for (arguments, status) in [
        (&["export", "a.ipynb", "-o", "a.ipynb"][..], 1),
        (&["export", "a.ipynb", "-o", "./other.ipynb"], 1),
        (&["export", "none.ipynb", "-o", "a.html"], 1),
        (&["export", "a.ipynb", "-o", "no/folder.html"], 1),
        (&["export", "a.ipynb"], 2),
    ] {
        assert_eq!(run(arguments)?.status.code(), Some(status), "{arguments:?}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("a.ipynb"))?, NOTEBOOK);
    Ok(())
}

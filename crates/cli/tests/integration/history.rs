//! `cellbridge history`, `diff` and `undo`, and what agents see of the same record.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::Agent;

use crate::bridge::{PROGRAM, WITHOUT_PYTHON};
use crate::exit_status::command;

/// An agent on a folder whose changes are recorded.
struct Recorded {
    agent: Agent,
    folder: TempDir,
}

impl Recorded {
    /// The agent has made `a.ipynb` of two cells, and then changed both, each in an operation of its own: `o4` and `o5`.
    async fn start() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let (root, state) = (folder.path().display().to_string(), folder.path().join("state"));
        let variables =
            [&WITHOUT_PYTHON[..], &[("XDG_STATE_HOME", state.to_str().context("no UTF-8")?)]].concat();
        let mut agent = Agent::start_with(PROGRAM, &["--no-browser", "--root", &root], &variables)?;
        agent.initialize("2025-11-25").await?;
        let mut recorded = Self { agent, folder };
        recorded.call("use_notebook", json!({ "notebook_path": "a.ipynb", "mode": "create" })).await?;
        let cell = |source: &str| json!({ "cell_type": "code", "cell_source": source });
        recorded.call("insert_cell", json!({ "cells": [cell("one"), cell("two")] })).await?;
        for (index, source) in ["1", "2"].into_iter().enumerate() {
            let edit = json!({ "cell_index": index, "cell_source": source });
            recorded.call("overwrite_cell_source", edit).await?;
        }
        Ok(recorded)
    }

    /// The text of an answer that is no failure.
    async fn call(&mut self, tool: &str, arguments: Value) -> Result<String> {
        self.agent.call_tool_for_text(tool, arguments).await
    }

    fn command(&self, arguments: &[&str]) -> Result<Output> {
        Ok(command(self.folder.path(), arguments).output()?)
    }

    fn cells(&self) -> Result<Vec<Value>> {
        let notebook: Value = serde_json::from_slice(&fs::read(self.folder.path().join("a.ipynb"))?)?;
        Ok(notebook["cells"].as_array().context("no cells")?.clone())
    }

    fn sources(&self) -> Result<Vec<String>> {
        Ok(self
            .cells()?
            .iter()
            .map(|cell| cell["source"][0].as_str().unwrap_or_default().to_owned())
            .collect())
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[cfg(unix)]
#[tokio::test]
async fn no_change_disappears_from_the_terminal() -> Result<()> {
    use crate::terminal::{CONTROLS, assert_only_shows};

    let mut recorded = Recorded::start().await?;
    let hidden = format!("import os{CONTROLS}");
    recorded.call("overwrite_cell_source", json!({ "cell_index": 0, "cell_source": hidden })).await?;
    for arguments in
        [&["diff", "a.ipynb"][..], &["history", "a.ipynb", "o6"], &["undo", "a.ipynb", "--preview"]]
    {
        let printed = recorded.command(arguments)?;
        assert_only_shows(&printed.stdout);
        let shown = stdout(&printed);
        assert!(
            shown.contains("import os\\u{1b}[2K\\u{d}") && shown.contains("\\u{202e}\\u{9b}1A"),
            "{arguments:?}: {shown}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_notebook_that_was_made_or_copied_says_so_and_stays() -> Result<()> {
    let mut recorded = Recorded::start().await?;
    let history = recorded.call("history", json!({})).await?;
    assert!(history.lines().last().is_some_and(|line| line.ends_with("use_notebook: created")), "{history}");
    recorded.call("copy_notebook", json!({ "to": "b.ipynb" })).await?;
    recorded.call("copy_file", json!({ "from": "a.ipynb", "to": "c.ipynb" })).await?;
    for (name, tool) in [("b.ipynb", "copy_notebook"), ("c.ipynb", "copy_file")] {
        let history = recorded.call("history", json!({ "notebook_name": name })).await?;
        assert!(history.ends_with(&format!("{tool}: copied from a.ipynb")), "{history}");
        let refused =
            recorded.agent.call_tool_expecting_failure("undo", json!({ "notebook_name": name })).await?;
        assert!(refused.contains("o1 created this notebook; undo never deletes a notebook."), "{refused}");
        assert!(recorded.folder.path().join(name).exists());
        let undo = recorded.command(&["undo", name])?;
        assert_eq!(undo.status.code(), Some(1), "{undo:?}");
        assert!(stdout(&recorded.command(&["history", name])?).contains("copied from a.ipynb"));
    }
    Ok(())
}

#[tokio::test]
async fn a_person_takes_back_the_last_operations_or_what_they_did_to_one_cell() -> Result<()> {
    let recorded = Recorded::start().await?;
    let id = recorded.cells()?[0]["id"].as_str().context("no id")?.to_owned();
    let shown = recorded.command(&["undo", "a.ipynb", "--last", "2", "--preview"])?;
    assert!(stdout(&shown).starts_with("Would undo:\no5 "), "{shown:?}");
    assert!(stdout(&shown).contains("-1\n+one") && stdout(&shown).contains("-2\n+two"), "{shown:?}");
    assert_eq!(recorded.sources()?, ["1", "2"]);
    let undone = recorded.command(&["undo", "a.ipynb", "--last", "2", "--only", &id])?;
    assert!(stdout(&undone).starts_with("Undone:\no4 "), "{undone:?}");
    assert_eq!(recorded.sources()?, ["one", "2"]);
    let other = recorded.command(&["undo", "a.ipynb", "--only", "none"])?;
    assert_eq!(other.status.code(), Some(1), "{other:?}");
    assert!(recorded.command(&["undo", "a.ipynb", "--last", "2"])?.status.success());
    assert_eq!(recorded.cells()?, [Value::Null; 0], "what is undone already does not count");
    Ok(())
}

/// Runs a command in a terminal, whose output it returns.
#[cfg(target_os = "linux")]
fn in_terminal(folder: &Path, pager: &str, arguments: &str) -> Result<Output> {
    let mut script = Command::new("/usr/bin/script");
    script.args(["-qec", &format!("{PROGRAM} {arguments}"), "/dev/null"]).current_dir(folder);
    script
        .env("XDG_STATE_HOME", folder.join("state"))
        .env("PAGER", pager)
        .env_remove("NO_COLOR")
        .env_remove("LESS");
    Ok(script.output()?)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_terminal_gets_colours_through_the_pager() -> Result<()> {
    let recorded = Recorded::start().await?;
    let folder = recorded.folder.path();
    for (arguments, coloured) in [
        ("history a.ipynb", "\u{1b}[33mo5 "),
        ("diff a.ipynb o5", "\u{1b}[32m+2"),
        ("undo a.ipynb --preview", "\u{1b}[31m-2"),
    ] {
        let shown = in_terminal(folder, "tee paged", arguments)?;
        let paged = fs::read_to_string(folder.join("paged"))?;
        assert!(shown.status.success() && paged.contains(coloured), "{arguments}: {paged:?}");
        assert!(stdout(&shown).contains(coloured), "{arguments}: {shown:?}");
        fs::remove_file(folder.join("paged"))?;
        // One that reads nothing, and none.
        for pager in ["true", "/no/such/pager"] {
            let shown = in_terminal(folder, pager, arguments)?;
            assert!(shown.status.success(), "{arguments}: {shown:?}");
            assert_eq!(stdout(&shown).contains(coloured), pager != "true", "{arguments}: {shown:?}");
        }
        // Not in a terminal.
        let words: Vec<&str> = arguments.split(' ').collect();
        let plain = command(folder, &words).env("PAGER", "tee paged").output()?;
        assert!(!stdout(&plain).contains('\u{1b}') && !folder.join("paged").exists(), "{plain:?}");
    }
    Ok(())
}

//! Notebooks whose files do not tell cells apart, when the program starts again.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::Agent;

use crate::bridge::{PROGRAM, WITHOUT_PYTHON};

/// A folder with `a.ipynb`, and what programs have recorded of it.
struct Machine(TempDir);

/// A program that serves the folder.
struct Server(Agent);

impl Machine {
    fn new() -> Result<Self> {
        Ok(Self(tempfile::tempdir()?))
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("a.ipynb")
    }

    /// A person saves code cells with these sources, with an id before the colon if there is one.
    fn save(&self, minor: u64, cells: &[&str]) -> Result<()> {
        let cell = |cell: &&str| {
            let (id, source) = cell.split_once(':').map_or((None, *cell), |(id, source)| (Some(id), source));
            let mut cell = json!({ "cell_type": "code", "metadata": {}, "source": source,
                "execution_count": null, "outputs": [] });
            if let Some(id) = id {
                cell["id"] = id.into();
            }
            cell
        };
        let cells: Vec<_> = cells.iter().map(cell).collect();
        let notebook = json!({ "nbformat": 4, "nbformat_minor": minor, "metadata": {}, "cells": cells });
        Ok(fs::write(self.file(), notebook.to_string())?)
    }

    fn notebook(&self) -> Result<Value> {
        Ok(serde_json::from_slice(&fs::read(self.file())?)?)
    }

    fn sources(&self) -> Result<Vec<String>> {
        let text = |source: &Value| match source {
            Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
            text => text.as_str().unwrap_or_default().to_owned(),
        };
        let notebook = self.notebook()?;
        Ok(notebook["cells"]
            .as_array()
            .context("no cells")?
            .iter()
            .map(|cell| text(&cell["source"]))
            .collect())
    }

    async fn start(&self) -> Result<Server> {
        let (root, state) = (self.0.path().display().to_string(), self.0.path().join("state"));
        let variables =
            [&WITHOUT_PYTHON[..], &[("XDG_STATE_HOME", state.to_str().context("no UTF-8")?)]].concat();
        let mut agent = Agent::start_with(PROGRAM, &["--no-browser", "--root", &root], &variables)?;
        agent.initialize("2025-11-25").await?;
        let mut server = Server(agent);
        server.call("use_notebook", json!({ "notebook_path": "a.ipynb" })).await?;
        Ok(server)
    }
}

impl Server {
    /// The text of an answer that is no failure.
    async fn call(&mut self, tool: &str, arguments: Value) -> Result<String> {
        self.0.call_tool_for_text(tool, arguments).await
    }

    async fn ids(&mut self) -> Result<Vec<String>> {
        let table = self.call("read_notebook", json!({ "limit": 0 })).await?;
        let rows = table.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
        rows.map(|row| Ok(row.split('\t').nth(3).context("no id")?.to_owned())).collect()
    }

    /// The client disconnects.
    async fn end(mut self) -> Result<()> {
        self.0.close_stdin();
        ensure!(self.0.wait_exit().await?.success());
        Ok(())
    }
}

#[tokio::test]
async fn a_restarted_program_undoes_what_the_earlier_one_did() -> Result<()> {
    type Call = fn(&[String]) -> (&'static str, Value);
    let calls: [Call; 8] = [
        |ids| ("overwrite_cell_source", json!({ "cell_id": ids[1], "cell_source": "b = 9" })),
        |ids| ("delete_cell", json!({ "cell_ids_to_delete": [ids[1]] })),
        |ids| ("move_cell", json!({ "source_cell_id": ids[2], "target_index": 0 })),
        |_| ("insert_cell", json!({ "cell_index": 0, "cell_type": "code", "cell_source": "b = 2" })),
        |ids| ("change_cell", json!({ "cell_id": ids[1], "cell_type": "markdown" })),
        |ids| ("change_cell", json!({ "cell_id": ids[1], "merge_with_next": true })),
        |ids| ("change_cell", json!({ "cell_id": ids[3], "split_at": 2 })),
        |ids| ("change_cell", json!({ "cell_id": ids[1], "duplicate": true })),
    ];
    let machine = Machine::new()?;
    for call in calls {
        let sources = ["a = 1", "b = 2", "c = 3", "d = 4\ne = 5", "b = 2"];
        machine.save(4, &sources)?;
        let mut server = machine.start().await?;
        let (tool, arguments) = call(&server.ids().await?);
        server.call(tool, arguments.clone()).await?;
        server.end().await?;
        let mut server = machine.start().await?;
        server.call("undo", json!({})).await.with_context(|| format!("{tool} {arguments}"))?;
        assert_eq!(machine.sources()?, sources, "{tool} {arguments}");
        server.end().await?;
    }
    let notebook = machine.notebook()?;
    assert_eq!(notebook["nbformat_minor"], 4);
    assert!(!notebook.to_string().contains("\"id\""), "{notebook}");
    Ok(())
}

#[tokio::test]
async fn an_id_that_was_told_names_no_other_cell_after_a_restart() -> Result<()> {
    let machine = Machine::new()?;
    machine.save(4, &["a = 1", "b = 2", "c = 3"])?;
    let mut server = machine.start().await?;
    let seen = server.ids().await?;
    server.call("overwrite_cell_source", json!({ "cell_id": seen[1], "cell_source": "b = 5" })).await?;
    server
        .call("insert_cell", json!({ "cell_index": -1, "cell_type": "code", "cell_source": "b = 2" }))
        .await?;
    let seen = server.ids().await?;
    server.end().await?;
    let mut server = machine.start().await?;
    assert_eq!(server.ids().await?, seen);
    server.call("overwrite_cell_source", json!({ "cell_id": seen[1], "cell_source": "b = 6" })).await?;
    assert_eq!(machine.sources()?, ["a = 1", "b = 6", "c = 3", "b = 2"]);
    server.call("delete_cell", json!({ "cell_ids_to_delete": [seen[0]] })).await?;
    server.end().await?;

    // A person adds what was there before.
    machine.save(4, &["b = 6", "c = 3", "b = 2", "a = 1", "b = 2"])?;
    let mut server = machine.start().await?;
    let now = server.ids().await?;
    assert_eq!(now[..3], seen[1..]);
    assert!(!seen.contains(&now[3]) && !seen.contains(&now[4]), "{seen:?} {now:?}");
    server.end().await
}

#[tokio::test]
async fn an_id_that_two_cells_have_names_the_same_one_after_a_restart() -> Result<()> {
    let machine = Machine::new()?;
    machine.save(5, &["c0:x = 1", "same:old = 1", "c2:y", "same:precious = 1"])?;
    let mut server = machine.start().await?;
    let seen = server.ids().await?;
    assert_eq!(seen[1], "same");
    server.end().await?;
    machine.save(5, &["c0:x = 1", "c2:y", "same:precious = 1"])?;
    let mut server = machine.start().await?;
    let arguments = json!({ "cell_ids_to_delete": ["same"] });
    server.0.call_tool_expecting_failure("delete_cell", &arguments).await?;
    assert_eq!(machine.sources()?, ["x = 1", "y", "precious = 1"]);
    server.call("delete_cell", json!({ "cell_ids_to_delete": [seen[3]] })).await?;
    assert_eq!(machine.sources()?, ["x = 1", "y"]);
    server.end().await
}

#[tokio::test]
async fn programs_on_one_notebook_call_a_new_cell_the_same() -> Result<()> {
    let machine = Machine::new()?;
    machine.save(4, &["a = 1", "b = 2"])?;
    let (mut one, mut other) = (machine.start().await?, machine.start().await?);
    assert_eq!(one.ids().await?, other.ids().await?);
    one.call("insert_cell", json!({ "cell_index": 0, "cell_type": "code", "cell_source": "b = 2" })).await?;
    let seen = one.ids().await?;
    assert_eq!(other.ids().await?, seen);
    other.call("overwrite_cell_source", json!({ "cell_id": seen[0], "cell_source": "b = 3" })).await?;
    assert_eq!(machine.sources()?, ["b = 3", "a = 1", "b = 2"]);
    assert_eq!(one.ids().await?, seen);
    one.end().await?;
    other.end().await
}

//! The notebook tools on a Colab tab, through the page's own tools.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Agent, Connection, Page, Serving, Tab, text_result};

use crate::bridge::{PROGRAM, WITHOUT_PYTHON};

/// The cells of a page, each with id, source and outputs, as a person sees them.
#[derive(Clone, Default)]
pub(crate) struct Cells(Arc<Mutex<Vec<Value>>>);

impl Cells {
    fn lock(&self) -> MutexGuard<'_, Vec<Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, kind: &str, index: &Value, source: &Value) -> String {
        let mut cells = self.lock();
        let id = format!("page-{}", cells.len());
        let index = usize::try_from(index.as_u64().unwrap_or_default()).unwrap_or_default();
        cells.insert(index, json!({ "cell_type": kind, "id": id, "source": [source], "outputs": [] }));
        text_result(&json!({ "newCellId": id }).to_string())
    }

    fn change(&self, id: &Value, change: impl FnOnce(&mut Vec<Value>, usize)) -> String {
        let mut cells = self.lock();
        match cells.iter().position(|cell| cell["id"] == *id) {
            Some(at) => {
                change(&mut cells, at);
                text_result("{}")
            }
            None => json!({
                "isError": true,
                "content": [{ "type": "text", "text": format!("No cell was found with ID {id}") }],
            })
            .to_string(),
        }
    }

    /// Adds code cells at the end.
    pub(crate) fn extend<'s>(&self, sources: impl IntoIterator<Item = &'s str>) {
        for source in sources {
            let end = self.lock().len();
            self.add("code", &json!(end), &json!(source));
        }
    }

    /// A page that keeps these cells. Its kernel prints the source, fails if that is `fail`, or does nothing if it is `quiet`.
    pub(crate) fn page(&self) -> Page {
        let on = || self.clone();
        let (code, text, delete, list, shift, run, update) = (on(), on(), on(), on(), on(), on(), on());
        Page::default()
            .on("add_code_cell", move |given| code.add("code", &given["cellIndex"], &given["code"]))
            .on("add_text_cell", move |given| text.add("markdown", &given["cellIndex"], &given["content"]))
            .on("delete_cell", move |given| {
                delete.change(&given["cellId"], |cells, at| {
                    cells.remove(at);
                })
            })
            .on("get_cells", move |_| text_result(&json!({ "cells": *list.lock() }).to_string()))
            .on("move_cell", move |given| {
                let to = usize::try_from(given["cellIndex"].as_u64().unwrap_or_default()).unwrap_or_default();
                shift.change(&given["cellId"], |cells, at| {
                    let cell = cells.remove(at);
                    cells.insert(to, cell);
                })
            })
            .on("update_cell", move |given| {
                update.change(&given["cellId"], |cells, at| cells[at]["source"] = json!([given["content"]]))
            })
            .on("run_code_cell", move |given| {
                let mut outputs = Value::Null;
                let answer = run.change(&given["cellId"], |cells, at| {
                    let source = cells[at]["source"][0].as_str().unwrap_or_default().to_owned();
                    outputs = match source.as_str() {
                        "fail" => json!([{
                            "output_type": "error", "ename": "NameError", "evalue": "fail", "traceback": ["fail"],
                        }]),
                        "quiet" => json!([]),
                        _ => json!([{ "output_type": "stream", "name": "stdout", "text": ["ran ", source] }]),
                    };
                    cells[at]["outputs"] = outputs.clone();
                });
                if outputs.is_null() { answer } else { text_result(&json!({ "outputs": outputs }).to_string()) }
            })
    }

    pub(crate) fn sources(&self) -> Vec<String> {
        let source = |cell: &Value| cell["source"][0].as_str().unwrap_or_default().to_owned();
        self.lock().iter().map(source).collect()
    }
}

/// An agent at the unified server, whose folder is empty.
pub(crate) struct ColabClient {
    pub(crate) agent: Agent,
    /// The first tab's.
    pub(crate) connection: Connection,
    _folder: TempDir,
}

impl ColabClient {
    pub(crate) async fn start() -> Result<Self> {
        Self::start_with(&[]).await
    }

    pub(crate) async fn start_with(arguments: &[&str]) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().display().to_string();
        let arguments = [&["--no-browser", "--root", &root], arguments].concat();
        let mut agent = Agent::start_with(PROGRAM, &arguments, &WITHOUT_PYTHON)?;
        agent.initialize("2025-11-25").await?;
        let connection = Connection::ask(&mut agent).await?;
        Ok(Self { agent, connection, _folder: folder })
    }

    /// With a page of these cells, whose notebook is open.
    pub(crate) async fn with_page(cells: &Cells) -> Result<(Self, Serving)> {
        let mut client = Self::start().await?;
        let serving = Tab::connect(&client.connection).await?.serve(cells.page()).await?;
        client.call("use_notebook", json!({ "notebook_path": "colab:" })).await?;
        Ok((client, serving))
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Result<String> {
        self.agent.call_tool_for_text(tool, arguments).await
    }

    pub(crate) async fn refused(&mut self, tool: &str, arguments: impl std::fmt::Display) -> Result<String> {
        self.agent.call_tool_expecting_failure(tool, arguments).await
    }

    pub(crate) async fn insert(&mut self, index: i64, source: &str) -> Result<String> {
        let cell = json!({ "cell_index": index, "cell_type": "code", "cell_source": source });
        self.call("insert_cell", cell).await
    }
}

#[tokio::test]
async fn cells_of_a_tab_are_edited_read_and_searched_like_others() -> Result<()> {
    let cells = Cells::default();
    let (mut client, _page) = ColabClient::with_page(&cells).await?;
    let inserted = client.insert(-1, "x = 1").await?;
    assert!(inserted.contains("in colab:; made in the Colab tab, which saves the notebook"), "{inserted}");
    client.insert(0, "# first").await?;
    assert_eq!(cells.sources(), ["# first", "x = 1"]);

    // The id in the agent's answer is valid, whatever id the page has for the cell.
    let id = inserted.split("id ").nth(1).and_then(|rest| rest.split(' ').next()).context("no id")?;
    let diff = client.call("overwrite_cell_source", json!({ "cell_id": id, "cell_source": "x = 2" })).await?;
    assert!(diff.contains("-x = 1") && diff.contains("+x = 2"), "{diff}");
    assert!(client.call("read_cell", json!({ "cell_id": id })).await?.contains("x = 2"));
    assert!(client.call("search_notebook", json!({ "query": "first" })).await?.contains("# first"));
    client.call("move_cell", json!({ "source_index": 1, "target_index": 0 })).await?;
    assert_eq!(cells.sources(), ["x = 2", "# first"]);
    client.call("delete_cell", json!({ "cell_indices": [1] })).await?;
    assert_eq!(cells.sources(), ["x = 2"]);
    Ok(())
}

#[tokio::test]
async fn the_tab_is_listed_while_it_is_connected() -> Result<()> {
    let mut client = ColabClient::start().await?;
    assert!(!client.call("list_notebooks", json!({})).await?.contains("colab:"));
    let _page = Tab::connect(&client.connection).await?.serve(Cells::default().page()).await?;
    assert!(client.call("list_notebooks", json!({})).await?.contains("colab:"));
    // Its path alone names it.
    assert!(client.call("read_notebook", json!({ "notebook_name": "colab:" })).await?.contains("0 cells"));
    Ok(())
}

#[tokio::test]
async fn a_cell_that_the_person_changed_is_not_overwritten() -> Result<()> {
    let cells = Cells::default();
    let (mut client, _page) = ColabClient::with_page(&cells).await?;
    client.insert(-1, "x = 1").await?;
    client.call("read_cell", json!({ "cell_index": 0 })).await?;
    cells.lock()[0]["source"] = json!(["x = 'of the person'"]);
    let edit = json!({ "cell_index": 0, "cell_source": "x = 2" });
    let refused = client.refused("overwrite_cell_source", edit).await?;
    assert!(refused.contains("of the person"), "{refused}");
    assert_eq!(cells.sources(), ["x = 'of the person'"]);
    Ok(())
}

#[tokio::test]
async fn cells_of_a_tab_run_and_fail_with_run_ids() -> Result<()> {
    let cells = Cells::default();
    let (mut client, _page) = ColabClient::with_page(&cells).await?;
    let ran = json!({ "cell_index": -1, "cell_source": "x" });
    let ran = client.call("insert_execute_code_cell", ran).await?;
    assert!(ran.contains("ran x") && ran.contains("[COMPLETED in"), "{ran}");
    let run = ran.split("run ").find(|rest| rest.starts_with("r1-")).context("no run id")?;
    let run = run.split(|it: char| it != '-' && !it.is_ascii_alphanumeric()).next();
    assert!(client.call("get_run", json!({ "run_id": run })).await?.contains("ran x"));
    client.insert(-1, "fail").await?;
    let failed = client.refused("execute_cell", json!({ "cell_index": 1 })).await?;
    assert!(failed.contains("NameError"), "{failed}");
    // The page stores the outputs; nothing else is done to the cell.
    assert!(client.call("read_cell", json!({ "cell_index": 0 })).await?.contains("ran x"));
    Ok(())
}

#[tokio::test]
async fn code_without_a_cell_runs_in_a_scratch_cell() -> Result<()> {
    let cells = Cells::default();
    let (mut client, _page) = ColabClient::with_page(&cells).await?;
    client.insert(-1, "kept").await?;
    let ran = client.call("execute_code", json!({ "code": "print(1)", "notebook_name": "colab:" })).await?;
    assert!(ran.contains("ran print(1)") && ran.contains("scratch cell"), "{ran}");
    assert_eq!(cells.sources(), ["kept"]);
    Ok(())
}

#[tokio::test]
async fn what_only_the_person_can_do_is_said() -> Result<()> {
    let (mut client, _page) = ColabClient::with_page(&Cells::default()).await?;
    client.insert(-1, "x").await?;
    client.call("execute_cell", json!({ "cell_index": 0 })).await?;
    for (tool, arguments, press) in [
        ("interrupt_kernel", json!({}), "stop button"),
        ("restart_notebook", json!({}), "Runtime > Restart session"),
        ("clear_cell_output", json!({ "cell_index": 0 }), "in the Colab tab"),
        ("use_notebook", json!({ "notebook_path": "colab:", "kernel_id": "NEW" }), "Change runtime type"),
    ] {
        let refused = client.refused(tool, arguments).await?;
        assert!(refused.contains(press), "{tool}: {refused}");
    }
    Ok(())
}

#[tokio::test]
async fn a_change_that_the_page_cannot_make_is_refused_and_changes_nothing() -> Result<()> {
    let cells = Cells::default();
    let (mut client, _page) = ColabClient::with_page(&cells).await?;
    client.insert(-1, "a\nb").await?;
    client.insert(-1, "c").await?;
    client.call("execute_cell", json!({ "cell_index": 0 })).await?;
    let before = cells.lock().clone();
    for (change, what) in [
        (json!({ "cell_type": "markdown" }), "change the type of a cell"),
        (json!({ "cell_type": "raw" }), "change the type of a cell"),
        (json!({ "tags": ["x"] }), "change the metadata of a cell"),
        (json!({ "metadata": { "x": 1 } }), "change the metadata of a cell"),
        (json!({ "collapsed": "source" }), "change the metadata of a cell"),
        // The outputs would be lost, or copied.
        (json!({ "merge_with_next": true }), "change or clear outputs"),
        (json!({ "duplicate": true }), "change or clear outputs"),
    ] {
        let mut change = change;
        change["cell_index"] = json!(0);
        let refused = client.refused("change_cell", &change).await?;
        assert!(refused.contains(what) && refused.contains("Nothing was changed"), "{change}: {refused}");
        assert!(refused.contains("The person can do that in the Colab tab"), "{change}: {refused}");
        assert_eq!(*cells.lock(), before, "{change}");
    }
    Ok(())
}

#[tokio::test]
async fn cells_of_a_tab_are_split_merged_and_duplicated() -> Result<()> {
    let cells = Cells::default();
    let (mut client, _page) = ColabClient::with_page(&cells).await?;
    client.insert(-1, "a\nb").await?;
    for (change, sources) in [
        (json!({ "cell_index": 0, "split_at": 2 }), &["a", "b"][..]),
        (json!({ "cell_index": 0, "duplicate": true }), &["a", "a", "b"]),
        (json!({ "cell_index": 1, "merge_with_next": true }), &["a", "a\n\nb"]),
    ] {
        client.call("change_cell", change).await?;
        assert_eq!(cells.sources(), sources);
    }
    Ok(())
}

#[tokio::test]
async fn a_run_whose_tab_leaves_is_lost_and_the_next_tab_works() -> Result<()> {
    let mut client = ColabClient::start().await?;
    let mut tab = Tab::connect(&client.connection).await?;
    tab.open().await?;
    let opening = client.agent.start_call("use_notebook", json!({ "notebook_path": "colab:" })).await?;
    let cells = r#"{"cells":[{"cell_type":"code","id":"a","source":["x"]}]}"#;
    // The kernel is chosen and the cells are shown, each from a new reading.
    loop {
        tokio::select! {
            asked = tab.expect_call("get_cells") => tab.reply(&asked?, &text_result(cells)).await?,
            opened = client.agent.wait_response(opening) => {
                opened?;
                break;
            }
        }
    }
    let running = client.agent.start_call("execute_cell", json!({ "cell_index": 0 })).await?;
    let read = tab.expect_call("get_cells").await?;
    tab.reply(&read, &text_result(cells)).await?;
    tab.expect_call("run_code_cell").await?;
    tab.drop_hard()?;
    let lost = client.agent.wait_failure(running).await?;
    assert!(lost.contains("[LOST: the application that ran it disconnected"), "{lost}");
    assert!(
        client.refused("read_cell", json!({ "cell_index": 0 })).await?.contains("that tab is not connected")
    );

    let cells = Cells::default();
    let _page = Tab::connect(&client.connection).await?.serve(cells.page()).await?;
    client.insert(-1, "again").await?;
    assert_eq!(cells.sources(), ["again"]);
    Ok(())
}

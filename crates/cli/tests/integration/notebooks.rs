//! The notebook tools without a kernel: files, references, refusals.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Agent, Session};

use crate::bridge::{PROGRAM, Served, WITHOUT_PYTHON};

/// An agent on a folder of its own.
struct NotebookClient {
    agent: Agent,
    folder: TempDir,
}

impl NotebookClient {
    async fn start() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut agent = Agent::start_with(
            PROGRAM,
            &["--no-browser", "--root", &folder.path().display().to_string()],
            &WITHOUT_PYTHON,
        )?;
        agent.initialize("2025-11-25").await?;
        Ok(Self { agent, folder })
    }

    /// A client with the notebook `a.ipynb`, which has these cells.
    async fn with_cells(sources: &[&str]) -> Result<Self> {
        let mut client = Self::start().await?;
        client.call("use_notebook", json!({ "notebook_path": "a.ipynb", "mode": "create" })).await?;
        for source in sources {
            let cell = json!({ "cell_index": -1, "cell_type": "code", "cell_source": source });
            client.call("insert_cell", cell).await?;
        }
        Ok(client)
    }

    /// The text of an answer that is no failure.
    async fn call(&mut self, tool: &str, arguments: Value) -> Result<String> {
        self.agent.call_tool_for_text(tool, arguments).await
    }

    async fn refused(&mut self, tool: &str, arguments: Value) -> Result<String> {
        self.agent.call_tool_expecting_failure(tool, arguments).await
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("a.ipynb")
    }

    fn sources(&self) -> Result<Vec<String>> {
        let notebook: Value = serde_json::from_slice(&fs::read(self.path())?)?;
        let source = |cell: &Value| match &cell["source"] {
            Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
            text => text.as_str().unwrap_or_default().to_owned(),
        };
        Ok(notebook["cells"].as_array().context("no cells")?.iter().map(source).collect())
    }

    /// Replaces text in the file, as another program would.
    fn meddle(&self, old: &str, new: &str) -> Result<()> {
        let text = fs::read_to_string(self.path())?;
        anyhow::ensure!(text.contains(old));
        Ok(fs::write(self.path(), text.replace(old, new))?)
    }
}

#[tokio::test]
async fn each_change_is_on_disk_when_the_tool_answers() -> Result<()> {
    let mut client = NotebookClient::with_cells(&["one", "two", "three"]).await?;
    assert_eq!(client.sources()?, ["one", "two", "three"]);
    let diff =
        client.call("overwrite_cell_source", json!({ "cell_index": "1", "cell_source": "two\n2" })).await?;
    assert!(diff.contains("+2") && diff.contains("a.ipynb"), "{diff}");
    assert_eq!(client.sources()?, ["one", "two\n2", "three"]);
    let edit = json!({ "cell_index": 0, "old_string": "n", "new_string": "N" });
    client.call("edit_cell_source", edit).await?;
    client.call("move_cell", json!({ "source_index": 0, "target_index": -1 })).await?;
    assert_eq!(client.sources()?, ["two\n2", "three", "oNe"]);
    let deleted = client.call("delete_cell", json!({ "cell_indices": "[0, 1]" })).await?;
    assert!(deleted.contains("two\n2") && deleted.contains("three"), "{deleted}");
    assert_eq!(client.sources()?, ["oNe"]);
    Ok(())
}

#[tokio::test]
async fn cells_are_inserted_all_or_none() -> Result<()> {
    let mut client = NotebookClient::with_cells(&["one", "two"]).await?;
    let code = |source: &str| json!({ "cell_type": "code", "cell_source": source });
    let cells = json!([code("a"), { "cell_type": "markdown", "cell_source": "# b" }]);
    let inserted = client.call("insert_cell", json!({ "cell_index": 1, "cells": cells })).await?;
    assert!(inserted.contains("2 cell(s)") && inserted.contains("index 1 to 2"), "{inserted}");
    assert_eq!(client.sources()?, ["one", "a", "# b", "two"]);
    // Agents that were shown the indices may use them.
    client.call("overwrite_cell_source", json!({ "cell_index": 3, "cell_source": "2" })).await?;
    let wrong = json!({ "cells": [code("c"), { "cell_source": "d" }] });
    assert!(client.refused("insert_cell", wrong).await?.contains("cell_type"));
    assert_eq!(client.sources()?, ["one", "a", "# b", "2"]);
    Ok(())
}

/// There is no Python here, so nothing runs; the edits are made.
#[tokio::test]
async fn an_edit_that_cannot_be_run_is_still_answered() -> Result<()> {
    let mut client = NotebookClient::with_cells(&["one", "two"]).await?;
    for (tool, arguments, done) in [
        ("insert_cell", json!({ "cell_type": "code", "cell_source": "a", "run": true }), "Cell inserted"),
        (
            "insert_cell",
            json!({ "cells": [{ "type": "code", "source": "b" }], "run": true }),
            "1 cell(s) inserted",
        ),
        ("overwrite_cell_source", json!({ "cell_index": 0, "cell_source": "1", "run": true }), "overwritten"),
        (
            "edit_cell_source",
            json!({ "cell_index": 1, "old_string": "two", "new_string": "2", "run": true }),
            "edited",
        ),
    ] {
        let text = client.refused(tool, arguments).await?;
        assert!(text.contains(done) && text.contains("saved to disk"), "{text}");
        assert!(text.contains("[NOT RUN] run r"), "{text}");
    }
    assert_eq!(client.sources()?, ["1", "2", "a", "b"]);
    Ok(())
}

#[tokio::test]
async fn outputs_of_all_cells_are_cleared_in_one_edit() -> Result<()> {
    let mut client = NotebookClient::with_cells(&["one", "two", "three"]).await?;
    let mut notebook: Value = serde_json::from_slice(&fs::read(client.path())?)?;
    for index in [0, 2] {
        let cell = &mut notebook["cells"][index];
        cell["outputs"] = json!([{ "output_type": "stream", "name": "stdout", "text": ["x"] }]);
        cell["execution_count"] = json!(7);
    }
    fs::write(client.path(), serde_json::to_vec_pretty(&notebook)?)?;
    let both = json!({ "all": true, "cell_index": 0 });
    assert!(client.refused("clear_cell_output", both).await?.contains("beside all"));
    let cleared = client.call("clear_cell_output", json!({ "all": true })).await?;
    assert!(cleared.contains("2 cell(s)") && cleared.contains("2 output(s)"), "{cleared}");
    let notebook: Value = serde_json::from_slice(&fs::read(client.path())?)?;
    for cell in notebook["cells"].as_array().context("no cells")? {
        assert_eq!((&cell["outputs"], &cell["execution_count"]), (&json!([]), &Value::Null));
    }
    let again = client.call("clear_cell_output", json!({ "all": true })).await?;
    assert!(again.contains("No cell of a.ipynb has outputs"), "{again}");
    Ok(())
}

#[tokio::test]
async fn selected_cells_keep_their_indices() -> Result<()> {
    let mut client = NotebookClient::with_cells(&["one", "two", "three"]).await?;
    let text = |source: &str| json!({ "cell_type": "markdown", "cell_source": source });
    client.call("insert_cell", json!({ "cell_index": 1, "cells": [text("# a"), text("# b")] })).await?;
    let page = client.call("read_notebook", json!({ "only": "code", "limit": 2 })).await?;
    assert!(page.contains("has 5 cells, 3 of them selected"), "{page}");
    assert!(page.contains("\n0\tcode") && page.contains("\n3\tcode") && !page.contains("# a"), "{page}");
    assert!(
        page.contains(r#"1 more cells: read_notebook(start_index=4, only="code", limit=2) shows them"#),
        "{page}"
    );
    let rest = client.call("read_notebook", json!({ "only": "code", "start_index": 4 })).await?;
    assert!(rest.contains("\n4\tcode") && !rest.contains("\n3\t") && !rest.contains("more cells"), "{rest}");
    let near = json!({ "around": "3", "before": 1, "after": 0, "response_format": "detailed" });
    let near = client.call("read_notebook", near).await?;
    assert!(near.contains("=====Cell 2 |") && near.contains("=====Cell 3 |"), "{near}");
    assert!(!near.contains("Cell 1 |") && !near.contains("Cell 4 |"), "{near}");
    Ok(())
}

#[tokio::test]
async fn what_does_not_run_is_not_edited_either() -> Result<()> {
    let mut client = NotebookClient::with_cells(&["one"]).await?;
    let text = json!({ "cell_type": "markdown", "cell_source": "text" });
    client.call("insert_cell", text.clone()).await?;
    let texts = json!({ "cells": [text], "run": true });
    assert!(client.refused("insert_cell", texts).await?.contains("Only code cells run"));
    let overwrite = json!({ "cell_index": 1, "cell_source": "x", "run": true });
    assert!(client.refused("overwrite_cell_source", overwrite).await?.contains("Only code cells run"));
    assert_eq!(client.sources()?, ["one", "text"]);
    Ok(())
}

#[tokio::test]
async fn edits_of_others_survive() -> Result<()> {
    let mut client = NotebookClient::with_cells(&["mine", "theirs"]).await?;
    client.call("read_notebook", json!({ "response_format": "detailed" })).await?;
    client.meddle("theirs", "theirs, changed")?;
    client.call("overwrite_cell_source", json!({ "cell_index": 0, "cell_source": "mine, changed" })).await?;
    assert_eq!(client.sources()?, ["mine, changed", "theirs, changed"]);
    Ok(())
}

#[tokio::test]
async fn a_change_on_a_stale_view_is_refused_with_the_new_source() -> Result<()> {
    let mut client = NotebookClient::with_cells(&["seen"]).await?;
    client.call("read_cell", json!({ "cell_index": 0 })).await?;
    client.meddle("seen", "changed by others")?;
    let overwrite = json!({ "cell_index": 0, "cell_source": "blind" });
    let refusal = client.refused("overwrite_cell_source", overwrite.clone()).await?;
    assert!(refusal.contains("changed by others"), "{refusal}");
    assert_eq!(client.sources()?, ["changed by others"]);
    // The refusal has shown it.
    client.call("overwrite_cell_source", overwrite).await?;
    assert_eq!(client.sources()?, ["blind"]);
    let claimed = json!({ "cell_index": 0, "cell_source": "x", "if_revision": "00000000" });
    assert!(client.refused("overwrite_cell_source", claimed).await?.contains("blind"));
    client.meddle("blind", "once more")?;
    assert!(client.refused("delete_cell", json!({ "cell_indices": [0] })).await?.contains("once more"));
    assert_eq!(client.sources()?, ["once more"]);
    Ok(())
}

#[tokio::test]
async fn a_cell_is_changed_split_merged_and_duplicated() -> Result<()> {
    let mut client = NotebookClient::with_cells(&["first\nsecond", "third"]).await?;
    let given = json!({ "cell_index": 0, "tags": ["x"], "metadata": { "custom": { "n": 1.5 } }, "collapsed": "source" });
    let changed = client.call("change_cell", given.clone()).await?;
    assert!(changed.contains("changed successfully") && changed.contains("saved to disk"), "{changed}");
    assert!(client.call("change_cell", given).await?.contains("No changes"));
    let split = client.call("change_cell", json!({ "cell_index": 0, "split_at": 2 })).await?;
    assert!(split.contains("The lines before line 2 are cell 0 (id "), "{split}");
    assert_eq!(client.sources()?, ["first", "second", "third"]);
    // The indices are those that the answers have shown.
    client.call("change_cell", json!({ "cell_index": 1, "merge_with_next": true })).await?;
    assert_eq!(client.sources()?, ["first", "second\n\nthird"]);
    let copied = client.call("change_cell", json!({ "cell_index": 1, "duplicate": true })).await?;
    assert!(copied.contains("The copy is cell 2 (id "), "{copied}");
    client.call("change_cell", json!({ "cell_index": 2, "cell_type": "raw" })).await?;
    assert_eq!(client.sources()?, ["first", "second\n\nthird", "second\n\nthird"]);
    let notebook: Value = serde_json::from_slice(&fs::read(client.path())?)?;
    let metadata = json!({ "custom": { "n": 1.5 }, "jupyter": { "source_hidden": true }, "tags": ["x"] });
    for (cell, cell_type) in
        notebook["cells"].as_array().context("no cells")?.iter().zip(["code", "code", "raw"])
    {
        assert_eq!((&cell["cell_type"], &cell["metadata"]), (&json!(cell_type), &metadata));
    }
    Ok(())
}

#[tokio::test]
async fn a_change_of_a_cell_is_refused_if_it_is_unclear_or_stale() -> Result<()> {
    let mut client = NotebookClient::with_cells(&["first\nsecond", "third"]).await?;
    for (arguments, expected) in [
        (json!({ "cell_index": 0 }), "change_cell needs cell_type, tags"),
        (json!({ "cell_index": 0, "split_at": 2, "duplicate": true }), "no other change"),
        (json!({ "cell_index": 0, "tags": ["x"], "merge_with_next": true }), "no other change"),
        (json!({ "cell_index": 0, "tags": ["x"], "if_revision": "00000000" }), "first"),
        (json!({ "cell_index": 1, "merge_with_next": true }), "No cell follows"),
    ] {
        let text = client.refused("change_cell", arguments.clone()).await?;
        assert!(text.contains(expected), "{arguments}: {text}");
    }
    client.meddle("third", "of somebody else")?;
    let merge = json!({ "cell_index": 0, "merge_with_next": true });
    let refusal = client.refused("change_cell", merge.clone()).await?;
    assert!(refusal.contains("of somebody else"), "{refusal}");
    assert_eq!(client.sources()?, ["first\nsecond", "of somebody else"]);
    // The refusal has shown it.
    client.call("change_cell", merge).await?;
    assert_eq!(client.sources()?, ["first\nsecond\n\nof somebody else"]);
    Ok(())
}

#[tokio::test]
async fn an_index_and_an_id_must_name_the_same_cells() -> Result<()> {
    let mut client = NotebookClient::with_cells(&["one", "two", "three"]).await?;
    let notebook: Value = serde_json::from_slice(&fs::read(client.path())?)?;
    let ids: Vec<_> = (0..3).map(|index| notebook["cells"][index]["id"].clone()).collect();
    for (tool, arguments) in [
        ("delete_cell", json!({ "cell_index": 0, "cell_id": ids[1] })),
        ("delete_cell", json!({ "cell_indices": [0], "cell_index": 1 })),
        ("delete_cell", json!({ "cell_indices": [0, 1], "cell_ids_to_delete": [ids[1], ids[2]] })),
        ("read_cell", json!({ "cell_index": 0, "cell_id": ids[1] })),
        ("move_cell", json!({ "source_index": 0, "source_cell_id": ids[1], "target_index": 2 })),
        ("edit_cells", json!({ "edits": [{ "cell_index": 0, "cell_id": ids[1], "cell_source": "x" }] })),
        (
            "edit_cells",
            json!({ "edits": [
            { "cell_index": 0, "cell_source": "x" },
            { "cell_id": ids[0], "cell_source": "y" },
        ] }),
        ),
        (
            "insert_cell",
            json!({ "cell_index": 0, "after_cell_id": ids[1], "cell_type": "raw", "cell_source": "x" }),
        ),
    ] {
        let refusal = client.refused(tool, arguments.clone()).await?;
        assert!(!refusal.contains("not both"), "{tool} {arguments}: {refusal}");
    }
    assert_eq!(client.sources()?, ["one", "two", "three"]);
    let source = json!({ "cell_index": 1, "cell_id": ids[1], "source": "2" });
    client.call("overwrite_cell_source", source).await?;
    let after = json!({ "cell_index": 3, "after_cell_id": ids[2], "cell_type": "raw", "content": "4" });
    client.call("insert_cell", after).await?;
    let both = json!({ "cell_indices": [0.0], "cell_index": 0, "cell_id": ids[0] });
    client.call("delete_cell", both).await?;
    assert_eq!(client.sources()?, ["2", "three", "4"]);
    Ok(())
}

#[tokio::test]
async fn what_clients_fill_in_beside_the_rest_is_accepted() -> Result<()> {
    let mut client = NotebookClient::with_cells(&["one", "two"]).await?;
    let cells = json!([{ "cell_type": "code", "cell_source": "a" }]);
    for (tool, arguments) in [
        ("insert_cell", json!({ "cells": cells, "cell_source": "", "cell_type": "code" })),
        ("insert_cell", json!({ "cells": "[]", "cell_source": "b", "cell_type": "code" })),
        ("change_cell", json!({ "cell_index": 0, "duplicate": true, "cell_type": "code" })),
        ("read_notebook", json!({ "only": "Errors" })),
    ] {
        client.call(tool, arguments).await?;
    }
    assert_eq!(client.sources()?, ["one", "one", "two", "a", "b"]);
    let other = json!({ "cell_index": 0, "duplicate": true, "cell_type": "raw" });
    assert!(client.refused("change_cell", other).await?.contains("no other change"));
    for cells in [json!([0]), json!("[0]"), json!(0)] {
        let verified = client.call("verify_notebook", json!({ "cells": cells, "preview": true })).await?;
        assert!(verified.contains("Would run 1 code cells"), "{cells}: {verified}");
    }
    assert!(client.refused("undo", json!({ "last": 0 })).await?.contains("last is 0"));
    assert!(
        client
            .refused("edit_cells", json!({ "rename": "pd", "rename_to": "1" }))
            .await?
            .starts_with("pd cannot")
    );
    let edits = json!([{ "cell_index": 0, "cell_source": "x = 1" }]);
    let preview =
        client.call("edit_cells", json!({ "edits": edits, "run_stale": true, "preview": true })).await?;
    assert!(preview.contains("Would run afterwards, with new outputs: cells 0"), "{preview}");
    Ok(())
}

#[tokio::test]
async fn a_failure_names_the_next_call() -> Result<()> {
    let mut client = NotebookClient::with_cells(&["one"]).await?;
    for (tool, arguments, expected) in [
        ("read_cell", json!({ "cell_index": 7 }), "read_notebook"),
        ("read_cell", json!({}), "cell_index or cell_id"),
        ("read_cell", json!({ "cell_index": 0, "cell_id": "x" }), "No cell is called x"),
        ("read_notebook", json!({ "notebook_name": "b" }), "a.ipynb"),
        ("use_notebook", json!({ "notebook_path": "missing.ipynb" }), "create"),
        ("use_notebook", json!({ "notebook_path": "a.ipynb", "mode": "create" }), "connect"),
        ("use_notebook", json!({ "notebook_path": "../out.ipynb" }), "root"),
        ("insert_cell", json!({ "cell_type": "code", "cell_source": "", "cell_index": 9 }), "[-1, 1]"),
        ("edit_cell_source", json!({ "cell_index": 0, "old_string": "zzz", "new_string": "" }), "one"),
        ("delete_cell", json!({ "cell_indices": [0, 9] }), "read_notebook"),
        ("get_run", json!({ "run_id": "r1" }), "execute_cell"),
        ("insert_cell", json!({ "cell_source": "" }), "cell_type"),
    ] {
        let text = client.refused(tool, arguments.clone()).await?;
        assert!(text.contains(expected), "{tool} {arguments}: {text}");
    }
    assert_eq!(client.sources()?, ["one"]);
    Ok(())
}

#[tokio::test]
async fn reading_changes_no_byte() -> Result<()> {
    let mut client = NotebookClient::start().await?;
    let odd = "{\"nbformat\": 4,\r\n \"nbformat_minor\":5, \"x\": [1.0e5],\r\n \"cells\":[{\"cell_type\":\"raw\",\
               \"id\":\"a\",\"source\":\"hi\",\"metadata\":{}}], \"metadata\":{}}";
    fs::write(client.path(), odd)?;
    client.call("use_notebook", json!({ "notebook_path": "/a.ipynb" })).await?;
    for (tool, arguments) in [
        ("read_notebook", json!({ "include_outputs": true })),
        ("read_cell", json!({ "cell_id": "a" })),
        ("search_notebook", json!({ "query": "hi" })),
        ("list_notebooks", json!({})),
        ("list_files", json!({})),
        ("list_cells", json!({})),
    ] {
        client.call(tool, arguments).await?;
    }
    assert_eq!(fs::read_to_string(client.path())?, odd);
    Ok(())
}

#[tokio::test]
async fn a_subscriber_is_notified_when_others_change_its_notebook() -> Result<()> {
    let mut client = NotebookClient::with_cells(&["old"]).await?;
    let uri = json!({ "uri": "notebook://a.ipynb" });
    client.agent.request("resources/subscribe", &uri).await?;
    client
        .call("edit_cell_source", json!({ "cell_index": 0, "old_string": "old", "new_string": "ours" }))
        .await?;
    client.agent.assert_quiet().await?;
    client.meddle("ours", "theirs")?;
    let notification = client.agent.wait_notification("notifications/resources/updated").await?;
    assert!(notification.text.contains("notebook://a.ipynb"), "{}", notification.text);
    let missing = client.agent.exchange("resources/subscribe", r#"{"uri":"notebook://none"}"#).await?;
    assert!(missing.text.contains("error"), "{}", missing.text);
    Ok(())
}

/// `_meta` of the 2026-07-28 era.
fn modern() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "testkit", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

#[tokio::test]
async fn without_sessions_agents_listen_for_changes_of_notebooks() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().display().to_string();
    let mut agent = Agent::start_with(PROGRAM, &["--no-browser", "--root", &root], &WITHOUT_PYTHON)?;
    let create = json!({ "notebook_path": "a.ipynb", "mode": "create" });
    let params = json!({ "name": "use_notebook", "arguments": create, "_meta": modern() });
    agent.request("tools/call", params).await?;
    let wanted = ["notebook://a.ipynb", "run://r0-none", "file:///etc/passwd"];
    let params = json!({ "notifications": { "resourceSubscriptions": wanted }, "_meta": modern() });
    agent.start_request("subscriptions/listen", params).await?;
    let accepted = agent.wait_notification("notifications/subscriptions/acknowledged").await?;
    assert!(
        accepted.text.contains("notebook://a.ipynb") && !accepted.text.contains("passwd"),
        "{}",
        accepted.text
    );
    // It is acknowledged before it is watched.
    let path = folder.path().join("a.ipynb");
    let writing = async {
        let empty = fs::read_to_string(&path)?;
        for title in 0.. {
            let theirs = empty.replace("{}", &json!({ "title": title }).to_string());
            anyhow::ensure!(theirs != empty, "{empty}");
            fs::write(&path, theirs)?;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        anyhow::Ok(())
    };
    let updated = tokio::select! {
        written = writing => return written,
        updated = agent.wait_notification("notifications/resources/updated") => updated?,
    };
    assert!(
        updated.text.contains("notebook://a.ipynb") && updated.text.contains("subscriptionId"),
        "{}",
        updated.text
    );
    Ok(())
}

#[tokio::test]
async fn what_people_fill_in_is_completed() -> Result<()> {
    let mut client = NotebookClient::with_cells(&["one", "two"]).await?;
    fs::write(client.folder.path().join("other.ipynb"), fs::read(client.path())?)?;
    let first = client.agent.request("resources/read", json!({ "uri": "notebook://a.ipynb" })).await?;
    let first: Value = serde_json::from_str(first["contents"][0]["text"].as_str().context("text")?)?;
    let id = first["cells"][0]["id"].as_str().context("an id")?;
    for (argument, typed, expected) in
        [("name", "oth", "other.ipynb"), ("cell_id", &id[..4], id), ("run_id", "", ""), ("kernel_id", "", "")]
    {
        let params = json!({
            "ref": { "type": "ref/resource", "uri": "notebook://{name}/cells/{cell_id}" },
            "argument": { "name": argument, "value": typed },
            "context": { "arguments": { "name": "a.ipynb" } },
        });
        let found = client.agent.request("completion/complete", params).await?;
        let values = found["completion"]["values"].as_array().context("values")?;
        let expected: Vec<_> = Some(expected).filter(|value| !value.is_empty()).into_iter().collect();
        assert_eq!(values, &expected, "{argument}");
    }
    Ok(())
}

#[tokio::test]
async fn the_skill_is_served_as_it_is_in_the_plugins() -> Result<()> {
    let mut agent = Agent::start_with(PROGRAM, &["--no-browser"], &WITHOUT_PYTHON)?;
    let listed = agent.request("skills/list", json!({ "_meta": modern() })).await?;
    let skill = &listed["skills"][0];
    assert_eq!(skill["frontmatter"]["name"], "working-in-notebooks", "{listed}");
    let params = json!({ "uri": skill["uri"], "_meta": modern() });
    assert_eq!(&agent.request("skills/get", params.clone()).await?["skill"], skill);
    let read = agent.request("resources/read", params).await?;
    let text = read["contents"][0]["text"].as_str().context("text")?;
    let plugins = "../../plugins/cellbridge/skills/working-in-notebooks/SKILL.md";
    assert_eq!(text, fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(plugins))?);
    let params = json!({ "name": "working_in_notebooks", "arguments": {}, "_meta": modern() });
    let prompt = agent.request("prompts/get", params).await?;
    let shown = prompt["messages"][0]["content"]["text"].as_str().context("text")?;
    assert!(text.contains(shown) && shown.starts_with("# Working in notebooks"), "{shown}");
    Ok(())
}

#[tokio::test]
async fn each_agent_has_its_own_current_notebook() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().display().to_string();
    let served = Served::start_with(&["--no-browser", "--root", &root]).await?;
    let one = Session::open(&served.endpoint(), "2025-11-25").await?;
    let other = Session::open(&served.endpoint(), "2025-11-25").await?;
    let call = async |session: &Session, tool: &str, arguments: Value| {
        let params = json!({ "name": tool, "arguments": arguments }).to_string();
        let result = session.call("1", "tools/call", &params).await?;
        anyhow::ensure!(result["isError"] == false, "{result}");
        Ok(())
    };
    for (session, path) in [(&one, "one.ipynb"), (&other, "other.ipynb")] {
        call(session, "use_notebook", json!({ "notebook_path": path, "mode": "create" })).await?;
    }
    for (session, source) in [(&one, "of one"), (&other, "of other")] {
        call(session, "insert_cell", json!({ "cell_index": 0, "cell_type": "code", "cell_source": source }))
            .await?;
    }
    for name in ["one", "other"] {
        let text = fs::read_to_string(folder.path().join(format!("{name}.ipynb")))?;
        assert!(text.contains(&format!("\"of {name}\"")), "{name}: {text}");
    }
    Ok(())
}

#[tokio::test]
async fn a_preview_is_never_a_change() -> Result<()> {
    let mut client = NotebookClient::with_cells(&["a = 1"]).await?;
    let before = fs::read(client.path())?;
    let code = json!({ "cell_index": -1, "cell_source": "b = 2", "preview": true });
    let shown = client.call("insert_execute_code_cell", code).await?;
    assert!(shown.contains("+b = 2") && shown.contains("nothing was changed"), "{shown}");
    let overwrite = json!({ "cell_index": 0, "cell_source": "c = 3", "run": true, "preview": true });
    client.call("copy_file", json!({ "from": "a.ipynb", "to": "there.ipynb" })).await?;
    client.call("copy_file", json!({ "from": "a.ipynb", "to": "there.csv" })).await?;
    let there = fs::metadata(client.folder.path().join("there.ipynb"))?.modified()?;
    let copy = |tool: &'static str, to: &str| {
        (tool, json!({ "from": "a.ipynb", "to": to, "overwrite": true, "preview": true }))
    };
    let (new, old) = (copy("copy_notebook", "b.ipynb"), copy("copy_notebook", "there.ipynb"));
    let (new_file, old_file) = (copy("copy_file", "b.csv"), copy("copy_file", "there.csv"));
    for ((tool, arguments), expected) in [
        (("overwrite_cell_source", overwrite), "+c = 3\n```\nWould run afterwards"),
        (
            ("execute_cell", json!({ "cell_index": 0, "preview": true })),
            "Would run, in a.ipynb, after a kernel has started",
        ),
        (("run_cells", json!({ "all": true, "preview": "true" })), "no outputs yet: a = 1"),
        (("verify_notebook", json!({ "apply": true, "preview": true })), "Would run 1 code cells of a.ipynb"),
        (new, "Would create b.ipynb, a copy of a.ipynb with 1 cells"),
        (old, "Would replace the cells of there.ipynb with the 1 cells of a.ipynb"),
        (new_file, "Would create b.csv, as a copy of a.ipynb of "),
        (old_file, "Would replace the file there.csv"),
        (
            ("use_notebook", json!({ "notebook_path": "b.ipynb", "mode": "create", "preview": true })),
            "Would create b.ipynb",
        ),
        (
            ("use_notebook", json!({ "notebook_path": "there.ipynb", "preview": true })),
            "Would open there.ipynb",
        ),
    ] {
        let shown = client.call(tool, arguments).await?;
        assert!(shown.contains(expected), "{tool}: {shown}");
    }
    for (tool, arguments) in [
        ("checkpoint", json!({ "name": "x", "preview": true })),
        ("execute_code", json!({ "code": "1", "preview": true })),
    ] {
        let refused = client.refused(tool, arguments).await?;
        assert!(refused.contains(&format!("{tool} has no preview")), "{refused}");
    }
    // What would be refused is refused.
    for (tool, to) in
        [("copy_notebook", "there.ipynb"), ("copy_file", "there.csv"), ("copy_file", "there.ipynb")]
    {
        let refused = client.refused(tool, json!({ "from": "a.ipynb", "to": to, "preview": true })).await?;
        assert!(refused.contains("There is already a file"), "{tool}: {refused}");
    }
    let refused = client
        .refused("use_notebook", json!({ "notebook_path": "there.ipynb", "mode": "create", "preview": true }))
        .await?;
    assert!(refused.contains("already"), "{refused}");
    assert_eq!(fs::metadata(client.folder.path().join("there.ipynb"))?.modified()?, there);
    assert!(!client.folder.path().join("b.csv").exists());
    assert_eq!(fs::read(client.path())?, before);
    assert!(!client.folder.path().join("b.ipynb").exists());
    Ok(())
}

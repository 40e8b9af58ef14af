//! Views of calls, for clients of MCP Apps alone: what is listed, what a view gets, and what the person does there.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Agent, Connection, Serving, Tab};

use crate::bridge::{PROGRAM, WITHOUT_PYTHON};
use crate::colab_place::Cells;

const UI: &str = "io.modelcontextprotocol/ui";
const VIEW: &str = "ui://cellbridge/view.html";
const MIME: &str = "text/html;profile=mcp-app";

fn showing_views() -> Value {
    json!({ "extensions": { UI: { "mimeTypes": [MIME] } } })
}

/// A client at a folder of its own.
struct Client {
    agent: Agent,
    initialized: Value,
    folder: TempDir,
}

impl Client {
    async fn start(capabilities: Value, options: &[&str]) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let (root, state) = (folder.path().display().to_string(), folder.path().join("state"));
        let variables =
            [&WITHOUT_PYTHON[..], &[("XDG_STATE_HOME", state.to_str().context("no UTF-8")?)]].concat();
        let options = [&["--no-browser", "--root", &root], options].concat();
        let mut agent = Agent::start_with(PROGRAM, &options, &variables)?;
        let client = json!({ "name": "testkit", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client });
        let initialized = agent.request("initialize", params).await?;
        agent.notify("notifications/initialized", "{}").await?;
        Ok(Self { agent, initialized, folder })
    }

    /// One that shows views, at the notebook of a tab with these cells.
    async fn at_tab(cells: &Cells, options: &[&str]) -> Result<(Self, Serving)> {
        let mut client = Self::start(showing_views(), options).await?;
        let connection = Connection::ask(&mut client.agent).await?;
        let serving = Tab::connect(&connection).await?.serve(cells.page()).await?;
        client.call("use_notebook", json!({ "notebook_path": "colab:" })).await?;
        Ok((client, serving))
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Result<String> {
        self.agent.call_tool_for_text(tool, arguments).await
    }

    /// The answer of a view's own tool.
    async fn view(&mut self, tool: &str, arguments: Value) -> Result<Value> {
        let result = self.agent.call_tool(tool, arguments).await?;
        anyhow::ensure!(result.get("structuredContent").is_none() && result["isError"] != true, "{result}");
        Ok(serde_json::from_str(result["content"][0]["text"].as_str().context("no text")?)?)
    }

    /// The key that the document of a view has for what the person does there.
    async fn key(&mut self) -> Result<String> {
        let document = self.agent.request("resources/read", json!({ "uri": VIEW })).await?;
        let text = document["contents"][0]["text"].as_str().context("no text")?;
        let key = text.split("data-key=\"").nth(1).and_then(|rest| rest.split('"').next());
        key.map(str::to_owned).context("no key")
    }

    async fn refused(&mut self, tool: &str, arguments: Value) -> Result<String> {
        self.agent.call_tool_expecting_failure(tool, arguments).await
    }

    async fn tools(&mut self) -> Result<Vec<Value>> {
        let list = self.agent.request("tools/list", "{}").await?;
        list["tools"].as_array().cloned().context("no tools")
    }
}

/// The HTML of a section's parts.
fn html(answer: &Value, section: &str) -> String {
    let updates = answer["updates"].as_array().into_iter().flatten();
    let parts =
        updates.filter(|update| update["section"] == section).filter_map(|update| update["parts"].as_array());
    parts.flatten().filter_map(|part| part[2].as_str()).collect()
}

/// What a view has after an answer.
fn known(answer: &Value) -> Value {
    let updates = answer["updates"].as_array().into_iter().flatten();
    let parts = |update: &Value| {
        update["parts"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|part| json!([part[0], part[1]]))
            .collect::<Vec<_>>()
    };
    updates.map(|update| (update["section"].as_str().unwrap_or_default().to_owned(), parts(update))).collect()
}

#[tokio::test]
async fn views_are_offered_to_clients_that_show_them_alone() -> Result<()> {
    let mut plain =
        Client::start(json!({ "extensions": { UI: { "mimeTypes": ["text/html"] } } }), &[]).await?;
    let mut shows = Client::start(showing_views(), &[]).await?;
    assert_eq!(shows.initialized["capabilities"]["extensions"][UI], json!({}));
    let mut stripped = shows.initialized["capabilities"].clone();
    stripped.as_object_mut().context("no capabilities")?.remove("extensions");
    assert_eq!(stripped, plain.initialized["capabilities"]);

    let mut with_views = shows.tools().await?;
    let mut shown = Vec::new();
    for tool in &mut with_views {
        let ui = tool["_meta"].as_object_mut().and_then(|meta| meta.remove("ui"));
        if let Some(ui) = ui.filter(|ui| ui.get("visibility").is_none()) {
            assert_eq!(ui, json!({ "resourceUri": VIEW }));
            shown.push(tool["name"].as_str().unwrap_or_default().to_owned());
        }
    }
    assert_eq!(shown.len(), 9, "{shown:?}");
    let own = with_views.split_off(with_views.len() - 2);
    assert_eq!((&own[0]["name"], &own[1]["name"]), (&json!("view_fragment"), &json!("view_act")));
    assert_eq!(with_views, plain.tools().await?, "all else is the same");

    let document = shows.agent.request("resources/read", json!({ "uri": VIEW })).await?;
    assert_eq!(document["contents"][0]["mimeType"], MIME);
    assert!(shows.agent.request("resources/list", "{}").await?["resources"] == json!([]));
    assert!(plain.agent.request("resources/read", json!({ "uri": VIEW })).await.is_err());
    for tool in ["view_fragment", "view_act"] {
        let unknown = plain.refused("no_such_tool", json!({})).await?;
        assert_eq!(plain.refused(tool, json!({})).await?, unknown.replace("no_such_tool", tool));
    }
    Ok(())
}

/// In the 2026-07-28 era each request says what its client shows.
#[tokio::test]
async fn each_request_without_a_session_declares_views() -> Result<()> {
    let mut agent = Agent::start_with(PROGRAM, &["--no-browser"], &WITHOUT_PYTHON)?;
    let meta = |capabilities: Value| {
        json!({ "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "testkit", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        } })
    };
    for (capabilities, has_views) in [(showing_views(), true), (json!({}), false)] {
        let discovered = agent.request("server/discover", meta(capabilities.clone())).await?;
        assert_eq!(discovered["capabilities"]["extensions"].get(UI).is_some(), has_views, "{discovered}");
        let list = agent.request("tools/list", meta(capabilities.clone())).await?.to_string();
        assert_eq!(list.contains("view_fragment") && list.contains(VIEW), has_views);
        let mut read = meta(capabilities);
        read["uri"] = json!(VIEW);
        assert_eq!(agent.request("resources/read", read).await.is_ok(), has_views);
    }
    Ok(())
}

#[tokio::test]
async fn a_view_gets_what_it_lacks_of_a_run_and_its_cell() -> Result<()> {
    let cells = Cells::default();
    let (mut client, _page) = Client::at_tab(&cells, &[]).await?;
    let run_of = |reply: &str| {
        reply
            .split("] run ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next())
            .map(str::to_owned)
            .context("no run")
    };
    let inserted =
        client.call("insert_execute_code_cell", json!({ "cell_index": 0, "cell_source": "<one>" })).await?;
    let run = run_of(&inserted)?;
    let of_run = client.view("view_fragment", json!({ "runs": [run] })).await?;
    let shown = html(&of_run, "cells");
    assert!(shown.contains("ran &lt;one&gt;") && shown.contains("changed by testkit"), "{of_run}");
    assert!(html(&of_run, "head").contains("done"), "{of_run}");
    assert_eq!((&of_run["active"], &of_run["behind"]), (&json!(false), &json!(false)));

    // The same cell by its index, of which nothing is new.
    let of_cell = json!({ "notebook_name": "colab:", "cells": ["#0"], "known": known(&of_run) });
    let of_cell = client.view("view_fragment", of_cell).await?;
    assert_eq!(
        (&of_cell["updates"], &of_cell["cells"], &of_cell["runs"]),
        (&json!([]), &of_run["cells"], &json!([run]))
    );

    // An older run of the cell has its own part, and so has one whose cell is gone.
    let latest = run_of(&client.call("execute_cell", json!({ "cell_index": 0 })).await?)?;
    let older = client.view("view_fragment", json!({ "runs": [run] })).await?;
    assert!(html(&older, "cells").contains("id=\"run-"), "{older}");
    client.call("delete_cell", json!({ "cell_indices": [0] })).await?;
    let without = client.view("view_fragment", json!({ "runs": [latest] })).await?;
    assert!(html(&without, "cells").contains("ran &lt;one&gt;"), "{without}");
    // What is not known shows nothing, and is no error: the view has the result of its call.
    let unknown = client.view("view_fragment", json!({ "runs": ["r99"], "source": "x" })).await?;
    assert_eq!((html(&unknown, "cells"), &unknown["active"]), (String::new(), &json!(false)));
    assert!(client.refused("view_fragment", json!({ "cells": 1 })).await?.contains("invalid type"));
    Ok(())
}

/// As on the page: scripts of outputs that nobody here has made run after a click.
#[tokio::test]
async fn scripts_from_elsewhere_run_if_the_person_trusts_them() -> Result<()> {
    let mut client = Client::start(showing_views(), &[]).await?;
    let output = json!({
        "output_type": "display_data", "metadata": {}, "data": { "text/html": "<p>x</p><script>1</script>" },
    });
    let cell = json!({
        "cell_type": "code", "id": "c1", "source": "x", "metadata": {}, "execution_count": 1, "outputs": [output],
    });
    let notebook = json!({ "cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
    std::fs::write(client.folder.path().join("a.ipynb"), notebook.to_string())?;
    let mut trusted: Vec<String> = Vec::new();
    for is_trusted in [false, true] {
        let shown = json!({ "notebook_name": "a.ipynb", "cells": ["c1"], "trusted": trusted });
        let shown = html(&client.view("view_fragment", shown).await?, "cells");
        trusted.extend(
            shown.split("data-shown=\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())),
        );
        assert_eq!(
            (shown.contains("<iframe"), shown.contains("data-do=\"trust\"")),
            (is_trusted, !is_trusted),
            "{shown}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn the_person_takes_back_in_a_view_and_the_agent_is_told() -> Result<()> {
    let mut client = Client::start(showing_views(), &[]).await?;
    client.call("use_notebook", json!({ "notebook_path": "a.ipynb", "mode": "create" })).await?;
    let cell = json!({ "cell_index": 0, "cell_type": "code", "cell_source": "one" });
    client.call("insert_cell", cell).await?;
    client.call("overwrite_cell_source", json!({ "cell_index": 0, "cell_source": "two" })).await?;
    let history = client.view("view_fragment", json!({ "history": true })).await?;
    let latest = html(&history, "history")
        .split("data-operation=\"")
        .nth(1)
        .and_then(|it| it.split('"').next()?.parse::<u64>().ok());
    // A model, which has no view, does not pass for the person.
    let mut undo = json!({ "do": "undo", "notebook": "a.ipynb", "operation": latest });
    for key in [Value::Null, json!("guessed")] {
        undo["key"] = key;
        assert!(client.refused("view_act", undo.clone()).await?.contains("No view made this call"));
    }
    undo["do"] = json!("preview");
    undo["key"] = json!(client.key().await?);
    let preview = client.view("view_act", undo.clone()).await?;
    assert!(
        preview["html"]
            .as_str()
            .is_some_and(|html| html.contains("+one") && html.contains("data-do=\"undo\"")),
        "{preview}"
    );
    undo["do"] = json!("undo");
    let undone = client.view("view_act", undo).await?;
    assert!(undone["said"].as_str().is_some_and(|said| said.starts_with("Undone: o")), "{undone}");
    let read = client.call("read_cell", json!({ "cell_index": 0 })).await?;
    assert!(read.starts_with("[NOTICE] The person undid o") && read.contains("one"), "{read}");
    let history = client.call("history", json!({})).await?;
    assert!(history.contains(" person view_act: "), "{history}");
    Ok(())
}

/// Whatever has the agent's connection could act there.
#[tokio::test]
async fn nothing_is_done_in_a_view_that_is_not_offered_or_asked_about() -> Result<()> {
    for options in [&["--ask", "delete"][..], &["--read-only"]] {
        let (mut client, _page) = Client::at_tab(&Cells::default(), options).await?;
        let undo = json!({ "do": "undo", "notebook": "colab:", "operation": 1 });
        let key = client.key().await?;
        for mut action in [
            undo,
            json!({ "do": "interrupt", "run": "r1" }),
            json!({ "do": "answer", "run": "r1", "line": "" }),
        ] {
            action["key"] = json!(key);
            let refused = client.refused("view_act", action).await?;
            assert!(refused.contains("does not offer that"), "{refused}");
        }
        client.view("view_fragment", json!({ "notebook_name": "colab:", "history": true })).await?;
    }
    // What needs the live page.
    let mut client = Client::start(showing_views(), &[]).await?;
    let verify = json!({ "do": "ask-verify", "key": client.key().await? });
    assert!(client.refused("view_act", verify).await?.contains("A view cannot do that"));
    Ok(())
}

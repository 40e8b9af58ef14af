//! What agents may do: `--read-only` and `--tools`, in every mode; and whether tools do what their annotations say.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Agent, Endpoint, Program};

use crate::bridge::{Bridge, PROGRAM, Served, WITHOUT_PYTHON};
use crate::places::Server;

/// A call of each tool that changes or runs something if the tool is able to.
pub(crate) const CALLS: [(&str, &str); 34] = [
    ("list_files", "{}"),
    ("list_notebooks", "{}"),
    ("list_kernels", "{}"),
    ("use_notebook", r#"{"notebook_path":"a.ipynb"}"#),
    ("unuse_notebook", r#"{"notebook_name":"a.ipynb"}"#),
    ("copy_notebook", r#"{"from":"a.ipynb","to":"copied.ipynb"}"#),
    ("copy_file", r#"{"from":"a.ipynb","to":"copied.csv"}"#),
    ("restart_notebook", r#"{"notebook_name":"a.ipynb"}"#),
    ("list_variables", r#"{"notebook_name":"a.ipynb"}"#),
    ("inspect_variable", r#"{"notebook_name":"a.ipynb","name":"x"}"#),
    ("read_notebook", r#"{"notebook_name":"a.ipynb","include_outputs":true}"#),
    ("search_notebook", r#"{"notebook_name":"a.ipynb","query":"one"}"#),
    ("read_cell", r#"{"notebook_name":"a.ipynb","cell_index":0}"#),
    ("insert_cell", r#"{"notebook_name":"a.ipynb","cell_index":0,"cell_type":"code","cell_source":"new"}"#),
    ("overwrite_cell_source", r#"{"notebook_name":"a.ipynb","cell_index":0,"cell_source":"new"}"#),
    (
        "edit_cell_source",
        r#"{"notebook_name":"a.ipynb","cell_index":0,"old_string":"one","new_string":"one, one","replace_all":true}"#,
    ),
    ("edit_cells", r#"{"notebook_name":"a.ipynb","edits":[{"cell_index":0,"cell_source":"new"}]}"#),
    ("move_cell", r#"{"notebook_name":"a.ipynb","source_index":0,"target_index":1}"#),
    ("change_cell", r#"{"notebook_name":"a.ipynb","cell_index":0,"duplicate":true}"#),
    ("delete_cell", r#"{"notebook_name":"a.ipynb","cell_indices":[0]}"#),
    ("clear_cell_output", r#"{"notebook_name":"a.ipynb","cell_index":0}"#),
    ("history", r#"{"notebook_name":"a.ipynb"}"#),
    ("checkpoint", r#"{"notebook_name":"a.ipynb","name":"x"}"#),
    ("undo", r#"{"notebook_name":"a.ipynb"}"#),
    ("execute_cell", r#"{"notebook_name":"a.ipynb","cell_index":0}"#),
    ("insert_execute_code_cell", r#"{"notebook_name":"a.ipynb","cell_source":"new"}"#),
    ("run_cells", r#"{"notebook_name":"a.ipynb","all":true}"#),
    ("verify_notebook", r#"{"notebook_name":"a.ipynb","confirm":true}"#),
    ("execute_code", r#"{"code":"1"}"#),
    ("get_run", "{}"),
    ("interrupt_kernel", r#"{"notebook_name":"a.ipynb"}"#),
    ("answer_input", r#"{"run_id":"r1","value":"x"}"#),
    ("open_in_browser", r#"{"notebook_name":"a.ipynb"}"#),
    ("connect_to_jupyter", r#"{"jupyter_url":"http://127.0.0.1:1"}"#),
];

/// Calls by older names, and what of `use_notebook` does more than opening.
pub(crate) const OTHER_CALLS: [(&str, &str); 12] = [
    ("execute_ipython", r#"{"command":"1"}"#),
    ("execute_cell_simple_timeout", r#"{"notebook_name":"a.ipynb","cell_index":0}"#),
    ("execute_cell_streaming", r#"{"notebook_name":"a.ipynb","cell_index":0}"#),
    ("execute_cell_with_progress", r#"{"notebook_name":"a.ipynb","cell_index":0}"#),
    ("append_markdown_cell", r#"{"notebook_name":"a.ipynb","cell_source":"new"}"#),
    ("append_execute_code_cell", r#"{"notebook_name":"a.ipynb","cell_source":"new"}"#),
    (
        "assign_kernel_to_notebook",
        r#"{"notebook_name":"a.ipynb","notebook_path":"a.ipynb","kernel_id":"NEW"}"#,
    ),
    // It is listed only where somebody can consent.
    ("add_packages", r#"{"notebook_name":"a.ipynb","packages":["six"]}"#),
    ("use_notebook", r#"{"notebook_path":"new.ipynb","mode":"create"}"#),
    ("use_notebook", r#"{"notebook_path":"a.ipynb","kernel_id":"NEW"}"#),
    ("use_notebook", r#"{"notebook_path":"a.ipynb","kernel_name":"python3"}"#),
    ("connect_notebook", r#"{"notebook_path":"new.ipynb","mode":"create"}"#),
];

pub(crate) const READING: [&str; 10] = [
    "list_files",
    "list_notebooks",
    "list_kernels",
    "use_notebook",
    "unuse_notebook",
    "read_notebook",
    "search_notebook",
    "read_cell",
    "history",
    "get_run",
];

pub(crate) const EDITING: [&str; 10] = [
    "insert_cell",
    "overwrite_cell_source",
    "edit_cell_source",
    "edit_cells",
    "move_cell",
    "change_cell",
    "delete_cell",
    "clear_cell_output",
    "checkpoint",
    "undo",
];

pub(crate) const RUNNING: [&str; 6] =
    ["execute_cell", "run_cells", "verify_notebook", "execute_code", "interrupt_kernel", "answer_input"];

pub(crate) const OF_COLAB: [&str; 2] = ["open_colab_browser_connection", "call_colab_tool"];

/// Not written as Jupyter writes it, so that even writing the same content shows.
const NOTEBOOK: &str = r#"{"metadata": {}, "nbformat": 4, "nbformat_minor": 5, "cells": [
  {"id": "a", "cell_type": "code", "source": "one", "metadata": {}, "execution_count": 1,
   "outputs": [{"output_type": "stream", "name": "stdout", "text": "kept"}]},
  {"id": "b", "cell_type": "markdown", "source": "two", "metadata": {}}]}"#;

/// An agent on a folder with the notebook `a.ipynb`.
pub(crate) struct Client {
    pub(crate) agent: Agent,
    pub(crate) folder: TempDir,
}

impl Client {
    pub(crate) async fn start(options: &[&str]) -> Result<Self> {
        Self::start_with(options, &[]).await
    }

    pub(crate) async fn start_with(options: &[&str], variables: &[(&str, &str)]) -> Result<Self> {
        let mut client = Self::silent(options, variables)?;
        client.agent.initialize("2025-11-25").await?;
        Ok(client)
    }

    /// A client that has said nothing yet.
    pub(crate) fn silent(options: &[&str], variables: &[(&str, &str)]) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("a.ipynb"), NOTEBOOK)?;
        let root = folder.path().display().to_string();
        let arguments = [&["--no-browser", "--root", &root], options].concat();
        let agent = Agent::start_with(PROGRAM, &arguments, &[&WITHOUT_PYTHON, variables].concat())?;
        Ok(Self { agent, folder })
    }

    pub(crate) fn files(&self) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
        let mut files = BTreeMap::new();
        collect_files(self.folder.path(), &mut files)?;
        Ok(files)
    }

    pub(crate) async fn assert_no_kernel(&mut self) -> Result<()> {
        let kernels = text(&self.agent.call_tool("list_kernels", "{}").await?)?;
        assert!(kernels.contains("No kernels are running"), "{kernels}");
        Ok(())
    }
}

pub(crate) async fn start(arguments: &[&str], variables: &[(&str, &str)]) -> Result<Agent> {
    let mut agent = Agent::start_with(PROGRAM, arguments, &[&WITHOUT_PYTHON, variables].concat())?;
    agent.initialize("2025-11-25").await?;
    Ok(agent)
}

fn collect_files(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect_files(&path, files)?;
        } else {
            match fs::read(&path) {
                Ok(content) => drop(files.insert(path, content)),
                // A file that is being replaced is under another name for a moment.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}

pub(crate) fn text(result: &Value) -> Result<String> {
    result["content"][0]["text"].as_str().map(str::to_owned).context("no text")
}

async fn listed(agent: &mut Agent) -> Result<Vec<Value>> {
    let list = agent.request("tools/list", "{}").await?;
    list["tools"].as_array().cloned().context("no tools")
}

pub(crate) async fn names(agent: &mut Agent) -> Result<Vec<String>> {
    let name = |tool: &Value| tool["name"].as_str().unwrap_or_default().to_owned();
    Ok(listed(agent).await?.iter().map(name).collect())
}

/// Fails unless each of these calls is refused for this reason.
async fn assert_refused(agent: &mut Agent, calls: &[(&str, &str)], reason: &str) -> Result<()> {
    for (tool, arguments) in calls {
        let refusal = agent.call_tool_expecting_failure(tool, arguments).await?;
        let is_named = refusal.contains(tool) || refusal.contains("use_notebook with");
        assert!(is_named && refusal.contains(reason), "{tool} {arguments}: {refusal}");
        assert!(refusal.contains("tools/list") && refusal.contains("that person must"), "{refusal}");
    }
    Ok(())
}

/// The calls of tools that are not in `listed`.
fn hidden(listed: &[String]) -> Vec<(&'static str, &'static str)> {
    CALLS.into_iter().filter(|(tool, _)| !listed.iter().any(|name| name == tool)).collect()
}

#[tokio::test]
async fn under_read_only_nothing_that_changes_or_runs_anything_is_offered() -> Result<()> {
    for (options, variables) in [
        (&["--read-only"][..], &[][..]),
        (&["--read-only", "--tools", "read,edit,run,files,kernels,colab"], &[]),
        (&["--read-only", "--tools=read,files,kernels,colab,insert_cell"], &[]),
        (&[], &[("CELLBRIDGE_READ_ONLY", "1")]),
    ] {
        let mut client = Client::start_with(options, variables).await?;
        let before = client.files()?;
        let names = names(&mut client.agent).await?;
        assert_eq!(names, [&READING[..], &OF_COLAB].concat(), "{options:?} {variables:?}");
        let calls = [&hidden(&names)[..], &OTHER_CALLS].concat();
        assert_refused(&mut client.agent, &calls, "lets agents only read").await?;
        for (tool, arguments) in CALLS.iter().filter(|(tool, _)| READING.contains(tool)) {
            let result = client.agent.call_tool(tool, arguments).await?;
            assert_eq!(result["isError"], false, "{tool}: {result}");
        }
        assert_eq!(client.files()?, before);
        client.assert_no_kernel().await?;
    }
    Ok(())
}

#[tokio::test]
async fn opening_a_notebook_to_read_it_chooses_no_kernel() -> Result<()> {
    // Choosing one installs Python where there is none.
    let home = tempfile::tempdir()?;
    let path = home.path().display().to_string();
    let variables = [("HOME", &*path), ("XDG_DATA_HOME", &path)];
    for options in [&["--read-only"][..], &["--tools", "read,edit"]] {
        let mut client = Client::start_with(options, &variables).await?;
        let opened = client.agent.call_tool("use_notebook", r#"{"notebook_path":"a.ipynb"}"#).await?;
        assert!(text(&opened)?.contains("No kernel was chosen"), "{opened}");
        assert!(fs::read_dir(home.path())?.next().is_none(), "{options:?}");
    }
    Ok(())
}

#[tokio::test]
async fn under_read_only_notebooks_are_read_as_resources() -> Result<()> {
    let mut client = Client::start(&["--read-only"]).await?;
    let resource = client.agent.request("resources/read", r#"{"uri":"notebook://a.ipynb/cells/a"}"#).await?;
    assert_eq!(resource["contents"][0]["text"], "one");
    Ok(())
}

#[tokio::test]
async fn tools_are_offered_by_group() -> Result<()> {
    let others = ["list_files", "list_kernels"];
    let reading: Vec<&str> = READING.into_iter().filter(|name| !others.contains(name)).collect();
    for (groups, expected) in [
        ("read", &reading[..]),
        ("edit", &EDITING),
        ("run", &RUNNING),
        ("files", &["list_files", "copy_file", "open_in_browser"]),
        ("kernels", &["list_kernels", "list_variables", "inspect_variable", "connect_to_jupyter"]),
        ("colab", &OF_COLAB),
        ("files,list_kernels", &["list_files", "list_kernels", "copy_file", "open_in_browser"]),
        ("execute_ipython", &["execute_code"]),
    ] {
        let mut client = Client::start(&["--tools", groups]).await?;
        let before = client.files()?;
        let names = names(&mut client.agent).await?;
        assert_eq!(names, expected, "{groups}");
        let reason = format!(
            "offers agents only {}",
            groups.replace(',', ", ").replace("execute_ipython", "execute_code")
        );
        let calls = hidden(&names);
        assert_refused(&mut client.agent, &calls, &reason).await?;
        if groups != "colab" {
            let connecting = ("open_colab_browser_connection", r#"{"timeout_seconds":0}"#);
            let reading = ("call_colab_tool", r#"{"name":"get_cells"}"#);
            assert_refused(&mut client.agent, &[connecting, reading], &reason).await?;
        }
        assert_eq!(client.files()?, before);
    }
    // It belongs to both.
    let mut client = Client::start_with(&[], &[("CELLBRIDGE_TOOLS", "edit, run")]).await?;
    assert!(names(&mut client.agent).await?.contains(&"insert_execute_code_cell".to_owned()));
    Ok(())
}

#[tokio::test]
async fn what_arguments_ask_for_has_to_be_offered_too() -> Result<()> {
    let creating = ("use_notebook", r#"{"notebook_path":"new.ipynb","mode":"create"}"#);
    let starting = ("use_notebook", r#"{"notebook_path":"a.ipynb","kernel_id":"NEW"}"#);
    let mut client = Client::start(&["--tools", "read,edit,run"]).await?;
    assert_refused(&mut client.agent, &[creating], r#"add "files""#).await?;
    assert_refused(&mut client.agent, &[starting], r#"add "kernels""#).await?;
    let running = CALLS
        .iter()
        .filter(|(tool, _)| ["insert_cell", "overwrite_cell_source", "edit_cell_source"].contains(tool));
    let running: Vec<_> =
        running.map(|(tool, values)| (*tool, values.replacen('{', r#"{"run":true,"#, 1))).collect();
    let running: Vec<_> = running.iter().map(|(tool, values)| (*tool, &**values)).collect();
    let mut client = Client::start(&["--tools", "read,edit"]).await?;
    let before = client.files()?;
    assert_refused(&mut client.agent, &running, r#"add "run""#).await?;
    assert_eq!(client.files()?, before);
    for tools in ["read,files", "use_notebook"] {
        let mut client = Client::start(&["--tools", tools]).await?;
        assert_eq!(client.agent.call_tool(creating.0, creating.1).await?["isError"], false, "{tools}");
    }
    Ok(())
}

#[tokio::test]
async fn without_the_group_read_there_are_no_resources_and_prompts() -> Result<()> {
    let mut client = Client::start(&["--tools", "edit"]).await?;
    let info = client.agent.initialize("2025-11-25").await;
    assert!(info.is_err() || info?["capabilities"].get("resources").is_none());
    for (method, params) in [
        ("resources/read", r#"{"uri":"notebook://a.ipynb"}"#),
        ("resources/subscribe", r#"{"uri":"notebook://a.ipynb"}"#),
        (
            "prompts/get",
            r#"{"name":"jupyter_cite","arguments":{"prompt":"x","cell_indices":"0","notebook_name":"a.ipynb"}}"#,
        ),
    ] {
        let answer = client.agent.exchange(method, params).await?;
        assert!(answer.error()?.contains("offers agents only edit"), "{method}: {}", answer.text);
    }
    for (method, member) in [
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ] {
        assert_eq!(client.agent.request(method, "{}").await?[member], json!([]), "{method}");
    }
    Ok(())
}

#[tokio::test]
async fn instructions_say_what_is_offered() -> Result<()> {
    for (options, expected) in [
        (&["--read-only"][..], "Agents may only read here"),
        (&["--tools", "read,run"], "Only these tools are offered here: read, run."),
        (&["colab", "--read-only"], "Agents may only read here"),
    ] {
        let mut agent = Agent::start(PROGRAM, &[options, &["--no-browser"]].concat())?;
        let info = agent.initialize("2025-11-25").await?;
        assert!(info["instructions"].as_str().is_some_and(|text| text.contains(expected)), "{info}");
    }
    Ok(())
}

#[tokio::test]
async fn a_jupyter_server_is_limited_in_the_same_way() -> Result<()> {
    let server = ["jupyter", "--jupyter-url", "http://127.0.0.1:1"];
    for (options, reason) in [
        (&["--read-only"][..], "lets agents only read"),
        (&["--tools", "read,list_files,list_kernels"], "offers agents only read, list_files, list_kernels"),
    ] {
        let mut agent = start(&[&server, options].concat(), &[]).await?;
        let names = names(&mut agent).await?;
        assert_eq!(names, READING, "{options:?}");
        assert_refused(&mut agent, &hidden(&names), reason).await?;
    }
    Ok(())
}

#[tokio::test]
async fn the_control_routes_are_limited_as_well() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().display().to_string();
    let local = ["--no-browser", "--root", &root];
    let jupyter = ["jupyter", "--jupyter-url", "http://127.0.0.1:1"];
    let body = r#"{"document_url":"http://127.0.0.1:1"}"#;
    for (place, options, reason) in [
        (&local[..], ["--read-only", "--token=secret"], "lets agents only read"),
        (&jupyter, ["--read-only", "--token=secret"], "lets agents only read"),
        (&jupyter, ["--tools=read,run", "--token=secret"], "offers agents only read, run"),
    ] {
        let served = Served::start_with(&[place, &options].concat()).await?;
        let route = |path: &str| Endpoint::new(served.sibling(path)).with_bearer("secret");
        for (method, path) in [(Method::PUT, "/api/connect"), (Method::DELETE, "/api/stop")] {
            let reply = route(path).send(method, Some(body.to_owned()), &[]).await?;
            assert_eq!(reply.status(), 403, "{path} {options:?}");
            let text = reply.text().await?;
            assert!(text.contains(path) && text.contains(reason), "{text}");
        }
        assert_eq!(route("/api/healthz").send(Method::GET, None, &[]).await?.status(), 200);
        // An agent without a session.
        let call = r#""name":"connect_to_jupyter","arguments":{"jupyter_url":"http://127.0.0.1:1"}"#;
        let answer = route("/mcp").post_modern(1, "tools/call", call, "").await?.message().await?;
        assert!(answer.result()?.contains(reason), "{}", answer.text);
    }
    Ok(())
}

#[tokio::test]
async fn under_read_only_only_reading_reaches_a_page() -> Result<()> {
    let mut bridge = Bridge::start_with(&["--read-only"]).await?;
    let reading = ["open_colab_browser_connection", "get_cells", "call_colab_tool"];
    assert_eq!(names(&mut bridge.agent).await?, reading);
    let mut tab = bridge.tab().await?;
    // The page says that its tool only reads; that cannot be known.
    assert_eq!(names(&mut bridge.agent).await?, reading);
    for (tool, arguments) in [
        ("echo", "{}"),
        ("add_code_cell", "{}"),
        ("add_text_cell", "{}"),
        ("delete_cell", "{}"),
        ("move_cell", "{}"),
        ("run_code_cell", "{}"),
        ("update_cell", "{}"),
        ("of_tomorrow", "{}"),
        ("call_colab_tool", r#"{"name":"run_code_cell","arguments":{"cellId":"a"}}"#),
        ("call_colab_tool", r#"{"name":"echo"}"#),
        ("call_colab_tool", r#"{"name":"get_cells","name":"run_code_cell"}"#),
        ("call_colab_tool", r#"{"name":"get_cells","\u006eame":"run_code_cell"}"#),
        ("call_colab_tool", "{}"),
    ] {
        assert_refused(&mut bridge.agent, &[(tool, arguments)], "lets agents only read").await?;
    }
    let twice = r#"{"name":"get_cells","name":"run_code_cell","arguments":{}}"#;
    assert!(bridge.agent.exchange("tools/call", twice).await?.error().is_ok());
    let wrapped = r#"{"name":"get_cells","arguments":{"includeOutputs":true}}"#;
    let call = bridge.agent.start_call("call_colab_tool", wrapped).await?;
    // Nothing else has reached the page.
    let asked = tab.expect_call("get_cells").await?;
    tab.reply(&asked, r#"{"content":[]}"#).await?;
    bridge.agent.wait_response(call).await?.result()?;
    bridge.assert_works(&mut tab).await
}

#[tokio::test]
async fn without_the_group_colab_nothing_reaches_a_page() -> Result<()> {
    let mut agent = start(&["colab", "--no-browser", "--tools", "read,edit,run"], &[]).await?;
    assert_eq!(names(&mut agent).await?, [""; 0]);
    let calls = ["open_colab_browser_connection", "get_cells", "run_code_cell", "call_colab_tool"];
    let calls = calls.map(|tool| (tool, r#"{"name":"get_cells"}"#));
    assert_refused(&mut agent, &calls, r#"add "colab""#).await
}

#[tokio::test]
async fn without_the_group_colab_the_tab_is_no_place_of_notebooks() -> Result<()> {
    let joining = ("use_notebook", r#"{"notebook_path":"colab:"}"#);
    let mut client = Client::start(&["--tools", "read,edit,run,files,kernels"]).await?;
    let refusal = client.agent.call_tool_expecting_failure(joining.0, joining.1).await?;
    assert!(!refusal.contains("Colab"), "{refusal}");
    Ok(())
}

#[tokio::test]
async fn misspelled_settings_are_refused() -> Result<()> {
    for (arguments, variables, named) in [
        (
            &["--tools", "raed"][..],
            &[][..],
            "\"raed\" is neither a group of tools (read, edit, run, files, kernels) nor a tool",
        ),
        (&["--tools", "read,,edit"], &[], "\"\" is neither"),
        (&["--tools="], &[], "--tools"),
        (&["colab", "--tools", "get_cells"], &[], "get_cells"),
        (&["jupyter", "--tools", "Read"], &[], "Read"),
        (&["--read-only=perhaps"], &[], "--read-only"),
        // Elsewhere this means that a setting is left out; here it would offer everything.
        (&[], &[("CELLBRIDGE_TOOLS", "none")], "\"none\" is neither"),
        (&[], &[("CELLBRIDGE_READ_ONLY", "perhaps")], "expected true or false"),
    ] {
        let mut program = Program::start(PROGRAM, arguments, variables)?;
        let code = program.wait_exit().await?.code();
        let stderr = program.whole_stderr().await?;
        assert_eq!(code, Some(2), "{arguments:?} {variables:?}: {stderr}");
        assert!(stderr.contains(named), "{arguments:?} {variables:?}: {stderr}");
    }
    let off = [("CELLBRIDGE_TOOLS", ""), ("CELLBRIDGE_READ_ONLY", "false")];
    let mut client = Client::start_with(&[], &off).await?;
    assert!(names(&mut client.agent).await?.len() > 20);
    Ok(())
}

#[tokio::test]
async fn tools_do_what_their_annotations_say() -> Result<()> {
    let server = Server::start().await?;
    let mut client = Client::start(&[]).await?;
    let tools = listed(&mut client.agent).await?;
    // No front end is here that could open a notebook, no kernel with variables, and no folder for a record.
    let elsewhere = [&OF_COLAB[..], &["open_in_browser", "inspect_variable", "checkpoint"]].concat();
    for tool in tools.iter().filter(|tool| !elsewhere.iter().any(|name| tool["name"] == *name)) {
        let name = tool["name"].as_str().context("no name")?;
        let (_, arguments) = CALLS.iter().find(|(known, _)| *known == name).context(name.to_owned())?;
        let arguments = arguments.replace("http://127.0.0.1:1", &server.url);
        let says =
            |hint: &str| tool["annotations"][hint].as_bool().with_context(|| format!("{name}: {hint}"));
        let (only_reads, is_destructive) = (says("readOnlyHint")?, says("destructiveHint")?);
        let is_idempotent = says("idempotentHint")?;
        if !only_reads && is_destructive && !is_idempotent {
            // It promises nothing.
            continue;
        }
        let mut client = Client::start(&[]).await?;
        let before = client.files()?;
        let result = client.agent.call_tool(name, &arguments).await?;
        assert_eq!(result["isError"], false, "{name}: {result}");
        let once = client.files()?;
        if only_reads {
            assert_eq!(once, before, "{name} is said to read only");
            client.assert_no_kernel().await?;
        }
        if !is_destructive {
            assert_nothing_lost(name, &before, &once)?;
        }
        if is_idempotent {
            client.agent.call_tool(name, &arguments).await?;
            assert_eq!(client.files()?, once, "{name} is said to be idempotent");
        }
    }
    Ok(())
}

/// Fails unless all files, and all cells of notebooks, are still there.
fn assert_nothing_lost(
    tool: &str,
    before: &BTreeMap<PathBuf, Vec<u8>>,
    after: &BTreeMap<PathBuf, Vec<u8>>,
) -> Result<()> {
    for (path, content) in before {
        let cells = |content: &[u8]| {
            let notebook: Value = serde_json::from_slice(content)?;
            let parts = |cell: &Value| [&cell["id"], &cell["source"], &cell["outputs"]].map(Value::clone);
            Ok(notebook["cells"].as_array().context("no cells")?.iter().map(parts).collect::<Vec<_>>())
        };
        let (old, new): (Result<_>, Result<_>) = (cells(content), cells(&after[path]));
        let (old, new) = (old?, new?);
        assert!(old.iter().all(|cell| new.contains(cell)), "{tool} is said not to be destructive: {new:?}");
    }
    Ok(())
}

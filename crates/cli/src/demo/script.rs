//! The steps of the agent, and the answer that each must get.

use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use super::agent::Agent;
use super::answer::Answer;
use super::transcript::Transcript;
use super::{NOTEBOOK, cells};

pub(crate) const CHAPTERS: [&str; 7] = [
    "An agent connects",
    "It creates a notebook with a kernel",
    "It writes cells and runs them",
    "It sees a plot",
    "It gets an error and fixes it",
    "It follows a long run",
    "It looks at the result",
];

/// A new Python environment means a download of some hundred megabytes.
const PREPARATION_TIMEOUT: Duration = Duration::from_secs(1200);
/// The first plot in a new environment builds caches.
const CALL_TIMEOUT: Duration = Duration::from_secs(180);

/// The lines of a reply that are shown.
const MAX_LINES: usize = 16;

pub(crate) struct Script<'a> {
    agent: Agent,
    transcript: &'a mut Transcript,
    chapters: std::slice::Iter<'static, &'static str>,
}

impl<'a> Script<'a> {
    pub(crate) fn new(agent: Agent, transcript: &'a mut Transcript) -> Self {
        Self { agent, transcript, chapters: CHAPTERS.iter() }
    }

    pub(crate) async fn play(&mut self) -> anyhow::Result<()> {
        self.connect().await?;
        self.prepare().await?;
        self.first_cells().await?;
        self.plot().await?;
        self.mistake().await?;
        self.long_run().await?;
        self.look_around().await
    }

    /// Ends the server.
    pub(crate) async fn end(self) -> anyhow::Result<()> {
        self.agent.end().await
    }

    async fn connect(&mut self) -> anyhow::Result<()> {
        self.chapter()?;
        let client = json!({ "name": "cellbridge-demo", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let server = self.ask("initialize", params).await?;
        self.agent.notify("notifications/initialized").await?;
        self.transcript.calls("initialize", &json!({ "protocolVersion": server["protocolVersion"] }))?;
        let server_info = |member: &str| server["serverInfo"][member].as_str().unwrap_or_default().to_owned();
        self.transcript.replies(&format!("{} {}", server_info("name"), server_info("version")), MAX_LINES)?;

        let listed = self.ask("tools/list", json!({})).await?;
        let tools = listed["tools"].as_array().context("tools/list answered without tools")?;
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        self.transcript.calls("tools/list", &json!({}))?;
        let rows: Vec<String> = names.chunks(6).map(|row| row.join(", ")).collect();
        self.transcript.replies(&format!("{} tools:\n{}", names.len(), rows.join(",\n")), MAX_LINES)?;
        for needed in
            ["use_notebook", "insert_cell", "execute_cell", "edit_cell_source", "get_run", "read_notebook"]
        {
            ensure!(names.contains(&needed), "the server has no tool {needed}");
        }
        Ok(())
    }

    async fn prepare(&mut self) -> anyhow::Result<()> {
        self.chapter()?;
        let arguments =
            json!({ "notebook_path": NOTEBOOK, "mode": "create", "kernel_name": "cellbridge-python" });
        self.call("use_notebook", arguments).await?.expect(&["Created", NOTEBOOK])
    }

    async fn first_cells(&mut self) -> anyhow::Result<()> {
        self.chapter()?;
        self.insert("markdown", cells::TITLE).await?;
        let id = self.insert("code", cells::WALKS).await?;
        let answer = self.call("execute_cell", json!({ "cell_id": id })).await?;
        answer.expect(&["500 walks of 1000 steps", "COMPLETED"])
    }

    async fn plot(&mut self) -> anyhow::Result<()> {
        self.chapter()?;
        self.insert("markdown", cells::PLOT_TEXT).await?;
        let arguments = json!({ "cell_index": -1, "cell_source": cells::PLOT });
        let answer = self.call("insert_execute_code_cell", arguments).await?;
        ensure!(!answer.images.is_empty(), "the plot returned no image:\n{}", answer.text);
        answer.expect(&["COMPLETED"])
    }

    async fn mistake(&mut self) -> anyhow::Result<()> {
        self.chapter()?;
        self.insert("markdown", cells::DISTANCE_TEXT).await?;
        let arguments = json!({ "cell_index": -1, "cell_source": cells::DISTANCE });
        let failed = self.call_expecting_failure("insert_execute_code_cell", arguments).await?;
        failed.expect(&["KeyError", "10000"])?;
        let id = failed.word_after("(id ")?;
        self.transcript
            .thinks("There is no walk of 10 000 steps: the loop should use the keys of the dictionary.")?;
        let edit = json!({ "cell_id": id, "old_string": cells::WRONG_LOOP, "new_string": cells::RIGHT_LOOP });
        let edited = self.call("edit_cell_source", edit).await?;
        edited.expect(&[&format!("-{}", cells::WRONG_LOOP), &format!("+{}", cells::RIGHT_LOOP)])?;
        let answer = self.call("execute_cell", json!({ "cell_id": id })).await?;
        answer.expect(&[cells::FIXED_OUTPUT, "COMPLETED"])
    }

    async fn long_run(&mut self) -> anyhow::Result<()> {
        self.chapter()?;
        self.insert("markdown", cells::HOME_TEXT).await?;
        let id = self.insert("code", cells::HOME).await?;
        let arguments = json!({ "cell_id": id, "timeout": 1, "progress_interval": 0.25 });
        let begun = self.call("execute_cell", arguments).await?;
        begun.expect(&["STILL RUNNING"])?;
        let run = begun.word_after("run_id=\"")?;
        self.transcript.thinks("The run continues without me; I will fetch the rest later.")?;
        let rest = self.call("get_run", json!({ "run_id": run, "wait_seconds": 60 })).await?;
        let last = format!("part {0} of {0}", cells::HOME_PARTS);
        rest.expect(&["part 1 of", &last, "COMPLETED"])?;
        ensure!(
            begun.progress.iter().chain(&rest.progress).any(|message| message.contains("part ")),
            "there was no progress while the long run went on"
        );
        Ok(())
    }

    async fn look_around(&mut self) -> anyhow::Result<()> {
        self.chapter()?;
        let looked = self.call("execute_code", json!({ "code": cells::LOOK })).await?;
        looked.expect(&["walks", "ndarray", "COMPLETED"])?;
        let read = self.call("read_notebook", json!({ "response_format": "brief", "limit": 0 })).await?;
        read.expect(&[NOTEBOOK, "# How far does a random walk get?"])
    }

    fn chapter(&mut self) -> anyhow::Result<()> {
        match self.chapters.next() {
            Some(title) => self.transcript.chapter(title),
            None => bail!("there are more chapters than titles"),
        }
    }

    async fn ask(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.agent.request(method, params, CALL_TIMEOUT, &mut |_| Ok(())).await
    }

    /// Inserts a cell at the end, and returns its id.
    async fn insert(&mut self, kind: &str, source: &str) -> anyhow::Result<String> {
        let arguments = json!({ "cell_index": -1, "cell_type": kind, "cell_source": source });
        self.call("insert_cell", arguments).await?.word_after("id ")
    }

    /// Calls a tool that must succeed.
    async fn call(&mut self, tool: &str, arguments: Value) -> anyhow::Result<Answer> {
        let answer = self.call_any(tool, arguments).await?;
        ensure!(!answer.is_error, "{tool} failed:\n{}", answer.text);
        Ok(answer)
    }

    /// Calls a tool that must fail.
    async fn call_expecting_failure(&mut self, tool: &str, arguments: Value) -> anyhow::Result<Answer> {
        let answer = self.call_any(tool, arguments).await?;
        ensure!(answer.is_error, "{tool} should have answered with an error, but answered:\n{}", answer.text);
        Ok(answer)
    }

    async fn call_any(&mut self, tool: &str, arguments: Value) -> anyhow::Result<Answer> {
        let limit = if tool == "use_notebook" { PREPARATION_TIMEOUT } else { CALL_TIMEOUT };
        self.transcript.calls(tool, &arguments)?;
        let params = json!({ "name": tool, "arguments": arguments });
        let mut progress = Vec::new();
        let mut on_progress = |message: &str| {
            progress.push(message.to_owned());
            self.transcript.progress(message)
        };
        let result = self.agent.request("tools/call", params, limit, &mut on_progress).await?;
        let answer = Answer::read(tool, &result, progress)?;
        // The calls show already where each cell is.
        self.transcript.answers(&answer, if tool == "insert_cell" { 1 } else { MAX_LINES })?;
        Ok(answer)
    }
}

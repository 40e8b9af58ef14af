//! What the agent does, step by step, and what each step has to bring.

use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use super::agent::Agent;
use super::answer::Answer;
use super::transcript::Transcript;
use super::{NOTEBOOK, cells};

pub(super) const CHAPTERS: [&str; 7] = [
    "An agent connects",
    "It makes a notebook, and gets a kernel",
    "It writes cells and runs them",
    "It sees a plot",
    "It meets an error and mends it",
    "It watches a long run",
    "It looks at what there is now",
];

/// Making a Python environment downloads some hundred megabytes.
const PREPARATION: Duration = Duration::from_secs(1200);
/// The first plot of a fresh environment builds caches.
const CALL: Duration = Duration::from_secs(180);

/// The lines of a reply that are shown.
const WHOLE: usize = 16;

/// The agent at work, and what a person sees of it.
pub(super) struct Story<'a> {
    agent: Agent,
    transcript: &'a mut Transcript,
    chapters: std::slice::Iter<'static, &'static str>,
}

impl<'a> Story<'a> {
    pub(super) fn new(agent: Agent, transcript: &'a mut Transcript) -> Self {
        Self { agent, transcript, chapters: CHAPTERS.iter() }
    }

    pub(super) async fn tell(&mut self) -> anyhow::Result<()> {
        self.connect().await?;
        self.prepare().await?;
        self.first_cells().await?;
        self.plot().await?;
        self.mistake().await?;
        self.long_run().await?;
        self.look_around().await
    }

    /// Ends the server.
    pub(super) async fn end(self) -> anyhow::Result<()> {
        self.agent.end().await
    }

    async fn connect(&mut self) -> anyhow::Result<()> {
        self.chapter()?;
        let client = json!({ "name": "cellbridge-demo", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let server = self.ask("initialize", params).await?;
        self.agent.notify("notifications/initialized").await?;
        self.transcript.calls("initialize", &json!({ "protocolVersion": server["protocolVersion"] }))?;
        let of = |member: &str| server["serverInfo"][member].as_str().unwrap_or_default().to_owned();
        self.transcript.replies(&format!("{} {}", of("name"), of("version")), WHOLE)?;

        let listed = self.ask("tools/list", json!({})).await?;
        let tools = listed["tools"].as_array().context("tools/list answered without tools")?;
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        self.transcript.calls("tools/list", &json!({}))?;
        let rows: Vec<String> = names.chunks(6).map(|row| row.join(", ")).collect();
        self.transcript.replies(&format!("{} tools:\n{}", names.len(), rows.join(",\n")), WHOLE)?;
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
        self.call("use_notebook", arguments).await?.says(&["Created", NOTEBOOK])
    }

    async fn first_cells(&mut self) -> anyhow::Result<()> {
        self.chapter()?;
        self.insert("markdown", cells::TITLE).await?;
        let id = self.insert("code", cells::WALKS).await?;
        let answer = self.call("execute_cell", json!({ "cell_id": id })).await?;
        answer.says(&["500 walks of 1000 steps", "COMPLETED"])
    }

    async fn plot(&mut self) -> anyhow::Result<()> {
        self.chapter()?;
        self.insert("markdown", cells::PLOT_TEXT).await?;
        let arguments = json!({ "cell_index": -1, "cell_source": cells::PLOT });
        let answer = self.call("insert_execute_code_cell", arguments).await?;
        ensure!(!answer.images.is_empty(), "the plot brought no image:\n{}", answer.text);
        answer.says(&["COMPLETED"])
    }

    async fn mistake(&mut self) -> anyhow::Result<()> {
        self.chapter()?;
        self.insert("markdown", cells::DISTANCE_TEXT).await?;
        let arguments = json!({ "cell_index": -1, "cell_source": cells::DISTANCE });
        let failed = self.call_in_vain("insert_execute_code_cell", arguments).await?;
        failed.says(&["KeyError", "10000"])?;
        let id = failed.word_after("(id ")?;
        self.transcript
            .thinks("Nobody walked 10 000 steps: the loop should go over those that there are.")?;
        let edit = json!({ "cell_id": id, "old_string": cells::WRONG_LOOP, "new_string": cells::RIGHT_LOOP });
        let edited = self.call("edit_cell_source", edit).await?;
        edited.says(&[&format!("-{}", cells::WRONG_LOOP), &format!("+{}", cells::RIGHT_LOOP)])?;
        let answer = self.call("execute_cell", json!({ "cell_id": id })).await?;
        answer.says(&[cells::MENDED_SAYS, "COMPLETED"])
    }

    async fn long_run(&mut self) -> anyhow::Result<()> {
        self.chapter()?;
        self.insert("markdown", cells::HOME_TEXT).await?;
        let id = self.insert("code", cells::HOME).await?;
        let arguments = json!({ "cell_id": id, "timeout": 1, "progress_interval": 0.25 });
        let begun = self.call("execute_cell", arguments).await?;
        begun.says(&["STILL RUNNING"])?;
        let run = begun.word_after("run_id=\"")?;
        self.transcript.thinks("It goes on without me; I come back for the rest.")?;
        let rest = self.call("get_run", json!({ "run_id": run, "wait_seconds": 60 })).await?;
        let last = format!("part {0} of {0}", cells::HOME_PARTS);
        rest.says(&["part 1 of", &last, "COMPLETED"])?;
        ensure!(
            begun.progress.iter().chain(&rest.progress).any(|told| told.contains("part ")),
            "nothing was told of the long run while it went on"
        );
        Ok(())
    }

    async fn look_around(&mut self) -> anyhow::Result<()> {
        self.chapter()?;
        let looked = self.call("execute_code", json!({ "code": cells::LOOK })).await?;
        looked.says(&["walks", "ndarray", "COMPLETED"])?;
        let read = self.call("read_notebook", json!({ "response_format": "brief", "limit": 0 })).await?;
        read.says(&[NOTEBOOK, "# How far does a random walk get?"])
    }

    fn chapter(&mut self) -> anyhow::Result<()> {
        match self.chapters.next() {
            Some(title) => self.transcript.chapter(title),
            None => bail!("the story has more chapters than titles"),
        }
    }

    async fn ask(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.agent.request(method, params, CALL, &mut |_| Ok(())).await
    }

    /// Inserts a cell at the end; gives its id.
    async fn insert(&mut self, kind: &str, source: &str) -> anyhow::Result<String> {
        let arguments = json!({ "cell_index": -1, "cell_type": kind, "cell_source": source });
        self.call("insert_cell", arguments).await?.word_after("id ")
    }

    /// Calls a tool that has to succeed.
    async fn call(&mut self, tool: &str, arguments: Value) -> anyhow::Result<Answer> {
        let answer = self.call_whatever(tool, arguments).await?;
        ensure!(!answer.is_error, "{tool} failed:\n{}", answer.text);
        Ok(answer)
    }

    /// Calls a tool that has to fail.
    async fn call_in_vain(&mut self, tool: &str, arguments: Value) -> anyhow::Result<Answer> {
        let answer = self.call_whatever(tool, arguments).await?;
        ensure!(answer.is_error, "{tool} should have answered with an error, but answered:\n{}", answer.text);
        Ok(answer)
    }

    async fn call_whatever(&mut self, tool: &str, arguments: Value) -> anyhow::Result<Answer> {
        let patience = if tool == "use_notebook" { PREPARATION } else { CALL };
        self.transcript.calls(tool, &arguments)?;
        let params = json!({ "name": tool, "arguments": arguments });
        let mut progress = Vec::new();
        let mut on_progress = |told: &str| {
            progress.push(told.to_owned());
            self.transcript.progress(told)
        };
        let result = self.agent.request("tools/call", params, patience, &mut on_progress).await?;
        let answer = Answer::read(tool, &result, progress)?;
        // Where a cell stands now is plain from the calls.
        self.transcript.answers(&answer, if tool == "insert_cell" { 1 } else { WHOLE })?;
        Ok(answer)
    }
}

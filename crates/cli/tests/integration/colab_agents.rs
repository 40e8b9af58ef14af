//! Agents on HTTP work on Colab tabs at the same time without mixing anything.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Connection, Endpoint, Message, Reply, Serving, Session, Tab, text_result, within};
use tokio::task::JoinSet;

use crate::bridge::Served;
use crate::colab_place::Cells;
use crate::http;
use crate::progress::assert_cancelled;

const CELLS: &str = r#"{"cells":[{"cell_type":"code","id":"a","source":["x"]},{"cell_type":"code","id":"b","source":["y"]}]}"#;

fn notebook_url(name: &str) -> String {
    format!("https://colab.research.google.com/drive/{name}")
}

/// The unified server on HTTP, whose folder is empty.
struct ColabServer {
    served: Served,
    _folder: TempDir,
}

impl ColabServer {
    async fn start() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().display().to_string();
        let served = Served::start_with(&["--no-browser", "--root", &root]).await?;
        Ok(Self { served, _folder: folder })
    }

    fn endpoint(&self) -> Endpoint {
        self.served.endpoint()
    }

    /// Connects a page to a further tab.
    async fn further_tab(&self, name: &str) -> Result<Tab> {
        let agent = HttpAgent::start(&self.endpoint()).await?;
        let refused = agent.call("use_notebook", json!({ "notebook_path": notebook_url(name) })).await?;
        Tab::connect(&Connection::in_text(&refused.err().context("a tab was open already")?)?).await
    }
}

/// An agent with a session of its own. All use the same ids of requests.
struct HttpAgent {
    session: Session,
    next_id: AtomicUsize,
}

impl HttpAgent {
    async fn start(endpoint: &Endpoint) -> Result<Self> {
        Ok(Self { session: Session::open(endpoint, "2025-11-25").await?, next_id: AtomicUsize::new(1) })
    }

    /// The stream of a call's answer, with progress under `token`.
    async fn start_call(&self, tool: &str, arguments: &Value, token: &str) -> Result<Reply> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed).to_string();
        let params = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": token } });
        self.session.request(&id, "tools/call", &params.to_string()).await
    }

    /// Cancels the call with this id. Other agents have calls with the same id.
    async fn cancel(&self, id: usize) -> Result<()> {
        let params = json!({ "requestId": id });
        let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        assert_eq!(self.session.post(cancelled.to_string()).await?.status(), 202);
        Ok(())
    }

    /// Calls a tool. The inner error is the text of a failure.
    async fn call(&self, tool: &str, arguments: Value) -> Result<Result<String, String>> {
        let mut reply = self.start_call(tool, &arguments, "unread").await?;
        loop {
            let message = reply.message().await?;
            if message.method.is_none() {
                return answer(&message);
            }
        }
    }
}

fn answer(message: &Message) -> Result<Result<String, String>> {
    let result = message.result_value()?;
    let text = result["content"][0]["text"].as_str().context("no text")?.to_owned();
    Ok(if result["isError"] == true { Err(text) } else { Ok(text) })
}

/// Answers what the page is asked about its cells, until it is to run one.
async fn until_run(tab: &mut Tab) -> Result<Message> {
    loop {
        let asked = tab.expect("tools/call").await?;
        if asked.tool()? == "run_code_cell" {
            return Ok(asked);
        }
        ensure!(asked.tool()? == "get_cells", "the page was asked for {}", asked.tool()?);
        tab.reply(&asked, &text_result(CELLS)).await?;
    }
}

/// Answers what the page is asked about its cells, until `work` is done.
async fn while_reading<T>(tab: &mut Tab, work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            asked = tab.expect_call("get_cells") => tab.reply(&asked?, &text_result(CELLS)).await?,
        }
    }
}

async fn reply_output(tab: &mut Tab, run: &Message, output: &str) -> Result<()> {
    let outputs = json!({ "outputs": [{ "output_type": "stream", "name": "stdout", "text": [output] }] });
    tab.reply(run, &text_result(&outputs.to_string())).await
}

/// Reads a stream to its answer, whose progress has this token.
async fn answer_of(mut reply: Reply, token: &str) -> Result<Result<String, String>> {
    loop {
        let message = reply.message().await?;
        if message.method.is_none() {
            ensure!(reply.event().await?.is_none(), "more than an answer");
            return answer(&message);
        }
        ensure!(message.params_value()?["progressToken"] == token, "{}", message.text);
    }
}

/// Runs the cell at `index` of the notebook that the agent calls "mine".
fn execute(index: usize) -> Value {
    json!({ "notebook_name": "mine", "cell_index": index, "progress_interval": 0.1 })
}

#[tokio::test]
async fn two_agents_on_one_tab_keep_their_runs_progress_and_cancellation() -> Result<()> {
    let server = ColabServer::start().await?;
    let endpoint = server.endpoint();
    let mut tab = http::tab(&endpoint).await?;
    let (one, other) = (HttpAgent::start(&endpoint).await?, HttpAgent::start(&endpoint).await?);
    let opening = json!({ "notebook_path": "colab:", "notebook_name": "mine" });
    for agent in [&one, &other] {
        while_reading(&mut tab, agent.call("use_notebook", opening.clone())).await?.unwrap();
    }
    let mut first = while_reading(&mut tab, one.start_call("execute_cell", &execute(0), "one")).await?;
    let run = until_run(&mut tab).await?;
    assert_eq!(run.params_value()?["arguments"]["cellId"], "a");
    let mut second = while_reading(&mut tab, other.start_call("execute_cell", &execute(1), "other")).await?;
    for (reply, token) in [(&mut first, "one"), (&mut second, "other")] {
        let progress = while_reading(&mut tab, reply.notification("notifications/progress")).await?;
        assert_eq!(progress.params_value()?["progressToken"], token);
    }
    // Cancelling one call ends neither the other nor any run.
    other.cancel(2).await?;
    reply_output(&mut tab, &run, "of the first").await?;
    let run = until_run(&mut tab).await?;
    let done = while_reading(&mut tab, answer_of(first, "one")).await?.unwrap();
    assert!(done.contains("of the first") && done.contains("[COMPLETED in"), "{done}");
    assert_eq!(run.params_value()?["arguments"]["cellId"], "b");
    reply_output(&mut tab, &run, "of the second").await?;
    let listed = while_reading(&mut tab, other.call("get_run", json!({}))).await?.unwrap();
    let run = listed.lines().find_map(|line| line.split('\t').next().filter(|id| id.starts_with("r2-")));
    let waiting = json!({ "run_id": run, "wait_seconds": 10 });
    let done = while_reading(&mut tab, other.call("get_run", waiting)).await?.unwrap();
    assert!(done.contains("of the second") && !done.contains("of the first"), "{done}");
    Ok(())
}

#[tokio::test]
async fn two_agents_on_two_tabs_share_nothing() -> Result<()> {
    let server = ColabServer::start().await?;
    let endpoint = server.endpoint();
    let mut first = http::tab(&endpoint).await?;
    let mut second = server.further_tab("one").await?;
    second.open().await?;
    let (one, other) = (HttpAgent::start(&endpoint).await?, HttpAgent::start(&endpoint).await?);
    for (agent, tab, path) in [(&one, &mut first, "colab:"), (&other, &mut second, "colab:2")] {
        let opening = json!({ "notebook_path": path, "notebook_name": "mine" });
        let opened = while_reading(tab, agent.call("use_notebook", opening)).await?.unwrap();
        assert!(opened.contains(&format!("Opened {path} in")), "{opened}");
    }
    // Both run at the same time, and both use the same ids and tokens.
    let run_of_one = while_reading(&mut first, one.start_call("execute_cell", &execute(0), "same")).await?;
    let asked_first = until_run(&mut first).await?;
    let run_of_other =
        while_reading(&mut second, other.start_call("execute_cell", &execute(0), "same")).await?;
    let asked_second = until_run(&mut second).await?;
    reply_output(&mut second, &asked_second, "from the second page").await?;
    let done = while_reading(&mut second, answer_of(run_of_other, "same")).await?.unwrap();
    assert!(done.contains("from the second page") && done.contains("in colab:2"), "{done}");
    reply_output(&mut first, &asked_first, "from the first page").await?;
    let done = while_reading(&mut first, answer_of(run_of_one, "same")).await?.unwrap();
    assert!(done.contains("from the first page") && !done.contains("colab:2"), "{done}");

    // A call of a page's tool: its progress, and its cancellation.
    let echo = |notebook: &str| json!({ "name": "echo", "arguments": {}, "notebook": notebook });
    let _leaving = one.start_call("call_colab_tool", &echo("colab:"), "same").await?;
    let mut staying = other.start_call("call_colab_tool", &echo("colab:2"), "same").await?;
    let (abandoned, kept) = (first.expect_call("echo").await?, second.expect_call("echo").await?);
    first.progress(&abandoned, 1, "of the first page").await?;
    second.progress(&kept, 1, "of the second page").await?;
    let progress = staying.notification("notifications/progress").await?.params_value()?;
    assert_eq!(progress["message"], "of the second page");
    one.cancel(3).await?;
    assert_cancelled(&mut first, &abandoned).await?;
    second.reply(&kept, &text_result("kept")).await?;
    assert_eq!(staying.message().await?.result()?, text_result("kept"));
    // The second page was sent no cancellation.
    let last = other.start_call("call_colab_tool", &echo("colab:2"), "same").await?;
    let asked = second.expect_call("echo").await?;
    second.reply(&asked, &text_result("last")).await?;
    assert_eq!(answer_of(last, "same").await?, Ok("last".to_owned()));
    Ok(())
}

/// What one of many agents experienced.
#[derive(Default)]
struct Experience {
    sources: Vec<String>,
    failures: Vec<String>,
}

/// Runs a few new cells in a notebook, one of which it does not wait for if it is killed there.
async fn work(
    endpoint: Endpoint,
    path: String,
    name: String,
    killed_in: Option<usize>,
) -> Result<Experience> {
    let agent = HttpAgent::start(&endpoint).await?;
    let mut experience = Experience::default();
    let opened =
        agent.call("use_notebook", json!({ "notebook_path": path, "notebook_name": "mine" })).await?;
    experience.failures.extend(opened.err());
    for round in 0..3 {
        let source = format!("{name} in round {round}");
        let cell = json!({ "notebook_name": "mine", "cell_index": -1, "cell_source": source });
        if killed_in == Some(round) {
            drop(agent.start_call("insert_execute_code_cell", &cell, "killed").await?);
            return Ok(experience);
        }
        match agent.call("insert_execute_code_cell", cell).await? {
            Ok(answer) => {
                let ran: Vec<_> = answer.lines().filter(|line| line.contains("ran agent")).collect();
                ensure!(ran == [format!("ran {source}")], "{source}: {answer}");
                experience.sources.push(source);
            }
            Err(failure) => {
                ensure!(!failure.contains("ran agent"), "{source}: {failure}");
                experience.failures.push(failure);
            }
        }
    }
    Ok(experience)
}

/// Agents that follow each other in one place, each with a new session, until `end`; at least one. In every fourth pass
/// the agent is killed, in its first, second or third round.
async fn follow_each_other(
    endpoint: Endpoint,
    path: String,
    number: usize,
    end: Instant,
) -> Result<Experience> {
    let mut all = Experience::default();
    for pass in number.. {
        let killed_in = (pass % 4 == 3).then_some(pass % 3);
        let name = format!("agent {number} in pass {pass}");
        let Experience { sources, failures } = work(endpoint.clone(), path.clone(), name, killed_in).await?;
        all.sources.extend(sources);
        all.failures.extend(failures);
        if Instant::now() >= end {
            break;
        }
    }
    Ok(all)
}

/// Closes the page of tab three when it has six more cells, and connects it again, until `end`; closes it at least once.
async fn kill(server: &ColabServer, mut page: Serving, cells: &Cells, end: Instant) -> Result<()> {
    loop {
        let count = cells.sources().len() + 6;
        let full = async {
            while cells.sources().len() < count {
                tokio::task::yield_now().await;
            }
        };
        within("cells in the page", full).await?;
        drop(page);
        if Instant::now() >= end {
            return Ok(());
        }
        page = server.further_tab("three").await?.serve(cells.page()).await?;
    }
}

/// How long agents follow each other: `cargo xtask soak tabs` says it; otherwise there is one pass.
#[expect(clippy::disallowed_methods, reason = "a test has no other arguments")]
fn soak_time() -> Result<Duration> {
    let seconds = std::env::var("CELLBRIDGE_SOAK_SECONDS").map_or(Ok(0), |seconds| seconds.parse())?;
    Ok(Duration::from_secs(seconds))
}

#[tokio::test]
async fn many_agents_on_three_tabs_are_killed_or_get_their_own_answers() -> Result<()> {
    let server = ColabServer::start().await?;
    let pages = [Cells::default(), Cells::default(), Cells::default()];
    let _first = http::serve(&server.endpoint(), pages[0].page()).await?;
    let _second = server.further_tab("two").await?.serve(pages[1].page()).await?;
    let third = server.further_tab("three").await?.serve(pages[2].page()).await?;
    let paths = ["colab:", "colab:2", "colab:3"];
    let end = Instant::now() + soak_time()?;

    let mut agents = JoinSet::new();
    for number in 0..32 {
        let tab = number % 3;
        let working = follow_each_other(server.endpoint(), paths[tab].to_owned(), number, end);
        agents.spawn(async move { working.await.map(|experience| (tab, experience)) });
    }
    kill(&server, third, &pages[2], end).await?;

    let mut kept = [const { Vec::new() }; 3];
    while let Some(done) = agents.join_next().await {
        let (tab, Experience { sources, failures }) = done??;
        assert!(tab == 2 || failures.is_empty(), "tab {tab}: {failures:?}");
        kept[tab].push((sources, failures));
    }
    assert!(kept[2].iter().any(|(_, failures)| !failures.is_empty()), "the killed page was not missed");
    for (tab, agents) in kept.iter().enumerate() {
        let shown = pages[tab].sources();
        println!("tab {}: {} cells", tab + 1, shown.len());
        for source in agents.iter().flat_map(|(sources, _)| sources) {
            assert_eq!(shown.iter().filter(|known| *known == source).count(), 1, "{source}");
        }
        for other in (0..3).filter(|other| *other != tab) {
            let foreign = pages[other].sources();
            assert!(shown.iter().all(|source| !foreign.contains(source)), "{shown:?} {foreign:?}");
        }
    }
    // Nobody is left waiting.
    let agent = HttpAgent::start(&server.endpoint()).await?;
    for path in &paths[..2] {
        let run = json!({ "notebook_name": path, "cell_index": -1, "cell_source": "agent last" });
        let done = agent.call("insert_execute_code_cell", run).await?.unwrap();
        assert!(done.contains("ran agent last"), "{done}");
    }
    Ok(())
}

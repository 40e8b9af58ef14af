//! A small MCP client: lines of JSON-RPC over the pipes of a server that it starts.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// Time limit for the server to stop its kernel and exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(20);

/// The client of one server.
pub(crate) struct Agent {
    server: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
    requests: u64,
}

impl Agent {
    /// Starts `program` as a server for `folder`.
    pub(crate) fn start(program: &Path, folder: &Path) -> anyhow::Result<Self> {
        let mut server = Command::new(program)
            // Nobody uses the kernel after the demo.
            .args(["--no-browser", "--keep-kernels", "off", "--root"])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} cannot be started", program.display()))?;
        let pipes = server.stdin.take().zip(server.stdout.take());
        let (stdin, stdout) = pipes.context("the server has no standard input or output")?;
        Ok(Self { server, stdin, stdout: BufReader::new(stdout).lines(), requests: 0 })
    }

    /// Sends a request and waits for its result; progress goes to `on_progress`.
    pub(crate) async fn request(
        &mut self,
        method: &str,
        mut params: Value,
        limit: Duration,
        on_progress: &mut dyn FnMut(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<Value> {
        self.requests += 1;
        let id = json!(self.requests);
        params["_meta"] = json!({ "progressToken": id });
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let answered = async {
            self.send(&request).await?;
            loop {
                let mut message = self.receive().await?;
                if message["method"] == "notifications/progress" && message["params"]["progressToken"] == id {
                    on_progress(message["params"]["message"].as_str().unwrap_or_default())?;
                } else if message["method"].is_null() && message["id"] == id {
                    ensure!(message.get("error").is_none(), "{method} was refused: {}", message["error"]);
                    return Ok(message["result"].take());
                }
            }
        };
        let answered = timeout(limit, answered).await;
        answered.with_context(|| format!("no answer to {method} within {} s", limit.as_secs()))?
    }

    /// Sends a message that nobody answers, or the request that somebody will.
    pub(crate) async fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        let line = format!("{message}\n");
        self.stdin.write_all(line.as_bytes()).await.context("the server has ended")
    }

    async fn receive(&mut self) -> anyhow::Result<Value> {
        let Some(line) = self.stdout.next_line().await? else {
            let status = self.server.wait().await?;
            bail!("the server has ended ({status})");
        };
        serde_json::from_str(&line)
            .with_context(|| format!("the server wrote a line that is not JSON: {line:?}"))
    }

    /// Closes the server's standard input, and fails unless the server then exits by itself.
    pub(crate) async fn end(self) -> anyhow::Result<()> {
        let Self { mut server, stdin, .. } = self;
        drop(stdin);
        let status = timeout(EXIT_TIMEOUT, server.wait())
            .await
            .with_context(|| format!("the server did not end within {} s", EXIT_TIMEOUT.as_secs()))??;
        ensure!(status.success(), "the server ended with {status}");
        Ok(())
    }
}

//! A small MCP client: lines of JSON-RPC over the pipes of a server that it starts.

use std::collections::VecDeque;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, timeout, timeout_at};

/// How long the server may take to stop its kernel and end.
const CLOSING: Duration = Duration::from_secs(20);

/// An agent with a server of its own.
pub(super) struct Agent {
    server: Child,
    stdin: Option<ChildStdin>,
    stdout: Lines<BufReader<ChildStdout>>,
    complaints: Complaints,
    requests: u64,
}

impl Agent {
    /// Starts `program` as a server for `folder`.
    pub(super) fn start(program: &Path, folder: &Path) -> anyhow::Result<Self> {
        let mut server = Command::new(program)
            .args(["--no-browser", "--root"])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} cannot be started", program.display()))?;
        let stdin = server.stdin.take();
        let stdout = server.stdout.take().context("the server has no standard output")?;
        let complaints = Complaints::default();
        if let Some(stderr) = server.stderr.take() {
            tokio::spawn(complaints.clone().collect(stderr));
        }
        Ok(Self { server, stdin, stdout: BufReader::new(stdout).lines(), complaints, requests: 0 })
    }

    /// What the server says on stderr.
    pub(super) fn complaints(&self) -> Complaints {
        self.complaints.clone()
    }

    /// Sends a notification.
    pub(super) async fn notify(&mut self, method: &str) -> anyhow::Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method })).await
    }

    /// Sends a request and waits for its result; `on_progress` hears what is told meanwhile.
    pub(super) async fn request(
        &mut self,
        method: &str,
        mut params: Value,
        patience: Duration,
        on_progress: &mut dyn FnMut(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<Value> {
        self.requests += 1;
        let id = self.requests;
        params["_meta"] = json!({ "progressToken": id });
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await?;
        let deadline = Instant::now() + patience;
        loop {
            let received = timeout_at(deadline, self.receive()).await;
            let mut message = received
                .with_context(|| format!("no answer to {method} within {} s", patience.as_secs()))?
                .with_context(|| format!("while waiting for the answer to {method}"))?;
            match (message["method"].as_str(), message.get("id")) {
                (None, Some(answered)) if *answered == json!(id) => {
                    ensure!(message.get("error").is_none(), "{method} was refused: {}", message["error"]);
                    return Ok(message["result"].take());
                }
                (Some("notifications/progress"), None) if message["params"]["progressToken"] == json!(id) => {
                    on_progress(message["params"]["message"].as_str().unwrap_or_default())?;
                }
                (Some(asked), Some(theirs)) => {
                    let answer = answer_to(asked, theirs);
                    self.send(&answer).await?;
                }
                // Other notifications, which a client may pass over.
                (Some(_), None) => {}
                (None, _) => bail!("an answer that belongs to no request: {message}"),
            }
        }
    }

    /// Closes the server's standard input and sees that it ends by itself.
    pub(super) async fn end(mut self) -> anyhow::Result<()> {
        drop(self.stdin.take());
        let status = timeout(CLOSING, self.server.wait())
            .await
            .with_context(|| format!("the server did not end within {} s", CLOSING.as_secs()))??;
        ensure!(status.success(), "the server ended with {status}");
        Ok(())
    }

    async fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        const PATIENCE: Duration = Duration::from_secs(10);
        let stdin = self.stdin.as_mut().context("the server is ending")?;
        let line = format!("{message}\n");
        timeout(PATIENCE, stdin.write_all(line.as_bytes()))
            .await
            .context("the server reads nothing")?
            .context("the server has ended")
    }

    async fn receive(&mut self) -> anyhow::Result<Value> {
        let Some(line) = self.stdout.next_line().await? else {
            let status = self.server.wait().await?;
            bail!("the server has ended ({status})");
        };
        serde_json::from_str(&line)
            .with_context(|| format!("the server wrote a line that is no JSON: {line:?}"))
    }
}

/// The client declares no capability, so a ping is all that it may be asked.
fn answer_to(method: &str, id: &Value) -> Value {
    if method == "ping" {
        return json!({ "jsonrpc": "2.0", "id": id, "result": {} });
    }
    let error = json!({ "code": -32601, "message": format!("this client does not serve {method}") });
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

/// The end of what a server said on stderr.
#[derive(Clone, Default)]
pub(super) struct Complaints(Arc<Mutex<VecDeque<u8>>>);

impl Complaints {
    const MOST: usize = 8 << 10;

    async fn collect(self, mut stderr: ChildStderr) {
        let mut block = vec![0; Self::MOST];
        while let Ok(length @ 1..) = stderr.read(&mut block).await {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend(&block[..length]);
            let excess = kept.len().saturating_sub(Self::MOST);
            kept.drain(..excess);
        }
    }

    /// The error with what the server said.
    pub(super) fn added_to(&self, error: anyhow::Error) -> anyhow::Error {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let said = String::from_utf8_lossy(kept.make_contiguous()).trim().to_owned();
        if said.is_empty() {
            error
        } else {
            anyhow::anyhow!("{error:#}\n\nThe server said on stderr:\n{said}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pings_are_answered_and_other_requests_refused() {
        assert_eq!(answer_to("ping", &json!("p"))["result"], json!({}));
        assert_eq!(answer_to("roots/list", &json!(7))["error"]["code"], -32601);
    }
}

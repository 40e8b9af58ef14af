//! A small MCP client: lines of JSON-RPC over the pipes of a server that it starts.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, timeout, timeout_at};

/// Time limit for the server to stop its kernel and exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(20);

/// The client of one server.
pub(crate) struct Agent {
    server: Child,
    stdin: Option<ChildStdin>,
    stdout: Lines<BufReader<ChildStdout>>,
    requests: u64,
}

impl Agent {
    /// Starts `program` as a server for `folder`. Returns also its standard error.
    pub(crate) fn start(program: &Path, folder: &Path) -> anyhow::Result<(Self, Stderr)> {
        let stderr = NamedTempFile::new().context("there is no folder for temporary files")?;
        let mut server = Command::new(program)
            // Nobody uses the kernel after the demo.
            .args(["--no-browser", "--keep-kernels", "off", "--root"])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr.reopen()?)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} cannot be started", program.display()))?;
        let stdin = server.stdin.take();
        let stdout = server.stdout.take().context("the server has no standard output")?;
        let agent = Self { server, stdin, stdout: BufReader::new(stdout).lines(), requests: 0 };
        Ok((agent, Stderr(stderr)))
    }

    pub(crate) async fn notify(&mut self, method: &str) -> anyhow::Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method })).await
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
        let id = self.requests;
        params["_meta"] = json!({ "progressToken": id });
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await?;
        let deadline = Instant::now() + limit;
        loop {
            let received = timeout_at(deadline, self.receive()).await;
            let mut message = received
                .with_context(|| format!("no answer to {method} within {} s", limit.as_secs()))?
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
                // A client may ignore other notifications.
                (Some(_), None) => {}
                (None, _) => bail!("an answer to no request: {message}"),
            }
        }
    }

    /// Closes the server's standard input, and fails unless the server then exits by itself.
    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        drop(self.stdin.take());
        let status = timeout(EXIT_TIMEOUT, self.server.wait())
            .await
            .with_context(|| format!("the server did not end within {} s", EXIT_TIMEOUT.as_secs()))??;
        ensure!(status.success(), "the server ended with {status}");
        Ok(())
    }

    async fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
        let stdin = self.stdin.as_mut().context("the server is ending")?;
        let line = format!("{message}\n");
        timeout(WRITE_TIMEOUT, stdin.write_all(line.as_bytes()))
            .await
            .context("the server does not read its standard input")?
            .context("the server has ended")
    }

    async fn receive(&mut self) -> anyhow::Result<Value> {
        let Some(line) = self.stdout.next_line().await? else {
            let status = self.server.wait().await?;
            bail!("the server has ended ({status})");
        };
        serde_json::from_str(&line)
            .with_context(|| format!("the server wrote a line that is not JSON: {line:?}"))
    }
}

/// The client declares no capability, so the server may only ping it.
fn answer_to(method: &str, id: &Value) -> Value {
    if method == "ping" {
        return json!({ "jsonrpc": "2.0", "id": id, "result": {} });
    }
    let error = json!({ "code": -32601, "message": format!("this client does not serve {method}") });
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

/// A server's standard error.
pub(crate) struct Stderr(NamedTempFile);

impl Stderr {
    const MAX_BYTES: u64 = 8 << 10;

    /// Adds its end to an error.
    pub(crate) fn add_to(&self, error: anyhow::Error) -> anyhow::Error {
        let mut end = Vec::new();
        let read = self.0.reopen().and_then(|mut file| {
            let start = file.metadata()?.len().saturating_sub(Self::MAX_BYTES);
            file.seek(SeekFrom::Start(start))?;
            file.read_to_end(&mut end)
        });
        match String::from_utf8_lossy(&end).trim() {
            said if read.is_ok() && !said.is_empty() => {
                anyhow::anyhow!("{error:#}\n\nThe server's standard error:\n{said}")
            }
            _ => error,
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

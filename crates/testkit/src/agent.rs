//! An agent: it starts the program and speaks JSON-RPC with it, one message a line.

use std::collections::VecDeque;
use std::fmt::Display;
use std::process::ExitStatus;

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::ChildStdin;
use tokio::sync::mpsc;

use crate::message::excerpt;
use crate::{Message, Program, within};

/// A client on the program's standard input and output.
pub struct Agent {
    program: Program,
    stdin: Option<ChildStdin>,
    lines: mpsc::UnboundedReceiver<Vec<u8>>,
    next_id: u64,
    responses: Vec<Message>,
    notifications: VecDeque<Message>,
    /// Requests of the program; `None` for an agent that accepts none.
    requests: Option<VecDeque<Message>>,
}

impl Agent {
    /// Starts the program; says nothing to it yet.
    pub fn start(program: &str, arguments: &[&str]) -> Result<Self> {
        Self::start_with(program, arguments, &[])
    }

    /// Starts the program with these environment variables.
    pub fn start_with(program: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Result<Self> {
        let mut program = Program::start(program, arguments, variables)?;
        let stdin = Some(program.stdin()?);
        let mut stdout = BufReader::with_capacity(1 << 16, program.stdout()?);
        // Read always, so that a test which is busy elsewhere never blocks the program.
        let (line_in, lines) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut line = Vec::new();
            while matches!(stdout.read_until(b'\n', &mut line).await, Ok(1..)) {
                if line_in.send(std::mem::take(&mut line)).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            program,
            stdin,
            lines,
            next_id: 1,
            responses: Vec::new(),
            notifications: VecDeque::new(),
            requests: None,
        })
    }

    /// Opens the session in a protocol version of the `initialize` era, and returns the server's answer.
    pub async fn initialize(&mut self, version: &str) -> Result<Value> {
        self.initialize_with(version, json!({})).await
    }

    /// Opens the session as an agent that shows its person forms.
    pub async fn initialize_with_forms(&mut self, version: &str) -> Result<Value> {
        self.requests = Some(VecDeque::new());
        self.initialize_with(version, json!({ "elicitation": {} })).await
    }

    async fn initialize_with(&mut self, version: &str, capabilities: Value) -> Result<Value> {
        let client = json!({ "name": "testkit", "version": "1" });
        let params =
            json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": client });
        let result = self.request("initialize", params).await?;
        self.notify("notifications/initialized", "{}").await?;
        Ok(result)
    }

    /// Sends a request and waits for its result. `params` is JSON text or a JSON value.
    pub async fn request(&mut self, method: &str, params: impl Display) -> Result<Value> {
        self.exchange(method, params).await?.result_value()
    }

    /// Sends a request and waits for the whole answer, result or error.
    pub async fn exchange(&mut self, method: &str, params: impl Display) -> Result<Message> {
        let id = self.start_request(method, params).await?;
        self.wait_response(id).await.with_context(|| format!("the answer to {method}"))
    }

    /// Sends a request and returns its id.
    pub async fn start_request(&mut self, method: &str, params: impl Display) -> Result<u64> {
        let id = self.next_id;
        self.next_id += 1;
        let method = Value::from(method);
        self.send_raw(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#))
            .await?;
        Ok(id)
    }

    /// Sends a notification.
    pub async fn notify(&mut self, method: &str, params: impl Display) -> Result<()> {
        let method = Value::from(method);
        self.send_raw(&format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{params}}}"#)).await
    }

    /// Sends one line as it is.
    pub async fn send_raw(&mut self, line: &str) -> Result<()> {
        let stdin = self.stdin.as_mut().context("standard input is closed")?;
        let write = async {
            stdin.write_all(line.as_bytes()).await?;
            stdin.write_all(b"\n").await?;
            stdin.flush().await
        };
        within("room on standard input", write).await?.context("cannot write to the program")
    }

    /// Starts a `tools/call` and returns its id. `arguments` is JSON text or a JSON value.
    pub async fn start_call(&mut self, tool: &str, arguments: impl Display) -> Result<u64> {
        let tool = Value::from(tool);
        self.start_request("tools/call", format_args!(r#"{{"name":{tool},"arguments":{arguments}}}"#)).await
    }

    /// Starts a `tools/call` that asks for progress under `token`, which is JSON text.
    pub async fn start_call_with_progress(
        &mut self,
        tool: &str,
        arguments: impl Display,
        token: &str,
    ) -> Result<u64> {
        let tool = Value::from(tool);
        let meta = format!(r#"{{"progressToken":{token}}}"#);
        let params = format!(r#"{{"name":{tool},"arguments":{arguments},"_meta":{meta}}}"#);
        self.start_request("tools/call", params).await
    }

    /// Calls a tool and waits for its result, be it `isError` or not.
    pub async fn call_tool(&mut self, tool: &str, arguments: impl Display) -> Result<Value> {
        let id = self.start_call(tool, arguments).await?;
        self.wait_response(id).await.with_context(|| format!("the answer of {tool}"))?.result_value()
    }

    /// Calls a tool that must not fail, and returns the text of its answer.
    pub async fn call_tool_for_text(&mut self, tool: &str, arguments: impl Display) -> Result<String> {
        let arguments = arguments.to_string();
        let result = self.call_tool(tool, &arguments).await?;
        let text = result["content"][0]["text"].as_str().context("no text")?.to_owned();
        ensure!(result["isError"] == false, "{tool} {arguments}: {text}");
        Ok(text)
    }

    /// Calls a tool that is expected to fail in a way that a model can read, and returns that text.
    pub async fn call_tool_expecting_failure(
        &mut self,
        tool: &str,
        arguments: impl Display,
    ) -> Result<String> {
        failure(&self.call_tool(tool, arguments).await?)
    }

    /// Waits for the answer to one request; answers to others are kept.
    pub async fn wait_response(&mut self, id: u64) -> Result<Message> {
        let id = id.to_string();
        loop {
            let found = self.responses.iter().position(|answer| answer.id.as_deref() == Some(&id));
            if let Some(position) = found {
                return Ok(self.responses.swap_remove(position));
            }
            self.read(&format!("the answer to request {id}")).await?;
        }
    }

    /// Waits for a readable failure in answer to one request, and returns its text.
    pub async fn wait_failure(&mut self, id: u64) -> Result<String> {
        failure(&self.wait_response(id).await?.result_value()?)
    }

    /// Waits for the next answer to any request.
    pub async fn wait_any_response(&mut self) -> Result<Message> {
        while self.responses.is_empty() {
            self.read("an answer").await?;
        }
        Ok(self.responses.remove(0))
    }

    /// Waits for a notification; others are kept.
    pub async fn wait_notification(&mut self, method: &str) -> Result<Message> {
        loop {
            let found = self.notifications.iter().position(|sent| sent.method.as_deref() == Some(method));
            if let Some(sent) = found.and_then(|position| self.notifications.remove(position)) {
                return Ok(sent);
            }
            self.read(method).await?;
        }
    }

    /// Waits for a request of the program.
    pub async fn wait_request(&mut self, method: &str) -> Result<Message> {
        loop {
            if let Some(request) = self.requests.as_mut().and_then(VecDeque::pop_front) {
                ensure!(request.method.as_deref() == Some(method), "expected {method}, got {}", request.text);
                return Ok(request);
            }
            self.read(method).await?;
        }
    }

    /// Answers a request of the program.
    pub async fn respond(&mut self, request: &Message, result: impl Display) -> Result<()> {
        let id = request.need_id()?;
        self.send_raw(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await
    }

    /// The notifications that came before the last awaited message, oldest first.
    pub fn take_notifications(&mut self) -> Vec<Message> {
        self.notifications.drain(..).collect()
    }

    /// Reads everything that the program sent before it saw this call, and fails if a notification or an answer
    /// stands unexamined.
    pub async fn assert_quiet(&mut self) -> Result<()> {
        self.request("ping", "{}").await?;
        let asked = self.requests.as_ref().and_then(VecDeque::front);
        match self.notifications.front().or(self.responses.first()).or(asked) {
            None => Ok(()),
            Some(message) => bail!("unexpected: {}", excerpt(&message.text)),
        }
    }

    /// Forgets notifications that have come, after reading everything sent before it saw this call.
    pub async fn discard_notifications(&mut self) -> Result<()> {
        self.request("ping", "{}").await?;
        self.notifications.clear();
        Ok(())
    }

    /// Closes the program's standard input.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Sends the program a signal.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        self.program.signal(signal)
    }

    /// Waits for the program's end; anything on standard output that is no JSON-RPC fails.
    pub async fn wait_exit(&mut self) -> Result<ExitStatus> {
        let status = self.program.wait_exit().await?;
        while let Some(line) = within("the end of standard output", self.lines.recv()).await? {
            self.keep(line)?;
        }
        Ok(status)
    }

    /// The process.
    pub fn program(&mut self) -> &mut Program {
        &mut self.program
    }

    async fn read(&mut self, awaited: &str) -> Result<()> {
        let line = match within(awaited, self.lines.recv()).await {
            Ok(Some(line)) => line,
            Ok(None) => bail!("standard output ended; standard error: {}", self.program.stderr()),
            Err(late) => return Err(late.context(format!("standard error: {}", self.program.stderr()))),
        };
        self.keep(line)
    }

    fn keep(&mut self, mut line: Vec<u8>) -> Result<()> {
        ensure!(line.pop() == Some(b'\n'), "the last line on standard output does not end");
        let message = Message::parse(String::from_utf8(line).context("standard output is not UTF-8")?)?;
        match (&message.method, &message.id, &mut self.requests) {
            (None, ..) => self.responses.push(message),
            (Some(_), None, _) => self.notifications.push_back(message),
            (Some(_), Some(_), Some(requests)) => requests.push_back(message),
            (Some(_), Some(_), None) => bail!("the program asks the agent: {}", excerpt(&message.text)),
        }
        Ok(())
    }
}

/// The text of a result that must be a failure.
fn failure(result: &Value) -> Result<String> {
    ensure!(result["isError"] == true, "not a failure: {}", excerpt(&result.to_string()));
    result["content"][0]["text"].as_str().map(str::to_owned).context("a failure without a text")
}

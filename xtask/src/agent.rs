//! A small MCP client: starts a program and sends it requests over standard input and output.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

/// A program that answers as an MCP server.
pub(crate) struct Agent {
    program: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    requests: u64,
}

impl Agent {
    /// Starts the program and opens a session.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let mut program = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} can't be started", command.get_program().display()))?;
        let stdin = program.stdin.take();
        let stdout = program.stdout.take().context("no standard output")?;
        let mut agent = Self { program, stdin, lines: BufReader::new(stdout).lines(), requests: 0 };
        let client = json!({ "name": "xtask", "version": "1" });
        let parameters = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        agent.request("initialize", &parameters)?;
        agent.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(agent)
    }

    /// The result of a request.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.requests += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.requests, "method": method, "params": params }))?;
        loop {
            let line =
                self.lines.next().with_context(|| format!("it ended without an answer to {method}"))?;
            let mut message: Value = serde_json::from_str(&line?)?;
            if message["id"] == self.requests {
                let result = message.get_mut("result").map(Value::take);
                return result.with_context(|| format!("it refused {method}: {message}"));
            }
        }
    }

    /// The text of a tool's answer; an error if the call failed.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<String> {
        let result = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        let content = result["content"].as_array().into_iter().flatten();
        let text: Vec<&str> = content.filter_map(|item| item["text"].as_str()).collect();
        if result["isError"] == true {
            bail!("{tool} failed: {}", text.join("\n"));
        }
        Ok(text.join("\n"))
    }

    /// Leaves, whereupon the program ends.
    pub(crate) fn leave(mut self) -> Result<()> {
        drop(self.stdin.take());
        let status = self.program.wait()?;
        if !status.success() {
            bail!("it ended with {status}");
        }
        Ok(())
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let stdin = self.stdin.as_mut().context("no standard input")?;
        Ok(writeln!(stdin, "{message}")?)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // After `leave` it has ended; after an error it must not stay.
        drop(self.stdin.take());
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

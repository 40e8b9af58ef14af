//! A client of a Jupyter server's `/mcp`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::jupyter::rest::authorization;
use crate::local::clients::StdioClient;
use crate::process::{INITIALIZE, INITIALIZED};
use crate::reply::text_of;

pub(crate) trait Caller {
    /// Calls a tool; returns the time until the answer was read, and its text.
    fn call(&mut self, tool: &str, arguments: &Value) -> Result<(Duration, String)>;
}

impl Caller for StdioClient {
    fn call(&mut self, tool: &str, arguments: &Value) -> Result<(Duration, String)> {
        Self::call(self, tool, arguments)
    }
}

/// An agent with one persistent connection.
pub(crate) struct Agent {
    stream: BufReader<TcpStream>,
    /// What the server calls the session, if it knows sessions.
    session: Option<String>,
    requests: usize,
}

/// How a body ends.
enum Framing {
    Length(usize),
    Chunks,
    Over,
}

impl Agent {
    /// Connects, and gets to know the server.
    pub(crate) fn open(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        let mut agent = Self { stream: BufReader::new(stream), session: None, requests: 1 };
        agent.post(INITIALIZE)?;
        agent.post(INITIALIZED)?;
        Ok(agent)
    }

    /// Posts a message; returns the time until the answer was read, and the answer.
    fn post(&mut self, message: &str) -> Result<(Duration, Vec<u8>)> {
        let session =
            self.session.as_ref().map(|session| format!("Mcp-Session-Id: {session}\r\n")).unwrap_or_default();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{session}Content-Length: {}\r\n\r\n{message}",
            authorization(),
            message.len()
        );
        let start = Instant::now();
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut framing = self.head()?;
        let (mut body, mut answered) = (Vec::new(), None);
        while self.part(&mut framing, &mut body)? {
            let taken = start.elapsed();
            if answered.is_none() {
                answered = answer(&body).map(|answer| (taken, answer.to_vec()));
            }
        }
        Ok(answered.unwrap_or((start.elapsed(), body)))
    }

    fn head(&mut self) -> Result<Framing> {
        let status = self.line()?;
        let mut framing = Framing::Over;
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').context("no header")?;
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => framing = Framing::Length(value.parse()?),
                "transfer-encoding" => framing = Framing::Chunks,
                "mcp-session-id" => self.session = Some(value.to_owned()),
                _ => (),
            }
        }
        ensure!(status.contains(" 20"), "/mcp: {status}");
        Ok(framing)
    }

    /// Reads more of the body. Returns whether there was more.
    fn part(&mut self, framing: &mut Framing, body: &mut Vec<u8>) -> Result<bool> {
        let (length, end) = match *framing {
            Framing::Over => return Ok(false),
            Framing::Length(length) => (length, 0),
            Framing::Chunks => (usize::from_str_radix(&self.line()?, 16)?, "\r\n".len()),
        };
        if end == 0 || length == 0 {
            *framing = Framing::Over;
        }
        let before = body.len();
        body.resize(before + length + end, 0);
        self.stream.read_exact(&mut body[before..])?;
        body.truncate(before + length);
        Ok(length > 0)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.stream.read_line(&mut line)? > 0, "the server closed the connection");
        Ok(line.trim_end().to_owned())
    }
}

impl Caller for Agent {
    fn call(&mut self, tool: &str, arguments: &Value) -> Result<(Duration, String)> {
        self.requests += 1;
        let params = json!({ "name": tool, "arguments": arguments });
        let call = json!({ "jsonrpc": "2.0", "id": self.requests, "method": "tools/call", "params": params });
        let (taken, answer) = self.post(&call.to_string())?;
        Ok((taken, text_of(&answer)?))
    }
}

/// The answer within a body: all of it, or an event.
fn answer(body: &[u8]) -> Option<&[u8]> {
    let is_answer = |line: &&[u8]| serde_json::from_slice::<Value>(line).is_ok_and(|it| it["id"].is_number());
    let lines = body.split(|byte| *byte == b'\n');
    lines.map(|line| line.strip_prefix(b"data:").unwrap_or(line)).find(is_answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_found_in_bodies_and_events() {
        let whole = br#"{"jsonrpc": "2.0", "id": 2, "result": {}}"#;
        assert_eq!(answer(whole).unwrap(), whole);
        let event = br#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
        let body = [b"id: 0\nretry: 3000\ndata:\n\nid: 1\ndata:".as_slice(), event].concat();
        assert_eq!(answer(&body).unwrap(), event);
        assert!(answer(&body[..body.len() - 1]).is_none());
        assert!(answer(br#"data: {"jsonrpc":"2.0","method":"notifications/progress"}"#).is_none());
    }
}

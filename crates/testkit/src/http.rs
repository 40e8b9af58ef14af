//! A small client for Streamable HTTP that leaves nothing to a protocol library.

use std::collections::VecDeque;

use anyhow::{Context as _, Result, bail, ensure};
use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::{Message, within};

/// An MCP endpoint, and how a client shows its token.
#[derive(Clone)]
pub struct Endpoint {
    client: Client,
    /// The URL, with `?token=` if the token is shown that way.
    pub url: String,
    /// The token for the `Authorization` header.
    pub bearer: Option<String>,
}

impl Endpoint {
    /// An endpoint reached without a token in the header.
    pub fn new(url: impl Into<String>) -> Self {
        // reqwest needs a provider even without TLS; an earlier client may have installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self { client: Client::new(), url: url.into(), bearer: None }
    }

    /// Shows a token in the header.
    #[must_use]
    pub fn with_bearer(mut self, token: &str) -> Self {
        self.bearer = Some(token.to_owned());
        self
    }

    /// Sends one request, with headers in addition to the usual ones or in place of them.
    pub async fn send(
        &self,
        method: Method,
        body: Option<String>,
        headers: &[(&str, &str)],
    ) -> Result<Reply> {
        let mut request = self.client.request(method, &self.url);
        if let Some(token) = &self.bearer {
            request = request.bearer_auth(token);
        }
        request = request.header("Accept", "application/json, text/event-stream");
        if let Some(body) = body {
            request = request.header("Content-Type", "application/json").body(body);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = within("an HTTP answer", request.send()).await??;
        Ok(Reply { response, unread: Vec::new(), events: VecDeque::new() })
    }

    /// Posts one JSON-RPC message.
    pub async fn post(&self, body: impl Into<String>, headers: &[(&str, &str)]) -> Result<Reply> {
        self.send(Method::POST, Some(body.into()), headers).await
    }

    /// Posts a request of the era without sessions, with the headers and the `_meta` that it asks for. `params`
    /// is the inside of an object, without braces; `meta` goes beside the version, with a leading comma.
    pub async fn post_modern(&self, id: u64, method: &str, params: &str, meta: &str) -> Result<Reply> {
        let capabilities = r#","io.modelcontextprotocol/clientCapabilities":{}"#;
        self.post_bare_modern(id, method, params, &format!("{capabilities}{meta}")).await
    }

    /// As [`Endpoint::post_modern`], for a client that shows its person forms.
    pub async fn post_modern_with_forms(&self, id: u64, method: &str, params: &str) -> Result<Reply> {
        let capabilities = r#","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}"#;
        self.post_bare_modern(id, method, params, capabilities).await
    }

    async fn post_bare_modern(&self, id: u64, method: &str, params: &str, meta: &str) -> Result<Reply> {
        let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
        let client = r#""io.modelcontextprotocol/clientInfo":{"name":"testkit","version":"1"}"#;
        let separator = if params.is_empty() { "" } else { "," };
        let params = format!(r#"{{{params}{separator}"_meta":{{{version},{client}{meta}}}}}"#);
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        let name = Message::parse(body.clone())?.tool().unwrap_or_default();
        let mut headers = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        if !name.is_empty() {
            headers.push(("Mcp-Name", &name));
        }
        self.post(body, &headers).await
    }
}

/// An HTTP answer. Dropping it before its end closes the connection.
pub struct Reply {
    response: Response,
    unread: Vec<u8>,
    events: VecDeque<String>,
}

impl Reply {
    /// The status code.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// A header's text, empty when absent.
    pub fn header(&self, name: &str) -> &str {
        self.response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The whole body.
    pub async fn text(self) -> Result<String> {
        Ok(within("the body", self.response.text()).await??)
    }

    /// The next JSON-RPC message, whether the body is JSON or a stream of events.
    pub async fn message(&mut self) -> Result<Message> {
        ensure!(self.status() == StatusCode::OK, "status {}", self.status());
        if self.header("content-type").starts_with("application/json") {
            let mut body = Vec::new();
            while let Some(chunk) = within("the body", self.response.chunk()).await?? {
                body.extend_from_slice(&chunk);
            }
            return Message::parse(String::from_utf8(body)?);
        }
        let data = self.event().await?.context("the stream ended")?;
        Message::parse(data)
    }

    /// The next message, which must be this notification.
    pub async fn notification(&mut self, method: &str) -> Result<Message> {
        let message = self.message().await?;
        ensure!(message.method.as_deref() == Some(method), "expected {method}, got {}", message.text);
        Ok(message)
    }

    /// The next event that carries data; `None` at the end of the stream.
    pub async fn event(&mut self) -> Result<Option<String>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            let Some(chunk) = within("an event", self.response.chunk()).await?? else { return Ok(None) };
            self.unread.extend_from_slice(&chunk);
            // Searching only when an event may have ended keeps a large event linear.
            if self.unread.ends_with(b"\n") {
                self.split()?;
            }
        }
    }

    /// The id of the event that opens the stream, under which one may come back for it.
    pub async fn event_id(&mut self) -> Result<String> {
        loop {
            let text = String::from_utf8_lossy(&self.unread);
            if let Some(id) = text.lines().find_map(|line| line.strip_prefix("id:"))
                && text.contains("\n\n")
            {
                return Ok(id.trim().to_owned());
            }
            let chunk = within("the first event", self.response.chunk()).await??;
            self.unread.extend_from_slice(&chunk.context("the stream ended")?);
        }
    }

    fn split(&mut self) -> Result<()> {
        let text = String::from_utf8(std::mem::take(&mut self.unread))?.replace("\r\n", "\n");
        let mut rest = text.as_str();
        while let Some((event, after)) = rest.split_once("\n\n") {
            rest = after;
            let data = event.lines().filter_map(|line| line.strip_prefix("data:"));
            let data: Vec<_> = data.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
            // Priming events and comments carry none.
            if data.iter().any(|line| !line.is_empty()) {
                self.events.push_back(data.join("\n"));
            }
        }
        self.unread = rest.as_bytes().to_vec();
        Ok(())
    }
}

/// A session of the `initialize` era.
pub struct Session {
    endpoint: Endpoint,
    version: &'static str,
    id: String,
}

impl Session {
    /// Opens a session.
    pub async fn open(endpoint: &Endpoint, version: &'static str) -> Result<Self> {
        let client = json!({ "name": "testkit", "version": "1" });
        let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client });
        let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let mut reply = endpoint.post(body.to_string(), &[]).await?;
        let answer = reply.message().await?.result_value()?;
        ensure!(answer["protocolVersion"] == version, "another version: {answer}");
        let id = reply.header("mcp-session-id").to_owned();
        ensure!(!id.is_empty(), "no session id");
        let session = Self { endpoint: endpoint.clone(), version, id };
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let reply = session.post(initialized).await?;
        if reply.status() != StatusCode::ACCEPTED {
            bail!("the notification was answered with {}", reply.status());
        }
        Ok(session)
    }

    /// Posts one JSON-RPC message in this session.
    pub async fn post(&self, body: impl Into<String>) -> Result<Reply> {
        self.endpoint.post(body, &self.headers()).await
    }

    /// Posts a request. `params` is JSON text.
    pub async fn request(&self, id: &str, method: &str, params: &str) -> Result<Reply> {
        self.post(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)).await
    }

    /// Opens the stream on which the server speaks unasked.
    pub async fn listen(&self) -> Result<Reply> {
        self.endpoint.send(Method::GET, None, &self.headers()).await
    }

    /// Comes back for a stream after the event `last`.
    pub async fn resume(&self, last: &str) -> Result<Reply> {
        let headers = [&self.headers()[..], &[("Last-Event-ID", last)]].concat();
        self.endpoint.send(Method::GET, None, &headers).await
    }

    fn headers(&self) -> [(&str, &str); 2] {
        [("Mcp-Session-Id", &self.id), ("MCP-Protocol-Version", self.version)]
    }

    /// A value of a request that has one answer.
    pub async fn call(&self, id: &str, method: &str, params: &str) -> Result<Value> {
        self.request(id, method, params).await?.message().await?.result_value()
    }
}

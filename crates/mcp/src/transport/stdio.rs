//! MCP as lines, one JSON-RPC message each, and nothing else: on standard input and output, and behind a WebSocket.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use connection::Envelope;
use futures_util::future::BoxFuture;
use rmcp::ServiceExt as _;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, ErrorCode,
    GetExtensions as _,
};
use rmcp::service::{RoleServer, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::io::stdio_pipes;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::line_writer::LineWriter;
use crate::relayed::call::{CallHead, RawParams, refusal};
use crate::relayed::raw;
use crate::server::Server;

/// The longest line that is read from an agent, in bytes.
pub(super) const MAX_LINE: usize = 256 * 1024 * 1024;

/// Time limit for writing the last lines at the end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long calls may take after the agent's end of input.
const END_GRACE: Duration = Duration::from_millis(200);

/// A session over stdio failed.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// `initialize` failed.
    #[error("the agent's session could not be opened: {0}")]
    Opening(Box<ServerInitializeError>),
    /// A task of the session failed.
    #[error("the agent's session broke: {0}")]
    Broken(#[from] tokio::task::JoinError),
}

/// Serves one agent until its end of stdin, or until `shutdown`.
pub async fn serve_stdio(server: &Server, shutdown: CancellationToken) -> Result<(), StdioError> {
    let (reader, writer) = stdio_pipes();
    serve_lines(server, Box::new(reader), Box::new(writer), None, shutdown).await
}

/// Serves one agent until the end of `reader`, or until `shutdown`. Its requests carry `caller`, as over HTTP. Boxed, as the code of a
/// session is 0.1 MB for each kind of reader.
pub(super) fn serve_lines(
    server: &Server,
    reader: Box<dyn AsyncRead + Unpin + Send>,
    writer: Box<dyn AsyncWrite + Unpin + Send>,
    caller: Option<Parts>,
    shutdown: CancellationToken,
) -> BoxFuture<'_, Result<(), StdioError>> {
    let ended = shutdown.child_token();
    let over = ended.clone();
    let transport = LineTransport {
        reader: BufReader::with_capacity(64 * 1024, reader),
        line: Vec::new(),
        is_too_long: false,
        has_opened: false,
        caller,
        lines: Arc::new(LineWriter::new(writer)),
        ended: ended.clone(),
    };
    Box::pin(async move {
        match server.session(&ended).serve_with_ct(transport, shutdown).await {
            Ok(running) => tokio::select! {
                ended = running.waiting() => Ok(ended.map(drop)?),
                // An agent that does not read must not keep the process alive.
                () = async { over.cancelled().await; sleep(CLOSE_TIMEOUT).await } => Ok(()),
            },
            // A client that only probes the server, or cancels.
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
            Err(error) => Err(StdioError::Opening(Box::new(error))),
        }
    })
}

struct LineTransport {
    reader: BufReader<Box<dyn AsyncRead + Unpin + Send>>,
    /// The line so far: `receive` may be dropped at any await.
    line: Vec<u8>,
    is_too_long: bool,
    /// Whether the agent has sent a request. `rmcp` ends a session that begins with anything else.
    has_opened: bool,
    caller: Option<Parts>,
    lines: Arc<LineWriter>,
    ended: CancellationToken,
}

impl LineTransport {
    /// The next whole line, without its line break. `None` at the end of input.
    async fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                // A last line without an end is a line.
                let rest = std::mem::take(&mut self.line);
                return Ok(Some(rest).filter(|rest| !rest.is_empty()));
            }
            let end = memchr::memchr(b'\n', available);
            let taken = end.unwrap_or(available.len());
            if self.line.len() + taken > MAX_LINE {
                self.is_too_long = true;
                self.line.clear();
            }
            if !self.is_too_long {
                self.line.extend_from_slice(&available[..taken]);
            }
            let consumed = taken + usize::from(end.is_some());
            self.reader.consume(consumed);
            if end.is_some() {
                if std::mem::take(&mut self.is_too_long) {
                    let reason = format!("a line longer than {MAX_LINE} bytes was discarded");
                    self.lines.post(refusal("null", ErrorCode::INVALID_REQUEST, &reason));
                    continue;
                }
                return Ok(Some(std::mem::take(&mut self.line)));
            }
        }
    }
}

impl Transport<RoleServer> for LineTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let written = raw::write(message).map(|line| self.lines.push(line));
        let lines = self.lines.clone();
        async move {
            written?;
            lines.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let lines = self.lines.clone();
        loop {
            let next = async {
                if lines.is_full() {
                    lines.flush().await?;
                }
                self.next_line().await
            };
            let line = tokio::select! {
                () = lines.broken.cancelled() => break,
                line = next => match line {
                    Ok(Some(line)) => line,
                    Ok(None) => break,
                    Err(error) => {
                        tracing::warn!(%error, "cannot read from the agent");
                        break;
                    }
                },
            };
            match decode(&line) {
                Decoded::Message(mut message) => {
                    if let ClientJsonRpcMessage::Request(request) = &mut *message {
                        self.has_opened = true;
                        if let Some(caller) = &self.caller {
                            request.request.extensions_mut().insert(caller.clone());
                        }
                    }
                    if self.has_opened {
                        return Some(*message);
                    }
                }
                Decoded::Nothing => {}
                Decoded::Refused(answer) => self.lines.post(answer),
            }
        }
        // Calls that nobody waits for must not delay the end, but a script that pipes its requests in wants the answers
        // that are nearly ready.
        let ended = self.ended.clone();
        place::spawn(async move {
            sleep(END_GRACE).await;
            ended.cancel();
        });
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        if self.lines.broken.is_cancelled() { Ok(()) } else { self.lines.flush().await }
    }
}

/// What a line holds.
pub(crate) enum Decoded {
    Message(Box<ClientJsonRpcMessage>),
    /// Nothing to answer.
    Nothing,
    /// An error; the line that answers it.
    Refused(String),
}

/// Reads one line. The arguments of a tool call stay text: `rmcp` gets the call without them.
pub(crate) fn decode(line: &[u8]) -> Decoded {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Decoded::Nothing;
    }
    let Some(envelope) = Envelope::parse(line) else {
        return Decoded::Refused(refusal(
            "null",
            ErrorCode::PARSE_ERROR,
            "this line is not a JSON-RPC message",
        ));
    };
    let id = envelope.id.map_or("null", RawValue::get);
    let refused = |code, reason: &str| match envelope.id {
        Some(_) => Decoded::Refused(refusal(id, code, reason)),
        None => Decoded::Nothing,
    };
    if !envelope.is_current() {
        return refused(ErrorCode::INVALID_REQUEST, "this is not a JSON-RPC 2.0 message");
    }
    if envelope.method.as_deref() == Some("tools/call") && envelope.id.is_some() {
        return match tool_call(id, envelope.params) {
            Ok(message) => Decoded::Message(Box::new(message)),
            Err(reason) => refused(ErrorCode::INVALID_PARAMS, reason),
        };
    }
    match serde_json::from_slice(line) {
        Ok(message) => Decoded::Message(Box::new(message)),
        Err(error) => {
            tracing::debug!(%error, "a message that cannot be read");
            refused(ErrorCode::INVALID_REQUEST, "this is not a valid request")
        }
    }
}

fn tool_call(id: &str, params: Option<&RawValue>) -> Result<ClientJsonRpcMessage, &'static str> {
    let params = params.ok_or("tools/call needs params")?;
    let head = CallHead::read(params)?;
    let id = serde_json::from_str(id).ok();
    let (id, meta) = id.zip(head.meta()).ok_or("the id or _meta of this call cannot be read")?;
    let mut call = CallToolRequest::new(CallToolRequestParams::new(head.name.into_owned()));
    call.extensions.insert(meta);
    call.extensions.insert(RawParams(Arc::from(params.to_owned())));
    Ok(ClientJsonRpcMessage::request(ClientRequest::CallToolRequest(call), id))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refused(line: &str) -> serde_json::Value {
        match decode(line.as_bytes()) {
            Decoded::Refused(answer) => serde_json::from_str(&answer).unwrap(),
            Decoded::Nothing => serde_json::Value::Null,
            Decoded::Message(message) => panic!("{line} was taken as {message:?}"),
        }
    }

    #[test]
    fn a_call_keeps_its_params_as_they_were_written() {
        let params =
            r#"{"name":"x","arguments":{"n":1.0,"huge":1e999,"big":12345678901234567890123},"later":true}"#;
        let line = format!(r#"{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{params}}}"#);
        let Decoded::Message(message) = decode(line.as_bytes()) else { panic!("taken") };
        let ClientJsonRpcMessage::Request(request) = *message else { panic!("a request") };
        assert!(matches!(&request.request, ClientRequest::CallToolRequest(call) if call.params.name == "x"));
        assert_eq!(request.request.extensions().get::<RawParams>().unwrap().0.get(), params);
    }

    #[test]
    fn invalid_lines_are_refused_or_ignored() {
        assert_eq!(refused("{")["error"]["code"], -32700);
        assert_eq!(refused("[]")["error"]["code"], -32700);
        let answer = refused(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"arguments":{}}}"#);
        assert_eq!(answer["error"]["code"], -32602);
        assert_eq!(answer["id"], 3);
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":"q","method":"tools/call"}"#)["error"]["code"], -32602);
        let line = r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":["x"]}"#;
        assert_eq!(refused(line)["error"]["code"], -32602);
        assert!(refused("").is_null());
        assert!(refused("  \r").is_null());
    }

    proptest! {
        #[test]
        fn any_line_is_answered_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode(&bytes);
        }

        #[test]
        fn any_arguments_stay_as_they_are(text in ".*", id in any::<i64>()) {
            let arguments = serde_json::json!({ "text": text }).to_string();
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"arguments":{arguments},"name":"t"}}}}"#);
            let Decoded::Message(message) = decode(line.as_bytes()) else { return Err(TestCaseError::fail("not taken")) };
            let ClientJsonRpcMessage::Request(request) = *message else { return Err(TestCaseError::fail("no request")) };
            let RawParams(params) = request.request.extensions().get::<RawParams>().unwrap();
            prop_assert!(params.get().contains(&arguments));
        }
    }
}

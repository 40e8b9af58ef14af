//! MCP over WebSocket, on the path of the HTTP endpoint: one JSON-RPC message per text frame, with the subprotocol `mcp`. The socket is
//! ours, or that of another server (`embedded`).
//!
//! No specification describes it (<https://github.com/modelcontextprotocol/modelcontextprotocol/issues/1288> is a draft); this is what
//! clients with such an entry speak. A session ends with its socket; runs go on, as everywhere.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use front_door::Refusal;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, interval_at, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Message, Role, WebSocketConfig};
use tokio_util::sync::CancellationToken;

use super::http::too_many_sessions;
use super::http_auth;
use super::stdio::{MAX_LINE, serve_lines};
use crate::server::Server;

const SUBPROTOCOL: &str = "mcp";
/// How long the connection may take to change its protocol after our answer.
const UPGRADE_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a client is asked whether it is there.
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// How long nothing may come from a client, not even the answer to a ping.
const SILENCE: Duration = Duration::from_secs(90);
/// How long a client may take to read a message.
const SEND_TIMEOUT: Duration = Duration::from_secs(60);
/// How much is read ahead of the session.
const BUFFERED: usize = 64 * 1024;

/// The sessions over WebSocket, of which there may be as many as over HTTP.
pub(super) struct WebSockets {
    server: Server,
    room: Arc<Semaphore>,
    shutdown: CancellationToken,
}

/// A session over WebSocket, which ends when this is dropped: its messages from the client and to it.
pub struct SocketSession {
    incoming: Mutex<WriteHalf<DuplexStream>>,
    outgoing: Mutex<Outgoing>,
    _room: Arc<OwnedSemaphorePermit>,
}

struct Outgoing {
    lines: BufReader<ReadHalf<DuplexStream>>,
    /// The line so far: `next` may be dropped at its await.
    line: Vec<u8>,
}

impl WebSockets {
    pub(super) fn new(server: &Server, shutdown: &CancellationToken) -> Self {
        let room = Arc::new(Semaphore::new(server.session_limits.max_sessions));
        Self { server: server.clone(), room, shutdown: shutdown.child_token() }
    }

    /// Answers a request for a WebSocket, and serves its session until the client or the server ends. `None` for other requests.
    pub(super) fn answer(&self, request: &mut Request) -> Option<Response> {
        let answer = match front_door::accept(request, SUBPROTOCOL) {
            Err(Refusal::NoUpgrade) => return None,
            Err(refusal) => {
                let version = [(header::SEC_WEBSOCKET_VERSION, "13")];
                return Some((refusal.status(), version, http_auth::message(&refusal)).into_response());
            }
            Ok(answer) => answer,
        };
        let Some(upgrading) = request.extensions_mut().remove::<OnUpgrade>() else {
            return Some((StatusCode::NOT_IMPLEMENTED, "Not Implemented: use HTTP\n").into_response());
        };
        let Some(session) = self.open(None) else {
            return Some(too_many_sessions());
        };
        place::spawn(serve(upgrading, session));
        Some((StatusCode::SWITCHING_PROTOCOLS, answer).into_response())
    }

    /// Starts a session whose requests carry `caller`; `None` if there are as many as there may be. Call it within the runtime.
    pub(super) fn open(&self, caller: Option<Parts>) -> Option<SocketSession> {
        let Ok(permit) = self.room.clone().try_acquire_owned() else {
            tracing::warn!("refused a session over WebSocket: there are as many as there may be");
            return None;
        };
        let room = Arc::new(permit);
        let (ours, theirs) = tokio::io::duplex(BUFFERED);
        let (server, shutdown, held) = (self.server.clone(), self.shutdown.child_token(), room.clone());
        place::spawn(async move {
            let _held = held;
            let (reader, writer) = tokio::io::split(theirs);
            let served = serve_lines(&server, Box::new(reader), Box::new(writer), caller, shutdown);
            if let Err(error) = served.await {
                tracing::debug!(%error, "a session over WebSocket ended");
            }
        });
        let (lines, incoming) = tokio::io::split(ours);
        let outgoing = Outgoing { lines: BufReader::new(lines), line: Vec::new() };
        Some(SocketSession { incoming: Mutex::new(incoming), outgoing: Mutex::new(outgoing), _room: room })
    }

    /// Whether there is a session.
    pub(super) fn are_used(&self) -> bool {
        self.room.available_permits() < self.server.session_limits.max_sessions
    }
}

impl SocketSession {
    /// Passes on a message of the client. Fails when the session has ended.
    pub async fn send(&self, message: &str) -> io::Result<()> {
        // Line breaks in JSON are between its tokens.
        let mut line: Vec<u8> =
            message.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }).collect();
        line.push(b'\n');
        self.incoming.lock().await.write_all(&line).await
    }

    /// The next message to the client; `None` when the session has ended. If it is dropped, the next call continues.
    pub async fn next(&self) -> Option<String> {
        let Outgoing { lines, line } = &mut *self.outgoing.lock().await;
        lines.read_until(b'\n', line).await.ok().filter(|count| *count > 0)?;
        let message = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
        line.clear();
        Some(message)
    }

    /// Waits for the end of the session, whose client is gone.
    pub async fn finish(&self) {
        self.end().await;
        while self.next().await.is_some() {}
    }

    /// The client sends nothing more: the session ends soon.
    async fn end(&self) {
        let _ = self.incoming.lock().await.shutdown().await;
    }
}

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Carries the messages of a session until it and its socket have ended, or the client does not read.
async fn serve(upgrading: OnUpgrade, session: SocketSession) {
    let Ok(Ok(upgraded)) = timeout(UPGRADE_TIMEOUT, upgrading).await else { return };
    let config = WebSocketConfig::default().max_message_size(Some(MAX_LINE)).max_frame_size(Some(MAX_LINE));
    let socket: Socket =
        WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
    let (sink, stream) = socket.split();
    let mut from_session = pin!(from_session(&session, sink));
    tokio::select! {
        () = &mut from_session => {}
        () = from_client(stream, &session) => from_session.await,
    }
}

async fn from_client(mut stream: SplitStream<Socket>, session: &SocketSession) {
    // Without a message in time, or with one that breaks the protocol, the client is gone.
    while let Ok(Some(Ok(message))) = timeout(SILENCE, stream.next()).await {
        let text = match message {
            Message::Text(text) => text,
            Message::Close(_) => break,
            _ => continue,
        };
        if session.send(&text).await.is_err() {
            break;
        }
    }
    session.end().await;
}

async fn from_session(session: &SocketSession, mut sink: SplitSink<Socket, Message>) {
    let mut pings = interval_at(Instant::now() + PING_INTERVAL, PING_INTERVAL);
    loop {
        let message = tokio::select! {
            message = session.next() => match message {
                Some(message) => Message::text(message),
                None => break,
            },
            _ = pings.tick() => Message::Ping(Bytes::new()),
        };
        if !matches!(timeout(SEND_TIMEOUT, sink.send(message)).await, Ok(Ok(()))) {
            return;
        }
    }
    let _ = timeout(SEND_TIMEOUT, sink.close()).await;
}

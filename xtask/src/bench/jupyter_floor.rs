//! The least that a Jupyter server can cost: its REST calls, its kernel's messages and its room's edits, made bare.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use futures_util::{SinkExt as _, StreamExt as _};
use notebook::{CellType, Edit, NewCell};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};
use ydoc::{LiveNotebook, Room, RoomEvent, SaveRequest};

use super::jupyter_ground::authorization;
use super::websocket::limits;

/// One persistent connection for REST calls.
pub(crate) struct Rest(BufReader<TcpStream>);

impl Rest {
    pub(crate) fn new(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    pub(crate) fn get(&mut self, path: &str) -> Result<Vec<u8>> {
        self.ask("GET", path, "")
    }

    /// Makes one request and reads its answer.
    pub(crate) fn ask(&mut self, method: &str, path: &str, body: &str) -> Result<Vec<u8>> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            authorization(),
            body.len()
        );
        self.0.get_mut().write_all(request.as_bytes())?;
        let (mut length, mut status) = (0, String::new());
        self.0.read_line(&mut status)?;
        loop {
            let mut line = String::new();
            ensure!(self.0.read_line(&mut line)? > 0, "the server closed the connection");
            if line.trim().is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').context("no header")?;
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse()?;
            }
        }
        let mut answer = vec![0; length];
        self.0.read_exact(&mut answer)?;
        ensure!(status.contains(" 20"), "{path}: {}", status.trim());
        Ok(answer)
    }
}

/// A WebSocket to the server, with nothing around it.
pub(crate) struct Socket(WebSocketStream<tokio::net::TcpStream>);

impl Socket {
    pub(crate) async fn open(port: u16, path: &str) -> Result<Self> {
        let stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        let mut request = format!("ws://127.0.0.1:{port}{path}").into_client_request()?;
        request.headers_mut().insert("Authorization", authorization().parse()?);
        Ok(Self(client_async_with_config(request, stream, Some(limits())).await?.0))
    }

    /// The next frame with content. Each is answered by a pong, which carries the acknowledgement that the server's
    /// next frame would otherwise wait for.
    async fn next(&mut self) -> Result<Vec<u8>> {
        loop {
            let frame = self.0.next().await.context("the server closed the socket")??;
            self.0.send(Message::Pong(Vec::new().into())).await?;
            if frame.is_text() || frame.is_binary() {
                return Ok(frame.into_data().to_vec());
            }
        }
    }

    /// Runs `1+1` and waits for the reply and the kernel's idle.
    pub(crate) async fn execute(&mut self, number: usize) -> Result<Duration> {
        let id = format!("bare-{number}");
        let header = json!({
            "msg_id": id, "msg_type": "execute_request", "username": "", "session": "bare", "version": "5.3",
            "date": "2026-01-01T00:00:00Z",
        });
        let content = json!({ "code": "1+1", "silent": false, "store_history": true, "allow_stdin": false });
        let message = json!({
            "channel": "shell", "header": header, "parent_header": {}, "metadata": {}, "content": content,
            "buffers": [],
        });
        let begin = Instant::now();
        self.0.send(Message::text(message.to_string())).await?;
        let (mut is_idle, mut is_replied) = (false, false);
        while !(is_idle && is_replied) {
            let message: Value = serde_json::from_slice(&self.next().await?)?;
            if message["parent_header"]["msg_id"] == id.as_str() {
                is_replied |= message["msg_type"] == "execute_reply";
                is_idle |= message["content"]["execution_state"] == "idle";
            }
        }
        Ok(begin.elapsed())
    }
}

/// A notebook's room.
pub(crate) struct Bare {
    socket: Socket,
    room: Room,
    live: LiveNotebook,
}

impl Bare {
    pub(crate) async fn open(port: u16, path: &str) -> Result<Self> {
        let body = json!({ "format": "json", "type": "notebook" }).to_string();
        let session = Rest::new(port)?.ask("PUT", &format!("/api/collaboration/session/{path}"), &body)?;
        let session: Value = serde_json::from_slice(&session)?;
        let (file, id) = (session["fileId"].as_str(), session["sessionId"].as_str());
        let address = format!(
            "/api/collaboration/room/json:notebook:{}?sessionId={}",
            file.context("no file id")?,
            id.context("no session id")?
        );
        let live = LiveNotebook::new();
        let (room, frames) = Room::open(&live);
        let mut bare = Self { socket: Socket::open(port, &address).await?, room, live };
        for frame in frames {
            bare.socket.0.send(Message::binary(frame)).await?;
        }
        bare.until(|event| *event == RoomEvent::Synced).await?;
        Ok(bare)
    }

    /// Inserts a cell and waits until the room has saved it.
    pub(crate) async fn insert(&mut self, number: usize) -> Result<Duration> {
        let begin = Instant::now();
        let cell = NewCell::new(CellType::Code, format!("inserted = {number}"));
        let update = self.live.apply(&[Edit::Insert { index: 100, cell }])?;
        self.socket.0.send(Message::binary(self.room.update(&update))).await?;
        let SaveRequest { id, frame } = self.room.save();
        self.socket.0.send(Message::binary(frame)).await?;
        self.until(|it| matches!(it, RoomEvent::Saved { request, .. } if *request == id)).await?;
        Ok(begin.elapsed())
    }

    async fn until(&mut self, is_it: impl Fn(&RoomEvent) -> bool) -> Result<()> {
        loop {
            let frame = self.socket.next().await?;
            let events = self.room.receive(&frame, Instant::now(), &mut self.live);
            let is_over = events.iter().any(&is_it);
            for event in events {
                if let RoomEvent::Send(frame) = event {
                    self.socket.0.send(Message::binary(frame)).await?;
                }
            }
            if is_over {
                return Ok(());
            }
        }
    }
}

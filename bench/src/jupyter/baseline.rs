//! The least that an operation can cost on a Jupyter server: kernel messages and edits of a live notebook, with no
//! program in between.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use futures_util::{SinkExt as _, StreamExt as _};
use notebook::{CellType, Edit, NewCell};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};
use ydoc::{LiveNotebook, Room, RoomEvent, SaveRequest};

use super::rest::{Rest, authorization};
use crate::websocket_echo::limits;

/// A WebSocket connection to the server.
pub(crate) struct Socket(WebSocketStream<tokio::net::TcpStream>);

impl Socket {
    pub(crate) async fn open(port: u16, path: &str) -> Result<Self> {
        let stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        let mut request = format!("ws://127.0.0.1:{port}{path}").into_client_request()?;
        request.headers_mut().insert("Authorization", authorization().parse()?);
        Ok(Self(client_async_with_config(request, stream, Some(limits())).await?.0))
    }

    /// The next frame with content. Answers each with a pong: it carries the TCP acknowledgement for which the server's
    /// next frame would otherwise wait.
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
        let start = Instant::now();
        self.0.send(Message::text(message.to_string())).await?;
        let (mut is_idle, mut is_replied) = (false, false);
        while !(is_idle && is_replied) {
            let message: Value = serde_json::from_slice(&self.next().await?)?;
            if message["parent_header"]["msg_id"] == id.as_str() {
                is_replied |= message["msg_type"] == "execute_reply";
                is_idle |= message["content"]["execution_state"] == "idle";
            }
        }
        Ok(start.elapsed())
    }
}

/// A connection to a live notebook.
pub(crate) struct RoomConnection {
    socket: Socket,
    room: Room,
    live: LiveNotebook,
}

impl RoomConnection {
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
        let mut connection = Self { socket: Socket::open(port, &address).await?, room, live };
        for frame in frames {
            connection.socket.0.send(Message::binary(frame)).await?;
        }
        connection.receive_until(|event| *event == RoomEvent::Synced).await?;
        Ok(connection)
    }

    /// Inserts a cell and waits until the server has saved it.
    pub(crate) async fn insert(&mut self, number: usize) -> Result<Duration> {
        let start = Instant::now();
        let cell = NewCell::new(CellType::Code, format!("inserted = {number}"));
        let update = self.live.apply(&[Edit::Insert { index: 100, cell }])?;
        self.socket.0.send(Message::binary(self.room.update(&update))).await?;
        let SaveRequest { id, frame } = self.room.save();
        self.socket.0.send(Message::binary(frame)).await?;
        self.receive_until(|it| matches!(it, RoomEvent::Saved { request, .. } if *request == id)).await?;
        Ok(start.elapsed())
    }

    async fn receive_until(&mut self, is_it: impl Fn(&RoomEvent) -> bool) -> Result<()> {
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

//! A Colab tab by hand: a WebSocket client that plays an MCP server, frame by frame.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, Frame};
use tokio_tungstenite::tungstenite::protocol::{Message as Packet, WebSocketConfig};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::message::excerpt;
use crate::{Connection, Message, SEVEN_AND_ECHO, within};

/// How a tab connects.
#[derive(Debug, Clone)]
pub struct Options {
    /// The page's origin.
    pub origin: &'static str,
    /// The subprotocols it offers.
    pub subprotocol: &'static str,
    /// Whether it comes over IPv6.
    pub ipv6: bool,
    /// Whether its messages are binary frames.
    pub binary: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { origin: "https://colab.research.google.com", subprotocol: "mcp", ipv6: false, binary: false }
    }
}

/// An open WebSocket of a page.
pub struct Tab {
    socket: WebSocketStream<TcpStream>,
    binary: bool,
    /// A message that [`Tab::ready`] read ahead.
    ahead: Option<Message>,
}

impl Tab {
    /// Connects as the real page does.
    pub async fn connect(connection: &Connection) -> Result<Self> {
        Self::connect_with(connection, &Options::default()).await
    }

    /// Connects with changes.
    pub async fn connect_with(connection: &Connection, options: &Options) -> Result<Self> {
        let port = connection.port;
        let address: SocketAddr = if options.ipv6 {
            ([0, 0, 0, 0, 0, 0, 0, 1], port).into()
        } else {
            ([127, 0, 0, 1], port).into()
        };
        let target = format!("ws://localhost:{port}/?access_token={}", connection.token);
        let mut request: Request = target.into_client_request()?;
        let headers = request.headers_mut();
        headers.insert("Origin", options.origin.parse()?);
        headers.insert("Sec-WebSocket-Protocol", options.subprotocol.parse()?);
        let limits = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let open = async {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            let (socket, response) = client_async_with_config(request, stream, Some(limits)).await?;
            ensure!(response.headers()["Sec-WebSocket-Protocol"] == "mcp", "the subprotocol is not mcp");
            Ok(Self { socket, binary: options.binary, ahead: None })
        };
        within("the WebSocket handshake", open).await?
    }

    /// Plays the opening of a session: answers `initialize` with `version` and the tool list with `tools`.
    pub async fn open_with(&mut self, version: &str, tools: &str) -> Result<()> {
        self.answer_initialize(version).await?;
        let list = self.expect("tools/list").await?;
        self.reply(&list, &format!(r#"{{"tools":{tools}}}"#)).await
    }

    /// Plays the opening with the seven tools and `echo`.
    pub async fn open(&mut self) -> Result<()> {
        self.open_with("2025-11-25", SEVEN_AND_ECHO).await
    }

    /// Answers `initialize`, insisting that it comes first and that `notifications/initialized` follows.
    pub async fn answer_initialize(&mut self, version: &str) -> Result<()> {
        let initialize = self.expect("initialize").await?;
        let result = format!(
            r#"{{"protocolVersion":"{version}","capabilities":{{"tools":{{"listChanged":true}}}},"serverInfo":{{"name":"tab","version":"1"}}}}"#
        );
        self.reply(&initialize, &result).await?;
        self.expect("notifications/initialized").await.map(drop)
    }

    /// Waits for the next message of any kind.
    pub async fn receive(&mut self) -> Result<Message> {
        within("a message to the tab", self.receive_without_timeout()).await?
    }

    /// Waits until the server has started to speak; what it says is kept for the next reader. A server that turns
    /// the tab away is an error.
    pub async fn ready(&mut self) -> Result<()> {
        let message = self.receive().await?;
        self.ahead = Some(message);
        Ok(())
    }

    /// Waits without a bound.
    pub(crate) async fn receive_without_timeout(&mut self) -> Result<Message> {
        if let Some(message) = self.ahead.take() {
            return Ok(message);
        }
        loop {
            match self.socket.next().await {
                Some(Ok(Packet::Text(text))) => return Message::parse(text.as_str().to_owned()),
                Some(Ok(Packet::Ping(_) | Packet::Pong(_))) => {}
                other => bail!("the tab expected a text message and got {other:?}"),
            }
        }
    }

    /// Waits for the next message, which must be this request or notification.
    pub async fn expect(&mut self, method: &str) -> Result<Message> {
        let message = self.receive().await.with_context(|| format!("the tab waits for {method}"))?;
        ensure!(
            message.method.as_deref() == Some(method),
            "the tab expected {method} and got {}",
            excerpt(&message.text)
        );
        Ok(message)
    }

    /// Waits for the next message, which must be a call of this tool.
    pub async fn expect_call(&mut self, tool: &str) -> Result<Message> {
        let call = self.expect("tools/call").await?;
        let called = call.tool()?;
        ensure!(called == tool, "the tab expected a call of {tool} and got one of {called}");
        Ok(call)
    }

    /// Answers a request with a result, given as JSON text.
    pub async fn reply(&mut self, request: &Message, result: &str) -> Result<()> {
        let id = request.need_id()?;
        self.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await
    }

    /// Answers a request with an error object, given as JSON text.
    pub async fn reply_error(&mut self, request: &Message, error: &str) -> Result<()> {
        let id = request.need_id()?;
        self.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)).await
    }

    /// Sends a notification; `params` is JSON text.
    pub async fn notify(&mut self, method: &str, params: &str) -> Result<()> {
        self.send(format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)).await
    }

    /// Reports progress on a call that carried a token.
    pub async fn progress(&mut self, call: &Message, progress: u64, message: &str) -> Result<()> {
        let params = call.params_value()?;
        let token = &params["_meta"]["progressToken"];
        ensure!(!token.is_null(), "the call carries no progress token: {}", excerpt(&call.text));
        let text = serde_json::Value::from(message);
        let report =
            format!(r#"{{"progressToken":{token},"progress":{progress},"total":9,"message":{text}}}"#);
        self.notify("notifications/progress", &report).await
    }

    /// Sends one message in the kind of frame this tab uses.
    pub async fn send(&mut self, text: String) -> Result<()> {
        if self.binary { self.send_binary(text.into_bytes()).await } else { self.send_text(text).await }
    }

    /// Sends a text frame.
    pub async fn send_text(&mut self, text: String) -> Result<()> {
        self.packet(Packet::text(text)).await
    }

    /// Sends a binary frame.
    pub async fn send_binary(&mut self, bytes: Vec<u8>) -> Result<()> {
        self.packet(Packet::binary(bytes)).await
    }

    /// Sends one text message in frames of at most `size` bytes.
    pub async fn send_fragmented(&mut self, text: String, size: usize) -> Result<()> {
        let whole = Bytes::from(text);
        let mut start = 0;
        while start < whole.len() {
            let end = whole.len().min(start + size);
            let kind = OpCode::Data(if start == 0 { Data::Text } else { Data::Continue });
            let frame = Frame::message(whole.slice(start..end), kind, end == whole.len());
            self.packet(Packet::Frame(frame)).await?;
            start = end;
        }
        Ok(())
    }

    /// Writes bytes beside the protocol.
    pub async fn send_raw(&mut self, bytes: &[u8]) -> Result<()> {
        within("room for raw bytes", self.socket.get_mut().write_all(bytes)).await?.map_err(Into::into)
    }

    /// Closes as a page does.
    pub async fn close(mut self, code: u16) -> Result<()> {
        let frame = CloseFrame { code: CloseCode::from(code), reason: "".into() };
        within("the close frame to go out", self.socket.close(Some(frame))).await??;
        // The closing handshake ends with the peer's frame or its end of the stream.
        within("the end of the closing handshake", async {
            while matches!(self.socket.next().await, Some(Ok(_))) {}
        })
        .await
    }

    /// Vanishes with a TCP reset, as a killed browser does.
    pub fn drop_hard(self) -> Result<()> {
        Ok(self.socket.get_ref().set_zero_linger()?)
    }

    /// Waits until the other side closes, and returns its code and reason; 1006 when it did not say. What comes
    /// before is passed over.
    pub async fn wait_close(&mut self) -> Result<(u16, String)> {
        loop {
            match within("the close", self.socket.next()).await? {
                Some(Ok(Packet::Close(Some(frame)))) => {
                    return Ok((frame.code.into(), frame.reason.to_string()));
                }
                Some(Ok(Packet::Close(None))) => return Ok((1005, String::new())),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Ok((1006, String::new())),
            }
        }
    }

    async fn packet(&mut self, packet: Packet) -> Result<()> {
        within("room on the tab's socket", self.socket.send(packet)).await?.context("the tab cannot send")
    }
}

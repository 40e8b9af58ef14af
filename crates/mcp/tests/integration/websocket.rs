//! Sessions over WebSocket, with a plain client.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use connection::Secret;
use futures_util::{SinkExt as _, StreamExt as _};
use mcp::{HttpAuth, Server, SessionLimits, serve_http};
use serde_json::{Value, json};
use testkit::within;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::http_sessions::Slow;

/// What an agent's client sends.
const HEADERS: [(&str, &str); 2] = [("authorization", "Bearer secret"), ("sec-websocket-protocol", "mcp")];

struct Served {
    address: SocketAddr,
    _shutdown: DropGuard,
}

async fn serve(max_sessions: usize) -> Result<Served> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let limits = SessionLimits { max_sessions, ..SessionLimits::default() };
    let mut server = Server::new(Arc::new(Slow::new()?));
    server.session_limits = limits;
    let shutdown = CancellationToken::new();
    let auth = HttpAuth::new(Secret::new("secret"), [], false);
    tokio::spawn(serve_http(server, listener, auth, shutdown.clone()));
    Ok(Served { address, _shutdown: shutdown.drop_guard() })
}

impl Served {
    async fn connect(&self, headers: &[(&'static str, &str)]) -> Result<WebSocketStream<TcpStream>, Error> {
        let mut request = format!("ws://{}/mcp", self.address).into_client_request()?;
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse()?);
        }
        Ok(client_async(request, TcpStream::connect(self.address).await?).await?.0)
    }

    /// The status with which a handshake is refused.
    async fn refusal(&self, headers: &[(&'static str, &str)]) -> Result<u16> {
        match self.connect(headers).await {
            Err(Error::Http(response)) => Ok(response.status().as_u16()),
            other => anyhow::bail!("{other:?}"),
        }
    }
}

async fn say(socket: &mut WebSocketStream<TcpStream>, message: impl Into<String>) -> Result<()> {
    Ok(socket.send(Message::text(message.into())).await?)
}

async fn next(socket: &mut WebSocketStream<TcpStream>) -> Result<Value> {
    loop {
        match within("a message", socket.next()).await?.context("the end")?? {
            Message::Text(text) => return Ok(serde_json::from_str(&text)?),
            Message::Ping(_) | Message::Pong(_) => {}
            other => anyhow::bail!("{other:?}"),
        }
    }
}

fn initialize() -> Value {
    let client = json!({ "name": "t", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

#[tokio::test]
async fn a_session_is_one_message_for_each_frame() -> Result<()> {
    let served = serve(4).await?;
    let mut socket = served.connect(&HEADERS).await?;
    // With line breaks.
    say(&mut socket, serde_json::to_string_pretty(&initialize())?).await?;
    let opened = next(&mut socket).await?;
    assert_eq!((&opened["id"], &opened["result"]["protocolVersion"]), (&json!(1), &json!("2025-11-25")));
    say(&mut socket, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await?;
    say(&mut socket, "nonsense").await?;
    assert_eq!(next(&mut socket).await?["error"]["code"], -32700);
    socket.send(Message::binary(vec![0xff])).await?;
    say(&mut socket, r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#).await?;
    assert_eq!(next(&mut socket).await?["id"], 2);
    socket.close(None).await?;
    while let Some(Ok(_)) = within("the end", socket.next()).await? {}
    Ok(())
}

#[tokio::test]
async fn a_client_of_the_new_era_needs_no_opening() -> Result<()> {
    let served = serve(4).await?;
    let mut socket = served.connect(&HEADERS).await?;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let discover =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": { "_meta": meta } });
    say(&mut socket, discover.to_string()).await?;
    let found = next(&mut socket).await?;
    assert!(found["result"]["supportedVersions"].to_string().contains("2026-07-28"), "{found}");
    Ok(())
}

#[tokio::test]
async fn a_handshake_is_checked_as_a_request() -> Result<()> {
    let served = serve(1).await?;
    let [token, protocol] = HEADERS;
    assert_eq!(served.refusal(&[protocol]).await?, 401);
    assert_eq!(served.refusal(&[("authorization", "Bearer wrong"), protocol]).await?, 401);
    assert_eq!(served.refusal(&[token, protocol, ("origin", "https://attacker.example")]).await?, 403);
    assert_eq!(served.refusal(&[token, protocol, ("host", "attacker.example")]).await?, 403);
    assert_eq!(served.refusal(&[token, ("sec-websocket-protocol", "graphql-ws")]).await?, 400);
    let only = served.connect(&HEADERS).await?;
    assert_eq!(served.refusal(&HEADERS).await?, 503);
    drop(only);
    // Its room is free again, and a client may name no subprotocol.
    let again = async {
        while served.connect(&[token]).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    within("room for another session", again).await
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_silent_is_gone() -> Result<()> {
    let served = serve(4).await?;
    let mut stream = TcpStream::connect(served.address).await?;
    let request = format!(
        "GET /mcp HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer secret\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        served.address
    );
    stream.write_all(request.as_bytes()).await?;
    let mut all = Vec::new();
    // Time passes as soon as nothing else happens.
    stream.read_to_end(&mut all).await?;
    let head = String::from_utf8_lossy(&all);
    assert!(head.starts_with("HTTP/1.1 101 ") && head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{head}");
    Ok(())
}

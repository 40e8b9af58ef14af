//! Connections without a token keep nobody out, and clients get an answer in a form that they take.

use std::sync::Arc;

use anyhow::Result;
use connection::Secret;
use mcp::{HttpAuth, Server, serve_http};
use testkit::{Endpoint, Session, within};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::http_sessions::{Slow, VERSION};

/// More than there is room for.
const MANY: usize = 300;
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

struct Served {
    address: std::net::SocketAddr,
    _shutdown: DropGuard,
}

async fn serve(token: Option<&str>) -> Result<Served> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = Server::new(Arc::new(Slow::new()?));
    let shutdown = CancellationToken::new();
    let auth = HttpAuth::new(token.and_then(Secret::new), [], false);
    tokio::spawn(serve_http(server, listener, auth, shutdown.clone()));
    Ok(Served { address, _shutdown: shutdown.drop_guard() })
}

impl Served {
    /// A connection with the beginning of a request.
    async fn half_open(&self) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(self.address).await?;
        stream.write_all(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx: ").await?;
        Ok(stream)
    }

    /// The whole answer to an `initialize` at this path with these headers.
    async fn initialize(&self, path: &str, headers: &str) -> Result<String> {
        let mut stream = TcpStream::connect(self.address).await?;
        let length = INITIALIZE.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n{INITIALIZE}",
            self.address
        );
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        within("the answer", stream.read_to_string(&mut answer)).await??;
        Ok(answer)
    }
}

/// Waits until the server has closed a connection.
async fn closed(mut stream: TcpStream) {
    let mut rest = Vec::new();
    // Closed with or without an answer.
    let _ = stream.read_to_end(&mut rest).await;
}

#[tokio::test]
async fn half_open_connections_make_room_for_those_with_a_token() -> Result<()> {
    let served = serve(Some("secret")).await?;
    let endpoint = Endpoint::new(format!("http://{}/mcp", served.address)).with_bearer("secret");
    let session = Session::open(&endpoint, VERSION).await?;
    let listening = session.listen().await?;
    let mut half_open = Vec::new();
    for _ in 0..MANY {
        half_open.push(served.half_open().await?);
    }
    // The oldest have made room.
    within("the end of the oldest connection", closed(half_open.remove(0))).await?;
    Session::open(&endpoint, VERSION).await?;
    // A connection that has shown a token stays.
    assert_eq!(session.request("1", "ping", "{}").await?.status(), 200);
    assert_eq!(listening.status(), 200);
    drop((half_open, listening));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_unfinished_head_ends_in_time() -> Result<()> {
    let served = serve(Some("secret")).await?;
    for token in ["", "authorization: Bearer secret\r\n"] {
        let mut stream = served.half_open().await?;
        stream.write_all(token.as_bytes()).await?;
        // Time passes as soon as nothing else happens.
        closed(stream).await;
    }
    Ok(())
}

#[tokio::test]
async fn clients_are_answered_in_a_form_that_they_take() -> Result<()> {
    let served = serve(None).await?;
    for (headers, kind) in [
        ("", "text/event-stream"),
        ("accept: */*\r\n", "text/event-stream"),
        ("accept: text/event-stream\r\n", "text/event-stream"),
        ("accept: application/json\r\n", "application/json"),
        ("accept: application/*\r\n", "application/json"),
        ("accept: application/json, text/event-stream\r\n", "text/event-stream"),
    ] {
        let answer = served.initialize("/mcp", headers).await?;
        let lower = answer.to_lowercase();
        assert!(lower.starts_with("http/1.1 200 "), "{headers}: {answer}");
        assert!(lower.contains(&format!("content-type: {kind}")), "{headers}: {answer}");
        assert!(answer.contains(r#""id":7"#) && answer.contains("serverInfo"), "{headers}: {answer}");
        assert!(lower.contains("mcp-session-id: "), "{headers}: {answer}");
    }
    let refused = served.initialize("/mcp", "accept: text/html\r\n").await?;
    assert!(refused.starts_with("HTTP/1.1 406 "), "{refused}");
    let slash = served.initialize("/mcp/", "accept: application/json\r\n").await?;
    assert!(slash.starts_with("HTTP/1.1 200 "), "{slash}");
    Ok(())
}

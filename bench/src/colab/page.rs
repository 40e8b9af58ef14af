//! A page that answers as fast as it can, in a process of its own so that its work is nobody else's.

use std::borrow::Cow;

use anyhow::Result;
use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::net::TcpStream;
use tokio_tungstenite::client_async_with_config;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::websocket_echo::limits;

/// The size of what the tool `large` returns.
pub(crate) const LARGE: usize = 8 << 20;

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
}

/// Connects to the program and answers until it closes.
pub(crate) async fn serve(port: u16, token: &str) -> Result<()> {
    let mut request = format!("ws://localhost:{port}/?access_token={token}").into_client_request()?;
    request.headers_mut().insert("Origin", "https://colab.research.google.com".parse()?);
    request.headers_mut().insert("Sec-WebSocket-Protocol", "mcp".parse()?);
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let (mut socket, _) = client_async_with_config(request, stream, Some(limits())).await?;
    let large =
        format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, "0123456789abcdef".repeat(LARGE / 16));
    while let Some(message) = socket.next().await {
        let mut next = Some(message);
        while let Some(message) = next {
            if let Message::Text(text) = message?
                && let Some(answer) = answer(&text, &large)
            {
                socket.feed(Message::text(answer)).await?;
            }
            // What has come already is answered first, in one system call.
            next = socket.next().now_or_never().flatten();
        }
        socket.flush().await?;
    }
    Ok(())
}

fn answer(message: &str, large: &str) -> Option<String> {
    let request: Request<'_> = serde_json::from_str(message).ok()?;
    let (id, method) = (request.id?.get(), request.method?);
    let tool = request.params.and_then(|params| params.name);
    let result = match (&*method, tool.as_deref()) {
        ("initialize", _) => {
            r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"page","version":"1"}}"#
        }
        ("tools/list", _) => {
            r#"{"tools":[{"name":"echo","inputSchema":{"type":"object"}},{"name":"large","inputSchema":{"type":"object"}}]}"#
        }
        ("tools/call", Some("large")) => large,
        ("tools/call", _) => r#"{"content":[{"type":"text","text":"hello world"}]}"#,
        _ => "{}",
    };
    Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

//! Opens web sockets with the HTTP client of all other requests, which applies its TLS, proxy and cookies, and sends the
//! token in a header, never in the URL.

use std::time::Duration;

use reqwest::header::{HeaderMap, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_PROTOCOL};
use reqwest::{StatusCode, Upgraded};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use crate::auth::denial::explain;
use crate::request::Request;
use crate::{Kind, RestError, Result, Server, diagnosis};

/// The largest message. Servers have the same limit for rooms.
const MAX_MESSAGE_BYTES: usize = 1 << 30;

/// A server opens a kernel's channels only after the kernel has replied, and waits up to 60 s for it
/// (`kernel_info_timeout`).
const TIMEOUT: Duration = Duration::from_secs(75);

/// A stream of messages, with or without TLS and proxy.
pub type SocketStream = WebSocketStream<Upgraded>;

/// A WebSocket after the handshake. Nothing has been read from it.
#[derive(Debug)]
pub struct Socket {
    pub stream: SocketStream,
    /// The subprotocol chosen by the server.
    pub protocol: Option<String>,
}

impl Server {
    /// Opens a WebSocket at `path_and_query`, which is encoded and relative to the base URL. Offers the subprotocols
    /// `protocols` in this order.
    pub async fn websocket(&self, path_and_query: &str, protocols: &[&str]) -> Result<Socket> {
        let key = generate_key();
        let mut request = Request::get(path_and_query, "WebSocket");
        request.is_upgrade = true;
        request.timeout = Some(TIMEOUT);
        request.headers = vec![
            ("Connection", "Upgrade".to_owned()),
            ("Upgrade", "websocket".to_owned()),
            ("Sec-WebSocket-Version", "13".to_owned()),
            ("Sec-WebSocket-Key", key.clone()),
        ];
        if !protocols.is_empty() {
            request.headers.push(("Sec-WebSocket-Protocol", protocols.join(", ")));
        }
        let response = self.send(&request).await?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(self.refused(path_and_query, response).await);
        }
        let protocol = check(response.headers(), &key, protocols).map_err(|cause| {
            RestError::new(
                Kind::Malformed,
                format!(
                    "{} did not open the WebSocket: {cause}.",
                    crate::address::origin_and_path(self.base())
                ),
                "Check that proxies in front of the server support WebSockets.",
            )
        })?;
        let io = response.upgrade().await.map_err(|error| diagnosis::of_transport(error, self.base()))?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_MESSAGE_BYTES));
        let stream = WebSocketStream::from_raw_socket(io, Role::Client, Some(config)).await;
        Ok(Socket { stream, protocol })
    }

    async fn refused(&self, path_and_query: &str, response: reqwest::Response) -> RestError {
        if response.status().is_success() || response.status() == StatusCode::BAD_REQUEST {
            let body = self.sender().read_failure(response).await;
            let reason = diagnosis::message(&body).map(|text| format!(": {text}")).unwrap_or_default();
            return RestError::new(
                Kind::Unsupported,
                format!(
                    "A proxy in front of {} does not support WebSockets{reason}.",
                    crate::address::origin_and_path(self.base())
                ),
                "Configure the proxy to forward the headers Connection and Upgrade.",
            );
        }
        if let Err(error) = self.check_hub(response.status()).await {
            return error;
        }
        let path = path_and_query.split('?').next().unwrap_or_default();
        explain(self.sender(), &format!("WebSocket at {path}"), response).await
    }
}

/// Checks the response to a handshake (RFC 6455 §4.1). Returns the subprotocol chosen by the server.
fn check(headers: &HeaderMap, key: &str, offered: &[&str]) -> Result<Option<String>, &'static str> {
    let accept = headers.get(SEC_WEBSOCKET_ACCEPT).ok_or("the response has no Sec-WebSocket-Accept")?;
    if accept.as_bytes() != derive_accept_key(key.as_bytes()).as_bytes() {
        return Err("the response belongs to another request");
    }
    let Some(chosen) = headers.get(SEC_WEBSOCKET_PROTOCOL) else { return Ok(None) };
    let chosen = chosen.to_str().map_err(|_| "its protocol cannot be read")?.trim();
    if chosen.is_empty() {
        return Ok(None);
    }
    if !offered.contains(&chosen) {
        return Err("it chose a protocol that was not offered");
    }
    Ok(Some(chosen.to_owned()))
}

#[cfg(test)]
mod tests;

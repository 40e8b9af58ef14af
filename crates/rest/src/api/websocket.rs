//! A WebSocket through the same client as everything else: one TLS, one proxy, one set of cookies, and the token in a
//! header, never in the address.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_PROTOCOL};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use crate::random::random;
use crate::server::Request;
use crate::{Kind, RestError, Result, Server, diagnosis};

/// The largest message that is taken, as servers take it in rooms.
const LARGEST: usize = 1 << 30;

/// A server accepts the channels of a kernel when the kernel has answered, for which it gives it 60 s
/// (`kernel_info_timeout`).
const TIMEOUT: Duration = Duration::from_secs(75);

/// The connection below a WebSocket, whatever it goes through.
pub use reqwest::Upgraded;

/// What a WebSocket runs over.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A WebSocket that a server has just opened.
pub struct Socket {
    /// The connection; nothing of it has been read since the handshake.
    pub io: Upgraded,
    /// The subprotocol that the server chose.
    pub protocol: Option<String>,
}

impl Socket {
    /// Frames over the connection, with room for large messages.
    pub async fn into_stream(self) -> WebSocketStream<Box<dyn Io>> {
        let io: Box<dyn Io> = Box::new(self.io);
        stream(io).await
    }
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket").field("protocol", &self.protocol).finish_non_exhaustive()
    }
}

/// Frames over `io`, with room for large messages: for a caller that boxes [`Socket::io`] in a type of its own.
pub async fn stream<S: AsyncRead + AsyncWrite + Unpin>(io: S) -> WebSocketStream<S> {
    let config = WebSocketConfig::default().max_message_size(Some(LARGEST)).max_frame_size(Some(LARGEST));
    WebSocketStream::from_raw_socket(io, Role::Client, Some(config)).await
}

impl Server {
    /// Opens a WebSocket at `path_and_query`, encoded and behind the base URL. `protocols` are offered in this order.
    pub async fn websocket(&self, path_and_query: &str, protocols: &[&str]) -> Result<Socket> {
        let key = key()?;
        let mut request = Request::get(path_and_query, "WebSocket");
        request.is_upgrade = true;
        request.timeout = TIMEOUT;
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
                "Check that proxies before the server pass WebSockets on.",
            )
        })?;
        let io = response.upgrade().await.map_err(|error| diagnosis::of_transport(error, self.base()))?;
        Ok(Socket { io, protocol })
    }

    async fn refused(&self, path_and_query: &str, response: reqwest::Response) -> RestError {
        if response.status().is_success() || response.status() == StatusCode::BAD_REQUEST {
            return RestError::new(
                Kind::Unsupported,
                format!(
                    "Something before {} does not pass WebSockets on.",
                    crate::address::origin_and_path(self.base())
                ),
                "Let the proxy before the server pass the headers Connection and Upgrade on.",
            );
        }
        if let Err(error) = self.check_hub(response.status()).await {
            return error;
        }
        let path = path_and_query.split('?').next().unwrap_or_default();
        self.explain(&format!("WebSocket at {path}"), response).await
    }
}

fn key() -> Result<String> {
    Ok(STANDARD.encode(random::<16>()?))
}

/// Checks the answer to a handshake (RFC 6455 §4.1) and returns the protocol that the server chose.
fn check(headers: &HeaderMap, key: &str, offered: &[&str]) -> Result<Option<String>, &'static str> {
    let accept = headers.get(SEC_WEBSOCKET_ACCEPT).ok_or("the answer is not signed")?;
    if accept.as_bytes() != derive_accept_key(key.as_bytes()).as_bytes() {
        return Err("the answer belongs to another request");
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

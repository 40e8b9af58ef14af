//! The WebSocket of a page after its handshake.

use std::time::Duration;

use futures_util::StreamExt as _;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};

/// The largest frame and message accepted from a page. An output of a cell is one message.
const MAX_MESSAGE_BYTES: usize = 256 * 1024 * 1024;
/// The time that a page may take to answer a close frame.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// A page's WebSocket.
pub(crate) type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// The WebSocket on a connection after its handshake.
pub(crate) async fn open(connection: Upgraded) -> Socket {
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES));
    WebSocketStream::from_raw_socket(TokioIo::new(connection), Role::Server, Some(config)).await
}

/// Closes the socket with the code and reason that Colab shows as "only one notebook session can be connected".
pub(crate) async fn reject_busy(mut socket: Socket) {
    let close = CloseFrame { code: CloseCode::Again, reason: "Server is busy".into() };
    if socket.close(Some(close)).await.is_ok() {
        let drained = async { while let Some(Ok(_)) = socket.next().await {} };
        let _ = timeout(CLOSE_TIMEOUT, drained).await;
    }
}

//! The WebSocket of a page after its handshake.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::StreamExt as _;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};

/// The largest frame and message accepted from a page. An output of a cell is one message.
const MAX_MESSAGE_BYTES: usize = 256 * 1024 * 1024;
/// How long a page may take to answer a close frame.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// A page's WebSocket, on a connection that counts the received bytes.
pub(crate) type Socket = WebSocketStream<CountingStream>;

/// The WebSocket on a connection after its handshake.
pub(crate) async fn open(connection: Upgraded) -> Socket {
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES));
    let counted = CountingStream { stream: TokioIo::new(connection), received: Arc::default() };
    WebSocketStream::from_raw_socket(counted, Role::Server, Some(config)).await
}

/// Closes the socket with the code and reason that Colab shows as "only one notebook session can be connected".
pub(crate) async fn reject_busy(mut socket: Socket) {
    let close = CloseFrame { code: CloseCode::Again, reason: "Server is busy".into() };
    if socket.close(Some(close)).await.is_ok() {
        let drained = async { while let Some(Ok(_)) = socket.next().await {} };
        let _ = timeout(CLOSE_TIMEOUT, drained).await;
    }
}

/// A stream that counts the bytes it receives.
pub(crate) struct CountingStream {
    stream: TokioIo<Upgraded>,
    received: Arc<AtomicU64>,
}

impl CountingStream {
    /// How many bytes have been received; shared, so that it can be read while the socket is in use.
    pub(crate) fn received(&self) -> Arc<AtomicU64> {
        self.received.clone()
    }
}

impl AsyncRead for CountingStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let poll = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.received.fetch_add((buffer.filled().len() - before) as u64, Ordering::Relaxed);
        poll
    }
}

impl AsyncWrite for CountingStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

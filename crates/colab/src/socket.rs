//! The WebSocket of a page, once its handshake is done.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};

/// The largest frame and message taken from a page. An output of a cell is one message.
const LARGEST_MESSAGE: usize = 256 * 1024 * 1024;
/// How long a page may take to answer a close frame.
pub(crate) const CLOSING: Duration = Duration::from_millis(500);

/// A page's socket, whose received bytes are counted.
pub(crate) type Socket = WebSocketStream<Counted>;

/// Takes over a TCP connection whose handshake is done; `rest` is what the page sent after it.
pub(crate) async fn open(stream: TcpStream, rest: Vec<u8>) -> Socket {
    let config = WebSocketConfig::default()
        .max_message_size(Some(LARGEST_MESSAGE))
        .max_frame_size(Some(LARGEST_MESSAGE));
    let counted = Counted { stream, received: Arc::default() };
    WebSocketStream::from_partially_read(counted, rest, Role::Server, Some(config)).await
}

/// Turns a page away in the way that Colab shows as "only one notebook session can be connected".
pub(crate) async fn turn_away(mut socket: Socket) {
    let farewell = CloseFrame { code: CloseCode::Again, reason: "Server is busy".into() };
    if socket.close(Some(farewell)).await.is_ok() {
        let drained = async { while let Some(Ok(_)) = socket.next().await {} };
        let _ = timeout(CLOSING, drained).await;
    }
}

/// A stream that counts the bytes it receives.
pub(crate) struct Counted {
    stream: TcpStream,
    received: Arc<AtomicU64>,
}

impl Counted {
    /// How many bytes have come so far; shared, so that it can be read while the socket is in use.
    pub(crate) fn received(&self) -> Arc<AtomicU64> {
        self.received.clone()
    }
}

impl AsyncRead for Counted {
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

impl AsyncWrite for Counted {
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

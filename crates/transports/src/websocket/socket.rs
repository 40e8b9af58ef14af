//! One WebSocket: messages in and out, pings, and the end of a silent connection.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use connection::{Beat, Liveness, NetworkTimeout};
use futures_util::{Sink, Stream};
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_tungstenite::tungstenite;
use tungstenite::Message as Frame;
use tungstenite::protocol::CloseFrame;

use super::dial::Socket;
use super::frame::Dialect;
use kernel::messages::{Channel, Message};
use notebook::one_line;

/// A message for the kernel: its channel and its parts.
pub(super) type Parts = (Channel, [Bytes; 4]);

/// An open WebSocket to a kernel.
///
/// It answers each frame with an unsolicited pong. Jupyter Server leaves Nagle's algorithm on, which holds a small frame back
/// until the one before is acknowledged, and the client's system delays that by 40 ms. The pong carries the acknowledgement
/// at once, and proxies pass the effect on.
pub(super) struct KernelSocket {
    socket: Box<dyn Socket>,
    dialect: Dialect,
    /// Pongs to send.
    pongs: usize,
    needs_flush: bool,
    needs_ping: bool,
    liveness: Liveness,
    timer: Pin<Box<Sleep>>,
}

impl KernelSocket {
    pub(super) fn new(socket: Box<dyn Socket>, dialect: Dialect, network_timeout: NetworkTimeout) -> Self {
        let liveness = Liveness::new(network_timeout, Instant::now().into_std());
        Self {
            socket,
            dialect,
            pongs: 0,
            needs_flush: false,
            needs_ping: false,
            timer: Box::pin(sleep_until(liveness.deadline().into())),
            liveness,
        }
    }

    /// The next message, or why the connection was cut. Sends the content of `outbox` while it waits; what is left in it was never
    /// sent.
    pub(super) async fn receive(&mut self, outbox: &mut VecDeque<Parts>) -> Result<Message, String> {
        poll_fn(|context| self.poll(outbox, context)).await
    }

    /// Sends what can be sent without waiting. Errors show in [`KernelSocket::receive`].
    pub(super) async fn send(&mut self, outbox: &mut VecDeque<Parts>) {
        // Never waits: the same task receives, and two ends that wait for each other to read would stand still.
        poll_fn(|context| {
            let _ = self.poll_write(outbox, context);
            Poll::Ready(())
        })
        .await;
    }

    fn poll(
        &mut self,
        outbox: &mut VecDeque<Parts>,
        context: &mut Context<'_>,
    ) -> Poll<Result<Message, String>> {
        loop {
            self.poll_write(outbox, context).map_err(|error| error.to_string())?;
            let frame = match Pin::new(&mut self.socket).poll_next(context) {
                Poll::Ready(Some(Ok(frame))) => frame,
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error.to_string())),
                Poll::Ready(None) => return Poll::Ready(Err("the server closed it".to_owned())),
                Poll::Pending => {
                    // After the read: where this program was suspended, an answer may have waited longer than the timeout.
                    self.poll_timer(context)?;
                    self.poll_write(outbox, context).map_err(|error| error.to_string())?;
                    return Poll::Pending;
                }
            };
            // Any frame is a sign of life: the pong may be stuck behind a message of 100 MB.
            self.liveness.received(Instant::now().into_std());
            let (frame, is_text) = match frame {
                Frame::Text(text) => (Bytes::from(text), true),
                Frame::Binary(bytes) => (bytes, false),
                // Nothing follows; the connection itself may stay open for a while.
                Frame::Close(close) => {
                    let reason = |close: CloseFrame| {
                        format!(" ({})", format!("{} {}", close.code, close.reason).trim_end())
                    };
                    let why = close.map(reason).unwrap_or_default();
                    return Poll::Ready(Err(format!("the server closed it{}", one_line(&why))));
                }
                // `tungstenite` answers pings itself (RFC 6455, 5.5.2). Pongs get no pong, or two such ends would never stop.
                Frame::Ping(_) | Frame::Pong(_) | Frame::Frame(_) => continue,
            };
            self.pongs += 1;
            // At once: handling the message can outlast the delay of 40 ms. An error shows at the next poll.
            let _ = self.poll_write(outbox, context);
            match self.dialect.read(frame, is_text) {
                Ok(message) => return Poll::Ready(Ok(message)),
                // No reason to cut: WebSocket keeps the borders of frames, so the next one can be read.
                Err(error) => tracing::warn!(%error, "dropped a frame that is not a kernel message"),
            }
        }
    }

    fn poll_timer(&mut self, context: &mut Context<'_>) -> Result<(), &'static str> {
        // Until it is pending: `reset` does not register a waker, only a poll does.
        while self.timer.as_mut().poll(context).is_ready() {
            match self.liveness.poll(Instant::now().into_std()) {
                Some(Beat::Dead) => return Err("it does not answer pings"),
                Some(Beat::Ping) => self.needs_ping = true,
                None => {}
            }
            self.timer.as_mut().reset(self.liveness.deadline().into());
        }
        Ok(())
    }

    fn poll_write(
        &mut self,
        outbox: &mut VecDeque<Parts>,
        context: &mut Context<'_>,
    ) -> Result<(), tungstenite::Error> {
        while self.pongs > 0 || self.needs_ping || !outbox.is_empty() {
            match Pin::new(&mut self.socket).poll_ready(context) {
                Poll::Ready(ready) => ready?,
                // No flush is missing: `tokio-tungstenite` waits in `poll_ready` by flushing.
                Poll::Pending => return Ok(()),
            }
            // Control frames first: they are small, and a backlog of requests must not make the connection look dead.
            let frame = if self.pongs > 0 {
                self.pongs -= 1;
                Frame::Pong(Bytes::new())
            } else if std::mem::take(&mut self.needs_ping) {
                // Empty: whatever comes back counts, so that pongs need not be matched with pings.
                Frame::Ping(Bytes::new())
            } else if let Some((channel, parts)) = outbox.pop_front() {
                // Removed only when the socket is ready: what has left the outbox is never sent again.
                self.dialect.write(channel, &parts)
            } else {
                break;
            };
            self.needs_flush = true;
            Pin::new(&mut self.socket).start_send(frame)?;
        }
        if self.needs_flush {
            match Pin::new(&mut self.socket).poll_flush(context) {
                Poll::Ready(flushed) => {
                    flushed?;
                    self.needs_flush = false;
                }
                Poll::Pending => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

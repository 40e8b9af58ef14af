//! Moves frames between a page's socket and its session.

use std::sync::Arc;

use connection::{Beat, Liveness, NetworkTimeout};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error as Failure, Message as Frame};
use tokio_util::sync::CancellationToken;

use crate::page::Page;
use crate::socket::{CLOSE_TIMEOUT, Socket};

/// The number of frames of a page that are handled before other tasks get a turn.
const FRAMES_PER_TURN: u32 = 32;

/// The reason for the end of a connection to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionEnd {
    /// The page closed the socket, or the connection broke.
    Closed,
    /// The page sent something unreadable; the socket is closed with this code and reason.
    Unreadable { code: CloseCode, reason: &'static str },
    /// The page does not answer pings.
    Dead,
    /// This program is shutting down.
    Shutdown,
}

/// The connection to one page.
pub(crate) struct Driver {
    page: Arc<Page>,
    socket: Socket,
    outgoing: mpsc::Receiver<String>,
    network_timeout: NetworkTimeout,
}

impl Driver {
    /// Starts the session on a new socket. The page works while [`Driver::run`] runs.
    pub(crate) fn new(socket: Socket, network_timeout: NetworkTimeout) -> (Arc<Page>, Self) {
        let (page, outgoing) = Page::open();
        (page.clone(), Self { page, socket, outgoing, network_timeout })
    }

    /// Runs until the connection ends or `shutdown` is cancelled. Calls `tools_changed` whenever agents should list the
    /// tools again. Every call in flight has ended when this returns.
    pub(crate) async fn run(self, shutdown: &CancellationToken, tools_changed: impl Fn()) -> ConnectionEnd {
        let Self { page, socket, outgoing, network_timeout } = self;
        let liveness = Liveness::new(network_timeout, Instant::now().into_std());
        let (sink, mut stream) = socket.split();
        let (control, controls) = mpsc::channel(4);
        // Sending and receiving must not wait for each other: both sides may be in the middle of a huge frame.
        let writer = write(sink, outgoing, controls);
        let reader = async {
            let end = tokio::select! {
                end = read(&page, &mut stream, liveness, &control, shutdown, &tools_changed) => end,
                () = page.broken.cancelled() => ConnectionEnd::Closed,
            };
            let (close, reason) = match end {
                ConnectionEnd::Shutdown => (Some(close_frame(CloseCode::Normal, "")), None),
                ConnectionEnd::Unreadable { code, reason } => (Some(close_frame(code, reason)), Some(reason)),
                ConnectionEnd::Closed | ConnectionEnd::Dead => (None, None),
            };
            page.close(reason);
            if let Some(close) = close {
                let _ = control.send(close).await;
                // A socket that is dropped with unread bytes is reset, and the page would not see the close frame.
                let drained = async { while let Some(Ok(_)) = stream.next().await {} };
                let _ = timeout(CLOSE_TIMEOUT, drained).await;
            }
            drop(control);
            end
        };
        tokio::pin!(writer, reader);
        let mut is_writing = true;
        let end = loop {
            tokio::select! {
                end = &mut reader => break end,
                () = &mut writer, if is_writing => {
                    is_writing = false;
                    page.broken.cancel();
                }
            }
        };
        if is_writing {
            // The answer to the page's close frame, if there is one, is still to be sent.
            let _ = timeout(CLOSE_TIMEOUT, writer).await;
        }
        end
    }
}

fn close_frame(code: CloseCode, reason: &'static str) -> Frame {
    Frame::Close(Some(CloseFrame { code, reason: reason.into() }))
}

async fn read(
    page: &Page,
    stream: &mut SplitStream<Socket>,
    mut liveness: Liveness,
    control: &mpsc::Sender<Frame>,
    shutdown: &CancellationToken,
    tools_changed: &impl Fn(),
) -> ConnectionEnd {
    let mut frames = 0_u32;
    loop {
        frames = frames.wrapping_add(1);
        if frames.is_multiple_of(FRAMES_PER_TURN) {
            tokio::task::yield_now().await;
        }
        match liveness.poll(Instant::now().into_std()) {
            Some(Beat::Dead) => return ConnectionEnd::Dead,
            // If the channel is full, earlier pings could not be sent either.
            Some(Beat::Ping) => drop(control.try_send(Frame::Ping(Vec::new().into()))),
            None => {}
        }
        let next_beat = liveness.deadline().into();
        let wake = page.deadline().map_or(next_beat, |overdue| overdue.min(next_beat));
        let has_changed = tokio::select! {
            biased;
            () = shutdown.cancelled() => return ConnectionEnd::Shutdown,
            frame = stream.next() => {
                liveness.received(Instant::now().into_std());
                match payload(frame.as_ref()) {
                    Ok(Some(payload)) => page.receive(payload),
                    Ok(None) => false,
                    Err(end) => return end,
                }
            }
            () = sleep_until(wake) => page.handle_timeout(),
        };
        if has_changed {
            tools_changed();
        }
    }
}

/// The payload of a data frame; `None` for a control frame, which the library answers.
fn payload(frame: Option<&Result<Frame, Failure>>) -> Result<Option<&[u8]>, ConnectionEnd> {
    let unreadable = |code, reason| Err(ConnectionEnd::Unreadable { code, reason });
    match frame {
        Some(Ok(Frame::Text(text))) => Ok(Some(text.as_bytes())),
        Some(Ok(Frame::Binary(bytes))) => Ok(Some(bytes)),
        Some(Ok(Frame::Ping(_) | Frame::Pong(_) | Frame::Frame(_))) => Ok(None),
        Some(Ok(Frame::Close(_))) | None => Err(ConnectionEnd::Closed),
        Some(Err(error)) => {
            tracing::info!(%error, "the page's socket failed");
            match error {
                Failure::Capacity(_) => unreadable(CloseCode::Size, "it sent a message over 256 MiB"),
                Failure::Utf8(_) => unreadable(CloseCode::Invalid, "it sent text that is not UTF-8"),
                Failure::Protocol(_) => unreadable(CloseCode::Protocol, "it broke the WebSocket protocol"),
                _ => Err(ConnectionEnd::Closed),
            }
        }
    }
}

async fn write(
    mut sink: SplitSink<Socket, Frame>,
    mut outgoing: mpsc::Receiver<String>,
    mut controls: mpsc::Receiver<Frame>,
) {
    loop {
        let frame = tokio::select! {
            biased;
            control = controls.recv() => {
                let Some(control) = control else {
                    let _ = sink.close().await;
                    break;
                };
                control
            }
            Some(text) = outgoing.recv() => Frame::text(text),
        };
        let is_close = frame.is_close();
        if sink.feed(frame).await.is_err() {
            break;
        }
        // Everything that is queued goes into one write to the socket.
        while let Ok(text) = outgoing.try_recv() {
            if is_close || sink.feed(Frame::text(text)).await.is_err() {
                break;
            }
        }
        if sink.flush().await.is_err() || is_close {
            break;
        }
    }
}

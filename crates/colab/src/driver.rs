//! Moves frames between a page's socket and its session.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error as Failure, Message as Frame};
use tokio_util::sync::CancellationToken;

use crate::heartbeat::{Beat, Heartbeat};
use crate::page::Page;
use crate::socket::{CLOSING, Socket};

/// The frames taken from a page before others have their turn.
const FRAMES_AT_ONCE: u32 = 32;

/// How a page ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The page closed the socket, or the connection broke.
    Closed,
    /// The page sent what cannot be read; the socket is closed with this code, for this reason.
    Unreadable(CloseCode, &'static str),
    /// No sign of life.
    HalfOpen,
    /// This program is shutting down and closed the socket.
    Shutdown,
}

/// Moves frames between a page's socket and its session.
pub(crate) struct Driver {
    page: Arc<Page>,
    socket: Socket,
    outgoing: mpsc::Receiver<String>,
}

impl Driver {
    /// Starts the session on a new socket. The page works while the driver runs.
    pub(crate) fn new(socket: Socket) -> (Arc<Page>, Self) {
        let (page, outgoing) = Page::open();
        (page.clone(), Self { page, socket, outgoing })
    }

    /// Runs until the socket closes or `shutdown` is cancelled. `changed` is called whenever agents should
    /// list the tools again. Every call in flight has ended when this returns.
    pub(crate) async fn run(self, shutdown: &CancellationToken, changed: impl Fn()) -> End {
        let Self { page, socket, outgoing } = self;
        let received = socket.get_ref().received();
        let (sink, mut stream) = socket.split();
        let (control, controls) = mpsc::channel(4);
        // Sending and receiving must not wait for each other: both sides may be in the middle of a huge frame.
        let writer = write(sink, outgoing, controls);
        let reader = async {
            let end = tokio::select! {
                end = read(&page, &mut stream, &received, &control, shutdown, &changed) => end,
                () = page.broken.cancelled() => End::Closed,
            };
            let farewell = match end {
                End::Shutdown => Some(CloseFrame { code: CloseCode::Normal, reason: "".into() }),
                End::Unreadable(code, why) => Some(CloseFrame { code, reason: why.into() }),
                End::Closed | End::HalfOpen => None,
            };
            page.close(match end {
                End::Unreadable(_, why) => Some(why),
                _ => None,
            });
            if let Some(farewell) = farewell {
                let _ = control.send(Frame::Close(Some(farewell))).await;
                // A socket that is dropped with unread bytes resets, and the page would never see the farewell.
                let drained = async { while let Some(Ok(_)) = stream.next().await {} };
                let _ = timeout(CLOSING, drained).await;
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
            // The answer to the page's close frame, if there is one, still has to leave.
            let _ = timeout(CLOSING, writer).await;
        }
        end
    }
}

async fn read(
    page: &Page,
    stream: &mut SplitStream<Socket>,
    received: &AtomicU64,
    control: &mpsc::Sender<Frame>,
    shutdown: &CancellationToken,
    changed: &impl Fn(),
) -> End {
    let mut heartbeat = Heartbeat::new(Instant::now());
    let mut frames = 0_u32;
    loop {
        // A page that floods us must not keep the thread from everybody else.
        frames = frames.wrapping_add(1);
        if frames.is_multiple_of(FRAMES_AT_ONCE) {
            tokio::task::yield_now().await;
        }
        let now = Instant::now();
        let beat = match heartbeat.poll(now, received.load(Ordering::Relaxed)) {
            Beat::Wait(until) => until,
            Beat::Dead => return End::HalfOpen,
            Beat::Ping => {
                // A full channel means that earlier pings could not be sent either; the next poll decides.
                let _ = control.try_send(Frame::Ping(Vec::new().into()));
                continue;
            }
        };
        let overdue = page.deadline();
        let wake = overdue.map_or(beat, |overdue| overdue.min(beat));
        let has_changed = tokio::select! {
            biased;
            () = shutdown.cancelled() => return End::Shutdown,
            frame = stream.next() => {
                let payload = match &frame {
                    Some(Ok(Frame::Text(text))) => text.as_bytes(),
                    Some(Ok(Frame::Binary(bytes))) => bytes,
                    Some(Ok(Frame::Ping(_) | Frame::Pong(_) | Frame::Frame(_))) => continue,
                    Some(Ok(Frame::Close(_))) | None => return End::Closed,
                    Some(Err(error)) => {
                        tracing::info!(%error, "the page's socket failed");
                        return match error {
                            Failure::Capacity(_) => End::Unreadable(CloseCode::Size, "it sent a message over 256 MiB"),
                            Failure::Utf8(_) => End::Unreadable(CloseCode::Invalid, "it sent text that is not UTF-8"),
                            Failure::Protocol(_) => End::Unreadable(CloseCode::Protocol, "it broke the WebSocket protocol"),
                            _ => End::Closed,
                        };
                    }
                };
                page.receive(payload)
            }
            () = sleep_until(wake) => {
                page.handle_timeout()
            }
        };
        if has_changed {
            changed();
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
        let is_farewell = frame.is_close();
        if sink.feed(frame).await.is_err() {
            break;
        }
        // One write to the socket for all that is waiting.
        while let Ok(text) = outgoing.try_recv() {
            if is_farewell || sink.feed(Frame::text(text)).await.is_err() {
                break;
            }
        }
        if sink.flush().await.is_err() || is_farewell {
            break;
        }
    }
}

//! A client of a keeper: what it sends becomes events, and a task of its own sends it the log.
//!
//! The keeper never waits for a client. One that reads nothing stays at its offset in the log; one that sends too fast waits
//! until the keeper has taken what it sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::{SinkExt as _, TryStreamExt as _};
use kernel::log::ClientId;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::log::LogReader;
use crate::protocol::{ClientFrame, FramedWrite, KeeperFrame, framed};

/// Nothing of the log is needed.
const NOTHING: u64 = u64::MAX;

/// What will be sent to a client.
enum ToClient {
    Frame(KeeperFrame),
    Follow { offset: u64 },
}

/// The keeper's side of one client.
pub(crate) struct Client {
    queue: mpsc::UnboundedSender<ToClient>,
    /// The offset of what it has not been sent yet.
    position: Arc<AtomicU64>,
    reader: JoinHandle<()>,
    writer: JoinHandle<()>,
    /// Its process, once it has said hello.
    pub(crate) process: Option<u32>,
    pub(crate) is_following: bool,
}

impl Client {
    /// Serves a connection. What the client sends goes to `events`, and `None` at its end.
    pub(crate) fn serve(
        id: ClientId,
        stream: UnixStream,
        log: LogReader,
        events: mpsc::Sender<(ClientId, Option<ClientFrame>)>,
    ) -> Self {
        let (mut read, write) = framed(stream.into_split());
        let (queue, wanted) = mpsc::unbounded_channel();
        let position = Arc::new(AtomicU64::new(NOTHING));
        // Only the reader says that the client has left: what it sent last may not have been read when writing to it fails.
        let writer = place::spawn(send_all(write, wanted, log, position.clone()));
        let reader = place::spawn(async move {
            while let Ok(Some(frame)) = read.try_next().await
                && let Ok(frame) = ClientFrame::read(frame.freeze())
                && events.send((id, Some(frame))).await.is_ok()
            {}
            let _ = events.send((id, None)).await;
        });
        Self { queue, position, reader, writer, process: None, is_following: false }
    }

    pub(crate) fn send(&self, frame: KeeperFrame) {
        // It fails if the client has gone, which is an event of its own.
        let _ = self.queue.send(ToClient::Frame(frame));
    }

    /// Sends the log from `offset` on, and whatever is appended.
    pub(crate) fn follow(&mut self, offset: u64) {
        self.is_following = true;
        self.position.store(offset, Ordering::Relaxed);
        let _ = self.queue.send(ToClient::Follow { offset });
    }

    /// The offset from which on it needs the log.
    pub(crate) fn position(&self) -> u64 {
        self.position.load(Ordering::Relaxed)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.reader.abort();
        self.writer.abort();
    }
}

/// Sends until the connection or the keeper ends.
async fn send_all(
    mut write: FramedWrite<OwnedWriteHalf>,
    mut queue: mpsc::UnboundedReceiver<ToClient>,
    mut log: LogReader,
    position: Arc<AtomicU64>,
) {
    let mut follows: Option<u64> = None;
    loop {
        let is_behind = follows.is_some_and(|offset| offset < *log.end.borrow_and_update());
        tokio::select! {
            biased;
            wanted = queue.recv() => {
                let sent = match wanted {
                    Some(ToClient::Frame(frame)) => write.send(frame.write()).await,
                    Some(ToClient::Follow { offset }) => {
                        follows = Some(offset);
                        Ok(())
                    }
                    None => return,
                };
                if sent.is_err() {
                    return;
                }
            }
            () = std::future::ready(()), if is_behind => {
                let offset = follows.unwrap_or_default();
                let Ok(bytes) = log.read(offset) else { return };
                let next = offset + bytes.len() as u64;
                let records = KeeperFrame::Records { offset, bytes: bytes.into() };
                if write.send(records.write()).await.is_err() {
                    return;
                }
                follows = Some(next);
                position.store(next, Ordering::Relaxed);
            }
            changed = log.end.changed(), if follows.is_some() && !is_behind => {
                if changed.is_err() {
                    return;
                }
            }
        }
    }
}

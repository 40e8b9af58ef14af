//! The connection of a server to a kernel with a keeper.
//!
//! A connection reads the keeper's log: first what belongs to runs that it adopts, then everything that comes. The executions
//! of an earlier client are followed by the same state machine as our own:
//!
//! | record | what the driver gets |
//! |---|---|
//! | the note of an adopted run | [`kernel::Received::Adopted`] |
//! | a message of the kernel | [`kernel::Received::Message`] |
//! | a restart or the kernel's death | [`kernel::Received::Ended`]; once all is read that was there before, also the end |
//!
//! `log_reader` and `transport` return the types of this file, which connects them.

use std::io;
use std::os::unix::net::UnixStream as StdStream;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::{Sink as _, SinkExt as _, TryStreamExt as _};
use kernel::log::RunRecord;
use kernel::{Client, KernelError, Ready, TimedEvents, drive};
use notebook::Json;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::runtime;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use crate::protocol::{ClientFrame, FramedRead, FramedWrite, Hello, KeeperFrame, VERSION, Welcome, framed};

mod liveness;
mod log_reader;
mod transport;

use liveness::Liveness;
use transport::LogTransport;

/// How long a keeper may take to answer. It does nothing that takes long.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the last frames may take.
const FINISH_TIMEOUT: Duration = Duration::from_secs(1);
const KEEPER_ENDED: &str = "its keeper ended";

/// Reads a keeper's log from an offset on, a piece of it; nothing at its end.
pub(crate) type ReadLog = Box<dyn FnMut(u64) -> io::Result<Vec<u8>> + Send>;

/// How to connect to a keeper.
pub(crate) struct Connect {
    pub(crate) stream: StdStream,
    /// For what a keeper had written and not sent when it was killed.
    pub(crate) read_log: Option<ReadLog>,
    /// Whether the kernel must first be restarted.
    pub(crate) restart: bool,
    /// How long the kernel may take to be ready, if it is starting.
    pub(crate) ready_timeout: Duration,
    /// The keeper's process, for people.
    pub(crate) process: u32,
    /// How long the keeper may be silent while an execution is open: then it is asked whether it is there, and after the same time
    /// again the execution is lost.
    pub(crate) silence_timeout: Duration,
}

/// A connection to the kernel of a keeper.
#[derive(Debug)]
pub struct Connection {
    pub client: Client,
    pub keeper: KeeperHandle,
    /// The runs of earlier clients, which are ours now, the oldest first, each with what happened to it so far and what happens from
    /// now on; `None` if its request was never sent.
    pub orphans: Vec<(RunRecord, Option<TimedEvents>)>,
}

/// Speaks to the keeper over a [`Client`]'s connection.
#[derive(Debug, Clone)]
pub struct KeeperHandle {
    control: mpsc::UnboundedSender<Control>,
    orphaned: watch::Receiver<u64>,
    is_lost: Arc<AtomicBool>,
}

/// What a [`KeeperHandle`] wants of the connection.
#[derive(Debug)]
enum Control {
    Frame(ClientFrame),
    /// Answered once everything before it is sent.
    Flush(oneshot::Sender<()>),
}

impl KeeperHandle {
    /// Queues a frame. `false` if the connection has ended.
    pub fn send(&self, frame: ClientFrame) -> bool {
        self.control.send(Control::Frame(frame)).is_ok()
    }

    /// Waits until what was queued is sent, for at most a second.
    pub async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        if self.control.send(Control::Flush(done)).is_ok() {
            let _ = timeout(FINISH_TIMEOUT, flushed).await;
        }
    }

    /// Whether the connection ended although the kernel may live.
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// A counter that changes when another client has left runs behind.
    pub fn orphaned(&self) -> watch::Receiver<u64> {
        self.orphaned.clone()
    }
}

/// Queries a keeper's status. Fails if it does not answer, or has another version.
pub(crate) async fn greet(stream: UnixStream) -> Result<Welcome, KernelError> {
    let mut halves = Halves::new(stream);
    timeout(ANSWER_TIMEOUT, halves.greet()).await.unwrap_or_else(|_| Err(silent()))
}

/// Sends a keeper one frame after the greeting, without following its log, and waits for its end if that is asked for. Fails if it does
/// not answer, or has another version.
pub async fn tell(stream: UnixStream, frame: &ClientFrame) -> Result<(), KernelError> {
    let mut halves = Halves::new(stream);
    let telling = async {
        halves.greet().await?;
        halves.send(frame).await.map_err(|error| unusable(&error))?;
        // The keeper closes the connection as it ends.
        while *frame == ClientFrame::End && halves.answer().await.is_ok() {}
        Ok(())
    };
    timeout(2 * ANSWER_TIMEOUT, telling).await.unwrap_or_else(|_| Err(silent()))
}

/// Connects to the kernel of a keeper, adopts the runs whose clients are gone, and reads what happened to them. If the kernel
/// is starting, waits until it is ready. Fails if it is not in time, or the keeper cannot be used.
pub(crate) async fn connect(connect: Connect) -> Result<Connection, KernelError> {
    let no_thread = |error: io::Error| unusable(&format!("no thread for it: {error}"));
    let (answer, connected) = oneshot::channel();
    let serving = serve(connect, answer);
    let runtime = runtime::Builder::new_current_thread().enable_all().build().map_err(no_thread)?;
    let thread = thread::Builder::new().name("kernel".to_owned());
    thread.spawn(move || runtime.block_on(serving)).map_err(no_thread)?;
    connected.await.unwrap_or_else(|_| Err(unusable(&"its thread ended")))
}

/// The thread of a connection, whose runtime owns the socket.
async fn serve(connect: Connect, mut answer: oneshot::Sender<Result<Connection, KernelError>>) {
    let Connect { stream, read_log, restart, ready_timeout, process, silence_timeout } = connect;
    let liveness = Liveness::new(process, silence_timeout);
    let opened = match UnixStream::from_std(stream) {
        Ok(stream) => timeout(ANSWER_TIMEOUT, LogTransport::open(stream, restart, liveness)).await,
        Err(error) => Ok(Err(unusable(&error))),
    };
    let (mut connection, keeper, orphans) = match opened.unwrap_or_else(|_| Err(silent())) {
        Ok(opened) => opened,
        Err(error) => {
            let _ = answer.send(Err(error));
            return;
        }
    };
    connection.read_log = read_log;
    let began = Instant::now();
    let (client, mut driver) =
        drive(connection, Ready { language_info: Json::empty_object(), process: None });
    let caught_up = tokio::select! {
        caught_up = timeout(ready_timeout, driver.catch_up()) => caught_up.is_ok(),
        () = answer.closed() => return,
    };
    if !caught_up {
        let cause = "it is starting".to_owned();
        let _ = answer.send(Err(KernelError::NotReady { waited: began.elapsed(), cause }));
        return;
    }
    if let Some(cause) = driver.transport().failed.clone() {
        let _ = answer.send(Err(unusable(&cause)));
        return;
    }
    let client = client.with_language_info(driver.transport().language_info());
    let _ = answer.send(Ok(Connection { client, keeper, orphans }));
    let connection = driver.run(Box::pin(std::future::pending())).await;
    connection.serve_handles().await;
}

fn hello() -> Hello {
    Hello { version: VERSION, process: std::process::id() }
}

fn unusable(cause: &impl ToString) -> KernelError {
    KernelError::Unusable { cause: cause.to_string() }
}

fn silent() -> KernelError {
    KernelError::NoAnswer { request: "its keeper was asked", waited: ANSWER_TIMEOUT }
}

/// The two directions of a connection.
struct Halves {
    read: FramedRead<OwnedReadHalf>,
    write: FramedWrite<OwnedWriteHalf>,
}

impl Halves {
    fn new(stream: UnixStream) -> Self {
        let (read, write) = framed(stream.into_split());
        Self { read, write }
    }

    async fn greet(&mut self) -> Result<Welcome, KernelError> {
        self.send(&ClientFrame::Hello(hello())).await.map_err(|error| unusable(&error))?;
        match self.answer().await? {
            KeeperFrame::Welcome(welcome) => Ok(welcome),
            KeeperFrame::Refused { version } => Err(unusable(&format!(
                "its keeper has another version of Cellbridge (protocol {version}, here {VERSION}); stop it with the \
                 version that started it"
            ))),
            _ => Err(unusable(&"its keeper sent no greeting")),
        }
    }

    async fn answer(&mut self) -> Result<KeeperFrame, KernelError> {
        loop {
            let frame = self.read.try_next().await.map_err(|error| unusable(&error))?;
            let frame = frame.ok_or_else(|| KernelError::Died { how: KEEPER_ENDED.to_owned() })?;
            match KeeperFrame::read(frame.freeze()).map_err(|error| unusable(&error))? {
                KeeperFrame::Unknown => {}
                frame => return Ok(frame),
            }
        }
    }

    /// Queues a frame, which is sent with the next flush.
    fn queue(&mut self, frame: &ClientFrame) {
        if let Err(error) = Pin::new(&mut self.write).start_send(frame.write()) {
            tracing::error!(%error, "a frame for a keeper cannot be written");
        }
    }

    fn has_queued(&self) -> bool {
        !self.write.write_buffer().is_empty()
    }

    async fn send(&mut self, frame: &ClientFrame) -> io::Result<()> {
        self.write.send(frame.write()).await
    }
}

#[cfg(test)]
mod tests;

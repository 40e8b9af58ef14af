//! The event loop of a keeper: messages of the kernel into the log, requests of clients to the kernel.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use futures_util::future::{BoxFuture, OptionFuture};
use kernel::log::{Channel, ClientId, LogEvent, LogRecord, RunsInLog};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::{sleep_until, timeout};

use crate::clients::Client;
use crate::folder::{FolderLock, KeeperFolder};
use crate::launcher::{LaunchError, Launched, Launcher};
use crate::lifetime::{Lifetime, Lifetimes};
use crate::log::Log;
use crate::private::is_own_process;
use crate::protocol::{ClientFrame, KernelPhase, KernelStatus};
use crate::turns::Turns;

mod kernel_process;
mod log_failure;
mod requests;
mod settle;

#[cfg(test)]
mod tests;

pub(crate) use settle::Settling;

/// How much is kept in all. Beyond it, no outputs are kept.
const MAX_LOG_BYTES: u64 = 1024 * 1024 * 1024;
/// How many clients are served at once.
const MAX_CLIENTS: usize = 64;
/// How many frames of clients wait for the keeper.
const MAX_FRAMES: usize = 256;
/// How often the keeper checks that its folder exists.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// How long clients may take to read how it ended.
const LAST_WORDS_TIMEOUT: Duration = Duration::from_secs(1);
/// Longer than any server runs.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
const STOPPED: &str = "it was stopped";
/// How a kernel died whose keeper left no word of it, for people.
pub const KEEPER_DIED: &str = "its keeper was killed, or the machine went down";

type Starting = BoxFuture<'static, Result<Launched, LaunchError>>;

/// Why a keeper ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// A client asked for it.
    Asked,
    /// A signal asked for it: somebody stops it, or the machine goes down.
    Terminated,
    Expired(&'static str),
    /// Somebody removed its folder.
    FolderGone,
    /// All clients of what a dead keeper left have gone.
    Unused,
}

enum Event {
    Connected(UnixStream),
    Client(ClientId, Option<ClientFrame>),
    Message(Channel, Vec<Bytes>),
    SocketsEnded,
    /// The kernel's process ended.
    Exited(String),
    Started(Result<Launched, LaunchError>),
    /// Something is due.
    Deadline,
    Terminated,
}

/// A keeper.
pub(crate) struct Keeper {
    folder: KeeperFolder,
    _lock: FolderLock,
    log: Log,
    /// Why the log could not be written, until it can be again.
    log_failure: Option<i32>,
    runs: RunsInLog,
    turns: Turns,
    lifetime: Lifetime,
    /// `None` where only the log of a dead keeper is served.
    launcher: Option<Arc<dyn Launcher>>,
    was_folder_missing: bool,
    kernel: Option<Launched>,
    are_sockets_open: bool,
    starting: Option<Starting>,
    status: KernelStatus,
    last_request: SystemTime,
    clients: HashMap<ClientId, Client>,
    client_count: ClientId,
    events: mpsc::Receiver<(ClientId, Option<ClientFrame>)>,
    event_sender: mpsc::Sender<(ClientId, Option<ClientFrame>)>,
    settling: Settling,
}

impl Keeper {
    /// The keeper of a kernel that is about to start.
    pub(crate) fn of_launcher(
        (folder, lock): (KeeperFolder, FolderLock),
        launcher: Arc<dyn Launcher>,
        limits: Lifetimes,
        settling: Settling,
    ) -> io::Result<Self> {
        let log = Log::create(&folder.path)?;
        let mut keeper = Self::new(folder, lock, log, limits);
        keeper.settling = settling;
        keeper.launcher = Some(launcher);
        Ok(keeper)
    }

    /// Serves what a dead keeper left.
    pub(crate) fn of_leftovers(folder: KeeperFolder, lock: FolderLock) -> io::Result<Self> {
        let (mut runs, mut how) = (RunsInLog::default(), None);
        let mut log = Log::reopen(&folder.path, |offset, time, record| {
            runs.read(time, offset, &record);
            match record {
                LogRecord::Event(LogEvent::Died { how: cause }) => how = Some(cause),
                LogRecord::Event(LogEvent::Ready { .. }) => how = None,
                _ => {}
            }
        })?;
        let is_said = how.is_some();
        let how = how.unwrap_or_else(|| KEEPER_DIED.to_owned());
        let died = LogRecord::Event(LogEvent::Died { how: how.clone() });
        if !is_said {
            log.append(&died, SystemTime::now())?;
        }
        runs.read(SystemTime::now(), log.end(), &died);
        let mut keeper = Self::new(folder, lock, log, Lifetimes::of_idle(FOREVER));
        (keeper.runs, keeper.status.phase) = (runs, KernelPhase::Dead { how });
        Ok(keeper)
    }

    fn new(folder: KeeperFolder, lock: FolderLock, log: Log, limits: Lifetimes) -> Self {
        let (event_sender, events) = mpsc::channel(MAX_FRAMES);
        let phase = KernelPhase::Starting;
        let status =
            KernelStatus { phase, is_busy: false, language_info: serde_json::Value::Null, process: None };
        Self {
            folder,
            _lock: lock,
            log,
            log_failure: None,
            runs: RunsInLog::default(),
            turns: Turns::default(),
            lifetime: Lifetime::new(limits, Instant::now()),
            launcher: None,
            was_folder_missing: false,
            kernel: None,
            are_sockets_open: false,
            starting: None,
            status,
            last_request: SystemTime::now(),
            clients: HashMap::new(),
            client_count: 0,
            events,
            event_sender,
            settling: Settling::default(),
        }
    }

    /// Whether it has runs that nobody has acknowledged.
    pub(crate) fn has_unread_runs(&self) -> bool {
        self.runs.has_unread()
    }

    /// Adds a client.
    pub(crate) fn serve(&mut self, stream: UnixStream) {
        if self.clients.len() >= MAX_CLIENTS {
            return;
        }
        self.client_count += 1;
        let id = self.client_count;
        let client = Client::serve(id, stream, self.log.reader(), self.event_sender.clone());
        self.clients.insert(id, client);
    }

    /// Keeps the kernel until it is to end. `terminated` completes if this process was asked to end.
    pub(crate) async fn run(
        &mut self,
        listener: Option<&UnixListener>,
        terminated: impl Future<Output = ()>,
    ) -> Ending {
        let mut terminated = std::pin::pin!(terminated);
        let mut checked_at = Instant::now();
        loop {
            let event = self.next_event(listener, terminated.as_mut(), checked_at + CHECK_INTERVAL).await;
            if let Some(ending) = self.handle(event).await {
                return ending;
            }
            let now = Instant::now();
            if let Some(expiry) = self.settled_or_expired(now) {
                return Ending::Expired(expiry);
            }
            if listener.is_none() && self.clients.is_empty() {
                return Ending::Unused;
            }
            if now >= checked_at + CHECK_INTERVAL {
                checked_at = now;
                self.forget();
                if self.is_folder_gone() {
                    return Ending::FolderGone;
                }
            }
            tokio::task::coop::consume_budget().await;
        }
    }

    /// Whether somebody has removed the folder: it is missing this time and the last. A network share may fail for a while.
    fn is_folder_gone(&mut self) -> bool {
        let is_missing = matches!(self.folder.path.try_exists(), Ok(false));
        let was_missing = std::mem::replace(&mut self.was_folder_missing, is_missing);
        is_missing && was_missing
    }

    async fn next_event(
        &mut self,
        listener: Option<&UnixListener>,
        terminated: impl Future<Output = ()>,
        check_at: Instant,
    ) -> Event {
        let expiry = self.lifetime.expiry().map(|(at, _)| at);
        let due = [expiry, self.turns.deadline(), self.settling.deadline()]
            .into_iter()
            .flatten()
            .fold(check_at, Instant::min);
        let exit = self.kernel.as_ref().map(|kernel| kernel.process.wait());
        let is_open = self.are_sockets_open;
        let message = self.kernel.as_mut().filter(|_| is_open).map(|kernel| kernel.connection.receive());
        tokio::select! {
            Some(message) = OptionFuture::from(message) => match message {
                Ok((channel, parts)) => Event::Message(channel, parts),
                Err(_) => Event::SocketsEnded,
            },
            Some((id, event)) = self.events.recv() => Event::Client(id, event),
            Some(stream) = OptionFuture::from(listener.map(accept)) => Event::Connected(stream),
            Some(started) = OptionFuture::from(self.starting.as_mut()) => Event::Started(started),
            Some(how) = OptionFuture::from(exit) => Event::Exited(how),
            () = sleep_until(due.into()) => Event::Deadline,
            () = terminated => Event::Terminated,
        }
    }

    async fn handle(&mut self, event: Event) -> Option<Ending> {
        match event {
            Event::Connected(stream) => self.serve(stream),
            Event::Client(id, Some(frame)) => return self.on_frame(id, frame),
            Event::Client(id, None) => self.on_left(id),
            Event::Message(channel, parts) => {
                self.on_message(channel, parts);
                self.take_messages();
            }
            Event::SocketsEnded => self.are_sockets_open = false,
            Event::Exited(how) => self.on_exit(how).await,
            Event::Started(started) => {
                self.starting = None;
                match started {
                    Ok(kernel) => self.started(kernel),
                    Err(error) => self.on_failed_start(&error),
                }
            }
            Event::Deadline => self.end_overdue(Instant::now()),
            Event::Terminated => return Some(Ending::Terminated),
        }
        None
    }

    /// Stores pending outputs; before that, the kernel does not expire.
    fn settled_or_expired(&mut self, now: Instant) -> Option<&'static str> {
        self.settle(now);
        self.lifetime.set_busy(self.is_busy() || self.settling.is_pending(), now);
        self.lifetime.expired(now)
    }

    /// Whether the kernel works on something, or soon will.
    fn is_busy(&self) -> bool {
        self.status.is_busy || self.turns.is_busy() || self.status.phase == KernelPhase::Starting
    }

    /// Removes the parts of the log that nobody needs.
    fn forget(&mut self) {
        let end = self.log.end();
        self.runs.forget(end);
        let unread = self.runs.oldest().unwrap_or(end);
        let followed = self.clients.values().map(Client::position).min().unwrap_or(end);
        let is_full = self.log.size() > MAX_LOG_BYTES;
        self.log.forget_before(if is_full { unread } else { unread.min(followed) });
    }

    /// Lets clients read how the kernel ended.
    async fn say_how_it_ended(&mut self, how: &str) {
        self.kernel_ended(KernelPhase::Dead { how: how.to_owned() });
        self.record(&LogRecord::Event(LogEvent::Died { how: how.to_owned() }));
        let last_words = async {
            while self.clients.values().any(|client| client.position() < self.log.end()) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let _ = timeout(LAST_WORDS_TIMEOUT, last_words).await;
    }

    /// Ends the kernel. What nobody has read stays, except on request.
    pub(crate) async fn end(mut self, ending: Ending) {
        self.starting = None;
        if let Some(kernel) = self.kernel.take() {
            kernel.stop(false).await;
        }
        match ending {
            Ending::Expired(how) => self.say_how_it_ended(how).await,
            Ending::Terminated => self.say_how_it_ended(STOPPED).await,
            Ending::Asked if self.launcher.is_some() => self.say_how_it_ended(STOPPED).await,
            Ending::Asked | Ending::FolderGone | Ending::Unused => {}
        }
        let is_to_stay = match ending {
            Ending::Expired(_) | Ending::Terminated | Ending::Unused => self.has_unread_runs(),
            Ending::Asked | Ending::FolderGone => false,
        };
        if !is_to_stay {
            self.folder.remove();
        }
    }
}

/// The next client of this user.
async fn accept(listener: &UnixListener) -> UnixStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) if is_own_process(&stream) => return stream,
            Ok(_) => {}
            // There are no descriptors left, for example. It passes, or clients time out.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

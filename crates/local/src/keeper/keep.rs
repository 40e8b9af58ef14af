//! The loop of a keeper: messages of the kernel into the log, requests of clients to the kernel.

use std::collections::HashMap;
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use kernel::keeper::{
    Channel, ClientFrame, ClientId, KeeperEvent, KeeperFrame, KernelPhase, KernelSockets, KernelStatus,
    LogDecision, Peek, Record, Runs, VERSION, Welcome,
};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::{sleep_until, timeout};
use workspace::Error;

use super::clients::{Client, FromClient};
use super::folder::{FolderLock, KeeperFolder, is_own_process};
use super::lifetime::{Lifetime, Lifetimes};
use super::log::Log;
use super::turns::{Request, Turns};
use crate::kernelspec::InterruptMode;
use crate::launch::{KernelLauncher, Started};

/// How much of the outputs of one run is kept.
const MAX_RUN_BYTES: u64 = 256 * 1024 * 1024;
/// How much is kept in all. Beyond it, no text that code prints is kept.
const MAX_LOG_BYTES: u64 = 1024 * 1024 * 1024;
/// How many clients are served at once.
const MAX_CLIENTS: usize = 64;
/// How many frames of clients wait for the keeper.
const MAX_FRAMES: usize = 256;
/// How many messages of the kernel are taken before clients get their turn.
const MAX_MESSAGES: usize = 256;
/// How often the keeper checks that its folder exists.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// How long a dead kernel's connection may be silent before nothing more is expected, and how long it is read at all.
const DRAIN_SILENCE: Duration = Duration::from_millis(500);
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// How long clients may take to read how it ended.
const LAST_WORDS_TIMEOUT: Duration = Duration::from_secs(1);
/// Longer than any server runs.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
const KEEPER_DIED: &str = "its keeper was killed, or the machine went down";

type KeptKernel = Started<KernelSockets>;
type Starting = BoxFuture<'static, Result<KeptKernel, Error>>;

/// Why a keeper ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// A client or a signal asked for it.
    Asked,
    Expired(&'static str),
    /// Somebody removed its folder.
    FolderGone,
    /// All clients of what a dead keeper left have gone.
    Unused,
}

enum Event {
    Connected(UnixStream),
    Client(ClientId, FromClient),
    Message(Channel, Vec<Bytes>),
    SocketsEnded,
    /// The kernel's process ended.
    Exited(String),
    Started(Result<KeptKernel, Error>),
    /// Something is due.
    Deadline,
    Terminated,
}

/// A keeper.
pub(super) struct Keep {
    folder: KeeperFolder,
    _lock: FolderLock,
    log: Log,
    runs: Runs,
    turns: Turns,
    lifetime: Lifetime,
    /// `None` where only the log of a dead keeper is served.
    launcher: Option<Arc<KernelLauncher>>,
    kernel: Option<KeptKernel>,
    are_sockets_open: bool,
    starting: Option<Starting>,
    status: KernelStatus,
    last_request: SystemTime,
    clients: HashMap<ClientId, Client>,
    client_count: ClientId,
    events: mpsc::Receiver<(ClientId, FromClient)>,
    event_sender: mpsc::Sender<(ClientId, FromClient)>,
}

impl Keep {
    /// The keeper of a kernel that runs.
    pub(super) fn of_kernel(
        (folder, lock): (KeeperFolder, FolderLock),
        launcher: Arc<KernelLauncher>,
        kernel: KeptKernel,
        limits: Lifetimes,
    ) -> io::Result<Self> {
        let log = Log::create(&folder.path)?;
        let mut keep = Self::new(folder, lock, log, limits);
        keep.launcher = Some(launcher);
        keep.started(kernel);
        Ok(keep)
    }

    /// Serves what a dead keeper left.
    pub(super) fn of_leftovers(folder: KeeperFolder, lock: FolderLock) -> io::Result<Self> {
        let (mut runs, mut how) = (Runs::default(), None);
        let mut log = Log::reopen(&folder.path, |offset, time, record| match record {
            Record::Note(note) => runs.note(note, offset, None, time),
            Record::FromKernel { channel, parts } => {
                runs.received(channel, &Peek::of(channel, &parts), 0, u64::MAX);
            }
            Record::Acknowledged { run } => drop(runs.acknowledge(&run)),
            Record::Event(KeeperEvent::Died { how: cause }) => {
                runs.kernel_ended();
                how = Some(cause);
            }
            Record::Event(KeeperEvent::Restarting) => runs.kernel_ended(),
            Record::Event(KeeperEvent::Ready { .. }) => how = None,
            Record::Event(KeeperEvent::Withdrawn { message }) => runs.ended(&message),
            Record::ToKernel { .. } | Record::Event(_) => {}
        })?;
        let how = match how {
            Some(how) => how,
            None => {
                let died = KeeperEvent::Died { how: KEEPER_DIED.to_owned() };
                log.append(&Record::Event(died), SystemTime::now())?;
                KEEPER_DIED.to_owned()
            }
        };
        runs.kernel_ended();
        let mut keep = Self::new(folder, lock, log, Lifetimes::of_idle(FOREVER));
        (keep.runs, keep.status.phase) = (runs, KernelPhase::Dead { how });
        Ok(keep)
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
            runs: Runs::default(),
            turns: Turns::default(),
            lifetime: Lifetime::new(limits, Instant::now()),
            launcher: None,
            kernel: None,
            are_sockets_open: false,
            starting: None,
            status,
            last_request: SystemTime::now(),
            clients: HashMap::new(),
            client_count: 0,
            events,
            event_sender,
        }
    }

    /// Whether it has runs that nobody has acknowledged.
    pub(super) fn has_unread_runs(&self) -> bool {
        self.runs.oldest().is_some()
    }

    /// Adds a client.
    pub(super) fn serve(&mut self, stream: UnixStream) {
        if self.clients.len() >= MAX_CLIENTS {
            return;
        }
        self.client_count += 1;
        let id = self.client_count;
        let client = Client::serve(id, stream, self.log.reader(), self.event_sender.clone());
        self.clients.insert(id, client);
    }

    /// Keeps the kernel until it is to end. `terminated` completes if this process was asked to end.
    pub(super) async fn run(
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
            self.lifetime.set_busy(self.is_busy(), now);
            if let Some(expiry) = self.lifetime.expired(now) {
                return Ending::Expired(expiry.how());
            }
            if listener.is_none() && self.clients.is_empty() {
                return Ending::Unused;
            }
            if now >= checked_at + CHECK_INTERVAL {
                checked_at = now;
                self.forget();
                if !self.folder.path.exists() {
                    return Ending::FolderGone;
                }
            }
            tokio::task::coop::consume_budget().await;
        }
    }

    async fn next_event(
        &mut self,
        listener: Option<&UnixListener>,
        terminated: impl Future<Output = ()>,
        check_at: Instant,
    ) -> Event {
        let expiry = self.lifetime.expiry().map(|(at, _)| at);
        let due = [expiry, self.turns.deadline()].into_iter().flatten().fold(check_at, Instant::min);
        let exit = self.kernel.as_ref().map(|kernel| kernel.process.wait());
        let exit = async { match exit { Some(exit) => exit.await.to_string(), None => pending().await } };
        let is_open = self.are_sockets_open;
        let kernel = &mut self.kernel;
        let message = async {
            match kernel.as_mut().filter(|_| is_open) {
                Some(kernel) => kernel.connection.receive().await,
                None => pending().await,
            }
        };
        let starting = async { match &mut self.starting { Some(starting) => starting.await, None => pending().await } };
        let connection = async {
            match listener {
                Some(listener) => loop {
                    match listener.accept().await {
                        Ok((stream, _)) if is_own_process(&stream) => return stream,
                        Ok(_) => {}
                        // There are no descriptors left, for example. It passes, or clients time out.
                        Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                    }
                },
                None => pending().await,
            }
        };
        tokio::select! {
            message = message => match message {
                Ok((channel, parts)) => Event::Message(channel, parts),
                Err(_) => Event::SocketsEnded,
            },
            Some((id, event)) = self.events.recv() => Event::Client(id, event),
            stream = connection => Event::Connected(stream),
            started = starting => Event::Started(started),
            how = exit => Event::Exited(how),
            () = sleep_until(due.into()) => Event::Deadline,
            () = terminated => Event::Terminated,
        }
    }

    async fn handle(&mut self, event: Event) -> Option<Ending> {
        match event {
            Event::Connected(stream) => self.serve(stream),
            Event::Client(id, FromClient::Frame(frame)) => return self.on_frame(id, frame),
            Event::Client(id, FromClient::Left) => self.on_left(id),
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
            Event::Deadline => {
                if let Some((ended, released)) = self.turns.tick(Instant::now()) {
                    self.runs.ended(&ended);
                    self.release(released);
                }
            }
            Event::Terminated => return Some(Ending::Asked),
        }
        None
    }

    fn on_frame(&mut self, id: ClientId, frame: ClientFrame) -> Option<Ending> {
        let client = self.clients.get_mut(&id)?;
        if let ClientFrame::Hello(hello) = frame {
            client.process = Some(hello.process);
            let answer = if hello.version == VERSION {
                KeeperFrame::Welcome(self.welcome())
            } else {
                KeeperFrame::Refused { version: VERSION }
            };
            if let Some(client) = self.clients.get(&id) {
                client.send(answer);
            }
            return None;
        }
        if client.process.is_none() {
            // It does not speak our protocol.
            self.clients.remove(&id);
            return None;
        }
        match frame {
            ClientFrame::Adopt => {
                let runs = self.runs.adopt(id, self.status.clone(), self.log.end());
                if let Some(client) = self.clients.get(&id) {
                    client.send(KeeperFrame::Adopted(runs));
                }
            }
            ClientFrame::Follow { offset } => {
                client.follow(offset);
                self.count_attached();
            }
            ClientFrame::Note(note) => {
                let now = SystemTime::now();
                if let Some(offset) = self.record(&Record::Note(note.clone())) {
                    self.runs.note(note, offset, Some(id), now);
                }
            }
            ClientFrame::Send { channel, parts } => {
                self.requested();
                let released = self.turns.submit(Request::new(id, channel, parts));
                self.release(released);
            }
            ClientFrame::Acknowledge { run } => {
                if self.runs.acknowledge(&run) {
                    self.record(&Record::Acknowledged { run });
                    self.forget();
                }
            }
            ClientFrame::Interrupt { message } => self.interrupt(message),
            ClientFrame::Restart => self.restart(),
            ClientFrame::End => return Some(Ending::Asked),
            ClientFrame::Hello(_) | ClientFrame::Unknown => {}
        }
        None
    }

    fn welcome(&self) -> Welcome {
        let following = self.clients.values().filter(|client| client.is_following);
        let mut attached: Vec<u32> = following.filter_map(|client| client.process).collect();
        attached.sort_unstable();
        attached.dedup();
        let mut kernel = self.status.clone();
        kernel.is_busy = self.is_busy();
        let orphans = self.runs.orphans();
        Welcome { version: VERSION, kernel, last_request: self.last_request, attached, orphans }
    }

    fn on_left(&mut self, id: ClientId) {
        if self.clients.remove(&id).is_none() {
            return;
        }
        if self.runs.left(id) {
            self.record(&Record::Event(KeeperEvent::Orphaned));
        }
        self.count_attached();
    }

    fn count_attached(&mut self) {
        let attached = self.clients.values().filter(|client| client.is_following).count();
        self.lifetime.set_attached(attached, Instant::now());
    }

    fn requested(&mut self) {
        self.last_request = SystemTime::now();
        self.lifetime.requested(Instant::now());
    }

    /// Whether the kernel works on something, or soon will.
    fn is_busy(&self) -> bool {
        self.status.is_busy || self.turns.is_busy() || self.status.phase == KernelPhase::Starting
    }

    fn on_message(&mut self, channel: Channel, parts: Vec<Bytes>) {
        let peek = Peek::of(channel, &parts);
        match peek.state.as_deref() {
            Some("busy") => self.status.is_busy = true,
            Some("idle") => self.status.is_busy = false,
            _ => {}
        }
        let bytes = parts.iter().map(|part| part.len() as u64).sum();
        let limit = if self.log.size() > MAX_LOG_BYTES { 0 } else { MAX_RUN_BYTES };
        match self.runs.received(channel, &peek, bytes, limit) {
            LogDecision::Keep => drop(self.record(&Record::FromKernel { channel, parts })),
            LogDecision::CutFromHere => {
                let message = peek.parent.clone();
                self.record(&Record::Event(KeeperEvent::Cut { message }));
            }
            LogDecision::Drop => {}
        }
        let released = self.turns.received(channel, &peek, Instant::now());
        self.release(released);
    }

    /// Takes what has arrived already, up to a limit.
    fn take_messages(&mut self) {
        for _ in 0..MAX_MESSAGES {
            let next = self.kernel.as_mut().and_then(|kernel| kernel.connection.try_receive());
            let Some((channel, parts)) = next else { return };
            self.on_message(channel, parts);
        }
    }

    fn release(&mut self, requests: Vec<Request>) {
        for Request { channel, parts, .. } in requests {
            self.record(&Record::ToKernel { channel, parts: parts.clone() });
            if let Some(kernel) = &self.kernel {
                kernel.connection.send(channel, parts);
            }
        }
    }

    /// Appends to the log. What cannot be written is lost for all clients; the kernel goes on.
    fn record(&mut self, record: &Record) -> Option<u64> {
        self.log.append(record, SystemTime::now()).ok()
    }

    /// Removes the parts of the log that nobody needs.
    fn forget(&mut self) {
        let end = self.log.end();
        let unread = self.runs.oldest().unwrap_or(end);
        let followed = self.clients.values().map(Client::position).min().unwrap_or(end);
        let is_full = self.log.size() > MAX_LOG_BYTES;
        self.log.forget_before(if is_full { unread } else { unread.min(followed) });
    }

    fn interrupt(&mut self, message: Option<String>) {
        if let Some(message) = message
            && self.turns.withdraw(&message)
        {
            self.runs.ended(&message);
            self.record(&Record::Event(KeeperEvent::Withdrawn { message }));
            return;
        }
        let (Some(kernel), Some(launcher)) = (&self.kernel, &self.launcher) else { return };
        match launcher.choice.kernelspec.interrupt_mode {
            InterruptMode::Signal => kernel.process.interrupt(),
            InterruptMode::Message => kernel.connection.send_interrupt(),
        }
    }

    fn restart(&mut self) {
        let Some(launcher) = self.launcher.clone() else { return };
        self.requested();
        self.kernel_ended(KernelPhase::Starting);
        self.record(&Record::Event(KeeperEvent::Restarting));
        let (old, starting) = (self.kernel.take(), self.starting.take());
        self.starting = Some(
            async move {
                // Its process ends with it.
                drop(starting);
                if let Some(old) = old {
                    old.stop(true).await;
                }
                launcher.start().await
            }
            .boxed(),
        );
    }

    fn started(&mut self, kernel: KeptKernel) {
        let language_info = kernel.connection.language_info().to_value();
        self.status = KernelStatus {
            phase: KernelPhase::Running,
            is_busy: false,
            language_info: language_info.clone(),
            process: kernel.process.id(),
        };
        self.kernel = Some(kernel);
        self.are_sockets_open = true;
        self.record(&Record::Event(KeeperEvent::Ready { language_info }));
    }

    fn on_failed_start(&mut self, error: &Error) {
        let how = error.cause.clone();
        self.kernel_ended(KernelPhase::Dead { how: how.clone() });
        for client in self.clients.values() {
            client.send(KeeperFrame::Failed { cause: how.clone() });
        }
        self.record(&Record::Event(KeeperEvent::Died { how }));
    }

    /// The kernel's process ended. Its connections may hold messages that it sent before.
    async fn on_exit(&mut self, how: String) {
        let began = Instant::now();
        while self.are_sockets_open && began.elapsed() < DRAIN_TIMEOUT {
            let Some(kernel) = &mut self.kernel else { break };
            match timeout(DRAIN_SILENCE, kernel.connection.receive()).await {
                Ok(Ok((channel, parts))) => self.on_message(channel, parts),
                Ok(Err(_)) | Err(_) => break,
            }
        }
        self.kernel = None;
        self.kernel_ended(KernelPhase::Dead { how: how.clone() });
        self.record(&Record::Event(KeeperEvent::Died { how }));
    }

    fn kernel_ended(&mut self, phase: KernelPhase) {
        self.status.phase = phase;
        (self.status.is_busy, self.status.process) = (false, None);
        self.are_sockets_open = false;
        self.turns.kernel_ended();
        self.runs.kernel_ended();
    }

    /// Ends the kernel. What nobody has read stays, except on request.
    pub(super) async fn end(mut self, ending: Ending) {
        self.starting = None;
        if let Some(kernel) = self.kernel.take() {
            kernel.stop(false).await;
        }
        match ending {
            Ending::Expired(how) => {
                self.kernel_ended(KernelPhase::Dead { how: how.to_owned() });
                self.record(&Record::Event(KeeperEvent::Died { how: how.to_owned() }));
                let last_words = async {
                    while self.clients.values().any(|client| client.position() < self.log.end()) {
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                };
                let _ = timeout(LAST_WORDS_TIMEOUT, last_words).await;
                if !self.has_unread_runs() {
                    self.folder.remove();
                }
            }
            Ending::Unused if self.has_unread_runs() => {}
            Ending::Asked | Ending::FolderGone | Ending::Unused => self.folder.remove(),
        }
    }
}

//! Accepts connections from tabs, performs their handshakes and keeps the one connected page.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use connection::NetworkTimeout;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use workspace::Secret;

use crate::browser_activity::{BrowserActivity, BrowserEvent, Diagnosis, Mark};
use crate::driver::{ConnectionEnd, Driver};
use crate::handshake::{Handshake, Step};
use crate::listener::Listener;
use crate::page::Page;
use crate::socket::{self, Socket};

/// A browser keeps the connection open and silent while it shows its permission prompt, and the person may be away.
const PERMISSION_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Once a request has begun, the rest arrives at once.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How many connections may be in their handshake. A further one replaces the oldest if that is older than
/// [`EVICTABLE_AGE`], else the youngest, so that a flood of connections cannot close one whose prompt is showing.
///
/// Example: 64 connections wait, the oldest for one minute. Connection 65 replaces the 64th, connection 66 replaces
/// the 65th, and the first 63 stay. If the oldest has waited for six minutes, connection 65 replaces that one.
const MAX_HANDSHAKES: usize = 64;
const EVICTABLE_AGE: Duration = Duration::from_secs(5 * 60);

#[derive(Default)]
struct State {
    activity: BrowserActivity,
    page: Option<Arc<Page>>,
    /// The connections in their handshake, the oldest first.
    handshakes: BTreeMap<u64, HandshakeSlot>,
    next_handshake: u64,
}

struct HandshakeSlot {
    since: Instant,
    /// Dropping it closes the connection.
    _evict: oneshot::Sender<()>,
}

/// The state of all tabs, shared by the listener and the callers of a page.
pub(crate) struct Bridge {
    pub(crate) token: Secret,
    pub(crate) port: u16,
    network_timeout: NetworkTimeout,
    state: Mutex<State>,
    changes: watch::Sender<u64>,
}

impl Bridge {
    pub(crate) fn new(token: Secret, port: u16, network_timeout: NetworkTimeout) -> Self {
        Self { token, port, network_timeout, state: Mutex::default(), changes: watch::Sender::new(0) }
    }

    /// The connected page, whether it accepts calls yet or not.
    pub(crate) fn page(&self) -> Option<Arc<Page>> {
        self.state.lock().page.clone()
    }

    /// A counter that changes when a page connects, disconnects or changes its tools.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn mark(&self) -> Mark {
        self.state.lock().activity.mark()
    }

    pub(crate) fn diagnose(&self, since: Mark) -> Diagnosis {
        self.state.lock().activity.diagnose(since)
    }

    /// Accepts tabs until `shutdown`, then closes the page's socket and returns when every task has ended.
    pub(crate) async fn serve(self: Arc<Self>, listener: Listener, shutdown: CancellationToken) {
        let mut tasks = JoinSet::new();
        for socket in listener.sockets {
            match TcpListener::from_std(socket) {
                Ok(socket) => {
                    tasks.spawn(self.clone().accept(socket, shutdown.clone()));
                }
                Err(error) => tracing::error!(%error, "cannot use a listening socket"),
            }
        }
        while tasks.join_next().await.is_some() {}
    }

    async fn accept(self: Arc<Self>, listener: TcpListener, shutdown: CancellationToken) {
        let mut sockets = JoinSet::new();
        loop {
            tokio::select! {
                () = shutdown.cancelled() => break,
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        sockets.spawn(self.clone().serve_connection(stream, shutdown.clone()));
                    }
                    Err(error) => {
                        // Most likely out of file descriptors; do not retry in a busy loop.
                        tracing::warn!(%error, "cannot accept a connection");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
                Some(_) = sockets.join_next(), if !sockets.is_empty() => {}
            }
        }
        while sockets.join_next().await.is_some() {}
    }

    /// Serves one connection from its first byte to its end.
    async fn serve_connection(self: Arc<Self>, mut stream: TcpStream, shutdown: CancellationToken) {
        let _ = stream.set_nodelay(true);
        let rest = tokio::select! {
            () = shutdown.cancelled() => return,
            rest = self.perform_handshake(&mut stream) => match rest {
                Some(rest) => rest,
                None => return,
            },
        };
        let socket = socket::open(stream, rest).await;
        let driver = match self.admit(socket) {
            Ok(driver) => driver,
            Err(socket) => {
                tracing::info!("rejected a second page");
                return socket::reject_busy(*socket).await;
            }
        };
        tracing::info!("a page connected");
        let end = driver.run(&shutdown, || self.notify()).await;
        {
            let mut state = self.state.lock();
            state.page = None;
            state.activity.record(BrowserEvent::Disconnected);
        }
        self.notify();
        match end {
            ConnectionEnd::Closed => tracing::info!("the page disconnected"),
            ConnectionEnd::Unreadable { reason, .. } => tracing::warn!(reason, "disconnected the page"),
            ConnectionEnd::Dead => tracing::info!("disconnected the page: it does not answer pings"),
            ConnectionEnd::Shutdown => tracing::info!("disconnected the page: shutting down"),
        }
    }

    /// Makes this socket the connected page, unless there is one.
    fn admit(&self, socket: Socket) -> Result<Driver, Box<Socket>> {
        let mut state = self.state.lock();
        if state.page.is_some() {
            state.activity.record(BrowserEvent::RejectedBusy);
            return Err(Box::new(socket));
        }
        let (page, driver) = Driver::new(socket, self.network_timeout);
        state.page = Some(page);
        state.activity.record(BrowserEvent::Connected);
        Ok(driver)
    }

    /// Reads the request and answers it. The bytes that followed an accepted request; `None` if the connection ended.
    async fn perform_handshake(&self, stream: &mut TcpStream) -> Option<Vec<u8>> {
        let mut pending = self.register_handshake();
        let mut handshake = Handshake::new(self.token.clone());
        let mut buffer = [0; 4096];
        loop {
            let limit = if handshake.is_silent() { PERMISSION_TIMEOUT } else { REQUEST_TIMEOUT };
            let read = tokio::select! {
                read = timeout(limit, stream.read(&mut buffer)) => read,
                _ = &mut pending.evicted => return None,
            };
            let received = match read {
                Ok(Ok(received)) if received > 0 => received,
                ended => {
                    if handshake.is_silent() && ended.is_ok() {
                        self.state.lock().activity.record(BrowserEvent::ClosedSilently);
                    }
                    return None;
                }
            };
            pending.end_silence();
            match handshake.feed(&buffer[..received]) {
                Step::More => {}
                Step::Drop => return None,
                Step::Refuse(refusal) => {
                    tracing::warn!(check = %refusal, "refused a connection");
                    self.state.lock().activity.record(BrowserEvent::Refused(refusal.to_string()));
                    let _ = timeout(REQUEST_TIMEOUT, stream.write_all(refusal.response().as_bytes())).await;
                    let _ = stream.shutdown().await;
                    return None;
                }
                Step::Accept { response, rest } => {
                    return stream.write_all(response.as_bytes()).await.is_ok().then_some(rest);
                }
            }
        }
    }

    /// Registers a connection in its handshake, and evicts another if there are [`MAX_HANDSHAKES`].
    fn register_handshake(&self) -> PendingHandshake<'_> {
        let (evict, evicted) = oneshot::channel();
        let mut state = self.state.lock();
        if state.handshakes.len() >= MAX_HANDSHAKES {
            let oldest = state.handshakes.first_key_value();
            if oldest.is_some_and(|(_, slot)| slot.since.elapsed() >= EVICTABLE_AGE) {
                state.handshakes.pop_first();
            } else {
                state.handshakes.pop_last();
            }
        }
        let id = state.next_handshake;
        state.next_handshake += 1;
        state.handshakes.insert(id, HandshakeSlot { since: Instant::now(), _evict: evict });
        state.activity.silence_began();
        PendingHandshake { bridge: self, id, is_silent: true, evicted }
    }

    fn notify(&self) {
        self.changes.send_modify(|count| *count += 1);
    }
}

/// A connection in its handshake.
struct PendingHandshake<'a> {
    bridge: &'a Bridge,
    id: u64,
    is_silent: bool,
    evicted: oneshot::Receiver<()>,
}

impl PendingHandshake<'_> {
    fn end_silence(&mut self) {
        if std::mem::take(&mut self.is_silent) {
            self.bridge.state.lock().activity.silence_ended();
        }
    }
}

impl Drop for PendingHandshake<'_> {
    fn drop(&mut self) {
        self.end_silence();
        self.bridge.state.lock().handshakes.remove(&self.id);
    }
}

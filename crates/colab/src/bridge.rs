//! Accepts connections from tabs and performs their handshakes. The token of a page says which tab it is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use connection::{NetworkTimeout, Secret};
use parking_lot::Mutex;
use place::NotebookPath;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::browser_activity::{Attempt, BrowserEvent};
use crate::handshake::{ConnectedBy, Handshake, Step};
use crate::listener::Listener;
use crate::socket;
use crate::tab_connection::TabConnection;

/// A browser keeps the connection open and silent while it shows its permission prompt, and the person may be away.
const PERMISSION_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Once a request has started, the rest arrives at once.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How many connections may be in their handshake. A further one replaces the oldest if that is older than
/// [`EVICTABLE_AGE`], else the youngest, so that a flood of connections cannot close one whose prompt is showing.
///
/// Example: 64 connections wait, the oldest for one minute. Connection 65 replaces the 64th, connection 66 replaces
/// the 65th, and the first 63 stay. If the oldest has waited for six minutes, connection 65 replaces that one.
const MAX_HANDSHAKES: usize = 64;
const EVICTABLE_AGE: Duration = Duration::from_secs(5 * 60);

/// The connections in their handshake, the oldest first.
#[derive(Default)]
struct Handshakes {
    slots: BTreeMap<u64, HandshakeSlot>,
    next: u64,
}

struct HandshakeSlot {
    since: Instant,
    /// Dropping it closes the connection.
    _evict: oneshot::Sender<()>,
}

/// The port that tabs connect to, and the tabs that may.
pub(crate) struct Bridge {
    port: u16,
    network_timeout: NetworkTimeout,
    tabs: Mutex<Vec<Arc<TabConnection>>>,
    handshakes: Mutex<Handshakes>,
    /// How many connections have sent nothing yet.
    silent_connections: Arc<AtomicUsize>,
    attempts: watch::Sender<Option<Attempt>>,
}

impl Bridge {
    pub(crate) fn new(port: u16, network_timeout: NetworkTimeout) -> Self {
        Self {
            port,
            network_timeout,
            tabs: Mutex::default(),
            handshakes: Mutex::default(),
            silent_connections: Arc::default(),
            attempts: watch::Sender::new(None),
        }
    }

    /// The last attempt to connect a tab.
    pub(crate) fn attempts(&self) -> watch::Receiver<Option<Attempt>> {
        self.attempts.subscribe()
    }

    /// Accepts a further tab, by its token.
    pub(crate) fn add(&self, path: NotebookPath, token: Secret) -> Arc<TabConnection> {
        let silent = self.silent_connections.clone();
        let attempts = self.attempts.clone();
        let tab = TabConnection::new(path, token, self.port, self.network_timeout, silent, attempts);
        let tab = Arc::new(tab);
        self.tabs.lock().push(tab.clone());
        tab
    }

    /// Refuses a tab's token from now on.
    pub(crate) fn remove(&self, tab: &Arc<TabConnection>) {
        self.tabs.lock().retain(|known| !Arc::ptr_eq(known, tab));
    }

    /// The paths of the tabs that are connected.
    pub(crate) fn connected(&self) -> Vec<NotebookPath> {
        let is_connected = |tab: &&Arc<TabConnection>| tab.page().is_some();
        self.tabs.lock().iter().filter(is_connected).map(|tab| tab.path.clone()).collect()
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
        let accepted = tokio::select! {
            () = shutdown.cancelled() => return,
            accepted = self.perform_handshake(&mut stream) => match accepted {
                Some(accepted) => accepted,
                None => return,
            },
        };
        let socket = socket::open(stream, accepted.rest).await;
        accepted.tab.serve(socket, accepted.by, &shutdown).await;
    }

    /// Reads the request and answers it. `None` if the connection ended.
    async fn perform_handshake(&self, stream: &mut TcpStream) -> Option<Accepted> {
        let mut pending = self.register_handshake();
        let mut handshake = Handshake::default();
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
                        self.record_at_any_tab(&BrowserEvent::ClosedSilently);
                    }
                    return None;
                }
            };
            pending.end_silence();
            let tabs = self.tabs.lock().clone();
            let tokens: Vec<&Secret> = tabs.iter().map(|tab| &tab.token).collect();
            match handshake.feed(&buffer[..received], &tokens) {
                Step::More => {}
                Step::Drop => return None,
                Step::Refuse { tab, refusal } => {
                    tracing::warn!(check = %refusal, "refused a connection");
                    match tab.and_then(|tab| tabs.get(tab)) {
                        Some(tab) => tab.record(BrowserEvent::PageRefused(refusal.to_string())),
                        None => self.record_at_any_tab(&BrowserEvent::Refused(refusal.to_string())),
                    }
                    let _ = timeout(REQUEST_TIMEOUT, stream.write_all(refusal.response().as_bytes())).await;
                    let _ = stream.shutdown().await;
                    return None;
                }
                Step::Accept { tab, by, response, rest } => {
                    let accepted = Accepted { tab: tabs.get(tab)?.clone(), by, rest };
                    return stream.write_all(response.as_bytes()).await.is_ok().then_some(accepted);
                }
            }
        }
    }

    /// Registers a connection in its handshake, and evicts another if there are [`MAX_HANDSHAKES`].
    fn register_handshake(&self) -> PendingHandshake<'_> {
        let (evict, evicted) = oneshot::channel();
        let mut handshakes = self.handshakes.lock();
        if handshakes.slots.len() >= MAX_HANDSHAKES {
            let oldest = handshakes.slots.first_key_value();
            if oldest.is_some_and(|(_, slot)| slot.since.elapsed() >= EVICTABLE_AGE) {
                handshakes.slots.pop_first();
            } else {
                handshakes.slots.pop_last();
            }
        }
        let id = handshakes.next;
        handshakes.next += 1;
        handshakes.slots.insert(id, HandshakeSlot { since: Instant::now(), _evict: evict });
        self.silent_connections.fetch_add(1, Ordering::Relaxed);
        PendingHandshake { bridge: self, id, is_silent: true, evicted }
    }

    /// Records what a connection did that sent no tab's token: any tab may have been meant.
    fn record_at_any_tab(&self, event: &BrowserEvent) {
        for tab in self.tabs.lock().iter() {
            tab.record(event.clone());
        }
    }
}

/// A connection after its handshake.
struct Accepted {
    tab: Arc<TabConnection>,
    by: ConnectedBy,
    /// What followed the request.
    rest: Vec<u8>,
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
            self.bridge.silent_connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for PendingHandshake<'_> {
    fn drop(&mut self) {
        self.end_silence();
        self.bridge.handshakes.lock().slots.remove(&self.id);
    }
}

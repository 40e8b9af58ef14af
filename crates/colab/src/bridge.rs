//! Receives tabs: shakes hands with every socket and keeps the one page that is connected.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use workspace::Token;

use crate::driver::{Driver, End};
use crate::handshake::{Handshake, Step};
use crate::listener::Listener;
use crate::page::Page;
use crate::sightings::{Diagnosis, Mark, Sighting, Sightings};
use crate::socket::{self, Socket};

/// A browser holds a socket open and silent while it asks its person for permission. People take their time.
const PATIENCE: Duration = Duration::from_secs(30 * 60);
/// Once a request has begun, the rest follows at once.
const HEAD_PATIENCE: Duration = Duration::from_secs(10);
/// The most sockets that may wait. A further one takes the place of the one that has waited longest, if that
/// is [`LONG`]; else of the youngest, so that a flood of sockets does not wash away a person's prompt.
const MOST_WAITING: usize = 64;
const LONG: Duration = Duration::from_secs(5 * 60);

#[derive(Default)]
struct State {
    sightings: Sightings,
    page: Option<Arc<Page>>,
    waiting: BTreeMap<u64, (Instant, oneshot::Sender<()>)>,
    next_waiting: u64,
}

/// What is known about tabs, shared by the listener and whoever calls a page.
pub(crate) struct Bridge {
    pub(crate) token: Token,
    pub(crate) port: u16,
    state: Mutex<State>,
    changes: watch::Sender<u64>,
}

impl Bridge {
    pub(crate) fn new(token: Token, port: u16) -> Self {
        Self { token, port, state: Mutex::default(), changes: watch::Sender::new(0) }
    }

    /// The connected page, whether calls may flow yet or not.
    pub(crate) fn page(&self) -> Option<Arc<Page>> {
        self.state().page.clone()
    }

    /// A counter that moves when a page comes, goes or changes its tools.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn mark(&self) -> Mark {
        self.state().sightings.mark()
    }

    pub(crate) fn diagnose(&self, since: Mark) -> Diagnosis {
        self.state().sightings.diagnose(since)
    }

    /// Receives tabs until `shutdown`, then closes the page's socket and returns when every task has ended.
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
                        sockets.spawn(self.clone().receive(stream, shutdown.clone()));
                    }
                    Err(error) => {
                        // Out of file descriptors, most likely; the next round must not spin.
                        tracing::warn!(%error, "cannot accept a connection");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
                Some(_) = sockets.join_next(), if !sockets.is_empty() => {}
            }
        }
        while sockets.join_next().await.is_some() {}
    }

    /// One socket from its first byte to its end.
    async fn receive(self: Arc<Self>, mut stream: TcpStream, shutdown: CancellationToken) {
        let _ = stream.set_nodelay(true);
        let rest = tokio::select! {
            () = shutdown.cancelled() => return,
            rest = self.shake_hands(&mut stream) => match rest {
                Some(rest) => rest,
                None => return,
            },
        };
        let socket = socket::open(stream, rest).await;
        let driver = match self.admit(socket) {
            Ok(driver) => driver,
            Err(socket) => {
                tracing::info!("turned a second page away");
                return socket::turn_away(*socket).await;
            }
        };
        tracing::info!("a page connected");
        let end = driver.run(&shutdown, || self.notify()).await;
        {
            let mut state = self.state();
            state.page = None;
            state.sightings.saw(Sighting::Left);
        }
        self.notify();
        match end {
            End::Closed => tracing::info!("the page left"),
            End::Unreadable(_, why) => tracing::warn!(why, "dropped the page"),
            End::HalfOpen => tracing::info!("the page gave no sign of life and was dropped"),
            End::Shutdown => tracing::info!("closed the page's socket"),
        }
    }

    /// Makes this socket the page, unless there is one already.
    fn admit(&self, socket: Socket) -> Result<Driver, Box<Socket>> {
        let mut state = self.state();
        if state.page.is_some() {
            state.sightings.saw(Sighting::Busy);
            return Err(Box::new(socket));
        }
        let (page, driver) = Driver::new(socket);
        state.page = Some(page);
        state.sightings.saw(Sighting::Connected);
        Ok(driver)
    }

    /// The bytes that followed an accepted handshake; `None` when the socket is done with.
    async fn shake_hands(&self, stream: &mut TcpStream) -> Option<Vec<u8>> {
        let mut waiting = self.wait_in_line();
        let mut handshake = Handshake::new(self.token.clone());
        let mut buffer = [0; 4096];
        loop {
            let patience = if handshake.is_silent() { PATIENCE } else { HEAD_PATIENCE };
            let read = tokio::select! {
                read = timeout(patience, stream.read(&mut buffer)) => read,
                _ = &mut waiting.evicted => return None,
            };
            let received = match read {
                Ok(Ok(received)) if received > 0 => received,
                ended => {
                    if handshake.is_silent() && ended.is_ok() {
                        self.state().sightings.saw(Sighting::ClosedSilently);
                    }
                    return None;
                }
            };
            waiting.speak();
            match handshake.feed(&buffer[..received]) {
                Step::More => {}
                Step::Drop => return None,
                Step::Refuse(refusal) => {
                    tracing::warn!(check = %refusal, "refused a connection");
                    self.state().sightings.saw(Sighting::Refused(refusal.to_string()));
                    let _ = timeout(HEAD_PATIENCE, stream.write_all(refusal.response().as_bytes())).await;
                    let _ = stream.shutdown().await;
                    return None;
                }
                Step::Accept { response, rest } => {
                    return stream.write_all(response.as_bytes()).await.is_ok().then_some(rest);
                }
            }
        }
    }

    /// Takes a place among the sockets that wait; see [`MOST_WAITING`] for who makes room if there is none.
    fn wait_in_line(&self) -> Waiting<'_> {
        let (evict, evicted) = oneshot::channel();
        let mut state = self.state();
        if state.waiting.len() >= MOST_WAITING {
            let is_long = |(_, (since, _)): (&u64, &(Instant, _))| since.elapsed() >= LONG;
            if state.waiting.first_key_value().is_some_and(is_long) {
                state.waiting.pop_first();
            } else {
                state.waiting.pop_last();
            }
        }
        let place = state.next_waiting;
        state.next_waiting += 1;
        state.waiting.insert(place, (Instant::now(), evict));
        state.sightings.silent_opened();
        Waiting { bridge: self, place, is_silent: true, evicted }
    }

    fn notify(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics under the lock, so it is never poisoned.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the line of sockets that have not finished their handshake.
struct Waiting<'a> {
    bridge: &'a Bridge,
    place: u64,
    is_silent: bool,
    evicted: oneshot::Receiver<()>,
}

impl Waiting<'_> {
    fn speak(&mut self) {
        if std::mem::take(&mut self.is_silent) {
            self.bridge.state().sightings.silent_over();
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.speak();
        self.bridge.state().waiting.remove(&self.place);
    }
}

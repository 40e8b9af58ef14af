//! The connection of one tab: its token, and the page that has connected with it.

use std::sync::{Arc, Weak};

use connection::{NetworkTimeout, Secret};
use parking_lot::Mutex;
use place::NotebookPath;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::browser_activity::{Attempt, BrowserActivity, BrowserEvent, Diagnosis, Mark};
use crate::driver::{ConnectionEnd, Driver};
use crate::handshake::ConnectedBy;
use crate::page::Page;
use crate::redirect::RedirectPage;
use crate::socket::{self, Socket};

pub(crate) struct TabConnection {
    /// The path of the tab's notebook.
    pub(crate) path: NotebookPath,
    pub(crate) token: Secret,
    pub(crate) port: u16,
    network_timeout: NetworkTimeout,
    /// Held by each connection to the port that has sent nothing yet, beside the port itself. Nobody knows whose tab they are.
    silence: Weak<()>,
    /// The last one at any tab.
    attempts: watch::Sender<Option<Attempt>>,
    state: Mutex<State>,
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    activity: BrowserActivity,
    page: Option<Arc<Page>>,
    /// The way in which the page was connected, or the last one.
    by: Option<ConnectedBy>,
    /// The file that led a browser to the page that has not connected yet.
    redirect: Option<RedirectPage>,
}

impl TabConnection {
    pub(crate) fn new(
        path: NotebookPath,
        token: Secret,
        port: u16,
        network_timeout: NetworkTimeout,
        silence: Weak<()>,
        attempts: watch::Sender<Option<Attempt>>,
    ) -> Self {
        let (state, changes) = (Mutex::default(), watch::Sender::new(0));
        Self { path, token, port, network_timeout, silence, attempts, state, changes }
    }

    /// The connected page, whether it accepts calls yet or not.
    pub(crate) fn page(&self) -> Option<Arc<Page>> {
        self.state.lock().page.clone()
    }

    /// The way in which the person has connected the page, or the last one.
    pub(crate) fn connected_by(&self) -> Option<ConnectedBy> {
        self.state.lock().by
    }

    /// A counter that changes when a page connects, disconnects or changes its tools.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn mark(&self) -> Mark {
        self.state.lock().activity.mark()
    }

    pub(crate) fn diagnose(&self, since: Mark) -> Diagnosis {
        let is_silent = self.silence.strong_count() > 1;
        self.state.lock().activity.diagnose(since, is_silent)
    }

    pub(crate) fn record(&self, event: BrowserEvent) {
        self.record_in(&mut self.state.lock(), event);
    }

    fn record_in(&self, state: &mut State, event: BrowserEvent) {
        if let Some(attempt) = event.attempt() {
            self.attempts.send_replace(Some(attempt));
        }
        state.activity.record(event);
    }

    /// Removes what leads a browser here once it has done so, or when the next one is opened.
    pub(crate) fn hold_until_connected(&self, redirect: Option<RedirectPage>) {
        let mut state = self.state.lock();
        state.redirect = redirect.filter(|_| state.page.is_none());
    }

    /// Serves a page's socket until it closes or `shutdown` is cancelled. Closes it at once if there is a page already.
    pub(crate) async fn serve(&self, socket: Socket, by: ConnectedBy, shutdown: &CancellationToken) {
        let driver = match self.admit(socket, by) {
            Ok(driver) => driver,
            Err(socket) => {
                tracing::info!("rejected a second page");
                return socket::reject_busy(*socket).await;
            }
        };
        tracing::info!("a page connected");
        let end = driver.run(shutdown, || self.notify()).await;
        {
            let mut state = self.state.lock();
            state.page = None;
            self.record_in(&mut state, BrowserEvent::Disconnected);
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
    fn admit(&self, socket: Socket, by: ConnectedBy) -> Result<Driver, Box<Socket>> {
        let mut state = self.state.lock();
        if state.page.is_some() {
            self.record_in(&mut state, BrowserEvent::RejectedBusy);
            return Err(Box::new(socket));
        }
        let (page, driver) = Driver::new(socket, self.network_timeout);
        (state.page, state.by, state.redirect) = (Some(page), Some(by), None);
        self.record_in(&mut state, BrowserEvent::Connected);
        Ok(driver)
    }

    fn notify(&self) {
        self.changes.send_modify(|count| *count += 1);
    }
}

//! Accepts connections from tabs and performs their handshakes. The token of a page says which tab it is.

use std::sync::Arc;
use std::time::Duration;

use connection::{NetworkTimeout, Secret};
use front_door::{Caller, Door, Limits, Refusal};
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use parking_lot::Mutex;
use place::NotebookPath;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::browser_activity::{Attempt, BrowserEvent};
use crate::handshake::{self, Authorized};
use crate::listener::Listener;
use crate::socket;
use crate::tab_connection::TabConnection;

/// The port that tabs connect to, and the tabs that may.
pub(crate) struct Bridge {
    port: u16,
    network_timeout: NetworkTimeout,
    tabs: Mutex<Vec<Arc<TabConnection>>>,
    /// Held by each connection that has sent nothing yet.
    silence: Arc<()>,
    attempts: watch::Sender<Option<Attempt>>,
    /// The connected pages.
    pages: TaskTracker,
    shutdown: CancellationToken,
}

impl Bridge {
    pub(crate) fn new(port: u16, network_timeout: NetworkTimeout, shutdown: CancellationToken) -> Self {
        Self {
            port,
            network_timeout,
            tabs: Mutex::default(),
            silence: Arc::new(()),
            attempts: watch::Sender::new(None),
            pages: TaskTracker::new(),
            shutdown,
        }
    }

    /// The last attempt to connect a tab.
    pub(crate) fn attempts(&self) -> watch::Receiver<Option<Attempt>> {
        self.attempts.subscribe()
    }

    /// Accepts a further tab, by its token.
    pub(crate) fn add(&self, path: NotebookPath, token: Secret) -> Arc<TabConnection> {
        let silence = Arc::downgrade(&self.silence);
        let attempts = self.attempts.clone();
        let tab = TabConnection::new(path, token, self.port, self.network_timeout, silence, attempts);
        let tab = Arc::new(tab);
        self.tabs.lock().push(tab.clone());
        tab
    }

    /// Refuses a tab's token from now on.
    pub(crate) fn remove(&self, tab: &Arc<TabConnection>) {
        self.tabs.lock().retain(|other| !Arc::ptr_eq(other, tab));
    }

    /// The paths of the tabs that are connected.
    pub(crate) fn connected(&self) -> Vec<NotebookPath> {
        let is_connected = |tab: &&Arc<TabConnection>| tab.page().is_some();
        self.tabs.lock().iter().filter(is_connected).map(|tab| tab.path.clone()).collect()
    }

    /// Accepts tabs until the shutdown, then closes the page's socket and returns when every task has ended.
    pub(crate) async fn serve(self: Arc<Self>, listener: Listener) {
        let sockets = listener.sockets.into_iter().filter_map(|socket| {
            let failed = |error: &_| tracing::error!(%error, "cannot use a listening socket");
            TcpListener::from_std(socket).inspect_err(failed).ok()
        });
        front_door::serve(self.clone(), sockets, &self.shutdown).await;
        self.pages.close();
        self.pages.wait().await;
    }

    /// Checks a request, and serves the page that it upgrades to.
    fn open<B>(&self, mut request: Request<B>, caller: &Caller) -> Result<Response<String>, Refusal> {
        let upgrading = hyper::upgrade::on(&mut request);
        let tabs = self.tabs.lock().clone();
        let tokens: Vec<&Secret> = tabs.iter().map(|tab| &tab.token).collect();
        let Authorized { tab, by, answer } = handshake::check(request, &tokens).inspect_err(|refusal| {
            self.record_at_any_tab(&BrowserEvent::Refused(refusal.to_string()));
        })?;
        let tab = tabs[tab].clone();
        let answer =
            answer.inspect_err(|refusal| tab.record(BrowserEvent::PageRefused(refusal.to_string())))?;
        caller.show();
        let shutdown = self.shutdown.clone();
        self.pages.spawn(async move {
            if let Ok(upgraded) = upgrading.await {
                tab.serve(socket::open(upgraded).await, by, &shutdown).await;
            }
        });
        let mut response = Response::new(String::new());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        response.headers_mut().extend(answer);
        Ok(response)
    }

    /// Records what a connection did that sent no tab's token: any tab may have been meant.
    fn record_at_any_tab(&self, event: &BrowserEvent) {
        for tab in self.tabs.lock().iter() {
            tab.record(event.clone());
        }
    }
}

impl Door for Bridge {
    /// A browser keeps the connection open and silent while it shows its permission prompt, and the person may be away. Once a request
    /// has started, the rest arrives at once.
    const LIMITS: Limits = Limits {
        strangers: 64,
        protected: Duration::from_secs(5 * 60),
        silence: Duration::from_secs(30 * 60),
        head: Duration::from_secs(10),
    };
    type Body = String;

    async fn answer(self: Arc<Self>, request: Request<Incoming>, caller: Caller) -> Response<String> {
        self.open(request, &caller).unwrap_or_else(|refusal| {
            tracing::warn!(check = %refusal, "refused a connection");
            handshake::refused(&refusal)
        })
    }

    fn silence(&self) -> Box<dyn Send> {
        Box::new(self.silence.clone())
    }

    fn closed_silently(&self) {
        self.record_at_any_tab(&BrowserEvent::ClosedSilently);
    }
}

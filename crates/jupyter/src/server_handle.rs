//! One server: found when it is first needed, and started through its Hub if it is stopped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use connection::NetworkTimeout;
use parking_lot::Mutex;
use place::{Discovered, Error, progress};
use rest::hub::HubServer;
use rest::{
    Address, ContentsQuery, Credentials, Entry, KernelModel, Kind, Options, RestError, Secret, Server,
};

use crate::failure;
use crate::running_server::{RunningServer, discover};
use crate::settings::{Capabilities, InProcessServer, Machine, Source};

/// How long a Hub may take to start a server: with progress reports, and without. Clients give up on silent calls.
const START_TIMEOUT: Duration = Duration::from_secs(180);
const SILENT_START_TIMEOUT: Duration = Duration::from_secs(50);

/// After the Hub reports that a server is ready, the Hub's proxy may not know it for a moment.
const RETRY_PAUSE: Duration = Duration::from_millis(500);
const MAX_RETRIES: u32 = 20;

/// A server, by where it is. Nothing is contacted before the first call, and failures are not remembered.
pub(crate) struct ServerHandle {
    source: Source,
    options: Options,
    /// The pause between two attempts to connect, if it was set.
    pub(crate) reconnect_pause: Option<Duration>,
    /// Access to its kernels and files, if we live in its process.
    pub(crate) in_process: Option<Arc<dyn InProcessServer>>,
    /// The extensions that it may have.
    pub(crate) capabilities: Capabilities,
    /// If somebody has it for a while.
    pub(crate) machine: Option<Machine>,
    /// Why the machine has ended.
    ended: OnceLock<RestError>,
    found: Mutex<Option<Server>>,
    /// The server that was discovered last.
    running: Mutex<Option<RunningServer>>,
    /// Whether the server has jupyter-server-documents, whose kernel channels drop no output.
    is_unlimited: AtomicBool,
    /// Held while the server is discovered or started.
    preparing: tokio::sync::Mutex<()>,
}

impl ServerHandle {
    pub(crate) fn new(source: Source, options: Options) -> Self {
        Self {
            source,
            options,
            found: Mutex::default(),
            running: Mutex::default(),
            is_unlimited: AtomicBool::new(false),
            preparing: tokio::sync::Mutex::default(),
            reconnect_pause: None,
            in_process: None,
            capabilities: Capabilities::default(),
            machine: None,
            ended: OnceLock::new(),
        }
    }

    /// Why its machine has ended, once that is known.
    pub(crate) fn ended(&self) -> Option<&RestError> {
        self.ended.get()
    }

    /// Records that its machine has ended. Returns why it has, as it was known first.
    pub(crate) fn note_end(&self, error: RestError) -> RestError {
        self.ended.get_or_init(|| error).clone()
    }

    /// Uses this access if the server is the one in whose process we live.
    pub(crate) fn with_in_process(self, in_process: Option<Arc<dyn InProcessServer>>) -> Self {
        let is_own = matches!(self.source, Source::Given { credentials: Credentials::Forwarded(_), .. });
        Self { in_process: in_process.filter(|_| is_own), ..self }
    }

    /// How long the server may be silent.
    pub(crate) fn network_timeout(&self) -> NetworkTimeout {
        self.options.network_timeout
    }

    /// Whether the server drops kernel output beyond a rate.
    pub(crate) fn is_limited(&self) -> bool {
        !self.is_unlimited.load(Ordering::Relaxed)
    }

    /// Records that the server has jupyter-server-documents.
    pub(crate) fn set_unlimited(&self) {
        self.is_unlimited.store(true, Ordering::Relaxed);
    }

    /// A description without secrets, such as `the Jupyter server at http://host:8888/`.
    pub(crate) fn title(&self) -> String {
        if let Some(machine) = &self.machine {
            return machine.title.clone();
        }
        match (&*self.found.lock(), &self.source) {
            (_, Source::Given { credentials: Credentials::Forwarded(_), .. }) => {
                "this Jupyter server".to_owned()
            }
            (Some(server), _) => format!("the Jupyter server at {}", server.base()),
            (None, Source::Given { url, .. }) => match Address::parse(url) {
                Ok(address) => format!("the Jupyter server at {}", address.base),
                Err(_) => "a Jupyter server with an invalid address".to_owned(),
            },
            (None, Source::Discover(_)) => "the local Jupyter server".to_owned(),
        }
    }

    /// The notebook that the address leads to.
    pub(crate) fn notebook(&self) -> Option<String> {
        match &self.source {
            Source::Given { url, .. } => Address::parse(url).ok()?.notebook,
            Source::Discover(_) => None,
        }
    }

    /// How the server was chosen, if it was discovered.
    pub(crate) fn discovered(&self) -> Option<Discovered> {
        self.running.lock().as_ref().map(|running| running.discovered.clone())
    }

    /// Its base URL, if its address is known: it was given, or the server was discovered.
    pub(crate) fn base(&self) -> Option<String> {
        self.address().map(|(base, _)| base)
    }

    /// Its base URL and token, if its address is known.
    pub(crate) fn address(&self) -> Option<(String, Option<Secret>)> {
        let Source::Given { url, credentials } = &self.source else {
            let address = self.running.lock().as_ref()?.address.clone();
            return Some((address.base.to_string(), address.token));
        };
        let address = Address::parse(url).ok()?;
        let token = match credentials {
            Credentials::Token(token) => Some(token.clone()),
            _ => address.token,
        };
        Some((address.base.to_string(), token))
    }

    /// The server, if it was needed before.
    pub(crate) fn known(&self) -> Option<Server> {
        self.found.lock().clone()
    }

    /// The server, which need not be reachable.
    pub(crate) async fn server(&self) -> rest::Result<Server> {
        if let Some(server) = self.known() {
            return Ok(server);
        }
        let _one_at_a_time = self.preparing.lock().await;
        if let Some(server) = self.known() {
            return Ok(server);
        }
        let server = match &self.source {
            Source::Given { url, credentials } => {
                Server::new(&Address::parse(url)?, credentials.clone(), &self.options)?
            }
            Source::Discover(discovery) => {
                let running = discover(discovery, &self.options).await?;
                *self.running.lock() = Some(running.clone());
                running.server
            }
        };
        *self.found.lock() = Some(server.clone());
        Ok(server)
    }

    /// The server with its own connections, for a socket that another thread serves: data on shared connections wakes this
    /// thread first. Not with a password, which would log in twice.
    pub(crate) async fn unshared(&self) -> rest::Result<Server> {
        match &self.source {
            Source::Given { url, credentials } if !matches!(credentials, Credentials::Password(_)) => {
                Server::new(&Address::parse(url)?, credentials.clone(), &self.options)
            }
            _ => self.server().await,
        }
    }

    /// Runs `work`, perhaps twice. A stopped server is started first, if its Hub permits it.
    pub(crate) async fn call<T, W>(&self, work: impl Fn(Server) -> W) -> Result<T, Error>
    where
        W: Future<Output = rest::Result<T>>,
    {
        self.attempt(work).await.map_err(failure::of)
    }

    /// The entry at a path.
    pub(crate) async fn contents(&self, path: &str, want: ContentsQuery) -> rest::Result<Entry> {
        self.attempt(|server| async move { server.contents(path, want).await }).await
    }

    /// The running kernels.
    pub(crate) async fn kernels(&self) -> Result<Vec<KernelModel>, Error> {
        match self.in_process_kernels().await {
            Some(kernels) => Ok(kernels),
            None => self.call(|server| async move { server.kernels().await }).await,
        }
    }

    /// The kernel with this id, if there is one.
    pub(crate) async fn kernel(&self, id: &str) -> Result<Option<KernelModel>, Error> {
        match self.in_process_kernels().await {
            Some(kernels) => Ok(kernels.into_iter().find(|kernel| kernel.id == id)),
            None => self.call(|server| async move { server.kernel(id).await }).await,
        }
    }

    async fn in_process_kernels(&self) -> Option<Vec<KernelModel>> {
        let listed = self.in_process.as_ref()?.kernels().await?;
        serde_json::from_str(&listed)
            .inspect_err(|error| tracing::warn!(%error, "the list of kernels is malformed"))
            .ok()
    }

    /// Like [`ServerHandle::call`], with the error of the request.
    pub(crate) async fn attempt<T, W>(&self, work: impl Fn(Server) -> W) -> rest::Result<T>
    where
        W: Future<Output = rest::Result<T>>,
    {
        self.try_twice(work).await.map_err(|error| self.named(error))
    }

    /// An error that names a machine, not the address of its proxy.
    pub(crate) fn named(&self, error: RestError) -> RestError {
        match (&self.machine, self.base()) {
            (Some(machine), Some(base)) => {
                let cause = error.cause.replace(base.trim_end_matches('/'), &machine.title);
                let cause = cause.replace(&format!("\"{}/", machine.root), "\"");
                let next = match error.kind {
                    Kind::NotFound => "Check the path; folders can be created by code in a cell.".into(),
                    _ => error.next,
                };
                RestError { cause, next, ..error }
            }
            _ => error,
        }
    }

    async fn try_twice<T, W>(&self, work: impl Fn(Server) -> W) -> rest::Result<T>
    where
        W: Future<Output = rest::Result<T>>,
    {
        let server = self.server().await?;
        let answer = work(server.clone()).await;
        match answer {
            Err(RestError { kind: Kind::Stopped | Kind::Starting, .. })
                if HubServer::of(server.base()).is_some() || self.machine.is_some() =>
            {
                if HubServer::of(server.base()).is_some() {
                    self.start(&server).await?;
                }
                let mut retries = 0;
                loop {
                    match work(server.clone()).await {
                        Err(RestError { kind: Kind::Stopped | Kind::Starting, .. })
                            if retries < MAX_RETRIES =>
                        {
                            retries += 1;
                            tokio::time::sleep(RETRY_PAUSE).await;
                        }
                        answer => return answer,
                    }
                }
            }
            Err(error) if error.kind == Kind::Gone => Err(self.note_end(error)),
            Err(error) if error.kind == Kind::Unreachable && self.forget(&server) => {
                match self.server().await {
                    Ok(other) if other.base() != server.base() => work(other).await,
                    _ => Err(error),
                }
            }
            answer => answer,
        }
    }

    /// Starts the server. Callers that wait for the same start do not start it again.
    async fn start(&self, server: &Server) -> rest::Result<()> {
        let _one_at_a_time = self.preparing.lock().await;
        tracing::info!(server = %server.base(), "starting the server through its Hub");
        // A quick Hub reports nothing until the server is ready.
        progress::report(format!("{} is stopped; its Hub starts it", server.base()));
        let start_timeout = if progress::sender().is_some() { START_TIMEOUT } else { SILENT_START_TIMEOUT };
        let report_line = |line: String| {
            tracing::info!("{line}");
            progress::report(format!("starting the server: {line}"));
        };
        server.start_through_hub(start_timeout, report_line).await
    }

    /// Forgets a discovered server, so that the next call searches again. Returns whether the server was discovered.
    fn forget(&self, server: &Server) -> bool {
        if !matches!(self.source, Source::Discover(_)) {
            return false;
        }
        let mut found = self.found.lock();
        if found.as_ref().is_some_and(|found| found.base() == server.base()) {
            *found = None;
        }
        true
    }
}

#[cfg(test)]
mod tests;

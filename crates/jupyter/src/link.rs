//! One server, found when it is first needed, and started through its Hub if it is stopped.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rest::{Address, Credentials, KernelModel, Kind, Options, RestError, Server, discover};
use tokio::sync::mpsc;
use workspace::Error;

use crate::settings::{Direct, Lacks, Source};
use crate::{Lines, failure};

/// How long a Hub may take to start a server while somebody sees its progress, and while nobody does: clients give up on
/// silent calls.
const START: Duration = Duration::from_secs(180);
const SILENT_START: Duration = Duration::from_secs(50);

/// A server that its Hub calls ready may be unknown to the Hub's proxy for a moment.
const AFTER_START: Duration = Duration::from_millis(500);
const TRIES_AFTER_START: u32 = 20;

/// A server, by where it is to be found. Nothing is contacted before the first call, and no failure is kept.
pub(crate) struct Link {
    source: Source,
    options: Options,
    /// The pause between two attempts to reach it, if it was set.
    pub(crate) reconnect: Option<Duration>,
    /// The way to its kernels and files, if there is one beside the server.
    pub(crate) direct: Option<Arc<dyn Direct>>,
    /// What it is known not to have.
    pub(crate) lacks: Lacks,
    found: Mutex<Option<Server>>,
    /// Whether kernels' channels are served by jupyter-server-documents, which drops no output.
    is_unlimited: AtomicBool,
    /// Held while the server is looked for or started.
    preparing: tokio::sync::Mutex<()>,
}

impl Link {
    pub(crate) fn new(source: Source, options: Options) -> Self {
        Self {
            source,
            options,
            found: Mutex::default(),
            is_unlimited: AtomicBool::new(false),
            preparing: tokio::sync::Mutex::default(),
            reconnect: None,
            direct: None,
            lacks: Lacks::default(),
        }
    }

    /// With this pause between two attempts to reach the server.
    pub(crate) fn reconnecting(self, pause: Option<Duration>) -> Self {
        Self { reconnect: pause, ..self }
    }

    /// It is known not to have this.
    pub(crate) fn lacking(self, lacks: Lacks) -> Self {
        Self { lacks, ..self }
    }

    /// If it is the server that we live in, this reaches it as well.
    pub(crate) fn beside(self, direct: Option<Arc<dyn Direct>>) -> Self {
        let is_own = matches!(self.source, Source::Given { credentials: Credentials::Forwarded(_), .. });
        Self { direct: direct.filter(|_| is_own), ..self }
    }

    /// Whether the server drops output of kernels beyond a rate.
    pub(crate) fn is_limited(&self) -> bool {
        !self.is_unlimited.load(Ordering::Relaxed)
    }

    /// The server has jupyter-server-documents.
    pub(crate) fn lift_limit(&self) {
        self.is_unlimited.store(true, Ordering::Relaxed);
    }

    /// What to call it, without secrets.
    pub(crate) fn title(&self) -> String {
        match (&*self.found(), &self.source) {
            (_, Source::Given { credentials: Credentials::Forwarded(_), .. }) => {
                "this Jupyter server".to_owned()
            }
            (Some(server), _) => format!("the Jupyter server at {}", server.base()),
            (None, Source::Given { url, .. }) => match Address::parse(url) {
                Ok(address) => format!("the Jupyter server at {}", address.base),
                Err(_) => "a Jupyter server whose address cannot be read".to_owned(),
            },
            (None, Source::Discover(_)) => "the Jupyter server that runs on this machine".to_owned(),
        }
    }

    /// The notebook that the address shows.
    pub(crate) fn notebook(&self) -> Option<String> {
        match &self.source {
            Source::Given { url, .. } => Address::parse(url).ok()?.notebook,
            Source::Discover(_) => None,
        }
    }

    /// Its base URL and token, if it was named.
    pub(crate) fn address(&self) -> Option<(String, Option<String>)> {
        let Source::Given { url, credentials } = &self.source else { return None };
        let address = Address::parse(url).ok()?;
        let token = match credentials {
            Credentials::Token(token) => Some(token.clone()),
            _ => address.token,
        };
        Some((address.base.to_string(), token.map(|token| token.expose().to_owned())))
    }

    /// The server, which need not be reachable.
    pub(crate) async fn server(&self) -> rest::Result<Server> {
        if let Some(server) = self.found().clone() {
            return Ok(server);
        }
        let _one_at_a_time = self.preparing.lock().await;
        if let Some(server) = self.found().clone() {
            return Ok(server);
        }
        let server = match &self.source {
            Source::Given { url, credentials } => {
                Server::new(&Address::parse(url)?, credentials.clone(), &self.options)?
            }
            Source::Discover(runtime) => self.discover(runtime).await?,
        };
        *self.found() = Some(server.clone());
        Ok(server)
    }

    /// The server with connections of its own, for a socket that another thread serves: what comes over the shared ones
    /// wakes this thread first. A login is not made twice.
    pub(crate) async fn apart(&self) -> rest::Result<Server> {
        match &self.source {
            Source::Given { url, credentials } if !matches!(credentials, Credentials::Password(_)) => {
                Server::new(&Address::parse(url)?, credentials.clone(), &self.options)
            }
            _ => self.server().await,
        }
    }

    /// Does `work`, which may be done twice. A server that is stopped is started first, where its Hub lets us.
    pub(crate) async fn call<T, W>(
        &self,
        progress: Option<&Lines>,
        work: impl Fn(Server) -> W,
    ) -> Result<T, Error>
    where
        W: Future<Output = rest::Result<T>>,
    {
        self.attempt(progress, work).await.map_err(failure::of)
    }

    /// The kernels that run.
    pub(crate) async fn kernels(&self) -> Result<Vec<KernelModel>, Error> {
        match self.kernels_beside().await {
            Some(kernels) => Ok(kernels),
            None => self.call(None, |server| async move { server.kernels().await }).await,
        }
    }

    /// The kernel with this id, if there is one.
    pub(crate) async fn kernel(&self, id: &str) -> Result<Option<KernelModel>, Error> {
        match self.kernels_beside().await {
            Some(kernels) => Ok(kernels.into_iter().find(|kernel| kernel.id == id)),
            None => self.call(None, |server| async move { server.kernel(id).await }).await,
        }
    }

    async fn kernels_beside(&self) -> Option<Vec<KernelModel>> {
        let listed = self.direct.as_ref()?.kernels().await?;
        serde_json::from_str(&listed)
            .inspect_err(|error| tracing::warn!(%error, "kernels of another kind"))
            .ok()
    }

    /// Like [`Link::call`], with the failure as the server gave it.
    pub(crate) async fn attempt<T, W>(
        &self,
        progress: Option<&Lines>,
        work: impl Fn(Server) -> W,
    ) -> rest::Result<T>
    where
        W: Future<Output = rest::Result<T>>,
    {
        let server = self.server().await?;
        let answer = work(server.clone()).await;
        match answer {
            Err(RestError { kind: Kind::Stopped | Kind::Starting, .. }) if server.hub().is_some() => {
                self.start(&server, progress).await?;
                let mut tries = 0;
                loop {
                    match work(server.clone()).await {
                        Err(RestError { kind: Kind::Stopped | Kind::Starting, .. })
                            if tries < TRIES_AFTER_START =>
                        {
                            tries += 1;
                            tokio::time::sleep(AFTER_START).await;
                        }
                        answer => return answer,
                    }
                }
            }
            Err(error) if error.kind == Kind::Unreachable && self.forget(&server) => {
                match self.server().await {
                    Ok(other) if other.base() != server.base() => work(other).await,
                    _ => Err(error),
                }
            }
            answer => answer,
        }
    }

    /// Starts the server; whoever waits for the same start does not start it again.
    async fn start(&self, server: &Server, progress: Option<&Lines>) -> rest::Result<()> {
        let _one_at_a_time = self.preparing.lock().await;
        tracing::info!(server = %server.base(), "starting the server through its Hub");
        // A Hub that is quick tells nothing until the server is there.
        tell(progress, format!("{} is stopped; its Hub starts it", server.base()));
        let patience =
            if progress.is_some() || workspace::progress::is_wanted() { START } else { SILENT_START };
        let tell = |line: String| {
            tracing::info!("{line}");
            tell(progress, format!("starting the server: {line}"));
        };
        server.start_through_hub(patience, tell).await
    }

    /// Lets go of a server that was found by looking, so that the next call looks again. `false` for one that was named.
    fn forget(&self, server: &Server) -> bool {
        if !matches!(self.source, Source::Discover(_)) {
            return false;
        }
        let mut found = self.found();
        if found.as_ref().is_some_and(|found| found.base() == server.base()) {
            *found = None;
        }
        true
    }

    async fn discover(&self, runtime: &Path) -> rest::Result<Server> {
        let folder = runtime.to_path_buf();
        let running =
            tokio::task::spawn_blocking(move || discover::running(&folder)).await.unwrap_or_default();
        let mut problem = RestError::new(
            Kind::Unreachable,
            "No Jupyter server of this user runs on this machine.",
            "Start one (`jupyter lab`), or give the address of one with --jupyter-url.",
        );
        for found in running {
            let credentials = Credentials::None;
            let server = Server::new(&found.address, credentials, &self.options)?;
            match server.status().await {
                Ok(_) => {
                    tracing::info!(server = %server.base(), "found a running server");
                    return Ok(server);
                }
                Err(_) if found.has_password => {
                    problem = RestError::new(
                        Kind::Unauthorized,
                        format!("The Jupyter server at {} asks for a password.", server.base()),
                        "Give its address with --jupyter-url and the password with --jupyter-password.",
                    );
                }
                Err(error) => problem = error,
            }
        }
        Err(problem)
    }

    fn found(&self) -> MutexGuard<'_, Option<Server>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says a line to whoever waits, if there is room for it.
pub(crate) fn tell(progress: Option<&mpsc::Sender<String>>, line: String) {
    match progress {
        Some(progress) => drop(progress.try_send(line)),
        None => drop(workspace::progress::report(line)),
    }
}

#[cfg(test)]
mod tests;

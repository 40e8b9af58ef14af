//! One kernel of a server.

mod follow;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime};

use ::kernel::{self as messaging, Client, KernelError, Status, connect_websocket};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rest::{KernelModel, Kernelspec};
use workspace::{Error, ErrorKind, Future, Kernel, KernelDescription, KernelId, KernelState};

use crate::channels::Channels;
use crate::kernels::has;
use crate::link::Link;
use crate::{failure, time};

/// How long a kernel has until it answers.
const START: Duration = Duration::from_secs(60);

/// How long after its last use a kernel is taken to be there. The connection to one that was shut down ends only some time
/// after that.
const CALM: Duration = Duration::from_millis(250);

/// A kernel that runs, or ran, on a server.
pub(crate) struct ServerKernel {
    this: Weak<Self>,
    id: KernelId,
    link: Arc<Link>,
    /// The queue of those who connect or restart.
    turn: tokio::sync::Mutex<()>,
    known: Mutex<Known>,
}

struct Known {
    model: KernelModel,
    spec: Option<Kernelspec>,
    client: Option<Client>,
    used: Option<SystemTime>,
    /// When it was last known to be there.
    seen: Option<Instant>,
    /// The server counts our connection among its own.
    is_counted: bool,
    /// How it is known to be no more.
    gone: Option<String>,
    /// It is the kernel of no notebook's session, and ends with us.
    is_scratch: bool,
    /// We started it, for a notebook.
    is_ours: bool,
}

impl Known {
    /// How many of the connections that the server counts are ours.
    fn our_connections(&self) -> u64 {
        u64::from(self.is_counted && self.client.as_ref().is_some_and(|client| !is_dead(client)))
    }
}

impl ServerKernel {
    pub(crate) fn new(link: Arc<Link>, model: KernelModel, spec: Option<Kernelspec>) -> Arc<Self> {
        let id = KernelId::from(model.id.as_str());
        let known = Known {
            model,
            spec,
            client: None,
            used: None,
            seen: None,
            is_counted: false,
            gone: None,
            is_scratch: false,
            is_ours: false,
        };
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            id,
            link,
            turn: tokio::sync::Mutex::default(),
            known: Mutex::new(known),
        })
    }

    /// Takes what the server says of it now.
    pub(crate) fn update(&self, model: KernelModel, spec: Option<Kernelspec>) {
        let mut known = self.known();
        known.model = model;
        known.spec = spec.or_else(|| known.spec.take());
        known.gone = None;
    }

    /// The server does not list it any more.
    pub(crate) fn vanish(&self, how: &str) {
        let client = {
            let mut known = self.known();
            known.gone.get_or_insert_with(|| how.to_owned());
            known.client.take()
        };
        if let Some(client) = client {
            client.report_death(how.to_owned());
        }
    }

    pub(crate) fn make_scratch(&self) {
        self.known().is_scratch = true;
    }

    /// It is the kernel of a notebook's session now, and no more ends with us.
    pub(crate) fn keep(&self) {
        let mut known = self.known();
        known.is_ours |= std::mem::take(&mut known.is_scratch);
    }

    pub(crate) fn make_ours(&self) {
        self.known().is_ours = true;
    }

    /// Whether we started it, it does nothing, and nobody is connected to it but us.
    pub(crate) fn is_only_ours(&self) -> bool {
        let known = self.known();
        // What we hear ourselves: the server may hear it later.
        let heard = known.client.as_ref().map(|client| client.status().borrow().clone());
        let is_idle = match heard {
            Some(Status::Starting | Status::Busy) => false,
            Some(Status::Idle) => true,
            Some(Status::Dead { .. }) | None => known.model.execution_state.as_deref() == Some("idle"),
        };
        known.is_ours && is_idle && known.model.connections.is_some_and(|all| all <= known.our_connections())
    }

    pub(crate) fn is_scratch(&self) -> bool {
        self.known().is_scratch
    }

    /// Ends the connection; the kernel goes on.
    pub(crate) fn let_go(&self) {
        self.known().client = None;
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn client_if_up(&self) -> Option<Client> {
        let mut known = self.known();
        let client = known.client.clone().filter(|client| !is_dead(client) && !client.is_superseded())?;
        known.used = Some(SystemTime::now());
        Some(client)
    }

    /// The connection, if it was used so lately that nobody need be asked.
    fn client_at_hand(&self) -> Option<Client> {
        let client = self.client_if_up()?;
        let mut known = self.known();
        let seen = known.seen.replace(Instant::now());
        seen.filter(|seen| seen.elapsed() < CALM).map(|_| client)
    }

    /// The connection; made if there is none. One that is dead on the server is started anew.
    async fn ensure(&self) -> Result<Client, Error> {
        let _turn = self.turn.lock().await;
        if let Some(client) = self.client_if_up() {
            return match self.look().await {
                Err(error) if self.known().gone.is_some() => Err(error),
                // The connection makes itself anew.
                _ => Ok(client),
            };
        }
        let model = self.look().await?;
        let state = model.execution_state.as_deref();
        if state == Some("dead") {
            self.post_restart().await?;
        }
        let is_fresh = matches!(state, Some("dead" | "starting" | "restarting" | "autorestarting"));
        self.connect(is_fresh).await
    }

    /// Asks the server how it is. Fails if it is no more.
    async fn look(&self) -> Result<KernelModel, Error> {
        let found = self.link.kernel(&self.id).await?;
        let Some(model) = found else {
            self.vanish("the server has shut it down");
            return Err(self.no_more());
        };
        self.update(model.clone(), None);
        Ok(model)
    }

    async fn connect(&self, is_fresh: bool) -> Result<Client, Error> {
        let direct = match &self.link.direct {
            Some(direct) => direct.connection(&self.id).await,
            None => None,
        };
        let connected = if let Some(info) = &direct {
            messaging::connect(info, START, is_fresh, std::future::pending()).await
        } else {
            let server = self.link.apart().await.map_err(failure::of)?;
            let (kernel, is_limited) = (self.id.to_string(), self.link.is_limited());
            let dial = Arc::new(Channels { server, kernel, is_limited });
            connect_websocket(dial, START, is_fresh, std::future::pending()).await
        };
        let client = match connected {
            Ok(client) => client,
            Err(error) => {
                // It may have been shut down meanwhile.
                self.look().await?;
                return Err(self.unreached(&error));
            }
        };
        self.follow(&client);
        let mut known = self.known();
        if let Some(cut_off) = known.client.take() {
            // What it runs comes to its end there.
            tokio::spawn(async move {
                let _ = cut_off.status().wait_for(|status| *status != Status::Busy).await;
            });
        }
        known.is_counted = direct.is_none();
        known.client = Some(client.clone());
        known.used = Some(SystemTime::now());
        known.seen = Some(Instant::now());
        Ok(client)
    }

    fn unreached(&self, error: &KernelError) -> Error {
        Error::new(
            ErrorKind::RemoteFailure,
            format!("Kernel {} on {} cannot be used: {error}.", self.id, self.link.title()),
            "Try again; if it does not help, call restart_notebook, or use_notebook with kernel_id \"NEW\".",
        )
    }

    fn no_more(&self) -> Error {
        Error::new(
            ErrorKind::KernelGone,
            format!(
                "Kernel {} is gone: it was shut down on {} (by a person, or because it was idle for long). Its variables \
                 are lost.",
                self.id,
                self.link.title()
            ),
            "Run the cell again: that starts a new kernel. Run the cells first on which it depends.",
        )
    }

    async fn post_restart(&self) -> Result<(), Error> {
        let restarted = self.link.call(None, |server| async move {
            match server.restart_kernel(&self.id).await {
                Ok(model) => Ok(Some(model)),
                Err(error) if error.kind == rest::Kind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        });
        if let Some(model) = restarted.await? {
            self.update(model, None);
            return Ok(());
        }
        self.vanish("the server has shut it down");
        Err(self.no_more())
    }

    async fn start_anew(&self) -> Result<(), Error> {
        let _turn = self.turn.lock().await;
        let before = self.known().client.take();
        self.post_restart().await?;
        if let Some(client) = before {
            client.report_death("it was started anew".to_owned());
            if !self.link.is_limited() {
                // Connections cut each other off there, in whatever order they reach the new process.
                let mut status = client.status();
                let _ = status.wait_for(|status| matches!(status, Status::Dead { .. })).await;
            }
        }
        self.connect(true).await.map(drop)
    }

    async fn end(&self) -> Result<(), Error> {
        self.link.call(None, |server| async move { server.delete_kernel(&self.id).await }).await?;
        self.vanish("it was shut down");
        Ok(())
    }

    /// Whether others use it: they are connected, it works for somebody while we are not, or more than one notebook runs on
    /// it.
    async fn is_used_by_others(&self) -> Result<bool, Error> {
        let found = self.link.kernel(&self.id).await?;
        let Some(model) = found else { return Ok(false) };
        self.update(model.clone(), None);
        let (ours, is_connected) = {
            let known = self.known();
            (known.our_connections(), known.client.as_ref().is_some_and(|client| !is_dead(client)))
        };
        let is_busy = model.execution_state.as_deref() == Some("busy");
        if model.connections.is_some_and(|all| all > ours) || is_busy && !is_connected {
            return Ok(true);
        }
        let sessions = self.link.call(None, |server| async move { server.sessions().await }).await?;
        Ok(sessions.iter().filter(|session| has(session, &self.id)).count() > 1)
    }

    /// Runs `work` to its end even if whoever asked goes away.
    async fn to_the_end<T, W>(&self, work: impl FnOnce(Arc<Self>) -> W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: std::future::Future<Output = Result<T, Error>> + Send + 'static,
    {
        let this = self.this.upgrade().ok_or_else(|| self.no_more())?;
        tokio::spawn(work(this)).await.unwrap_or_else(|error| {
            Err(Error::new(
                ErrorKind::Internal,
                format!("The work on the kernel was cut short: {error}."),
                "Try again.",
            ))
        })
    }
}

impl Kernel for ServerKernel {
    fn id(&self) -> &KernelId {
        &self.id
    }

    fn description(&self) -> KernelDescription {
        let known = self.known();
        let told = match known.model.execution_state.as_deref() {
            Some("busy") => KernelState::Busy,
            Some("starting" | "restarting" | "autorestarting") => KernelState::Starting,
            Some("dead") => {
                KernelState::Dead { how: "it ended by itself, and its server gave it up".to_owned() }
            }
            _ => KernelState::Idle,
        };
        let state = match (&known.gone, known.client.as_ref().map(|client| client.status().borrow().clone()))
        {
            (Some(how), _) => KernelState::Dead { how: how.clone() },
            (None, Some(Status::Busy)) => KernelState::Busy,
            (None, Some(Status::Idle)) => KernelState::Idle,
            (None, Some(Status::Starting)) => KernelState::Starting,
            // The connection ended; what the kernel does, the server knows.
            (None, Some(Status::Dead { .. }) | None) => told,
        };
        let told = known.model.last_activity.as_deref().and_then(time::parse);
        let (display_name, language) = match &known.spec {
            Some(spec) => (spec.display_name.clone(), spec.language.to_lowercase()),
            None => (known.model.name.clone(), String::new()),
        };
        KernelDescription {
            name: known.model.name.clone(),
            display_name,
            language,
            environment: String::new(),
            state,
            last_activity: told.max(known.used),
            connections: known.model.connections,
        }
    }

    fn is_gone(&self) -> bool {
        self.known().gone.is_some()
    }

    fn is_shared(&self) -> BoxFuture<'_, bool> {
        async {
            self.is_used_by_others().await.unwrap_or_else(|error| {
                tracing::warn!(%error, "whether others use a kernel is not known; it is taken to be so");
                true
            })
        }
        .boxed()
    }

    fn outlives_us(&self) -> bool {
        !self.is_scratch()
    }

    fn client(&self) -> Future<'_, Client> {
        async {
            if let Some(client) = self.client_at_hand() {
                return Ok(client);
            }
            self.to_the_end(|this| async move { this.ensure().await }).await
        }
        .boxed()
    }

    fn interrupt(&self) -> Future<'_, ()> {
        async move {
            let asked =
                self.link.attempt(None, |server| async move { server.interrupt_kernel(&self.id).await });
            match asked.await {
                Err(error) if error.kind == rest::Kind::NotFound => {
                    self.vanish("the server has shut it down");
                    Err(self.no_more())
                }
                other => other.map_err(failure::of),
            }
        }
        .boxed()
    }

    fn restart(&self) -> Future<'_, ()> {
        async { self.to_the_end(|this| async move { this.start_anew().await }).await }.boxed()
    }

    fn shutdown(&self) -> Future<'_, ()> {
        async { self.to_the_end(|this| async move { this.end().await }).await }.boxed()
    }
}

fn is_dead(client: &Client) -> bool {
    matches!(*client.status().borrow(), Status::Dead { .. })
}

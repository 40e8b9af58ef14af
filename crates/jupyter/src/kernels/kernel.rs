//! One kernel of a server.

use std::sync::{Arc, OnceLock, Weak};
use std::time::SystemTime;

use ::kernel::Status;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use place::{
    ClientExecutor, EarlierKernelRuns, Error, ErrorKind, Executor, Future, Kernel, KernelDescription,
    KernelId, NextStep, Orphan, RunDetails, RunId,
};
use rest::{KernelModel, Kernelspec};
use transports::Outage;

use super::runs::{KernelRuns, RunLogging};
use super::sessions::has_kernel;
use crate::failure;
use crate::server_handle::ServerHandle;

mod connecting;
mod state;

pub(super) use state::Owner;
use state::{State, is_dead};

/// Why a kernel that the server no longer lists is gone.
const SHUT_DOWN: &str = "the server has shut it down";
const MACHINE_ENDED: &str = "its machine has ended";

/// A kernel that runs, or ran, on a server.
pub(crate) struct ServerKernel {
    this: Weak<Self>,
    id: KernelId,
    handle: Arc<ServerHandle>,
    /// Held while a connection is made or the kernel is restarted.
    turn: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    outage: Outage,
    run_logging: Option<RunLogging>,
    /// Begun when they are first needed. `None` if they are not logged.
    runs: OnceLock<Option<Arc<KernelRuns>>>,
}

impl ServerKernel {
    pub(crate) fn new(
        handle: Arc<ServerHandle>,
        model: KernelModel,
        kernelspec: Option<Kernelspec>,
        run_logging: Option<RunLogging>,
    ) -> Arc<Self> {
        let id = KernelId::from(model.id.as_str());
        let state = State::new(model, kernelspec);
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            id,
            handle,
            turn: tokio::sync::Mutex::default(),
            state: Mutex::new(state),
            outage: Outage::default(),
            run_logging,
            runs: OnceLock::new(),
        })
    }

    /// Records the server's description of it.
    pub(crate) fn update(&self, model: KernelModel, kernelspec: Option<Kernelspec>) {
        let mut state = self.state.lock();
        state.model = model;
        state.kernelspec = kernelspec.or_else(|| state.kernelspec.take());
        state.gone = None;
    }

    /// Records that the kernel no longer exists, and why.
    pub(crate) fn set_gone(&self, why: &str) {
        let client = {
            let mut state = self.state.lock();
            state.gone.get_or_insert_with(|| why.to_owned());
            state.client.take()
        };
        if let Some(client) = client {
            client.report_death(why);
        }
        if let Some(Some(runs)) = self.runs.get() {
            runs.kernel_gone();
        }
    }

    /// The runs on it, if they are logged.
    fn runs(&self) -> Option<&Arc<KernelRuns>> {
        let start = || {
            let (logging, server) = self.run_logging.clone().zip(self.handle.base())?;
            Some(KernelRuns::new(logging, server, self.id.to_string()))
        };
        self.runs.get_or_init(start).as_ref()
    }

    /// Adds what the next run says.
    pub(crate) fn add_notice(&self, notice: String) {
        self.state.lock().notices.push(notice);
    }

    /// Records that it is the kernel of a notebook's session now, so it does not end with us.
    pub(crate) fn attach(&self) {
        let mut state = self.state.lock();
        if state.owner == Owner::Unattached {
            state.owner = Owner::Notebook;
        }
    }

    /// Records that we started it, and for whom.
    pub(crate) fn set_owner(&self, owner: Owner) {
        self.state.lock().owner = owner;
    }

    pub(super) fn mark_used(&self) {
        self.state.lock().last_used = Some(SystemTime::now());
    }

    /// Asks the server whether the kernel still exists. Does not start a stopped server, unlike other requests.
    pub(super) async fn check_exists(&self) {
        if self.is_gone() {
            return;
        }
        let Ok(server) = self.handle.server().await else { return };
        match server.kernel(&self.id).await {
            Ok(None) => self.set_gone(SHUT_DOWN),
            Err(error) if error.kind == rest::Kind::Gone => {
                self.handle.note_end(error);
                self.set_gone(MACHINE_ENDED);
            }
            _ => {}
        }
    }

    /// Whether we started it for a notebook, it is idle, and nobody else is connected to it.
    pub(crate) fn is_only_ours(&self) -> bool {
        let state = self.state.lock();
        // Our connection comes first: the server may learn of a change later.
        let is_idle = match state.status() {
            Some(Status::Starting | Status::Busy) => false,
            Some(Status::Idle) => true,
            Some(Status::Dead { .. }) | None => state.model.execution_state.as_deref() == Some("idle"),
        };
        let is_alone = state.model.connections.is_some_and(|all| all <= state.our_connections());
        state.owner == Owner::Notebook && is_idle && is_alone
    }

    /// Whether it ends with us.
    pub(crate) fn is_unattached(&self) -> bool {
        self.state.lock().owner == Owner::Unattached
    }

    /// Ends the connection; the kernel continues.
    pub(crate) fn disconnect(&self) {
        self.state.lock().client = None;
    }

    /// The runs that earlier servers have left here, and on kernels that are gone.
    async fn orphans(&self) -> Vec<Orphan> {
        let Some(runs) = self.runs() else { return Vec::new() };
        let others = runs.other_kernels();
        if !others.is_empty()
            && let Ok(models) = self.handle.kernels().await
        {
            let is_gone = |kernel: &&String| models.iter().all(|model| model.id != **kernel);
            others.iter().filter(is_gone).for_each(|kernel| runs.claim_gone(kernel, SHUT_DOWN));
        }
        if !runs.has_orphans() {
            return Vec::new();
        }
        match self.client().await {
            Ok(client) => runs.take_orphans(&client).await,
            Err(error) => {
                tracing::warn!(%error, "the runs of an earlier server could not be read");
                Vec::new()
            }
        }
    }

    fn gone_error(&self) -> Error {
        if let Some(error) = self.handle.ended() {
            return failure::of(error.clone());
        }
        Error::new(
            ErrorKind::KernelGone,
            format!(
                "Kernel {} is gone: it was shut down on {} (by a person, or after a long idle time). Its variables \
                 are lost.",
                self.id,
                self.handle.title()
            ),
            "Run the cell again: that starts a new kernel. First run the cells on which it depends.",
        )
    }

    async fn end(&self) -> Result<(), Error> {
        self.handle.call(|server| async move { server.delete_kernel(&self.id).await }).await?;
        self.set_gone("it was shut down");
        Ok(())
    }

    /// Whether others use it: they are connected, it is busy and we are not connected, or more than one notebook uses it.
    async fn is_used_by_others(&self) -> Result<bool, Error> {
        let found = self.handle.kernel(&self.id).await?;
        let Some(model) = found else { return Ok(false) };
        self.update(model.clone(), None);
        let (ours, is_connected) = {
            let state = self.state.lock();
            (state.our_connections(), state.client.as_ref().is_some_and(|client| !is_dead(client)))
        };
        let is_busy = model.execution_state.as_deref() == Some("busy");
        if model.connections.is_some_and(|all| all > ours) || is_busy && !is_connected {
            return Ok(true);
        }
        let sessions = self.handle.call(|server| async move { server.sessions().await }).await?;
        Ok(sessions.iter().filter(|session| has_kernel(session, &self.id)).count() > 1)
    }

    /// Runs `work` to its end even if the caller is cancelled.
    async fn run_to_completion<T, W>(&self, work: impl FnOnce(Arc<Self>) -> W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: std::future::Future<Output = Result<T, Error>> + Send + 'static,
    {
        let this = self.this.upgrade().ok_or_else(|| self.gone_error())?;
        tokio::spawn(work(this)).await.unwrap_or_else(|error| {
            Err(Error::new(
                ErrorKind::Internal,
                format!("The work on the kernel was aborted: {error}."),
                NextStep::TryAgain,
            )
            .with_source(error))
        })
    }
}

impl Kernel for ServerKernel {
    fn id(&self) -> &KernelId {
        &self.id
    }

    fn description(&self) -> KernelDescription {
        self.state.lock().description(self.outage.cause())
    }

    fn is_gone(&self) -> bool {
        self.state.lock().gone.is_some()
    }

    fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().notices)
    }

    fn instance(&self) -> Option<String> {
        self.process()
    }

    fn ended_instance(&self) -> Option<String> {
        self.state.lock().client.as_ref()?.ended_process()
    }

    fn identify(&self) -> BoxFuture<'_, ()> {
        self.connect_to_identify().boxed()
    }

    fn outlives_us(&self) -> bool {
        !self.is_unattached()
    }

    fn is_shared(&self) -> BoxFuture<'_, bool> {
        async {
            self.is_used_by_others().await.unwrap_or_else(|error| {
                tracing::warn!(%error, "whether others use a kernel is unknown; assuming that they do");
                true
            })
        }
        .boxed()
    }

    fn earlier_runs(&self) -> Option<&dyn EarlierKernelRuns> {
        Some(self)
    }

    fn executor(&self) -> Future<'_, Arc<dyn Executor>> {
        async {
            let client = self.client().await?;
            Ok(match self.runs() {
                Some(runs) => runs.executor(client),
                None => ClientExecutor::new(client),
            })
        }
        .boxed()
    }

    fn interrupt(&self) -> Future<'_, ()> {
        async move {
            let asked = self.handle.attempt(|server| async move { server.interrupt_kernel(&self.id).await });
            match asked.await {
                Err(error) if error.kind == rest::Kind::NotFound => {
                    self.set_gone(SHUT_DOWN);
                    Err(self.gone_error())
                }
                other => other.map_err(failure::of),
            }
        }
        .boxed()
    }

    fn restart(&self) -> Future<'_, ()> {
        async { self.run_to_completion(|this| async move { this.restart_process().await }).await }.boxed()
    }

    fn shutdown(&self) -> Future<'_, ()> {
        async { self.run_to_completion(|this| async move { this.end().await }).await }.boxed()
    }
}

impl EarlierKernelRuns for ServerKernel {
    fn runs_of_others(&self) -> BoxFuture<'_, Vec<RunDetails>> {
        let runs = self.runs().cloned();
        async {
            let Some(runs) = runs else { return Vec::new() };
            tokio::task::spawn_blocking(move || runs.of_others()).await.unwrap_or_default()
        }
        .boxed()
    }

    fn take_orphans(&self) -> BoxFuture<'_, Vec<Orphan>> {
        self.orphans().boxed()
    }

    fn announce(&self, run: &RunDetails) -> bool {
        self.runs().filter(|_| !self.is_gone()).map(|runs| runs.announce(run)).is_some()
    }

    fn retract(&self, run: &RunId) {
        if let Some(runs) = self.runs() {
            runs.retract(run);
        }
    }
}

//! One kernel of this machine, from its choice until it is shut down.

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use kernel::{Client, Status, WITHOUT_KERNEL, answer_without_kernel, question_without_kernel};
use notebook::Json;
use parking_lot::Mutex;
#[cfg(unix)]
use place::EarlierKernelRuns;
#[cfg(not(unix))]
use place::Keeping;
use place::{Error, ErrorKind, Executor, Future, Kernel, KernelDescription, KernelId, KernelState, NextStep};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::keeping::KernelKeeping;
use super::launcher::KernelLauncher;
use super::running::RunningKernel;
use files::Root;

#[cfg(unix)]
mod earlier_runs;
#[cfg(unix)]
mod keeper;
#[cfg(unix)]
mod known_keeper;

#[cfg(unix)]
pub(crate) use keeper::not_used;
#[cfg(unix)]
pub(crate) use known_keeper::{kernel_state, refusal};

/// Time limit for a Python that looks through the files of an environment.
const LOOK_LIMIT: Duration = Duration::from_secs(5);

/// A kernel of this machine. Its process is started at the first use.
pub(crate) struct LocalKernel {
    this: Weak<Self>,
    launcher: KernelLauncher,
    /// `None` if it ends with this program.
    #[cfg_attr(not(unix), expect(dead_code, reason = "no kernel is kept"))]
    keeping: Option<Arc<KernelKeeping>>,
    root: Root,
    /// When it was chosen for its notebook: one that another server has started since is used instead. `None` if it is to be new.
    #[cfg_attr(not(unix), expect(dead_code, reason = "no kernel is kept"))]
    chosen_at: Option<SystemTime>,
    /// Held while the process is started or stopped.
    start_stop: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

struct State {
    phase: Phase,
    last_activity: Option<SystemTime>,
    cancel_start: CancellationToken,
    notices: Vec<String>,
    #[cfg(unix)]
    kept: keeper::Kept,
}

enum Phase {
    NotStarted,
    Starting,
    Running(Arc<RunningKernel>),
    FailedToStart { cause: String },
    ShutDown,
}

impl LocalKernel {
    /// A kernel that is started at the first use, and kept if `keeping` says so. Unless it `is_to_be_new`, one that another
    /// server has started for the notebook until then is used instead.
    pub(crate) fn new(
        launcher: KernelLauncher,
        keeping: Option<Arc<KernelKeeping>>,
        root: Root,
        is_to_be_new: bool,
    ) -> Arc<Self> {
        let chosen_at = (!is_to_be_new).then(SystemTime::now);
        let state = State {
            phase: Phase::NotStarted,
            last_activity: None,
            cancel_start: CancellationToken::new(),
            notices: Vec::new(),
            #[cfg(unix)]
            kept: keeper::Kept::default(),
        };
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            launcher,
            keeping,
            root,
            chosen_at,
            start_stop: tokio::sync::Mutex::new(()),
            state: Mutex::new(state),
        })
    }

    /// The next answer about it reports this to the agent.
    pub(crate) fn add_notice(&self, notice: String) {
        self.state.lock().notices.push(notice);
    }

    pub(crate) fn is_shut_down(&self) -> bool {
        matches!(self.state.lock().phase, Phase::ShutDown)
    }

    /// Whether nothing but the keeper's answer is known of it.
    #[cfg(unix)]
    pub(crate) fn is_only_listed(&self) -> bool {
        let state = self.state.lock();
        state.kept.keeper.is_some() && matches!(state.phase, Phase::NotStarted)
    }

    fn running(&self) -> Option<Arc<RunningKernel>> {
        match &self.state.lock().phase {
            Phase::Running(running) => Some(running.clone()),
            _ => None,
        }
    }

    /// The connection, if the kernel runs.
    fn executor_if_running(&self) -> Option<Arc<dyn Executor>> {
        let running = self.running().filter(|running| running.exit_status().is_none())?;
        self.state.lock().last_activity = Some(SystemTime::now());
        Some(running.executor())
    }

    /// Starts the process unless it runs. What is left of one that died is stopped first.
    async fn ensure_running(&self) -> Result<Arc<dyn Executor>, Error> {
        let _lock = self.start_stop.lock().await;
        if let Some(executor) = self.executor_if_running() {
            return Ok(executor);
        }
        if let Some(dead) = self.running() {
            dead.clean_up().await;
        }
        self.start(false).await
    }

    /// Starts the process; the caller holds `start_stop`.
    async fn start(&self, restart: bool) -> Result<Arc<dyn Executor>, Error> {
        let cancel = {
            let mut state = self.state.lock();
            if matches!(state.phase, Phase::ShutDown) {
                return Err(shut_down());
            }
            state.phase = Phase::Starting;
            state.cancel_start = CancellationToken::new();
            state.last_activity = Some(SystemTime::now());
            state.cancel_start.clone()
        };
        #[cfg(unix)]
        let starting = self.start_process(restart);
        #[cfg(not(unix))]
        let starting = {
            // The caller has stopped the process before.
            let _ = restart;
            self.start_own()
        };
        let started = cancel.run_until_cancelled(starting).await;
        let mut state = self.state.lock();
        if matches!(state.phase, Phase::ShutDown) {
            // Whoever shut it down wants no other one for the runs that wait for it.
            return Err(start_cancelled());
        }
        match started {
            Some(Ok(running)) => {
                self.track_activity(running.client());
                let executor = running.executor();
                state.phase = Phase::Running(Arc::new(running));
                Ok(executor)
            }
            Some(Err(error)) if error.kind == ErrorKind::KernelGone => {
                state.phase = Phase::ShutDown;
                Err(error)
            }
            Some(Err(error)) => {
                state.phase = Phase::FailedToStart { cause: error.cause.clone() };
                Err(error)
            }
            None => {
                state.phase = Phase::NotStarted;
                Err(start_cancelled())
            }
        }
    }

    /// Starts a process that ends with this program.
    async fn start_own(&self) -> Result<RunningKernel, Error> {
        Ok(RunningKernel::own(self.launcher.start_own().await?))
    }

    /// Records when the kernel was last active, until the connection ends.
    fn track_activity(&self, client: &Client) {
        let (mut status, this) = (client.status(), self.this.clone());
        place::spawn(async move {
            while status.changed().await.is_ok() {
                let Some(this) = this.upgrade() else { return };
                this.state.lock().last_activity = Some(SystemTime::now());
                if matches!(*status.borrow_and_update(), Status::Dead { .. }) {
                    return;
                }
            }
        });
    }

    async fn restart_process(&self) -> Result<(), Error> {
        self.state.lock().cancel_start.cancel();
        let _lock = self.start_stop.lock().await;
        if let Some(running) = self.running() {
            running.stop_for_restart().await;
        }
        self.start(true).await.map(drop)
    }

    /// Ends the kernel with this program, unless a keeper keeps it.
    pub(crate) async fn leave(&self) {
        #[cfg(unix)]
        if self.leave_to_keeper().await {
            return;
        }
        self.end_process().await;
    }

    async fn end_process(&self) {
        let phase = {
            let mut state = self.state.lock();
            state.cancel_start.cancel();
            std::mem::replace(&mut state.phase, Phase::ShutDown)
        };
        #[cfg(unix)]
        let is_running = matches!(phase, Phase::Running(_));
        if let Phase::Running(running) = phase {
            running.end().await;
        }
        // A cancelled start ends its process before it releases the lock, unless a keeper has it already.
        drop(self.start_stop.lock().await);
        #[cfg(unix)]
        if !is_running {
            self.end_keeper().await;
        }
    }

    /// Runs `work` to its end even if the caller is dropped.
    async fn run_detached<T, W>(&self, work: impl FnOnce(Arc<Self>) -> W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: std::future::Future<Output = T> + Send + 'static,
    {
        let this = self.this.upgrade().ok_or_else(shut_down)?;
        tokio::spawn(work(this)).await.map_err(|error| {
            let cause = format!("A task for the kernel failed: {error}.");
            Error::new(ErrorKind::Internal, cause, NextStep::TryAgain).with_source(error)
        })
    }
}

impl Kernel for LocalKernel {
    fn id(&self) -> &KernelId {
        &self.launcher.id
    }

    fn description(&self) -> KernelDescription {
        let info = self.launcher.choice.info();
        let state = self.state.lock();
        #[cfg(unix)]
        let keeper = state.kept.keeper.as_ref().map(|kept| {
            let keeping = known_keeper::keeping(kept, state.kept.is_from_earlier, &self.root);
            (kernel_state(kept), keeping)
        });
        #[cfg(not(unix))]
        let keeper: Option<(KernelState, Keeping)> = None;
        let (kept_state, keeping) = keeper.unzip();
        let kernel_state = match &state.phase {
            Phase::NotStarted => kept_state.unwrap_or(KernelState::NotStarted),
            Phase::Starting => KernelState::Starting,
            Phase::FailedToStart { cause } => KernelState::Dead { how: cause.clone().into() },
            Phase::ShutDown => KernelState::Dead { how: "it was shut down".into() },
            Phase::Running(running) => match (running.exit_status(), &*running.client().status().borrow()) {
                (Some(how), _) if running.is_lost() => KernelState::Unreachable { how: how.to_string() },
                (Some(how), _) => KernelState::Dead { how },
                (None, Status::Busy) => KernelState::Busy,
                (None, Status::Starting) => KernelState::Starting,
                (None, Status::Idle | Status::Dead { .. }) => KernelState::Idle,
            },
        };
        KernelDescription {
            name: info.name,
            display_name: info.display_name,
            language: info.language,
            environment: info.environment,
            state: kernel_state,
            last_activity: state.last_activity,
            connections: None,
            keeping,
            foreign: None,
        }
    }

    fn is_gone(&self) -> bool {
        self.is_shut_down()
    }

    #[cfg(unix)]
    fn outlives_us(&self) -> bool {
        let state = self.state.lock();
        state.kept.keeper.is_some() && !matches!(state.phase, Phase::ShutDown)
    }

    fn instance(&self) -> Option<String> {
        self.running().filter(|running| running.exit_status().is_none() || running.is_lost())?.instance()
    }

    #[cfg(unix)]
    fn is_shared(&self) -> BoxFuture<'_, bool> {
        self.has_other_servers().boxed()
    }

    fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().notices)
    }

    #[cfg(unix)]
    fn earlier_runs(&self) -> Option<&dyn EarlierKernelRuns> {
        Some(self)
    }

    fn lacking(&self, mut wanted: Value) -> BoxFuture<'_, Option<Json>> {
        async move {
            let (choice, folder) = (&self.launcher.choice, &self.launcher.folder);
            let input = |site: Vec<PathBuf>| {
                wanted["folder"] = folder.display().to_string().into();
                wanted["site"] = site.iter().map(|it| it.display().to_string()).collect();
                question_without_kernel(&json!({ "lacking": wanted }), LOOK_LIMIT)
            };
            let root = self.root.real();
            let asked =
                choice.ask_outside(root, &self.launcher.process_env, WITHOUT_KERNEL, input, 2 * LOOK_LIMIT);
            answer_without_kernel(asked.await?)
        }
        .boxed()
    }

    fn executor(&self) -> Future<'_, Arc<dyn Executor>> {
        async {
            match self.executor_if_running() {
                Some(executor) => Ok(executor),
                None => self.run_detached(|this| async move { this.ensure_running().await }).await?,
            }
        }
        .boxed()
    }

    fn interrupt(&self) -> Future<'_, ()> {
        async {
            let running = self.running().filter(|running| running.exit_status().is_none());
            let mode = self.launcher.choice.kernelspec.interrupt_mode;
            // Holding the process would keep its files while a restart replaces it.
            let interruption = running.map(|running| running.interrupt(mode));
            let interruption = interruption.ok_or_else(|| {
                Error::new(
                    ErrorKind::InvalidArgument,
                    "The kernel is not running, so there is nothing to interrupt.",
                    NextStep::Run,
                )
            })?;
            interruption.await.map_err(|error| {
                let cause = format!("The kernel could not be interrupted: {error}.");
                Error::new(ErrorKind::RemoteFailure, cause, NextStep::RestartKernel).with_source(error)
            })?;
            Ok(())
        }
        .boxed()
    }

    fn restart(&self) -> Future<'_, ()> {
        async { self.run_detached(|this| async move { this.restart_process().await }).await? }.boxed()
    }

    fn shutdown(&self) -> Future<'_, ()> {
        async { self.run_detached(|this| async move { this.end_process().await }).await }.boxed()
    }
}

fn start_cancelled() -> Error {
    let cause = "The kernel was restarted or shut down while it was starting.";
    Error::new(ErrorKind::Conflict, cause, NextStep::Run)
}

fn shut_down() -> Error {
    Error::new(ErrorKind::KernelGone, "This kernel was shut down.", NextStep::StartKernel)
}

//! A kernel with a keeper: finds, starts, joins and leaves it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use keeper::{
    Attachment, ChosenKernel, ClientFrame, KeeperFolder, KeeperSpec, KeptKernel, KernelFile, LaunchError,
    Lifetimes, StartError, StartLock, StateFolder, attach, ensure_capacity, keepers, remove_abandoned, tell,
};
use kernel::KernelError;
use place::{ClientExecutor, Error, ErrorKind, KernelId, NextStep, Orphan};

use super::{LocalKernel, Phase};
use crate::launch::keeping::KernelKeeping;
use crate::launch::launcher::{KernelLauncher, install_memory_handler};
use crate::launch::running::{AttachedKernel, KeeperLogger, RunningKernel, details_of};
use environments::ProcessEnv;
use files::Root;

/// What is known of the keeper of a kernel, and what waits for it.
#[derive(Default)]
pub(super) struct Kept {
    /// `None` if the kernel has none, or none yet.
    pub(super) keeper: Option<KeptKernel>,
    /// Whether an earlier server started it.
    pub(super) is_from_earlier: bool,
    /// Runs of earlier servers that nobody has taken yet.
    pub(super) orphans: Vec<Orphan>,
}

impl LocalKernel {
    /// A kernel that an earlier server started. `None` if another version of this program has described it in another way.
    pub(crate) fn of_keeper(
        keeper: KeptKernel,
        keeping: Option<Arc<KernelKeeping>>,
        root: Root,
        process_env: Arc<ProcessEnv>,
        start_timeout: Duration,
    ) -> Option<Arc<Self>> {
        let record = keeper.record.clone();
        let launcher = KernelLauncher {
            id: KernelId::new(record.id),
            choice: record.choice.read().ok()?,
            folder: record.folder,
            notebook: record.notebook,
            process_env,
            start_timeout,
        };
        let kernel = Self::new(launcher, keeping, root, true);
        {
            let kept = &mut kernel.state.lock().kept;
            (kept.keeper, kept.is_from_earlier) = (Some(keeper), true);
        }
        Some(kernel)
    }

    /// Connects to the keeper, if it is not connected: adopts the runs that earlier servers left there. Starts no process.
    pub(crate) async fn join(&self) -> Result<(), KernelError> {
        let _lock = self.start_stop.lock().await;
        if self.running().is_some_and(|running| running.exit_status().is_none()) {
            return Ok(());
        }
        let Some(keeper) = self.state.lock().kept.keeper.clone() else { return Ok(()) };
        let (running, is_kept) = self.attach(&keeper, false).await?;
        let mut state = self.state.lock();
        if let Some(cause) = running.exit_status() {
            state.phase = Phase::FailedToStart { cause: cause.to_string() };
            if !is_kept {
                state.kept.keeper = None;
            }
        } else {
            self.track_activity(running.client());
            state.phase = Phase::Running(Arc::new(running));
        }
        Ok(())
    }

    /// Connects to the keeper and takes over the runs that nobody follows. Returns also whether the keeper lives.
    async fn attach(&self, keeper: &KeptKernel, restart: bool) -> Result<(RunningKernel, bool), KernelError> {
        let timeout = self.launcher.start_timeout;
        let Attachment { connection, is_kept } =
            attach(&keeper.folder, &keeper.record, restart, timeout).await?;
        let (keeper_handle, root) = (connection.keeper, self.root.clone());
        let only_stores = self.keeping.as_ref().is_some_and(|keeping| keeping.only_stores);
        let logger = Arc::new(KeeperLogger { keeper: keeper_handle, root, only_stores });
        let executor = ClientExecutor::logged(connection.client, logger.clone());
        let orphans = connection.orphans.into_iter().map(|(record, events)| {
            let details = details_of(&self.root, &record.announcement);
            Orphan::new(record, details, events, executor.clone())
        });
        self.state.lock().kept.orphans.extend(orphans);
        let process = KeptKernel::ask(keeper.folder.clone(), keeper.record.clone()).await.process;
        Ok((RunningKernel::kept(executor, AttachedKernel::new(logger, process)), is_kept))
    }

    /// Starts the process, or connects to the one that a keeper has. With `restart`, that is a new one.
    pub(super) async fn start_process(&self, restart: bool) -> Result<RunningKernel, Error> {
        let known = self.state.lock().kept.keeper.clone();
        let is_first = known.is_none();
        if let Some(known) = known {
            match self.attach_running(&known, restart).await {
                Ok(Some(running)) => return Ok(running),
                Ok(None) => {}
                // It was stopped; every connected server has read that.
                Err(_) if !known.folder.path.exists() => {}
                // Its kernel may work on something: another one must not take its id. The next choice finds that it is silent.
                Err(KernelError::NoAnswer { .. }) => {
                    let cause = "The keeper of this kernel does not answer.";
                    return Err(Error::new(ErrorKind::KernelGone, cause, NextStep::Run));
                }
                // As above: the kernel is alive, so its id must not be reused.
                Err(error @ KernelError::LogFailed { .. }) => {
                    let cause = format!("The kernel of this notebook cannot be used now: {error}.");
                    let next = "Free space there, then run again: the kernel keeps its variables.";
                    return Err(Error::new(ErrorKind::KernelGone, cause, next).with_source(error));
                }
                Err(error) => {
                    tracing::warn!(%error, "the keeper of a kernel is not usable, so another one is started");
                    self.add_notice(not_used(&match error {
                        KernelError::Unusable { cause } => cause,
                        other => other.to_string(),
                    }));
                }
            }
            self.state.lock().kept.keeper = None;
        }
        match &self.keeping {
            None => self.start_own().await,
            Some(keeping) => self.start_kept(keeping, is_first).await,
        }
    }

    /// Connects to a keeper's kernel, which is restarted if it is dead. `None` if the keeper has ended.
    async fn attach_running(
        &self,
        keeper: &KeptKernel,
        restart: bool,
    ) -> Result<Option<RunningKernel>, KernelError> {
        let (running, is_kept) = self.attach(keeper, restart).await?;
        if !is_kept {
            return Ok(None);
        }
        if running.exit_status().is_none() {
            return Ok(Some(running));
        }
        let (running, is_kept) = self.attach(keeper, true).await?;
        install_memory_handler(running.client()).await;
        Ok((is_kept && running.exit_status().is_none()).then_some(running))
    }

    async fn start_kept(&self, keeping: &KernelKeeping, is_first: bool) -> Result<RunningKernel, Error> {
        let state = self.launcher.process_env.state_folder();
        let _lock = if is_first { self.lock_start(&state).await? } else { None };
        remove_abandoned(&state);
        let started = async {
            let notices = ensure_capacity(&state).await.map_err(StartError::Keeper)?;
            self.state.lock().notices.extend(notices);
            self.start_keeper(keeping, &state).await
        };
        let cause = match started.await {
            Ok(running) => return Ok(running),
            Err(StartError::Kernel(LaunchError { cause, next })) => {
                return Err(Error::new(ErrorKind::KernelStart, cause, next));
            }
            Err(StartError::Keeper(cause)) => cause,
        };
        tracing::warn!(cause, "a kernel cannot be kept, so it ends with this program");
        let notice = format!("This kernel ends with this server, because it cannot be kept: {cause}.");
        self.state.lock().notices.push(notice);
        self.start_own().await
    }

    /// Keeps other servers from starting a kernel for the notebook. Fails if one has done so since this was chosen.
    async fn lock_start(&self, state: &StateFolder) -> Result<Option<StartLock>, Error> {
        let KernelLauncher { choice, notebook, .. } = &self.launcher;
        let Some((notebook, chosen_at)) = notebook.as_ref().zip(self.chosen_at) else { return Ok(None) };
        let lock = StartLock::take(state, notebook).await;
        let is_other = |(folder, record): (KeeperFolder, KernelFile)| {
            record.is_of(notebook, &choice.kernelspec.name, &choice.program)
                && record.started_at >= chosen_at
                && record.is_ready()
                && folder.is_kept()
        };
        if keepers(state).into_iter().any(is_other) {
            let cause = "Another server has started the kernel of this notebook.";
            return Err(Error::new(ErrorKind::KernelGone, cause, NextStep::Run));
        }
        // Without a state folder nothing is kept, which the start says.
        Ok(lock.ok())
    }

    async fn start_keeper(
        &self,
        keeping: &KernelKeeping,
        state: &StateFolder,
    ) -> Result<RunningKernel, StartError> {
        let process_env = &self.launcher.process_env;
        let no_folder = |error: io::Error| StartError::Keeper(format!("there is no folder for it ({error})"));
        let name = uuid::Uuid::new_v4().simple().to_string();
        let folder = KeeperFolder::named(state, &name).map_err(no_folder)?;
        let choice = ChosenKernel::new(&self.launcher.choice)
            .map_err(|error| StartError::Keeper(format!("its keeper cannot be started ({error})")))?;
        let spec = KeeperSpec {
            folder: folder.path.clone(),
            id: self.launcher.id.to_string(),
            choice,
            working_folder: self.launcher.folder.clone(),
            notebook: self.launcher.notebook.clone(),
            variables: process_env.variables.clone().into_iter().collect(),
            home: process_env.home.clone(),
            start_timeout: self.launcher.start_timeout,
            lifetimes: Lifetimes::of_idle(keeping.idle),
            program: keeping.program.clone(),
        };
        keeper::start(&keeping.program, &spec).await?;
        let ended = || StartError::Keeper("its keeper has ended".to_owned());
        let record = folder.record().ok_or_else(ended)?;
        let known = KeptKernel::ask(folder, record).await;
        self.state.lock().kept.is_from_earlier = false;
        self.state.lock().kept.keeper = Some(known.clone());
        let unreachable = |error: KernelError| {
            let cause = format!("The new kernel cannot be reached: {error}.");
            StartError::Kernel(LaunchError { cause, next: NextStep::TryAgain.to_string() })
        };
        let (running, _) = self.attach(&known, false).await.map_err(unreachable)?;
        install_memory_handler(running.client()).await;
        Ok(running)
    }

    /// Leaves a kernel that has a keeper to that. `false` if it has none.
    pub(super) async fn leave_to_keeper(&self) -> bool {
        if self.state.lock().kept.keeper.is_none() {
            return false;
        }
        self.state.lock().cancel_start.cancel();
        let phase = std::mem::replace(&mut self.state.lock().phase, Phase::ShutDown);
        if let Phase::Running(running) = phase
            && let Some(attached) = running.attached()
        {
            attached.logger.keeper.flush().await;
        }
        true
    }

    /// Asks the keeper to end its kernel, where there is no connection for that.
    pub(super) async fn end_keeper(&self) {
        let Some(known) = self.state.lock().kept.keeper.take() else { return };
        let Ok(stream) = known.folder.connect(&known.record).await else { return };
        if let Err(error) = tell(stream, &ClientFrame::End).await {
            tracing::warn!(%error, "a keeper does not end its kernel");
        }
    }

    /// Asks the keeper how it is, if there is one.
    pub(crate) async fn refresh(&self) {
        let Some(KeptKernel { folder, record, .. }) = self.state.lock().kept.keeper.clone() else { return };
        let known = KeptKernel::ask(folder, record).await;
        if let Some(keeper) = &mut self.state.lock().kept.keeper {
            *keeper = known;
        }
    }

    /// Whether other servers are attached to its keeper.
    pub(super) async fn has_other_servers(&self) -> bool {
        let Some(KeptKernel { folder, record, .. }) = self.state.lock().kept.keeper.clone() else {
            return false;
        };
        KeptKernel::ask(folder, record).await.attached.iter().any(|it| *it != std::process::id())
    }

    /// The runs of earlier servers that were adopted and not taken yet.
    pub(super) async fn adopted(&self) -> Vec<Orphan> {
        let is_orphaned = self
            .running()
            .is_some_and(|running| running.attached().is_some_and(AttachedKernel::has_new_orphans));
        let known = self.state.lock().kept.keeper.clone();
        // Another server has left: its runs are followed over a connection of their own.
        if let Some(known) = known.filter(|_| is_orphaned)
            && let Err(error) = self.attach(&known, false).await
        {
            tracing::warn!(%error, "the runs of a server that has ended cannot be adopted");
        }
        std::mem::take(&mut self.state.lock().kept.orphans)
    }
}

/// What an agent is told if the earlier kernel of a notebook is not used.
pub(crate) fn not_used(cause: &str) -> String {
    format!(
        "The earlier kernel of this notebook is not used: {cause}. The notebook has a new kernel, without the earlier variables."
    )
}

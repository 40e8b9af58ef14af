//! The kernels of a folder as the page sees them: from their keepers' folders and logs, so that it works beside any number of servers
//! and after their end.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use environments::ProcessEnv;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use html::Libraries;
use keeper::{
    KeeperFolder, KeeperState, KeptKernel, LogFollower, Shown, StateFolder, kept_kernels, waiting_folders,
};
use notebook::Notebook;
use parking_lot::Mutex;
use place::{Error, ErrorKind, Future, NextStep, NotebookPath, RunId, RunState};

use super::logged::seen_runs;
use super::{Machine, SeenKernel, SeenRun, already_ended};
use crate::libraries::libraries;

/// How long a line may take to be in the log of its keeper, and how often that is looked at.
const ANSWER_WAIT: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The kernels of a folder.
pub(super) struct FolderMachine {
    root: PathBuf,
    process_env: ProcessEnv,
    followed: Mutex<HashMap<PathBuf, Arc<Mutex<FollowedKernel>>>>,
    /// Held while a line is on its way, so that no second one follows it unasked.
    answering: tokio::sync::Mutex<()>,
}

/// A kernel whose log is followed.
struct FollowedKernel {
    kernel: KeptKernel,
    log: LogFollower,
}

impl FolderMachine {
    pub(super) fn new(root: &Path, process_env: &ProcessEnv) -> Self {
        Self {
            root: root.to_path_buf(),
            process_env: process_env.clone(),
            followed: Mutex::default(),
            answering: tokio::sync::Mutex::default(),
        }
    }

    /// Sends a line to a run that waits for one, and returns once the run has it.
    async fn answer(&self, run: RunId, line: String) -> Result<(), Error> {
        let _turn = self.answering.lock().await;
        if !self.waits(&run).await? {
            let cause = format!("Run {run} is not waiting for input.");
            return Err(Error::new(ErrorKind::InvalidArgument, cause, "Look at its cell."));
        }
        let answering =
            self.with_run(&run, |kernel, _, shown| kernel.clone().answering_input(shown, line))?;
        answering.await.map_err(|error| failed(&error.0))?;
        let taken = async {
            while self.waits(&run).await.unwrap_or(false) {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        // Code that asks again at once is seen to wait all the time.
        let _ = tokio::time::timeout(ANSWER_WAIT, taken).await;
        Ok(())
    }

    /// Whether a run waits for input, as its log says now. Fails if it has ended.
    async fn waits(&self, run: &RunId) -> Result<bool, Error> {
        self.seen().await;
        self.with_run(run, |_, state, _| matches!(state, RunState::WaitingForInput { .. }))
    }

    async fn seen(&self) -> Vec<SeenKernel> {
        let kept = kept_kernels(&self.process_env.state_folder()).await;
        let kept: Vec<_> = kept.into_iter().filter(|kernel| self.is_here(kernel)).collect();
        let mut seen = Vec::with_capacity(kept.len());
        let mut folders = Vec::with_capacity(kept.len());
        for kernel in kept {
            let folder = kernel.folder.path.clone();
            let followed = self.follow(folder.clone(), kernel);
            let reading = followed.clone();
            // A log that cannot be read has no runs.
            let _ = tokio::task::spawn_blocking(move || reading.lock().log.read()).await;
            seen.push(self.seen_kernel(&followed.lock()));
            folders.push(folder);
        }
        self.followed.lock().retain(|folder, _| folders.contains(folder));
        let state = self.process_env.state_folder();
        let waiting = tokio::task::spawn_blocking(move || waiting_runs(&state)).await.unwrap_or_default();
        for run in waiting.iter().flat_map(|log| seen_runs(log, true, |file| self.path(file))) {
            let mut of_notebook = seen.iter_mut().filter(|kernel| kernel.notebook == run.notebook);
            if let Some(kernel) = of_notebook.find(|_| run.notebook.is_some())
                && kernel.runs.iter().all(|known| known.id != run.id)
            {
                // Only its own server can cancel it.
                kernel.runs.push(SeenRun { is_interruptible: false, ..run });
            }
        }
        seen
    }

    /// The kernel as it is now, with its log as far as it was read.
    fn follow(&self, folder: PathBuf, kernel: KeptKernel) -> Arc<Mutex<FollowedKernel>> {
        let mut all = self.followed.lock();
        if let Some(known) = all.get(&folder) {
            known.lock().kernel = kernel;
            return known.clone();
        }
        let log = kernel.follow();
        let followed = Arc::new(Mutex::new(FollowedKernel { kernel, log }));
        all.insert(folder, followed.clone());
        followed
    }

    fn is_here(&self, kernel: &KeptKernel) -> bool {
        kernel.record.notebook.as_deref().unwrap_or(&kernel.record.folder).starts_with(&self.root)
    }

    fn path(&self, file: &Path) -> Option<NotebookPath> {
        let below = file.strip_prefix(&self.root).ok()?;
        Some(NotebookPath::from(below.to_str()?))
    }

    fn seen_kernel(&self, FollowedKernel { kernel, log }: &FollowedKernel) -> SeenKernel {
        let is_alive = !matches!(kernel.state, KeeperState::KeeperDead | KeeperState::Dead { .. });
        let runs = seen_runs(log, is_alive, |file| self.path(file));
        SeenKernel {
            id: kernel.record.id.clone(),
            process: kernel.process.filter(|_| is_alive),
            language: kernel.language.clone(),
            display_name: kernel.record.choice.display_name().to_owned(),
            state: keeper_state(&kernel.state),
            notebook: kernel.record.notebook.as_deref().and_then(|file| self.path(file)),
            started_at: Some(kernel.record.started_at),
            memory: kernel.memory,
            servers: kernel.attached.len(),
            runs,
        }
    }

    /// The kernel of a run, to be asked without the lock.
    fn with_run<T>(
        &self,
        run: &RunId,
        ask: impl FnOnce(&KeptKernel, &RunState, &Shown) -> T,
    ) -> Result<T, Error> {
        let all: Vec<_> = self.followed.lock().values().cloned().collect();
        let mut ask = Some(ask);
        for followed in all {
            let followed = followed.lock();
            let mut unfinished = followed.log.runs().filter(|(logged, _)| !logged.state.is_over());
            if let Some((logged, shown)) = unfinished.find(|(logged, _)| *logged.run == **run)
                && let Some(ask) = ask.take()
            {
                return Ok(ask(&followed.kernel, &logged.state, shown));
            }
        }
        Err(already_ended(run))
    }
}

impl Machine for FolderMachine {
    fn look(&self) -> BoxFuture<'_, Vec<SeenKernel>> {
        self.seen().boxed()
    }

    fn libraries(&self, path: &NotebookPath, notebook: &Notebook) -> BoxFuture<'_, Libraries> {
        let (file, notebook) = (self.root.join(path.as_str()), notebook.clone());
        let process_env = self.process_env.clone();
        async move {
            let found = tokio::task::spawn_blocking(move || libraries(&file, &notebook, process_env)).await;
            found.unwrap_or_default()
        }
        .boxed()
    }

    fn interrupt(&self, run: &RunId) -> Future<'_, ()> {
        let asked = self.with_run(run, |kernel, _, shown| kernel.clone().interrupting(shown));
        async move { asked?.await.map_err(|error| failed(&error.0)) }.boxed()
    }

    fn answer_input(&self, run: &RunId, line: String) -> Future<'_, ()> {
        self.answer(run.clone(), line).boxed()
    }
}

/// The logs in which servers have announced runs whose kernel is not ready.
fn waiting_runs(state: &StateFolder) -> Vec<LogFollower> {
    let folders = waiting_folders(state).into_iter().filter(KeeperFolder::is_kept);
    let logs = folders.map(|folder| LogFollower::new(&folder.path));
    logs.filter_map(|mut log| log.read().is_ok().then_some(log)).collect()
}

fn failed(cause: &str) -> Error {
    Error::new(ErrorKind::Unavailable, format!("The kernel was not reached: {cause}."), NextStep::TryAgain)
}

/// The state of a keeper in words.
pub fn keeper_state(state: &KeeperState) -> String {
    match state {
        KeeperState::Starting => "starting".to_owned(),
        KeeperState::Idle => "idle".to_owned(),
        KeeperState::Busy => "busy".to_owned(),
        KeeperState::Dead { how } => format!("dead ({how})"),
        KeeperState::KeeperDead => "ended; its last runs have not been read".to_owned(),
        KeeperState::Silent => "its keeper does not answer".to_owned(),
        KeeperState::Refused { cause } => format!("not used here ({cause})"),
    }
}

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
use keeper::{ClientFrame, KeeperState, KeptKernel, LogFollower, StopError, kept_kernels};
use kernel::log::{LoggedRun, RunStage};
use notebook::Notebook;
use parking_lot::Mutex;
use place::{Error, ErrorKind, Future, NextStep, NotebookPath, RunId};
use run_logs::{CurrentLog, RunLogs};

use super::logged::seen_runs;
use super::{Machine, SeenKernel, SeenRun, already_ended};
use crate::libraries::libraries;

/// Longest time until a line is in the log of its keeper, and the pause between two looks.
const ANSWER_WAIT: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The kernels of a folder.
pub(super) struct FolderMachine {
    root: PathBuf,
    process_env: ProcessEnv,
    logs: Mutex<HashMap<PathBuf, Log>>,
    /// The runs that waited for a kernel at the last look.
    waiting: Mutex<Vec<SeenRun>>,
    /// Held while a line is on its way, so that no second one follows it unasked.
    answering: tokio::sync::Mutex<()>,
}

/// The log of a keeper, as far as it was read.
type Log = Arc<Mutex<LogFollower>>;

impl FolderMachine {
    pub(super) fn new(root: &Path, process_env: &ProcessEnv) -> Self {
        Self {
            root: root.to_path_buf(),
            process_env: process_env.clone(),
            logs: Mutex::default(),
            waiting: Mutex::default(),
            answering: tokio::sync::Mutex::default(),
        }
    }

    /// Sends a line to a run that waits for one, and returns once the run has it.
    async fn answer(&self, run: RunId, line: String) -> Result<(), Error> {
        let _turn = self.answering.lock().await;
        let wanted = self.of_run(&run, |run| is_waiting(run).then(|| ClientFrame::answer(run, line))).await?;
        let (kernel, Some(answer)) = wanted else {
            let cause = format!("Run {run} is not waiting for input.");
            return Err(Error::new(ErrorKind::InvalidArgument, cause, "Look at its cell."));
        };
        tell(&kernel, answer).await?;
        let taken = async {
            while self.of_run(&run, is_waiting).await.is_ok_and(|(_, waits)| waits) {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        // Code that asks again at once is seen to wait all the time.
        let _ = tokio::time::timeout(ANSWER_WAIT, taken).await;
        Ok(())
    }

    /// The kernels, with their logs up to now.
    async fn kernels(&self) -> Vec<(KeptKernel, Log)> {
        let mut kernels = kept_kernels(&self.process_env.state_folder()).await;
        kernels.retain(|kernel| self.is_here(kernel));
        let followed = {
            let mut logs = self.logs.lock();
            logs.retain(|folder, _| kernels.iter().any(|kernel| kernel.folder.path == *folder));
            let log = |kernel: KeptKernel| {
                let path = &kernel.folder.path;
                let log = logs.entry(path.clone());
                let log = log.or_insert_with(|| Arc::new(Mutex::new(LogFollower::new(path)))).clone();
                (kernel, log)
            };
            kernels.into_iter().map(log).collect::<Vec<_>>()
        };
        for (_, log) in &followed {
            let log = log.clone();
            // A log that cannot be read has no runs.
            let _ = tokio::task::spawn_blocking(move || log.lock().read()).await;
        }
        followed
    }

    async fn seen(&self) -> Vec<SeenKernel> {
        // Before the logs: a run that is handed over during that time is seen here.
        let state = self.process_env.own_state_dir();
        let waiting = tokio::task::spawn_blocking(move || state.as_deref().map(waiting_runs)).await;
        let waiting = waiting.ok().flatten().unwrap_or_default();
        let waiting = waiting.iter().flat_map(|log| seen_runs(log, true, |file| self.path(file)));
        let waiting: Vec<SeenRun> = waiting.collect();
        let kernels = self.kernels().await;
        let mut seen: Vec<_> =
            kernels.iter().map(|(kernel, log)| self.seen_kernel(kernel, &log.lock())).collect();
        // A keeper may take a moment to log what has just been handed over to it.
        let before = std::mem::replace(&mut *self.waiting.lock(), waiting.clone());
        for run in waiting.into_iter().chain(before) {
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

    fn is_here(&self, kernel: &KeptKernel) -> bool {
        kernel.record.notebook.as_deref().unwrap_or(&kernel.record.folder).starts_with(&self.root)
    }

    fn path(&self, file: &Path) -> Option<NotebookPath> {
        let below = file.strip_prefix(&self.root).ok()?;
        Some(NotebookPath::from(below.to_str()?))
    }

    fn seen_kernel(&self, kernel: &KeptKernel, log: &LogFollower) -> SeenKernel {
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

    /// The kernel of a run, and what `ask` finds in its log. Fails if the run has ended.
    async fn of_run<T>(
        &self,
        run: &RunId,
        ask: impl FnOnce(&LoggedRun) -> T,
    ) -> Result<(KeptKernel, T), Error> {
        for (kernel, log) in self.kernels().await {
            let log = log.lock();
            let mut unfinished = log.runs().filter(|logged| !logged.stage.is_over());
            if let Some(logged) = unfinished.find(|logged| logged.id() == run) {
                return Ok((kernel, ask(logged)));
            }
        }
        Err(already_ended(run))
    }
}

fn is_waiting(run: &LoggedRun) -> bool {
    matches!(run.stage, RunStage::WaitingForInput { .. })
}

async fn tell(kernel: &KeptKernel, frame: Result<ClientFrame, StopError>) -> Result<(), Error> {
    let sending = async { kernel.tell(&frame?).await };
    sending.await.map_err(|error| {
        let cause = format!("The kernel was not reached: {}.", error.0);
        Error::new(ErrorKind::Unavailable, cause, NextStep::TryAgain)
    })
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
        let run = run.clone();
        async move {
            let (kernel, interrupt) = self.of_run(&run, ClientFrame::interrupt).await?;
            tell(&kernel, interrupt).await
        }
        .boxed()
    }

    fn answer_input(&self, run: &RunId, line: String) -> Future<'_, ()> {
        self.answer(run.clone(), line).boxed()
    }
}

/// The logs in which servers have announced runs whose kernel is not ready.
fn waiting_runs(state: &Path) -> Vec<LogFollower> {
    let written = RunLogs::of_waiting_runs(state).current("").into_iter().filter(CurrentLog::is_written);
    let logs = written.map(|log| LogFollower::of_file(log.path, log.start));
    logs.filter_map(|mut log| log.read().is_ok().then_some(log)).collect()
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

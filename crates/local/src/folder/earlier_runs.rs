//! The runs of earlier servers in this folder, and what later servers need to know of ours.

use std::path::Path;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use keeper::{
    KEEPER_DIED, KeeperFolder, KeeperState, KeptKernel, KernelFile, keepers, logged_run, logged_runs,
    unused_folders,
};
use kernel::log::{Announcement, LogRecord, LoggedRun, RunStage};
use notebook::CellId;
use place::{
    EarlierRuns, Error, ErrorKind, FoundRun, Future, Kernel as _, KernelId, LeftoverKernel, LeftoverRun,
    Leftovers, NextStep, NotebookPath, RunDetails, RunId, RunState, SkipReason,
};
use tokio::time::{Instant, timeout_at};
use transports::RecordLog as _;

use super::Folder;
use crate::launch::{announcement_of, details_of, kernel_state};

/// How long the first reply of a server may wait for what a keeper says, and for its log.
const TIMEOUT: Duration = Duration::from_secs(1);

const NOT_RUN: RunState = RunState::Skipped { reason: SkipReason::ServerEnded };

impl EarlierRuns for Folder {
    fn leftovers(&self) -> BoxFuture<'_, Leftovers> {
        self.find_leftovers().boxed()
    }

    fn announce(&self, run: &RunDetails) {
        if let Some((_, log)) = self.waiting.as_ref().filter(|_| self.keeping.is_some()) {
            log.append(&LogRecord::Announced(announcement_of(&self.root, run)));
        }
    }

    fn retract(&self, run: &RunId) {
        if let Some((_, log)) = &self.waiting {
            log.acknowledge(run);
        }
    }

    fn find(&self, run: &RunId) -> Future<'_, Option<FoundRun>> {
        let run = run.clone();
        async move { Ok(self.find_kept_run(&run).await) }.boxed()
    }

    fn has_running_kernel(&self, notebook: &NotebookPath) -> Future<'_, bool> {
        let notebook = self.root.resolve(notebook);
        async move { Ok(self.keeps_kernel_of(&notebook?)) }.boxed()
    }

    fn cells_to_run(&self, notebook: &NotebookPath) -> Future<'_, Vec<CellId>> {
        let notebook = notebook.clone();
        async move { self.kept_cells(&notebook).await }.boxed()
    }
}

impl Folder {
    /// The run with this id in the log of a keeper, whose kernel is joined.
    async fn find_kept_run(&self, run: &RunId) -> Option<FoundRun> {
        self.keeping.as_ref()?;
        for (folder, record) in keepers(&self.process_env.state_folder()) {
            if !self.is_here(&record) || !record.is_readable() {
                continue;
            }
            let notebook = record.notebook.as_ref().and_then(|path| self.root.relative(path));
            let (path, wanted) = (folder.path.clone(), run.clone());
            let read = tokio::task::spawn_blocking(move || logged_run(&path, &wanted));
            let Ok(Some((logged, text))) = read.await else { continue };
            let Some(kernel) = self.joined(KeptKernel::ask(folder, record).await).await else { continue };
            let notebook = notebook.map(NotebookPath::new);
            return Some(FoundRun { kernel: Some(kernel), notebook, text, state: logged.stage.into() });
        }
        self.find_waiting_run(run)
    }

    /// The run with this id among those that no keeper knew of.
    fn find_waiting_run(&self, run: &RunId) -> Option<FoundRun> {
        let (logs, _) = self.waiting.as_ref()?;
        let is_it = |announcement: &Announcement| announcement.run == *run && self.has_run(announcement);
        let (_, is_left) =
            logs.open_runs("").into_iter().find(|(waiting, _)| is_it(&waiting.announcement))?;
        let state = if is_left { NOT_RUN } else { RunState::Queued };
        Some(FoundRun { kernel: None, notebook: None, text: String::new(), state })
    }

    /// Whether a run is of this folder or of a notebook in it.
    fn has_run(&self, run: &Announcement) -> bool {
        let RunDetails { notebook, folder, .. } = RunDetails::announced(run);
        let home = notebook.as_deref().map(Path::new).or(folder.as_deref());
        home.is_none_or(|path| self.root.relative(path).is_some())
    }

    /// The cells of a notebook that kept kernels run or have still to run, whichever server wants that. Fails while a kernel starts
    /// for another server: its keeper does not know the cells yet.
    async fn kept_cells(&self, notebook: &NotebookPath) -> Result<Vec<CellId>, Error> {
        let (notebook, ours) = (self.root.resolve(notebook)?, self.live_kernels());
        let mut cells = Vec::new();
        for (folder, record) in keepers(&self.process_env.state_folder()) {
            if record.notebook.as_ref() != Some(&notebook) {
                continue;
            }
            let KeptKernel { folder, record, state, .. } = KeptKernel::ask(folder, record).await;
            let is_starting = state == KeeperState::Starting;
            if is_starting && ours.iter().all(|kernel| *kernel.id() != *record.id) {
                return Err(Error::new(
                    ErrorKind::Busy,
                    "Another server is starting a kernel for this notebook.",
                    NextStep::TryAgain,
                ));
            }
            // In the log of an idle kernel, runs of servers that were killed may have no end.
            if state == KeeperState::Busy {
                let read = tokio::task::spawn_blocking(move || logged_runs(&folder.path)).await;
                let unfinished = read.unwrap_or_default().into_iter().filter(LoggedRun::is_unfinished);
                cells.extend(
                    unfinished.filter_map(|run| RunDetails::announced(&run.record.announcement).cell),
                );
            }
        }
        Ok(cells)
    }

    async fn find_leftovers(&self) -> Leftovers {
        if self.keeping.is_none() {
            return Leftovers::default();
        }
        let mut left = Leftovers { warnings: self.unused_folders(), ..Leftovers::default() };
        let ours = self.live_kernels();
        let is_left = |(_, record): &(KeeperFolder, KernelFile)| {
            self.is_here(record) && ours.iter().all(|kernel| **kernel.id() != *record.id)
        };
        let keepers: Vec<_> = keepers(&self.process_env.state_folder()).into_iter().filter(is_left).collect();
        let deadline = Instant::now() + TIMEOUT;
        let looked = keepers.iter().map(|(folder, record)| self.left_at(folder, record, deadline));
        for ((folder, _), found) in keepers.iter().zip(join_all(looked).await) {
            report(folder, &found.runs);
            left.kernels.extend(found.kernels);
            left.runs.extend(found.runs);
            left.warnings.extend(found.warnings);
        }
        let mut waited = self.take_waiting();
        // A keeper may have learnt of them before their server ended.
        waited.retain(|run| left.runs.iter().all(|known| known.details.run != run.details.run));
        left.runs.extend(waited);
        left
    }

    /// The runs that waited when their server ended, which did not run. They are in the journal of this server from now on.
    fn take_waiting(&self) -> Vec<LeftoverRun> {
        let mut left = Vec::new();
        for (log, past) in self.waiting.iter().flat_map(|(logs, _)| logs.claim("", "")) {
            // A server of the folder takes the others.
            if past.open.iter().all(|run| self.has_run(&run.announcement)) {
                past.open.iter().for_each(|run| log.acknowledge(&run.announcement.run));
                left.extend(past.open.iter().map(|run| self.left_run(&run.announcement, NOT_RUN)));
            }
        }
        left
    }

    /// Why kernels that are kept may not be found.
    pub(super) fn unused_folders(&self) -> Vec<String> {
        if self.keeping.is_some() { unused_folders(&self.process_env.state_folder()) } else { Vec::new() }
    }

    /// What is left at one keeper. Nothing if another server uses it, which reports it.
    async fn left_at(&self, folder: &KeeperFolder, record: &KernelFile, deadline: Instant) -> Leftovers {
        let mut left = Leftovers::default();
        let notebook =
            record.notebook.as_ref().and_then(|path| self.root.relative(path)).map(NotebookPath::new);
        let asked = timeout_at(deadline, KeptKernel::ask(folder.clone(), record.clone())).await;
        let is_kept = match &asked {
            Ok(kept) if !kept.attached.is_empty() => return left,
            Ok(kept) if kept.answers() => {
                left.kernels.push(LeftoverKernel {
                    id: KernelId::new(record.id.clone()),
                    notebook,
                    started_at: record.started_at,
                    state: kernel_state(kept),
                });
                true
            }
            _ if !folder.is_kept() => false,
            Ok(KeptKernel { state: KeeperState::Silent, .. }) | Err(_) => {
                left.warnings.push(silent(record));
                return left;
            }
            // It is starting, or another server reads what it has left. A refusal is reported to the session that
            // uses the notebook.
            Ok(_) => return left,
        };
        if record.is_readable() {
            let folder = folder.clone();
            let read = tokio::task::spawn_blocking(move || unreported_runs(&folder));
            if let Ok(Ok(runs)) = timeout_at(deadline, read).await {
                left.runs = runs
                    .iter()
                    .map(|run| self.left_run(&run.record.announcement, state_without_server(run, is_kept)))
                    .collect();
            }
        }
        left
    }

    fn left_run(&self, run: &Announcement, state: RunState) -> LeftoverRun {
        let details = details_of(&self.root, run);
        let details = RunDetails { agent: String::new(), ..details };
        LeftoverRun { details, state: Some(state) }
    }
}

/// The runs that were not reported to an agent.
fn unreported_runs(folder: &KeeperFolder) -> Vec<LoggedRun> {
    let reported = folder.reported();
    let mut runs = logged_runs(&folder.path);
    runs.retain(|run| !run.record.is_acknowledged && !reported.contains(run.id()));
    runs
}

/// The state of a run now that its server has gone.
fn state_without_server(run: &LoggedRun, is_kept: bool) -> RunState {
    match &run.stage {
        RunStage::Queued if run.request().is_none() => NOT_RUN,
        stage if !is_kept && !stage.is_over() => RunState::KernelDied { how: KEEPER_DIED.into() },
        stage => stage.clone().into(),
    }
}

/// The first reply reports these. Those that are over are not reported again.
fn report(folder: &KeeperFolder, runs: &[LeftoverRun]) {
    let is_over = |run: &&LeftoverRun| run.state.as_ref().is_some_and(RunState::is_over);
    let mut over = runs.iter().filter(is_over).map(|left| &*left.details.run).peekable();
    if over.peek().is_some()
        && let Err(error) = folder.add_reported(over)
    {
        tracing::debug!(%error, "other servers will report these runs, too");
    }
}

fn silent(record: &KernelFile) -> String {
    let of = record.notebook.as_ref().map(|path| format!(" of {}", path.display())).unwrap_or_default();
    format!(
        "The keeper (process {}) of the kernel {}{of} does not answer: continue that process if it was stopped, or end it.",
        record.process, record.id
    )
}

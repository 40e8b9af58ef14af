//! What earlier servers have left in this folder.

use std::time::Duration;

use futures_util::future::join_all;
use keeper::{
    KEEPER_DIED, KeeperFolder, KernelFile, LoggedRun, NoGreeting, greet, keepers, logged_runs,
    unused_folders, waiting_folders,
};
use notebook::CellId;
use place::{
    Kernel as _, KernelId, LeftoverKernel, LeftoverRun, Leftovers, NotebookPath, RunId, RunState, SkipReason,
};
use tokio::time::{Instant, timeout_at};

use super::Folder;
use crate::launch::kernel_state;

/// How long the first reply of a server may wait for what a keeper says, and for its log.
const TIMEOUT: Duration = Duration::from_secs(1);

pub(super) const NOT_RUN: RunState = RunState::Skipped { reason: SkipReason::ServerEnded };

impl Folder {
    pub(super) async fn leftovers(&self) -> Leftovers {
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
        let waited: Vec<_> = waiting_folders(&self.process_env.state_folder())
            .iter()
            .flat_map(|it| self.take_waiting(it))
            .collect();
        // A keeper may have learnt of them before their server ended.
        let is_known = |run: &LeftoverRun| left.runs.iter().any(|known| known.run == run.run);
        let unknown: Vec<_> = waited.into_iter().filter(|run| !is_known(run)).collect();
        left.runs.extend(unknown);
        left
    }

    /// The runs that waited when their server ended, which did not run. They are in the journal of this server from now on.
    fn take_waiting(&self, folder: &KeeperFolder) -> Vec<LeftoverRun> {
        // Its server lives, or another one takes them.
        let Ok(Some(_lock)) = folder.lock() else { return Vec::new() };
        let mut runs = logged_runs(&folder.path);
        if !runs.iter().all(|run| self.has_run(run)) {
            return Vec::new();
        }
        folder.remove();
        runs.retain(|run| !run.is_acknowledged);
        runs.into_iter().map(|run| self.left_run(LoggedRun { state: NOT_RUN, ..run })).collect()
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
        let welcome = timeout_at(deadline, greet(folder, record)).await;
        let welcome = match welcome.unwrap_or(Err(NoGreeting::Silent)) {
            Ok(welcome) if !welcome.attached.is_empty() => return left,
            Ok(welcome) => Some(welcome),
            Err(_) if !folder.is_kept() => None,
            Err(NoGreeting::Silent) => {
                left.warnings.push(silent(record));
                return left;
            }
            // It is starting, or another server reads what it has left. A refusal is reported to the session that
            // uses the notebook.
            Err(NoGreeting::Absent | NoGreeting::Refused { .. }) => return left,
        };
        let is_kept = welcome.is_some();
        left.kernels.extend(welcome.map(|welcome| LeftoverKernel {
            id: KernelId::new(record.id.clone()),
            notebook,
            started_at: record.started_at,
            state: kernel_state(&welcome),
        }));
        if record.is_readable() {
            let folder = folder.clone();
            let read = tokio::task::spawn_blocking(move || unreported_runs(&folder, is_kept));
            if let Ok(Ok(runs)) = timeout_at(deadline, read).await {
                left.runs = runs.into_iter().map(|run| self.left_run(run)).collect();
            }
        }
        left
    }

    fn left_run(&self, LoggedRun { run, data, state, .. }: LoggedRun) -> LeftoverRun {
        LeftoverRun {
            run: RunId::new(run),
            notebook: data.notebook.and_then(|path| self.root.relative(&path)).map(NotebookPath::new),
            cell: data.cell.map(CellId::new),
            source: data.source,
            state: Some(state),
        }
    }
}

/// The runs that were not reported to an agent, as they are now that their server has gone.
fn unreported_runs(folder: &KeeperFolder, is_kept: bool) -> Vec<LoggedRun> {
    let reported = folder.reported();
    let mut runs = logged_runs(&folder.path);
    runs.retain(|run| !run.is_acknowledged && !reported.contains(&run.run));
    for run in &mut runs {
        match run.state {
            RunState::Queued => run.state = NOT_RUN,
            RunState::Running | RunState::WaitingForInput { .. } if !is_kept => {
                run.state = RunState::KernelDied { how: KEEPER_DIED.to_owned() };
            }
            _ => {}
        }
    }
    runs
}

/// The first reply reports these. Those that are over are not reported again.
fn report(folder: &KeeperFolder, runs: &[LeftoverRun]) {
    let is_over = |run: &&LeftoverRun| run.state.as_ref().is_some_and(RunState::is_over);
    let mut over = runs.iter().filter(is_over).map(|run| &*run.run).peekable();
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

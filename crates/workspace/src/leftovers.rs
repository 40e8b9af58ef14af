//! What earlier servers have left, as the first reply of this one reports it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use futures_util::future::join_all;
use notebook::{CellId, one_line};
use tokio::sync::OnceCell;

use crate::place::{KernelState, Place};
use crate::{KernelId, NotebookPath, RunDetails, RunId, RunState};

/// What earlier servers have left at a place. Reporting changes nothing: the session that uses a kernel takes over
/// its runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftovers {
    pub kernels: Vec<LeftoverKernel>,
    pub runs: Vec<LeftoverRun>,
    /// Why there may be more that is not used, a sentence each.
    pub warnings: Vec<String>,
}

/// A kernel to which no server is connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftoverKernel {
    pub id: KernelId,
    /// `None` if it is for code of no notebook.
    pub notebook: Option<NotebookPath>,
    pub started_at: SystemTime,
    pub state: KernelState,
}

/// A run whose outcome has not been reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftoverRun {
    pub run: RunId,
    pub notebook: Option<NotebookPath>,
    pub cell: Option<CellId>,
    pub source: String,
    /// `None` if only the notebook's kernel knows.
    pub state: Option<RunState>,
}

impl LeftoverRun {
    pub(crate) fn to_note(&self) -> RunDetails {
        let Self { run, notebook, cell, source, .. } = self.clone();
        RunDetails { run, notebook, cell, source, shown_before: None }
    }

    /// What became of it, for an agent.
    pub fn described(&self) -> String {
        let place = self.notebook.as_ref().map(|path| format!(" in {}", one_line(path))).unwrap_or_default();
        if let Some(state) = &self.state {
            return describe(&self.run, self.cell.as_ref(), &place, state, false);
        }
        let tool = if self.notebook.is_some() { "use_notebook" } else { "execute_code" };
        let state = format!("had not finished; call {tool} for its result");
        sentence(&self.run, self.cell.as_ref(), &place, &state)
    }
}

/// What became of a run of an earlier server. `did_start` tells one that was interrupted from one that never ran.
pub(crate) fn describe(
    run: &RunId,
    cell: Option<&CellId>,
    place: &str,
    state: &RunState,
    did_start: bool,
) -> String {
    let state = match state {
        RunState::Queued | RunState::Running => "is still running".to_owned(),
        RunState::WaitingForInput { prompt, .. } => format!("waits for input ({prompt:?})"),
        RunState::Done => "completed".to_owned(),
        RunState::Error { name, .. } => format!("failed with {}", one_line(name)),
        RunState::Interrupted if did_start => "was interrupted".to_owned(),
        RunState::Interrupted | RunState::Skipped => "did not run".to_owned(),
        RunState::KernelDied { how } => format!("ended because the kernel died ({})", one_line(how)),
        RunState::Lost { cause, .. } => format!("is lost ({cause})"),
        RunState::Failed(error) => error.cause.clone(),
    };
    sentence(run, cell, place, &state)
}

fn sentence(run: &RunId, cell: Option<&CellId>, place: &str, state: &str) -> String {
    let cell = cell.map(|cell| format!(" of cell {cell}")).unwrap_or_default();
    format!("From an earlier server: run {run}{cell}{place} {state}.")
}

/// What this server found at its first call, until it is reported to an agent.
#[derive(Default)]
pub(crate) struct LeftoverReport {
    found: OnceCell<Arc<Leftovers>>,
    is_reported: AtomicBool,
}

impl LeftoverReport {
    /// `None` if there is nothing to tell.
    pub(crate) async fn unreported(&self, places: &[Arc<dyn Place>]) -> Option<Arc<Leftovers>> {
        if self.is_reported.load(Ordering::Relaxed) {
            return None;
        }
        let find = async {
            let mut all = Leftovers::default();
            for Leftovers { kernels, runs, warnings } in
                join_all(places.iter().map(|place| place.leftovers())).await
            {
                all.kernels.extend(kernels);
                all.runs.extend(runs);
                all.warnings.extend(warnings);
            }
            Arc::new(all)
        };
        Some(self.found.get_or_init(|| find).await.clone())
    }

    /// `false` if it was reported before.
    pub(crate) fn report(&self) -> bool {
        !self.is_reported.swap(true, Ordering::Relaxed)
    }
}

//! What earlier servers have left at a place, in its own words.

use std::sync::Arc;
use std::time::SystemTime;

use notebook::{CellId, one_line};

use crate::kernel::{Kernel, KernelState};
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
    /// A run of which only its kernel knows what became.
    pub fn unknown(RunDetails { run, notebook, cell, source, .. }: RunDetails) -> Self {
        Self { run, notebook, cell, source, state: None }
    }

    pub fn details(&self) -> RunDetails {
        let Self { run, notebook, cell, source, .. } = self.clone();
        RunDetails { run, notebook, cell, source, ..RunDetails::default() }
    }
}

/// A sentence for agents about a run of an earlier server: `outcome` is what became of it, `completed`.
pub fn sentence(
    run: &RunId,
    cell: Option<&CellId>,
    notebook: Option<&NotebookPath>,
    outcome: &str,
) -> String {
    format!("From an earlier server: {}", clause(run, cell, notebook, outcome))
}

/// The same for a run whose end could not be seen when it was lost: it may be one of this server.
pub fn found_again(
    run: &RunId,
    cell: Option<&CellId>,
    notebook: Option<&NotebookPath>,
    outcome: &str,
) -> String {
    format!("Found again: {}", clause(run, cell, notebook, outcome))
}

fn clause(run: &RunId, cell: Option<&CellId>, notebook: Option<&NotebookPath>, outcome: &str) -> String {
    let cell = cell.map(|cell| format!(" of cell {cell}")).unwrap_or_default();
    let notebook = notebook.map(|path| format!(" in {}", one_line(path))).unwrap_or_default();
    format!("run {run}{cell}{notebook} {outcome}.")
}

/// A run of another server.
pub struct FoundRun {
    /// Its kernel, which gives it as an orphan if that server has ended; `None` if it never had one.
    pub kernel: Option<Arc<dyn Kernel>>,
    /// The notebook of that kernel; `None` if that is for code of no notebook.
    pub notebook: Option<NotebookPath>,
    /// What it has printed and returned so far, as plain text.
    pub text: String,
    /// How far it is, as far as its kernel's log tells.
    pub state: RunState,
}

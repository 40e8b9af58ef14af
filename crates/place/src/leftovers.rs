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
    pub details: RunDetails,
    /// `None` if only the notebook's kernel knows.
    pub state: Option<RunState>,
}

/// A sentence for agents about a run of an earlier server: `outcome` is what became of it, `completed`. One that `was_lost` could not
/// be seen to its end, and may be one of this server.
pub fn sentence(
    run: &RunId,
    cell: Option<&CellId>,
    notebook: Option<&NotebookPath>,
    outcome: &str,
    was_lost: bool,
) -> String {
    let origin = if was_lost { "Found again" } else { "From an earlier server" };
    let cell = cell.map(|cell| format!(" of cell {cell}")).unwrap_or_default();
    let notebook = notebook.map(|path| format!(" in {}", one_line(path))).unwrap_or_default();
    format!("{origin}: run {run}{cell}{notebook} {outcome}.")
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

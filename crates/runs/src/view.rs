use std::sync::Arc;
use std::time::Duration;

use notebook::{CellId, Output};

use crate::memory_changes::MemoryChanges;
use place::{NotebookPath, RunState, SaveStatus};

/// The cell that a run belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunCell {
    /// The notebook's path.
    pub path: NotebookPath,
    pub id: CellId,
}

/// A run at one moment.
#[derive(Debug, Clone)]
pub struct RunView {
    pub state: RunState,
    /// Those of the cell, and last what went into `Output` widgets of other cells. Large contents are shared, not copied.
    pub outputs: Arc<[Output]>,
    /// About the size of the outputs.
    pub bytes: usize,
    /// The number in `In[n]`, once the kernel has reported it.
    pub execution_count: Option<u64>,
    /// What else an agent should know, a sentence each.
    pub notes: Vec<String>,
    /// Sentences about its kernel, which are not about this run.
    pub notices: Vec<String>,
    /// How long the kernel has worked on it, to the end or to now. A run with which it has not begun has waited so long.
    pub elapsed: Duration,
    /// How long it has waited for its kernel: for the start, for other runs, and for what others run there.
    pub queued: Duration,
    /// Its cell has the tag `raises-exception`: an error does not fail it.
    pub may_fail: bool,
    /// Whether the outputs are stored in the cell, once that was tried.
    pub saved: Option<SaveStatus>,
    /// What it has changed in memory, once that is known.
    pub changes: Option<MemoryChanges>,
}

impl RunView {
    /// Whether its outputs are where they belong.
    pub fn is_stored(&self) -> bool {
        self.saved.as_ref().is_none_or(|saved| *saved == SaveStatus::OnDisk)
    }
}

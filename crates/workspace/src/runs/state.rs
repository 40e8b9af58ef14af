use std::sync::Arc;
use std::time::Duration;

use kernel::LossCause;
use notebook::{CellId, Output};

use super::memory_changes::MemoryChanges;
use crate::{Error, NotebookPath, SaveStatus};

/// How far a run is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunState {
    /// It waits for its kernel to start, or for other runs of that kernel.
    Queued,
    Running,
    /// The code waits for a line of input from a person.
    WaitingForInput {
        prompt: String,
        /// The reply must not be shown, for example a password.
        is_password: bool,
    },
    Done,
    /// The code raised an exception.
    Error {
        name: String,
        value: String,
    },
    /// It was stopped on request, or never started because of one.
    Interrupted,
    /// It is over, and how it ended cannot be known.
    Lost {
        /// The kernel had reported that it runs this.
        is_started: bool,
        cause: LossCause,
    },
    /// The kernel's process ended before the run did.
    KernelDied {
        how: String,
    },
    /// It could not be started.
    Failed(Error),
    /// It was one of several, and its cell has the tag `skip-execution`.
    Skipped,
}

impl RunState {
    /// Whether it has ended. Only late output of threads may follow.
    pub fn is_over(&self) -> bool {
        !matches!(self, Self::Queued | Self::Running | Self::WaitingForInput { .. })
    }

    pub fn is_failure(&self) -> bool {
        self.is_over() && !matches!(self, Self::Done | Self::Skipped)
    }

    /// The name in lists and traces.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::WaitingForInput { .. } => "waiting_for_input",
            Self::Done => "done",
            Self::Error { .. } => "error",
            Self::Interrupted => "interrupted",
            Self::Lost { .. } => "lost",
            Self::KernelDied { .. } => "kernel_died",
            Self::Failed(_) => "failed",
            Self::Skipped => "skipped",
        }
    }
}

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
    /// Large contents are shared, not copied.
    pub outputs: Arc<[Output]>,
    /// The number in `In[n]`, once the kernel has reported it.
    pub execution_count: Option<u64>,
    /// What else an agent should know, a sentence each.
    pub notes: Vec<String>,
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

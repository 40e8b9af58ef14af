//! What there is to know of a run at one moment.

use std::sync::Arc;
use std::time::Duration;

use notebook::Output;

use crate::{Error, SaveStatus};

/// How far a run is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunState {
    /// It waits for its kernel to start, or for other runs of that kernel.
    Queued,
    /// The kernel works on it.
    Running,
    /// The kernel waits for a line from a person.
    WaitingForInput {
        /// What the kernel asks.
        prompt: String,
        /// Whether the answer must not be shown.
        is_password: bool,
    },
    /// It ended well.
    Done,
    /// It ended with an error of the code.
    Error {
        /// The exception's name.
        name: String,
        /// What it says.
        value: String,
    },
    /// It was stopped on request.
    Interrupted,
    /// The kernel ended under it, and how.
    KernelDied(String),
    /// It could not be started.
    Failed(Error),
}

impl RunState {
    /// Whether nothing more will come, but for late output of threads.
    pub fn is_over(&self) -> bool {
        !matches!(self, Self::Queued | Self::Running | Self::WaitingForInput { .. })
    }

    /// Whether it is over and did not end well.
    pub fn is_failure(&self) -> bool {
        self.is_over() && *self != Self::Done
    }
}

/// Whether an error of this name is what an interrupt makes. Some kernels give none.
pub(crate) fn is_interruption(name: &str) -> bool {
    name.is_empty() || name.to_lowercase().contains("interrupt")
}

/// The cell that a run belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunCell {
    /// The notebook's path.
    pub path: String,
    /// The cell's id.
    pub id: String,
}

/// A run as it stands at one moment.
#[derive(Debug, Clone)]
pub struct RunView {
    /// How far it is.
    pub state: RunState,
    /// What it has put out so far. Large contents are shared, not copied.
    pub outputs: Arc<[Output]>,
    /// The number in `In[n]`, once the kernel has told it.
    pub execution_count: Option<u64>,
    /// What else an agent should know, a sentence each.
    pub notes: Vec<String>,
    /// From the request to the end, or to now.
    pub elapsed: Duration,
    /// Whether the outputs are stored in the cell, once that was tried.
    pub saved: Option<SaveStatus>,
}

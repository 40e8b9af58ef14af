//! How far a run is.

use kernel::LossCause;

use crate::Error;

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

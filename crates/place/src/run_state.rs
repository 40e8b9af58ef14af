//! How far a run is.

use std::fmt;

use connection::NextStep;
use kernel::log::RunStage;
use kernel::{Death, LossCause, Outcome, is_interrupt};
use notebook::one_line;

use crate::{Error, ErrorKind};

/// How far a run is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RunState {
    /// It waits for its kernel to start, or for other runs of that kernel.
    #[default]
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
    /// Somebody interrupted it.
    Interrupted,
    /// It is over, and how it ended cannot be known.
    Lost {
        /// The kernel had reported that it runs this.
        is_started: bool,
        cause: LossCause,
    },
    /// The kernel's process ended before the run did.
    KernelDied {
        how: Death,
    },
    /// It could not be started.
    Failed(Error),
    /// It never ran.
    Skipped {
        reason: SkipReason,
    },
}

/// Why a run never ran. It is shown as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// Its cell has the tag `skip-execution`, and it was one of several.
    Tag,
    /// It was withdrawn before its turn.
    Cancelled,
    /// The kernel dropped it because code before it failed.
    Aborted,
    /// Its kernel was restarted before its turn.
    Restarted,
    /// Its server ended before its turn.
    ServerEnded,
    /// Somebody else than who requested it has deleted its cell.
    CellDeleted,
    /// The kernel was idle without a reply: the request was interrupted before its code.
    NoReply,
    /// Cellbridge shut down before its turn.
    ShutDown,
    /// Nothing more of its series of cells runs, and why: `cell 2 ended because the kernel died`.
    SeriesStopped(String),
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tag => "The cell has the tag skip-execution.",
            Self::Cancelled => "The run was cancelled before it started.",
            Self::Aborted => "Code before it in the kernel's queue failed.",
            Self::Restarted => "The kernel was restarted before the run started.",
            Self::CellDeleted => "The cell was deleted before its turn.",
            Self::ServerEnded => "The run's server stopped before its turn.",
            Self::NoReply => {
                "The kernel went idle without replying: the request was interrupted before it started."
            }
            Self::ShutDown => "Cellbridge shut down before the run started.",
            Self::SeriesStopped(cause) => return write!(f, "It did not run: {cause}."),
        })
    }
}

impl From<RunStage> for RunState {
    fn from(stage: RunStage) -> Self {
        match stage {
            RunStage::Queued => Self::Queued,
            RunStage::Running => Self::Running,
            RunStage::WaitingForInput { prompt, is_password } => {
                Self::WaitingForInput { prompt, is_password }
            }
            RunStage::Withdrawn => Self::Skipped { reason: SkipReason::Cancelled },
            RunStage::Over(outcome) => Self::of_outcome(outcome),
        }
    }
}

impl RunState {
    /// The state of a run whose execution has ended so.
    pub fn of_outcome(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done { .. } => Self::Done,
            Outcome::Error { name, .. } if is_interrupt(&name) => Self::Interrupted,
            Outcome::Error { name, value, .. } => Self::Error { name, value },
            Outcome::Interrupted { is_started: true } => Self::Interrupted,
            Outcome::Interrupted { is_started: false } => Self::Skipped { reason: SkipReason::NoReply },
            Outcome::Aborted => Self::Skipped { reason: SkipReason::Aborted },
            Outcome::KernelDied { how } => Self::KernelDied { how },
            Outcome::Lost { is_started, cause } => Self::Lost { is_started, cause },
            Outcome::Refused { cause } => {
                Self::Failed(Error::new(ErrorKind::RemoteFailure, cause, NextStep::ReadNotebook))
            }
        }
    }

    /// Whether it has ended. Only late output of threads may follow.
    pub fn is_over(&self) -> bool {
        !matches!(self, Self::Queued | Self::Running | Self::WaitingForInput { .. })
    }

    pub fn is_failure(&self) -> bool {
        let is_skipped = |reason: &SkipReason| matches!(reason, SkipReason::Tag | SkipReason::CellDeleted);
        match self {
            Self::Done => false,
            Self::Skipped { reason } => !is_skipped(reason),
            _ => self.is_over(),
        }
    }

    /// What became of the run, as the end of a sentence about it.
    pub fn outcome(&self) -> String {
        match self {
            Self::Queued => "is queued".to_owned(),
            Self::Running => "is still running".to_owned(),
            Self::WaitingForInput { prompt, .. } => format!("waits for input ({prompt:?})"),
            Self::Done => "completed".to_owned(),
            Self::Error { name, .. } => format!("failed with {}", one_line(name)),
            Self::Interrupted => "was interrupted".to_owned(),
            Self::Skipped { .. } => "did not run".to_owned(),
            Self::KernelDied { how: Death::Restarted } => "ended because the kernel was restarted".to_owned(),
            Self::KernelDied { how } => {
                format!("ended because the kernel died ({})", one_line(&how.to_string()))
            }
            Self::Lost { cause, .. } => format!("is lost ({cause})"),
            Self::Failed(error) => error.cause.clone(),
        }
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
            Self::Skipped { .. } => "skipped",
        }
    }
}

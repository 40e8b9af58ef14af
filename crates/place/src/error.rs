//! Failures that an agent or a person can act on.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use crate::NextStep;

/// Who can do something about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The agent requested something that cannot be done.
    Agent,
    /// A person has to act, for example accept a prompt or free disk space.
    Person,
    /// The page or server at the other end refused, failed or disconnected.
    Remote,
    /// This program failed.
    Internal,
}

impl Fault {
    /// The name in traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Person => "person",
            Self::Remote => "remote",
            Self::Internal => "internal",
        }
    }
}

/// What kind of failure it was, for code and traces. Each kind is usually the fault of the same party.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// An argument is missing, malformed or out of range.
    InvalidArgument,
    /// The notebook, cell, kernel, run or file does not exist.
    NotFound,
    /// It exists already, or somebody changed it since the caller read it.
    Conflict,
    /// Others keep changing or locking it.
    Busy,
    /// The session has reached one of its limits.
    LimitReached,
    /// The place cannot do this.
    Unsupported,
    /// The operator does not allow this.
    Forbidden,
    /// The server does not accept the token or login.
    Unauthorized,
    /// Something that a person manages is missing or unusable: a file, a disk, an interpreter, a browser tab.
    Unavailable,
    /// The kernel's process could not be started, or did not become ready.
    KernelStart,
    /// The kernel was shut down, by whomever.
    KernelGone,
    /// There is no connection, or it ended.
    Disconnected,
    /// No response in time.
    Timeout,
    /// The other end failed, or answered with something unusable.
    RemoteFailure,
    /// A defect of this program.
    Internal,
}

impl ErrorKind {
    fn usual_fault(self) -> Fault {
        match self {
            Self::InvalidArgument
            | Self::NotFound
            | Self::Conflict
            | Self::LimitReached
            | Self::Unsupported
            | Self::Forbidden => Fault::Agent,
            Self::Unauthorized | Self::Unavailable | Self::KernelStart => Fault::Person,
            Self::Busy | Self::KernelGone | Self::Disconnected | Self::Timeout | Self::RemoteFailure => {
                Fault::Remote
            }
            Self::Internal => Fault::Internal,
        }
    }

    /// The name in traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidArgument => "invalid_argument",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::Busy => "busy",
            Self::LimitReached => "limit_reached",
            Self::Unsupported => "unsupported",
            Self::Forbidden => "forbidden",
            Self::Unauthorized => "unauthorized",
            Self::Unavailable => "unavailable",
            Self::KernelStart => "kernel_start",
            Self::KernelGone => "kernel_gone",
            Self::Disconnected => "disconnected",
            Self::Timeout => "timeout",
            Self::RemoteFailure => "remote_failure",
            Self::Internal => "internal",
        }
    }
}

/// A failure of one request: what happened, whose fault it is, and the next step that helps.
///
/// ```
/// use place::{Error, ErrorKind, Fault, NextStep};
///
/// let error = Error::new(ErrorKind::NotFound, "There is no kernel \"k7\".", NextStep::ListKernels);
/// assert_eq!(error.fault, Fault::Agent);
/// ```
#[derive(Debug, Clone)]
pub struct Error {
    pub kind: ErrorKind,
    pub fault: Fault,
    /// What happened: one or two sentences without a trailing newline.
    pub cause: String,
    /// The cause as an error value, for logs. `cause` contains what agents need of it.
    pub source: Option<Arc<dyn StdError + Send + Sync>>,
    pub next: NextStep,
}

impl Error {
    /// The fault is the usual one of the kind. A plain sentence as the next step must not name tools or flags.
    pub fn new(kind: ErrorKind, cause: impl Into<String>, next: impl Into<NextStep>) -> Self {
        Self { kind, fault: kind.usual_fault(), cause: cause.into(), source: None, next: next.into() }
    }

    /// Sets another fault than the usual one of the kind.
    #[must_use]
    pub fn with_fault(self, fault: Fault) -> Self {
        Self { fault, ..self }
    }

    #[must_use]
    pub fn with_source(self, source: impl StdError + Send + Sync + 'static) -> Self {
        Self { source: Some(Arc::new(source)), ..self }
    }

    /// People may have the notebook open, which a new file in its place would not reach.
    pub fn is_notebook_file(path: &str) -> Self {
        Self::new(
            ErrorKind::InvalidArgument,
            format!(
                "{path:?} is a notebook, and a file copy does not replace notebooks. It was not changed."
            ),
            "Copy it as a notebook, which replaces its cells, or choose another path.",
        )
    }

    pub fn is_folder(path: &str) -> Self {
        Self::new(
            ErrorKind::InvalidArgument,
            format!("{path:?} is a folder, not a file."),
            "Name the file; for a copy of the same name in the folder, end its path with a slash.",
        )
    }

    pub fn file_exists(path: &str) -> Self {
        Self::new(
            ErrorKind::Conflict,
            format!("There is already a file {path:?}. It was not changed."),
            NextStep::Overwrite,
        )
    }

    pub fn no_kernel(id: &str) -> Self {
        Self::new(
            ErrorKind::NotFound,
            format!("There is no kernel with the id {id:?}."),
            NextStep::ListKernels,
        )
    }
}

/// The cause and the next step, in words that fit everywhere. Where agents or people read an error, the next step is
/// worded by the crate that they use: with the names of tools or of options.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&connection::joined(&self.cause, &self.next.to_string()))
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// The source is left out: it cannot be compared.
impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        let parts = |error: &Self| (error.kind, error.fault);
        parts(self) == parts(other) && self.cause == other.cause && self.next == other.next
    }
}

impl Eq for Error {}

/// A reference that matches no cell; the message names the nearest ones.
impl From<notebook::CellRefError> for Error {
    fn from(error: notebook::CellRefError) -> Self {
        Self::new(ErrorKind::NotFound, format!("{error}."), NextStep::NameCell).with_source(error)
    }
}

//! Failures in words for an agent.

use std::fmt::Display;

use rest::{Kind, RestError};
use workspace::{Error, ErrorKind, NextStep};

/// A failure of a request.
pub(crate) fn of(error: RestError) -> Error {
    let kind = match error.kind {
        Kind::NotFound => ErrorKind::NotFound,
        Kind::Conflict => ErrorKind::Conflict,
        Kind::Unauthorized | Kind::Forbidden => ErrorKind::Unauthorized,
        Kind::Address
        | Kind::Unreachable
        | Kind::Tls
        | Kind::Stopped
        | Kind::NotJupyter
        | Kind::Unsupported => ErrorKind::Unavailable,
        Kind::Timeout => ErrorKind::Timeout,
        Kind::Starting | Kind::Refused | Kind::Server | Kind::TooLarge | Kind::Malformed => {
            ErrorKind::RemoteFailure
        }
    };
    let next = match error.next.clone() {
        rest::NextStep::Say(sentence) => NextStep::Say(sentence),
        rest::NextStep::GiveAddress => NextStep::GiveServerAddress,
        rest::NextStep::GiveToken { obtain } => NextStep::GiveToken { obtain },
        rest::NextStep::GivePassword => NextStep::GivePassword,
        rest::NextStep::GiveCertificate => NextStep::GiveCertificate,
    };
    Error::new(kind, error.cause.clone(), next).with_source(error)
}

/// There is no such notebook.
pub(crate) fn no_notebook(path: &str, server: &str) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("There is no notebook {path:?} on {server}."),
        "list_notebooks shows those that there are; use_notebook with mode \"create\" makes a new one.",
    )
}

/// What is there is no notebook.
pub(crate) fn not_a_notebook(path: &str, why: &str) -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        format!("{path:?} is not a notebook: {why}."),
        "Give the path of an .ipynb file; list_notebooks shows those that there are.",
    )
}

/// What is in the file, or came from a room, cannot be read as a notebook.
pub(crate) fn unreadable(path: &str, problem: &dyn Display) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!("{path:?} does not hold a readable notebook: {problem}. Nothing was written."),
        "Repair it or restore it from a backup, or use another notebook.",
    )
}

/// An edit does not fit the notebook.
pub(crate) fn refused(path: &str, why: &dyn Display) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("The notebook {path:?} was not changed: {why}."),
        "Call read_notebook to see the cells as they are now, then try again.",
    )
}

/// A task of ours ended without an answer.
pub(crate) fn ours(error: &dyn Display) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("The work on the notebook was cut short: {error}."),
        "Read it, then try again.",
    )
}

//! Failures in words for an agent.

use std::fmt::Display;

use rest::{Kind, RestError};
use workspace::{Error, Side};

/// A failure of a request.
pub(crate) fn of(error: RestError) -> Error {
    let side = match error.kind {
        Kind::NotFound | Kind::Conflict => Side::Agent,
        Kind::Address
        | Kind::Unreachable
        | Kind::Tls
        | Kind::Unauthorized
        | Kind::Forbidden
        | Kind::Stopped
        | Kind::NotJupyter
        | Kind::Unsupported => Side::Person,
        Kind::TooSlow | Kind::Starting | Kind::Refused | Kind::Server | Kind::TooLarge | Kind::Malformed => {
            Side::Place
        }
    };
    Error::new(side, error.cause, error.hint)
}

/// There is no such notebook.
pub(crate) fn no_notebook(path: &str, server: &str) -> Error {
    Error::new(
        Side::Agent,
        format!("There is no notebook {path:?} on {server}."),
        "list_notebooks shows those that there are; use_notebook with mode \"create\" makes a new one.",
    )
}

/// What is there is no notebook.
pub(crate) fn not_a_notebook(path: &str, why: &str) -> Error {
    Error::new(
        Side::Agent,
        format!("{path:?} is not a notebook: {why}."),
        "Give the path of an .ipynb file; list_notebooks shows those that there are.",
    )
}

/// What is in the file, or came from a room, cannot be read as a notebook.
pub(crate) fn unreadable(path: &str, problem: &dyn Display) -> Error {
    Error::new(
        Side::Person,
        format!("{path:?} does not hold a readable notebook: {problem}. Nothing was written."),
        "Repair it or restore it from a backup, or use another notebook.",
    )
}

/// An edit does not fit the notebook.
pub(crate) fn refused(path: &str, why: &dyn Display) -> Error {
    Error::new(
        Side::Agent,
        format!("The notebook {path:?} was not changed: {why}."),
        "Call read_notebook to see the cells as they are now, then try again.",
    )
}

/// A task of ours ended without an answer.
pub(crate) fn ours(error: &dyn Display) -> Error {
    Error::new(
        Side::Us,
        format!("The work on the notebook was cut short: {error}."),
        "Read it, then try again.",
    )
}

//! Failures of requests to a server, as agents and people read them.

use place::{Error, ErrorKind, Fault, NextStep};
use rest::{Kind, RestError};

pub(crate) fn of(error: RestError) -> Error {
    let next = if error.kind == Kind::Gone { NextStep::StartMachine } else { error.next.clone() };
    let kind = match error.kind {
        Kind::NotFound => ErrorKind::NotFound,
        Kind::Conflict => ErrorKind::Conflict,
        Kind::Unauthorized | Kind::Forbidden => ErrorKind::Unauthorized,
        Kind::Address
        | Kind::Unreachable
        | Kind::Tls
        | Kind::Stopped
        | Kind::Gone
        | Kind::NotJupyter
        | Kind::Unsupported => ErrorKind::Unavailable,
        Kind::Timeout => ErrorKind::Timeout,
        Kind::Starting | Kind::Refused | Kind::Server | Kind::TooLarge | Kind::Malformed => {
            ErrorKind::RemoteFailure
        }
    };
    let (cause, is_gone) = (error.cause.clone(), error.kind == Kind::Gone);
    let error = Error::new(kind, cause, next).with_source(error);
    if is_gone { error.with_fault(Fault::Remote) } else { error }
}

pub(crate) fn no_notebook(path: &str, server: &str) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("There is no notebook {path:?} on {server}."),
        NextStep::ListNotebooks,
    )
}

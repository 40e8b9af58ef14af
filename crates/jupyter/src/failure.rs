//! Failures of requests to a server, as agents and people read them.

use place::{Error, ErrorKind, Fault, NextStep};
use rest::{Kind, RestError};

pub(crate) fn of(error: RestError) -> Error {
    if error.kind == Kind::Gone {
        return Error::new(ErrorKind::Unavailable, error.cause.clone(), NextStep::StartMachine)
            .with_fault(Fault::Remote)
            .with_source(error);
    }
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
    Error::new(kind, error.cause.clone(), error.next.clone()).with_source(error)
}

pub(crate) fn no_notebook(path: &str, server: &str) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("There is no notebook {path:?} on {server}."),
        NextStep::ListNotebooks,
    )
}

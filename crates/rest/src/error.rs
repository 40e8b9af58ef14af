//! Failures of requests to a server.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use connection::NextStep;

/// What kind of failure it was, for callers that act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The address (or another option) cannot be used.
    Address,
    /// No connection, or it broke. Trying again may help.
    Unreachable,
    /// TLS failed: an unknown issuer, a wrong name.
    Tls,
    /// No response in time. Trying again may help.
    Timeout,
    /// The token or password is missing or wrong.
    Unauthorized,
    /// The token is known, but does not allow this.
    Forbidden,
    /// The file, kernel or session does not exist.
    NotFound,
    /// Something is in the way: a file of that name, a newer version.
    Conflict,
    /// The server has ended for good, with everything on it.
    Gone,
    /// The Hub has stopped the server, and can start it.
    Stopped,
    /// The Hub is starting the server. Trying again will help.
    Starting,
    /// Something responds at the address, but it is not a Jupyter server.
    NotJupyter,
    /// The server refused the content of the request.
    Refused,
    /// The server failed, for example because its disk is full.
    Server,
    /// The response is larger than the limit.
    TooLarge,
    /// The response does not follow the protocol.
    Malformed,
    /// The server is too old, or does not have the feature.
    Unsupported,
}

/// A failed request: what happened, and the action that helps. It contains no secret.
#[derive(Debug, Clone)]
pub struct RestError {
    pub kind: Kind,
    /// What happened, in one line.
    pub cause: String,
    /// The cause as an error value, for logs.
    pub source: Option<Arc<dyn Error + Send + Sync>>,
    pub next: NextStep,
}

impl RestError {
    pub fn new(kind: Kind, cause: impl Into<String>, next: impl Into<NextStep>) -> Self {
        Self { kind, cause: cause.into(), source: None, next: next.into() }
    }

    /// For requests that this program should not have made.
    pub(crate) fn defect(kind: Kind, cause: impl Into<String>) -> Self {
        Self::new(kind, cause, "This is a defect of this program; please report it.")
    }

    #[must_use]
    pub(crate) fn with_source(self, source: impl Error + Send + Sync + 'static) -> Self {
        Self { source: Some(Arc::new(source)), ..self }
    }

    /// Whether the server may not support the request. A program in front of it may answer with any of these.
    pub(crate) fn is_unsupported(&self) -> bool {
        matches!(self.kind, Kind::Unsupported | Kind::Refused | Kind::NotFound | Kind::Server)
    }

    /// Whether the same request may succeed later without anybody's help.
    pub fn is_transient(&self) -> bool {
        matches!(self.kind, Kind::Unreachable | Kind::Timeout | Kind::Starting)
    }
}

impl fmt::Display for RestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&connection::joined(&self.cause, &self.next.to_string()))
    }
}

impl Error for RestError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// The source is left out: it cannot be compared.
impl PartialEq for RestError {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.cause == other.cause && self.next == other.next
    }
}

impl Eq for RestError {}

pub type Result<T, E = RestError> = std::result::Result<T, E>;

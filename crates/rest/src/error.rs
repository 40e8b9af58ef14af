//! Why a server could not do what it was asked.

use std::fmt;

/// What kind of failure it was, for callers that act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The address (or another option) cannot be used as it is.
    Address,
    /// No connection, or it broke. Trying again may help.
    Unreachable,
    /// The connection cannot be made safe: an unknown issuer, a wrong name.
    Tls,
    /// No answer within its time. Trying again may help.
    TooSlow,
    /// The token or password is missing or wrong.
    Unauthorized,
    /// The token is known, but does not allow this.
    Forbidden,
    /// There is no such file, kernel or session.
    NotFound,
    /// Something is in the way: a file of that name, a newer version.
    Conflict,
    /// The server behind a Hub is stopped; the Hub can start it.
    Stopped,
    /// The server behind a Hub is being started. Trying again will help.
    Starting,
    /// Something answers at the address, but it is no Jupyter server.
    NotJupyter,
    /// The server refused the content of the request.
    Refused,
    /// The server failed, for example because its disk is full.
    Server,
    /// The answer is larger than we take.
    TooLarge,
    /// The answer is not what the protocol says.
    Malformed,
    /// The server is too old, or lacks what is asked for.
    Unsupported,
}

/// A failure in two parts: what happened, and the step that mends it. It holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestError {
    /// What kind of failure it was.
    pub kind: Kind,
    /// What happened, in one line.
    pub cause: String,
    /// What mends it, in one line; never empty.
    pub hint: String,
}

impl RestError {
    /// Makes an error from its parts.
    pub fn new(kind: Kind, cause: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind, cause: cause.into(), hint: hint.into() }
    }

    /// Whether the same request may succeed later without anybody's help.
    pub fn is_passing(&self) -> bool {
        matches!(self.kind, Kind::Unreachable | Kind::TooSlow | Kind::Starting)
    }
}

impl fmt::Display for RestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.cause, self.hint)
    }
}

impl std::error::Error for RestError {}

/// What the methods of this crate return.
pub type Result<T, E = RestError> = std::result::Result<T, E>;

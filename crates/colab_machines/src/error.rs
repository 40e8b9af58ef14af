//! Failures of the sign-in.

use std::fmt;
use std::time::Duration;

use place::{ErrorKind, Fault};

/// What the person does next. The command line words it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Sign in again.
    SignIn,
    /// Sign in again, and allow everything that Google lists.
    GrantColab,
    /// Create an OAuth client for a desktop app, and sign in with its file.
    CreateClient,
    /// Check the OAuth client, its project and the test users, and sign in again.
    CheckClient,
    /// Enable the API in the project of the OAuth client, or ask Google to open it.
    EnableApi,
    /// Make the file readable by its owner only.
    ClosePermissions,
    /// Repeat the command later.
    Repeat,
}

/// What happened, whose fault it is, and the next step. It contains no token, code or secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginError {
    pub kind: ErrorKind,
    pub fault: Fault,
    /// One or two sentences.
    pub cause: String,
    pub next: Next,
}

impl LoginError {
    /// Nobody has answered for so long.
    pub fn no_answer(waited: Duration) -> Self {
        let cause = format!("Google did not answer within {} minutes.", waited.as_secs() / 60);
        Self::of_person(ErrorKind::Timeout, cause, Next::SignIn)
    }

    pub(crate) fn of_person(kind: ErrorKind, cause: impl Into<String>, next: Next) -> Self {
        Self { kind, fault: Fault::Person, cause: cause.into(), next }
    }

    pub(crate) fn of_google(kind: ErrorKind, cause: impl Into<String>, next: Next) -> Self {
        Self { kind, fault: Fault::Remote, cause: cause.into(), next }
    }
}

impl fmt::Display for LoginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)
    }
}

impl std::error::Error for LoginError {}

pub type Result<T, E = LoginError> = std::result::Result<T, E>;

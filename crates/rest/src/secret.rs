//! Tokens and passwords of servers.

use std::fmt;

/// A token or a password. Its `Debug` form does not tell it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a secret. `None` if it is empty.
    pub fn new(secret: impl Into<String>) -> Option<Self> {
        Some(secret.into()).filter(|secret| !secret.is_empty()).map(Self)
    }

    /// The secret itself, for the one place where it has to be shown.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

//! Failures that an agent or a person can act on.

use std::fmt;

/// Whose move mends a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The agent sent something that cannot be served.
    Agent,
    /// A person has to do something, for example accept a prompt.
    Person,
    /// The page or server at the other end refused or went away.
    Place,
    /// This program failed.
    Us,
}

/// A failure of one tool call: who has to act, what happened, and the next step that mends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Whose move it is.
    pub side: Side,
    /// What happened, one or two sentences, without a trailing newline.
    pub cause: String,
    /// The next tool call or human action; never empty.
    pub hint: String,
}

impl Error {
    /// Makes an error from its three parts.
    pub fn new(side: Side, cause: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { side, cause: cause.into(), hint: hint.into() }
    }

    /// There is no kernel with this id.
    pub fn no_kernel(id: &str) -> Self {
        Self::new(
            Side::Agent,
            format!("There is no kernel with the id {id:?}."),
            "list_kernels shows those that there are; leave kernel_id out to use the notebook's own. use_notebook takes NEW for another.",
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.cause, self.hint)
    }
}

impl std::error::Error for Error {}

/// A reference that means no cell; it names the nearest ones.
impl From<notebook::CellRefError> for Error {
    fn from(error: notebook::CellRefError) -> Self {
        let hint = "read_notebook lists the cells with index, id and execution count.";
        Self::new(Side::Agent, format!("{error}."), hint)
    }
}

//! The names by which notebooks, runs, kernels and sessions are referred to.

use std::fmt;

use notebook::text_id;

text_id! {
    /// The path of a notebook from the root of its place, with `/`. Where it is shown, the place's prefix precedes it;
    /// accepted paths may omit the prefix.
    NotebookPath
}

text_id! {
    /// A kernel. Unique within its place.
    KernelId
}

/// An agent's session, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(u64);

impl SessionId {
    pub fn new(number: u64) -> Self {
        Self(number)
    }

    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

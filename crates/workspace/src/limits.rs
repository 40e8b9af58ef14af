//! Limits of one session, so that one agent cannot use up a machine that others share.

use place::{Error, ErrorKind, NextStep};

/// The operator's limits for each session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The number of open notebooks.
    pub notebooks: usize,
    /// The number of unfinished runs. Cells that are run in order count as one run.
    pub runs: usize,
}

impl Default for Limits {
    /// No limits.
    fn default() -> Self {
        Self { notebooks: usize::MAX, runs: usize::MAX }
    }
}

impl Limits {
    /// Fails if `open` notebooks are open already and another one would exceed the limit.
    pub(crate) fn check_notebooks(self, open: usize) -> Result<(), Error> {
        if open < self.notebooks {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::LimitReached,
            format!("This session has reached its limit of open notebooks ({open})."),
            NextStep::CloseNotebook,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_limits_by_default() {
        assert!(Limits::default().check_notebooks(1 << 40).is_ok());
    }
}

//! How much one session may have at a time, so that one agent leaves room for others.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{Error, ErrorKind, NextStep};

/// What the operator allows each session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many notebooks it may have open.
    pub notebooks: usize,
    /// How many runs it may have under way; cells that are run in order are one.
    pub runs: usize,
}

impl Default for Limits {
    /// None.
    fn default() -> Self {
        Self { notebooks: usize::MAX, runs: usize::MAX }
    }
}

impl Limits {
    /// Fails if one more notebook than `open` is too many.
    pub(crate) fn check_notebooks(self, open: usize) -> Result<(), Error> {
        if open < self.notebooks {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::LimitReached,
            format!("This session has as many notebooks open as it may: {open}."),
            NextStep::CloseNotebook,
        ))
    }
}

/// The runs that may be under way.
#[derive(Clone)]
pub(crate) struct Slots {
    free: Arc<Semaphore>,
    all: usize,
}

impl Slots {
    pub(crate) fn new(limits: Limits) -> Self {
        let all = limits.runs.min(Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(all)), all }
    }

    /// A place for one more. Never waits.
    pub(crate) fn take(&self) -> Result<Slot, Error> {
        let free = self.free.clone().try_acquire_owned();
        free.map(Slot).map_err(|_| {
            Error::new(
                ErrorKind::LimitReached,
                format!("This session has as many runs under way as it may: {}.", self.all),
                NextStep::WaitForRun,
            )
        })
    }
}

/// The place of one run.
pub(crate) struct Slot(OwnedSemaphorePermit);

impl Slot {
    /// Does `work`, and is free after it.
    pub(crate) async fn held<T>(self, work: impl Future<Output = T>) -> T {
        let done = work.await;
        drop(self.0);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_place_is_free_when_its_run_is_over() {
        let slots = Slots::new(Limits { runs: 2, ..Limits::default() });
        let (first, second) = (slots.take().unwrap(), slots.take().unwrap());
        let refused = slots.take().err().unwrap().to_string();
        assert!(refused.contains("as it may: 2."), "{refused}");
        first.held(async {}).await;
        let _third = slots.take().unwrap();
        assert!(slots.take().is_err());
        drop(second);
        assert!(slots.take().is_ok());
    }

    #[test]
    fn without_limits_there_is_always_room() {
        let slots = Slots::new(Limits::default());
        let taken: Result<Vec<_>, _> = (0..10_000).map(|_| slots.take()).collect();
        assert_eq!(taken.unwrap().len(), 10_000);
        assert!(Limits::default().check_notebooks(1 << 40).is_ok());
    }
}

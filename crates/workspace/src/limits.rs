//! Limits of one session, so that one agent cannot use up a machine that others share.

use std::sync::Arc;

use place::{Error, ErrorKind, NextStep};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

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

/// Counts the unfinished runs of a session.
#[derive(Clone)]
pub(crate) struct Slots {
    free: Arc<Semaphore>,
    limit: usize,
}

impl Slots {
    pub(crate) fn new(limits: Limits) -> Self {
        let limit = limits.runs.min(Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(limit)), limit }
    }

    /// Reserves a slot for one more run. Never waits.
    pub(crate) fn take(&self) -> Result<Slot, Error> {
        let free = self.free.clone().try_acquire_owned();
        free.map(Slot).map_err(|_| {
            Error::new(
                ErrorKind::LimitReached,
                format!("This session has reached its limit of unfinished runs ({}).", self.limit),
                NextStep::WaitForRun,
            )
        })
    }
}

/// The slot of one run.
pub(crate) struct Slot(OwnedSemaphorePermit);

impl Slot {
    /// Awaits `work`, then frees the slot.
    pub(crate) async fn hold_during<T>(self, work: impl Future<Output = T>) -> T {
        let done = work.await;
        drop(self.0);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_slot_is_free_after_its_run() {
        let slots = Slots::new(Limits { runs: 2, ..Limits::default() });
        let (first, second) = (slots.take().unwrap(), slots.take().unwrap());
        let refused = slots.take().err().unwrap().to_string();
        assert!(refused.contains("(2)"), "{refused}");
        first.hold_during(async {}).await;
        let _third = slots.take().unwrap();
        assert!(slots.take().is_err());
        drop(second);
        assert!(slots.take().is_ok());
    }

    #[test]
    fn no_limits_by_default() {
        let slots = Slots::new(Limits::default());
        let taken: Result<Vec<_>, _> = (0..10_000).map(|_| slots.take()).collect();
        assert_eq!(taken.unwrap().len(), 10_000);
        assert!(Limits::default().check_notebooks(1 << 40).is_ok());
    }
}

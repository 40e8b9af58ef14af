//! How many runs one session may have at a time, so that one agent cannot use up a machine that others share.

use std::sync::Arc;

use place::{Error, ErrorKind, NextStep};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Counts the unfinished runs of a session.
#[derive(Clone)]
pub struct Slots {
    free: Arc<Semaphore>,
    limit: usize,
}

impl Slots {
    /// For `limit` unfinished runs.
    pub fn new(limit: usize) -> Self {
        let limit = limit.min(Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(limit)), limit }
    }

    /// Reserves a slot for one more run. Never waits. Fails if there are as many as the limit.
    pub fn take(&self) -> Result<Slot, Error> {
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
pub struct Slot(OwnedSemaphorePermit);

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
        let slots = Slots::new(2);
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
    fn the_limit_may_be_any_number() {
        let slots = Slots::new(usize::MAX);
        let taken: Result<Vec<_>, _> = (0..10_000).map(|_| slots.take()).collect();
        assert_eq!(taken.unwrap().len(), 10_000);
    }
}

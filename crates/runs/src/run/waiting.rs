//! Waiting for a run.

use super::Run;
use super::progress::RunProgress;
use place::RunState;

impl Run {
    /// Waits until it is over and its outputs are stored, or until it waits for input.
    pub async fn settled(&self) {
        self.until(RunProgress::is_settled).await;
    }

    /// Waits until it is over and its outputs are stored.
    pub async fn ended(&self) {
        self.until(|progress| progress.is_closed).await;
    }

    /// Waits until it is over; its outputs may still have to be stored.
    pub async fn over(&self) {
        self.until(|progress| progress.state.is_over()).await;
    }

    /// Waits until the kernel has begun with its code, or it is over.
    pub async fn started(&self) {
        self.until(|progress| progress.started_at.is_some() || progress.state.is_over()).await;
    }

    /// Waits until the kernel is busy with it, or it is over.
    pub(crate) async fn begun(&self) {
        self.until(|progress| progress.state != RunState::Queued).await;
    }

    /// Waits until it no longer waits for input.
    pub async fn answered(&self) {
        self.until(|progress| !progress.is_waiting()).await;
    }

    async fn until(&self, is_so: impl Fn(&RunProgress) -> bool) {
        let mut changes = self.changes();
        while !is_so(&self.progress.lock()) {
            // The sender lives in `self`.
            let _ = changes.changed().await;
        }
    }
}

//! A kernel that runs and has a keeper, which ends it.

use std::sync::Arc;
use std::time::Duration;

use kernel::keeper::{ClientFrame, KeeperHandle};
use kernel::{Client, Status};
use parking_lot::Mutex;
use place::{Executor, RunDetails};
use tokio::sync::watch;
use tokio::time::timeout;

use super::RunningKernel;
use crate::keeper::{KeptExecutor, StarterLife, describe_others, kept_note};

/// How long a keeper may take to end its kernel; it ends it by force after four.
const END_TIMEOUT: Duration = Duration::from_secs(6);

pub(crate) struct KeptKernel {
    pub(crate) keeper: KeeperHandle,
    executor: Arc<KeptExecutor>,
    orphaned: Mutex<watch::Receiver<u64>>,
    /// Of this server, if it has started the keeper.
    pub(crate) starter_life: Option<StarterLife>,
    /// The kernel's process, as its keeper says. Another process has another connection.
    pub(crate) process: Option<u32>,
}

impl KeptKernel {
    pub(crate) fn new(keeper: KeeperHandle, executor: Arc<KeptExecutor>) -> Self {
        let orphaned = Mutex::new(keeper.orphaned());
        Self { keeper, executor, orphaned, starter_life: None, process: None }
    }

    pub(super) fn client(&self) -> &Client {
        &self.executor.client
    }

    pub(super) fn executor(&self) -> Arc<dyn Executor> {
        self.executor.clone()
    }

    /// Whether another server has left runs behind since the last call.
    pub(crate) fn has_new_orphans(&self) -> bool {
        let mut orphaned = self.orphaned.lock();
        let is_new = orphaned.has_changed().unwrap_or(false);
        orphaned.mark_unchanged();
        is_new
    }

    pub(super) fn process(&self) -> Option<u32> {
        self.process
    }

    pub(super) fn interrupt(&self) {
        self.keeper.send(ClientFrame::Interrupt { message: None });
    }

    /// Ends it for good.
    pub(super) async fn end(&self) {
        self.keeper.send(ClientFrame::End);
        let mut status = self.client().status();
        let ended = status.wait_for(|status| matches!(status, Status::Dead { .. }));
        if timeout(END_TIMEOUT, ended).await.is_err() {
            tracing::warn!("a keeper does not end its kernel");
        }
    }
}

impl RunningKernel {
    /// What other servers have run on it since the last call, for agents.
    pub(crate) fn described_others(&self) -> Option<String> {
        match self {
            Self::Kept(kept) => describe_others(kept.keeper.take_others()),
            Self::Own(_) => None,
        }
    }

    /// Lets a later server know of a run that waits for its turn.
    pub(crate) fn announce(&self, note: &RunDetails) {
        if let Self::Kept(kept) = self {
            kept.keeper.send(ClientFrame::Note(kept_note(&kept.executor.root, note)));
        }
    }
}

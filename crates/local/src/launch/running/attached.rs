//! A kernel that runs and has a keeper, which ends it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use keeper::{ClientFrame, KeeperHandle};
use kernel::{Client, Status};
use parking_lot::Mutex;
use place::{ClientExecutor, Executor, RunDetails};
use tokio::sync::watch;
use tokio::time::timeout;

use super::{Interruption, RunningKernel};
use environments::InterruptMode;

mod logger;

pub(crate) use logger::{KeeperLogger, announcement_of, details_of};

/// How long a keeper may take to end its kernel; it ends it by force after four.
const END_TIMEOUT: Duration = Duration::from_secs(6);

pub(crate) struct AttachedKernel {
    pub(crate) keeper: KeeperHandle,
    executor: Arc<ClientExecutor>,
    logger: Arc<KeeperLogger>,
    orphaned: Mutex<watch::Receiver<u64>>,
    /// The kernel's process, as its keeper says. Another process has another connection.
    pub(crate) process: Option<u32>,
}

impl AttachedKernel {
    pub(crate) fn new(executor: Arc<ClientExecutor>, logger: Arc<KeeperLogger>) -> Self {
        let keeper = logger.keeper.clone();
        let orphaned = Mutex::new(keeper.orphaned());
        Self { keeper, executor, logger, orphaned, process: None }
    }

    /// Whether another server has left runs behind since the last call.
    pub(crate) fn has_new_orphans(&self) -> bool {
        let mut orphaned = self.orphaned.lock();
        let is_new = orphaned.has_changed().unwrap_or(false);
        orphaned.mark_unchanged();
        is_new
    }

    /// Lets a later server know of a run that waits for its turn. `false` if the connection has ended.
    pub(crate) fn announce(&self, details: &RunDetails) -> bool {
        self.keeper.send(ClientFrame::Announce(announcement_of(&self.logger.root, details)))
    }
}

impl RunningKernel for AttachedKernel {
    fn client(&self) -> &Client {
        self.executor.client()
    }

    fn executor(&self) -> Arc<dyn Executor> {
        self.executor.clone()
    }

    fn instance(&self) -> Option<String> {
        self.process.map(|process| process.to_string())
    }

    fn is_lost(&self) -> bool {
        self.keeper.is_lost()
    }

    fn interrupt(&self, _mode: InterruptMode) -> Interruption {
        self.keeper.send(ClientFrame::Interrupt { message: None });
        Interruption::Sent
    }

    fn end(&self) -> BoxFuture<'_, ()> {
        self.keeper.send(ClientFrame::End);
        async {
            let mut status = self.client().status();
            let ended = status.wait_for(|status| matches!(status, Status::Dead { .. }));
            if timeout(END_TIMEOUT, ended).await.is_err() {
                tracing::warn!("a keeper does not end its kernel");
            }
        }
        .boxed()
    }

    fn attached(&self) -> Option<&AttachedKernel> {
        Some(self)
    }
}

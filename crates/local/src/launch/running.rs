//! A kernel that runs: as a process of this program, or kept by a keeper.

use std::sync::Arc;
use std::time::Duration;

use kernel::keeper::{ClientFrame, KeeperHandle};
use kernel::{Client, KernelError, Status};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::timeout;
use workspace::{Executor, RunNote};

use super::launcher::Started;
use crate::keeper::{KeptExecutor, kept_note};
use crate::kernelspec::InterruptMode;

/// How long a keeper may take to end its kernel; it ends it by force after four.
const END_TIMEOUT: Duration = Duration::from_secs(6);

pub(crate) enum RunningKernel {
    /// It ends with this program.
    Own(Box<Started<Client>>),
    /// It ends with its keeper.
    Kept(KeptKernel),
}

pub(crate) struct KeptKernel {
    pub(crate) keeper: KeeperHandle,
    pub(crate) executor: Arc<KeptExecutor>,
    orphaned: Mutex<watch::Receiver<u64>>,
}

impl KeptKernel {
    pub(crate) fn new(keeper: KeeperHandle, executor: Arc<KeptExecutor>) -> Self {
        let orphaned = Mutex::new(keeper.orphaned());
        Self { keeper, executor, orphaned }
    }

    /// Whether another server has left runs behind since the last call.
    pub(crate) fn has_new_orphans(&self) -> bool {
        let mut orphaned = self.orphaned.lock();
        let is_new = orphaned.has_changed().unwrap_or(false);
        orphaned.mark_unchanged();
        is_new
    }
}

impl RunningKernel {
    pub(crate) fn client(&self) -> &Client {
        match self {
            Self::Own(own) => &own.connection,
            Self::Kept(kept) => &kept.executor.client,
        }
    }

    pub(crate) fn executor(&self) -> Arc<dyn Executor> {
        match self {
            Self::Own(own) => Arc::new(own.connection.clone()),
            Self::Kept(kept) => kept.executor.clone(),
        }
    }

    /// How the process exited; `None` while it runs.
    pub(crate) fn exit_status(&self) -> Option<String> {
        if let Self::Own(own) = self {
            if let Some(exit) = own.process.exit() {
                return Some(exit.to_string());
            }
            if let Some(status) = own.process.exit_status() {
                return Some(status);
            }
        }
        match &*self.client().status().borrow() {
            Status::Dead { how } => Some(how.clone()),
            _ => None,
        }
    }

    /// Lets a later server know of a run that waits for its turn.
    pub(crate) fn announce(&self, note: &RunNote) {
        if let Self::Kept(kept) = self {
            kept.keeper.send(ClientFrame::Note(kept_note(&kept.executor.root, note)));
        }
    }

    pub(crate) fn interrupt(&self, mode: InterruptMode) -> Interruption {
        match self {
            Self::Own(own) => {
                if mode == InterruptMode::Signal {
                    own.process.interrupt();
                    return Interruption::Sent;
                }
                // The client alone: holding the process would keep its files while a restart replaces it.
                Interruption::ByMessage(own.connection.clone())
            }
            Self::Kept(kept) => {
                kept.keeper.send(ClientFrame::Interrupt { message: None });
                Interruption::Sent
            }
        }
    }

    /// Ends what is left of a process that died.
    pub(crate) async fn clean_up(&self) {
        if let Self::Own(own) = self {
            own.process.stop().await;
        }
    }

    /// Ends it before another process takes its place. A keeper does that itself.
    pub(crate) async fn stop_for_restart(&self) {
        if let Self::Own(own) = self {
            own.stop(true).await;
        }
    }

    /// Ends it for good.
    pub(crate) async fn end(&self) {
        match self {
            Self::Own(own) => own.stop(false).await,
            Self::Kept(kept) => {
                kept.keeper.send(ClientFrame::End);
                let mut status = self.client().status();
                let ended = status.wait_for(|status| matches!(status, Status::Dead { .. }));
                if timeout(END_TIMEOUT, ended).await.is_err() {
                    tracing::warn!("a keeper does not end its kernel");
                }
            }
        }
    }
}

/// An interrupt that may need more than a signal.
pub(crate) enum Interruption {
    Sent,
    ByMessage(Client),
}

impl Interruption {
    pub(crate) async fn complete(self) -> Result<(), KernelError> {
        match self {
            Self::Sent => Ok(()),
            Self::ByMessage(client) => client.interrupt_message().await,
        }
    }
}

//! A kernel that runs: as a process of this program, or kept by a keeper.

use std::sync::Arc;

use kernel::{Client, KernelError, Status};
use place::Executor;

use super::launcher::Started;
use crate::kernelspec::InterruptMode;

#[cfg(unix)]
mod kept;
#[cfg(not(unix))]
mod not_kept;

#[cfg(unix)]
pub(crate) use kept::KeptKernel;
#[cfg(not(unix))]
use not_kept::KeptKernel;

pub(crate) enum RunningKernel {
    /// It ends with this program.
    Own(Box<Started<Client>>),
    /// It ends with its keeper.
    #[cfg_attr(not(unix), expect(dead_code, reason = "no kernel has a keeper"))]
    Kept(KeptKernel),
}

impl RunningKernel {
    pub(crate) fn client(&self) -> &Client {
        match self {
            Self::Own(own) => &own.connection,
            Self::Kept(kept) => kept.client(),
        }
    }

    pub(crate) fn executor(&self) -> Arc<dyn Executor> {
        match self {
            Self::Own(own) => Arc::new(own.connection.clone()),
            Self::Kept(kept) => kept.executor(),
        }
    }

    /// What tells its process from those before and after it, in every server that is attached to its keeper.
    pub(crate) fn instance(&self) -> Option<String> {
        match self {
            Self::Own(own) => own.connection.process(),
            Self::Kept(kept) => kept.process().map(|process| process.to_string()),
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

    pub(crate) fn interrupt(&self, mode: InterruptMode) -> Interruption {
        match self {
            Self::Own(own) => {
                if mode == InterruptMode::Signal {
                    #[cfg(windows)]
                    if !own.process.waits_for_interrupts() {
                        return Interruption::Impossible;
                    }
                    own.process.interrupt();
                    return Interruption::Sent;
                }
                // The client alone: holding the process would keep its files while a restart replaces it.
                Interruption::ByMessage(own.connection.clone())
            }
            Self::Kept(kept) => {
                kept.interrupt();
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
            Self::Kept(kept) => kept.end().await,
        }
    }
}

/// An interrupt that may need more than a signal.
pub(crate) enum Interruption {
    Sent,
    ByMessage(Client),
    /// Nothing reaches the kernel while it runs code.
    #[cfg(windows)]
    Impossible,
}

impl Interruption {
    pub(crate) async fn complete(self) -> Result<(), KernelError> {
        match self {
            Self::Sent => Ok(()),
            Self::ByMessage(client) => client.interrupt_message().await,
            #[cfg(windows)]
            Self::Impossible => {
                let cause = "Windows has no SIGINT, and this kernel supports no other interrupt".to_owned();
                Err(KernelError::Unusable { cause })
            }
        }
    }
}

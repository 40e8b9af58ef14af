//! A kernel that runs.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use kernel::{Client, Death, KernelError, Status};
use place::{ClientExecutor, Executor};

use super::launcher::Started;
use environments::InterruptMode;

#[cfg(unix)]
mod attached;

#[cfg(unix)]
pub(crate) use attached::{AttachedKernel, KeeperLogger, announcement_of, details_of};

/// A kernel that runs, as a process of this program or of a keeper.
pub(crate) trait RunningKernel: Send + Sync {
    fn client(&self) -> &Client;

    fn executor(&self) -> Arc<dyn Executor>;

    /// What tells its process from those before and after it, in every server that is attached to its keeper.
    fn instance(&self) -> Option<String>;

    /// How the process exited; `None` while it runs.
    fn exit_status(&self) -> Option<Death> {
        match &*self.client().status().borrow() {
            Status::Dead { how } => Some(how.clone()),
            _ => None,
        }
    }

    /// Whether its end is only that of a connection: the process may live.
    fn is_lost(&self) -> bool {
        false
    }

    fn interrupt(&self, mode: InterruptMode) -> Interruption;

    /// Ends what is left of a process that died.
    fn clean_up(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }

    /// Ends it before another process takes its place, unless its keeper does that.
    fn stop_for_restart(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }

    /// Ends it for good.
    fn end(&self) -> BoxFuture<'_, ()>;

    /// The connection to its keeper, if it has one.
    #[cfg(unix)]
    fn attached(&self) -> Option<&AttachedKernel> {
        None
    }
}

/// It ends with this program.
impl RunningKernel for Started<Client> {
    fn client(&self) -> &Client {
        &self.connection
    }

    fn executor(&self) -> Arc<dyn Executor> {
        ClientExecutor::new(self.connection.clone())
    }

    fn instance(&self) -> Option<String> {
        self.connection.process()
    }

    fn exit_status(&self) -> Option<Death> {
        let exited = self.process.exit().map(|exit| exit.to_string()).or_else(|| self.process.exit_status());
        exited.map(Death::from).or_else(|| match &*self.connection.status().borrow() {
            Status::Dead { how } => Some(how.clone()),
            _ => None,
        })
    }

    fn interrupt(&self, mode: InterruptMode) -> Interruption {
        if mode == InterruptMode::Signal {
            #[cfg(windows)]
            if !self.process.waits_for_interrupts() {
                return Interruption::Impossible;
            }
            self.process.interrupt();
            return Interruption::Sent;
        }
        // The client alone: holding the process would keep its files while a restart replaces it.
        Interruption::ByMessage(self.connection.clone())
    }

    fn clean_up(&self) -> BoxFuture<'_, ()> {
        self.process.stop().boxed()
    }

    fn stop_for_restart(&self) -> BoxFuture<'_, ()> {
        self.stop(true).boxed()
    }

    fn end(&self) -> BoxFuture<'_, ()> {
        self.stop(false).boxed()
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

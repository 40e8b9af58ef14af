//! A kernel that runs.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
#[cfg(unix)]
use keeper::ClientFrame;
use kernel::{Client, Death, KernelError, Status};
use place::{ClientExecutor, Executor};
use tokio::time::timeout;

use super::connection_file::ConnectionFile;
use super::launcher::Started;
use super::process::Process;
use environments::InterruptMode;

#[cfg(unix)]
mod attached;

#[cfg(unix)]
pub(crate) use attached::{AttachedKernel, KeeperLogger, announcement_of, details_of};

/// How long a kernel may take to exit after a shutdown request.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a keeper may take to end its kernel; it ends it by force after four.
#[cfg(unix)]
const END_TIMEOUT: Duration = Duration::from_secs(6);

/// A kernel that runs, as a process of this program or of a keeper.
pub(crate) struct RunningKernel {
    executor: Arc<ClientExecutor>,
    owner: Owner,
}

/// The parent of a kernel's process.
enum Owner {
    /// This program, with which it ends. Its connection file is removed after the process has ended.
    Us { process: Process, _connection_file: ConnectionFile },
    #[cfg(unix)]
    Keeper(AttachedKernel),
}

impl RunningKernel {
    /// A kernel that ends with this program.
    pub(crate) fn own(started: Started<Client>) -> Self {
        let Started { connection, process, connection_file } = started;
        let owner = Owner::Us { process, _connection_file: connection_file };
        Self { executor: ClientExecutor::new(connection), owner }
    }

    /// A kernel that its keeper ends.
    #[cfg(unix)]
    pub(crate) fn kept(executor: Arc<ClientExecutor>, attached: AttachedKernel) -> Self {
        Self { executor, owner: Owner::Keeper(attached) }
    }

    pub(crate) fn client(&self) -> &Client {
        self.executor.client()
    }

    pub(crate) fn executor(&self) -> Arc<dyn Executor> {
        self.executor.clone()
    }

    /// The connection to its keeper, if it has one.
    #[cfg(unix)]
    pub(crate) fn attached(&self) -> Option<&AttachedKernel> {
        match &self.owner {
            Owner::Us { .. } => None,
            Owner::Keeper(attached) => Some(attached),
        }
    }

    /// What tells its process from those before and after it, in every server that is attached to its keeper.
    pub(crate) fn instance(&self) -> Option<String> {
        match &self.owner {
            Owner::Us { .. } => self.client().process(),
            #[cfg(unix)]
            Owner::Keeper(attached) => attached.process.map(|process| process.to_string()),
        }
    }

    /// How the process exited; `None` while it runs.
    pub(crate) fn exit_status(&self) -> Option<Death> {
        let exited = match &self.owner {
            Owner::Us { process, .. } => {
                process.exit().map(|exit| exit.to_string()).or_else(|| process.exit_status())
            }
            #[cfg(unix)]
            Owner::Keeper(_) => None,
        };
        exited.map(Death::from).or_else(|| match &*self.client().status().borrow() {
            Status::Dead { how } => Some(how.clone()),
            _ => None,
        })
    }

    /// Whether its end is only that of a connection: the process may live.
    pub(crate) fn is_lost(&self) -> bool {
        match &self.owner {
            Owner::Us { .. } => false,
            #[cfg(unix)]
            Owner::Keeper(attached) => attached.logger.keeper.is_lost(),
        }
    }

    /// Interrupts it. What is returned does not hold the process, whose files a restart replaces.
    pub(crate) fn interrupt(&self, mode: InterruptMode) -> BoxFuture<'static, Result<(), KernelError>> {
        match &self.owner {
            #[cfg(windows)]
            Owner::Us { process, .. } if mode == InterruptMode::Signal && !process.waits_for_interrupts() => {
                let cause = "Windows has no SIGINT, and this kernel supports no other interrupt".to_owned();
                return ready(Err(KernelError::Unusable { cause })).boxed();
            }
            Owner::Us { process, .. } if mode == InterruptMode::Signal => process.interrupt(),
            Owner::Us { .. } => {
                let client = self.client().clone();
                return async move { client.interrupt_message().await }.boxed();
            }
            #[cfg(unix)]
            Owner::Keeper(attached) => {
                attached.logger.keeper.send(ClientFrame::Interrupt { message: None });
            }
        }
        ready(Ok(())).boxed()
    }

    /// Ends what is left of a process that died.
    #[cfg_attr(not(unix), expect(irrefutable_let_patterns, reason = "no kernel is kept"))]
    pub(crate) async fn clean_up(&self) {
        if let Owner::Us { process, .. } = &self.owner {
            process.stop().await;
        }
    }

    /// Ends it before another process takes its place, unless its keeper does that.
    #[cfg_attr(not(unix), expect(irrefutable_let_patterns, reason = "no kernel is kept"))]
    pub(crate) async fn stop_for_restart(&self) {
        if let Owner::Us { process, .. } = &self.owner {
            self.stop(process, true).await;
        }
    }

    /// Ends it for good.
    pub(crate) async fn end(&self) {
        match &self.owner {
            Owner::Us { process, .. } => self.stop(process, false).await,
            #[cfg(unix)]
            Owner::Keeper(attached) => {
                attached.logger.keeper.send(ClientFrame::End);
                let mut status = self.client().status();
                let ended = status.wait_for(|status| matches!(status, Status::Dead { .. }));
                if timeout(END_TIMEOUT, ended).await.is_err() {
                    tracing::warn!("a keeper does not end its kernel");
                }
            }
        }
    }

    /// Sends a shutdown request, and ends the process if it does not exit.
    async fn stop(&self, process: &Process, for_restart: bool) {
        let requested = async {
            if self.client().shutdown_message(for_restart).await.is_ok() {
                process.wait().await;
            }
        };
        let _ = timeout(SHUTDOWN_TIMEOUT, requested).await;
        process.stop().await;
    }
}

//! What a keeper needs of the kernels of this machine: a launcher that starts them. How that is done, it does not know.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::timeout;
use transports::KernelSockets;

/// How long a kernel may take to exit after a shutdown request.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Starts the kernel of a keeper, as often as necessary.
pub trait Launcher: Send + Sync + 'static {
    /// Starts the kernel and waits until it answers. Dropping the future ends its process.
    fn start(self: Arc<Self>) -> BoxFuture<'static, Result<Launched, LaunchError>>;

    /// Whether a signal interrupts the kernel, not a message.
    fn interrupts_by_signal(&self) -> bool;

    /// Where a socket may be if the path of the keeper's folder is too long for one.
    fn temporary_folder(&self) -> PathBuf;
}

/// The process of a kernel. It is ended when this is dropped.
pub trait KernelProcess: Send + Sync + 'static {
    /// Its id, while it has one.
    fn id(&self) -> Option<u32>;

    /// Waits until it has exited. Returns how, for people.
    fn wait(&self) -> BoxFuture<'static, String>;

    /// Sends it SIGINT.
    fn interrupt(&self);

    /// Ends it, by force if it takes too long.
    fn stop(&self) -> BoxFuture<'_, ()>;
}

/// A kernel that answers.
pub struct Launched {
    pub connection: KernelSockets,
    pub process: Box<dyn KernelProcess>,
}

/// Why a kernel does not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchError {
    pub cause: String,
    /// What helps, for people.
    pub next: String,
}

impl Launched {
    /// Sends a shutdown request, and ends the process if it does not exit.
    pub(crate) async fn stop(&self, for_restart: bool) {
        self.connection.send_shutdown(for_restart);
        let _ = timeout(SHUTDOWN_TIMEOUT, self.process.wait()).await;
        self.process.stop().await;
    }
}

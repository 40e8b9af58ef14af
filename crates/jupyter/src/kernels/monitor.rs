//! Watches a kernel while no call does.

use std::sync::Weak;
use std::time::Duration;

use ::kernel::{Client, Status};

use super::kernel::ServerKernel;

/// How long a kernel may be busy without a change before the server is asked whether it still exists.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Records when the kernel does something, and checks whether it exists when its connection ends or it is busy for long. Ends
/// with the connection.
pub(super) fn monitor(kernel: Weak<ServerKernel>, client: &Client) {
    let mut status = client.status();
    place::spawn(async move {
        loop {
            let changed = tokio::time::timeout(CHECK_INTERVAL, status.changed()).await;
            let Some(kernel) = kernel.upgrade() else { return };
            let state = status.borrow_and_update().clone();
            match changed {
                Ok(Ok(())) => kernel.mark_used(),
                Ok(Err(_)) => return,
                Err(_) => {}
            }
            let is_dead = matches!(state, Status::Dead { .. });
            // A dead connection: the next run has to know whether to connect again or to start another kernel. A busy
            // kernel: a server that shuts a kernel down does not close the connections to it, and not every kernel says
            // that it ends.
            if is_dead || changed.is_err() && state == Status::Busy {
                kernel.check_exists().await;
            }
            if is_dead {
                return;
            }
        }
    });
}

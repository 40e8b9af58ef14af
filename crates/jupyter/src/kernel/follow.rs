//! What a kernel does while nobody asks.

use std::time::{Duration, SystemTime};

use ::kernel::{Client, Status};
use workspace::Kernel as _;

use super::ServerKernel;

/// How long a kernel may work and not change what it does before its server is asked whether it is still there.
const LOOK: Duration = Duration::from_secs(5);

impl ServerKernel {
    /// Notes when the kernel does something, and looks after it when it works for long or the connection ends. Ends with the
    /// connection.
    pub(super) fn follow(&self, client: &Client) {
        let (mut status, this) = (client.status(), self.this.clone());
        tokio::spawn(async move {
            loop {
                let changed = tokio::time::timeout(LOOK, status.changed()).await;
                let Some(this) = this.upgrade() else { return };
                let state = status.borrow_and_update().clone();
                match changed {
                    Ok(Ok(())) => this.known().used = Some(SystemTime::now()),
                    Ok(Err(_)) => return,
                    Err(_) => {}
                }
                let is_dead = matches!(state, Status::Dead { .. });
                // When it is dead, so that the next run knows whether to connect again or to start another. While it works,
                // because a server ends no connections to a kernel that it was told to end, and not all say good-bye.
                if (is_dead || changed.is_err() && state == Status::Busy)
                    && !this.is_gone()
                    && let Ok(server) = this.link.server().await
                    && let Ok(None) = server.kernel(&this.id).await
                {
                    this.vanish("the server has shut it down");
                }
                if is_dead {
                    return;
                }
            }
        });
    }
}

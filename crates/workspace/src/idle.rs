//! Suspends notebooks that no session uses.
//!
//! With MCP 2026-07-28, agents have no sessions and every call stands alone, so notebooks are kept open for a while.

use std::sync::Arc;
use std::time::Duration;

use runs::OpenNotebook;

use crate::open_notebooks::OpenNotebooks;

/// The time without a user after which a notebook is suspended.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// The pause between two checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// Suspends unused notebooks until the workspace is dropped.
pub(crate) fn suspend_unused(notebooks: &Arc<OpenNotebooks>) {
    let notebooks = Arc::downgrade(notebooks);
    place::spawn(async move {
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            let Some(notebooks) = notebooks.upgrade() else { return };
            for opened in notebooks.all() {
                let is_unused = opened.unused_for().is_some_and(|unused| unused >= IDLE_TIMEOUT);
                if is_unused && !is_held(&opened) {
                    opened.suspend().await;
                }
            }
        }
    });
}

/// Whether a run or a call uses it: two references are the workspace's and the one of our list.
fn is_held(opened: &Arc<OpenNotebook>) -> bool {
    Arc::strong_count(opened) > 2
}

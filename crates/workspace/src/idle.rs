//! Suspends notebooks that no session uses.
//!
//! With MCP 2026-07-28, agents have no sessions and every call stands alone, so notebooks are kept open for a while.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::open_notebook::OpenNotebook;
use crate::workspace::Workspace;

/// How long a notebook is unused until it is suspended.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// The pause between two checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// Whether a sweep is running.
#[derive(Default)]
pub(crate) struct SweepFlag(AtomicBool);

impl SweepFlag {
    /// `false` if one is running already.
    pub(crate) fn begin(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }

    fn end(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Suspends unused notebooks, until all are in use or suspended, or the workspace was dropped.
pub(crate) async fn sweep(workspace: Weak<Workspace>) {
    loop {
        tokio::time::sleep(CHECK_INTERVAL).await;
        let Some(workspace) = workspace.upgrade() else { return };
        // A session that leaves from here on starts another sweep.
        workspace.sweep.end();
        let mut is_waiting = false;
        for opened in workspace.open_notebooks() {
            if is_held(&opened) {
                // The end of a run does not start a sweep, so this one has to check again.
                is_waiting = true;
                continue;
            }
            match opened.unused_for() {
                Some(unused) if unused >= IDLE_TIMEOUT => opened.suspend().await,
                Some(_) => is_waiting = true,
                None => {}
            }
        }
        if !(is_waiting && workspace.sweep.begin()) {
            return;
        }
    }
}

/// Whether a run or a call uses it: two references are the workspace's and the one of our list.
fn is_held(opened: &Arc<OpenNotebook>) -> bool {
    Arc::strong_count(opened) > 2
}

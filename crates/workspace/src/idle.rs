//! Suspends notebooks that no session uses.
//!
//! With MCP 2026-07-28, agents have no sessions and every call stands alone, so notebooks are kept open for a while.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use runs::OpenNotebook;
use tokio::runtime::Handle;

use crate::open_notebooks::OpenNotebooks;

/// How long a notebook is unused until it is suspended.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// The pause between two checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// The task that suspends unused notebooks, and whether it is running.
#[derive(Clone, Default)]
pub(crate) struct IdleSweep(Arc<AtomicBool>);

impl IdleSweep {
    /// Suspends unused notebooks, until all are in use or suspended, or the workspace was dropped. Does nothing if that
    /// is going on.
    pub(crate) fn start(&self, notebooks: &Arc<OpenNotebooks>, runtime: &Handle) {
        if self.begin() {
            runtime.spawn(self.clone().run(Arc::downgrade(notebooks)));
        }
    }

    async fn run(self, notebooks: Weak<OpenNotebooks>) {
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            let Some(notebooks) = notebooks.upgrade() else { return };
            // A session that leaves from here on starts another sweep.
            self.0.store(false, Ordering::Relaxed);
            let mut is_waiting = false;
            for opened in notebooks.all() {
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
            if !(is_waiting && self.begin()) {
                return;
            }
        }
    }

    /// `false` if a sweep is running already.
    fn begin(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }
}

/// Whether a run or a call uses it: two references are the workspace's and the one of our list.
fn is_held(opened: &Arc<OpenNotebook>) -> bool {
    Arc::strong_count(opened) > 2
}

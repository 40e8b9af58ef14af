//! Lets go of notebooks that nobody uses.
//!
//! Agents of the 2026-07-28 era have no sessions: each of their calls comes and goes, so a notebook is kept for a while.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::open_notebook::OpenNotebook;
use crate::workspace::Workspace;

/// How long nobody may use a notebook until it is let go of.
pub(crate) const REST: Duration = Duration::from_secs(300);
/// The pause between two looks.
const LOOK: Duration = Duration::from_secs(60);

/// Whether somebody looks after the notebooks.
#[derive(Default)]
pub(crate) struct Tidying(AtomicBool);

impl Tidying {
    /// `false`: somebody does it already.
    pub(crate) fn begin(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }

    fn end(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Looks after the notebooks until all are in use or at rest, or the workspace has gone.
pub(crate) async fn tidy(workspace: Weak<Workspace>) {
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(workspace) = workspace.upgrade() else { return };
        // Whoever leaves from here on has it done anew.
        workspace.tidying.end();
        let mut is_waiting = false;
        for opened in workspace.open_notebooks() {
            if is_held(&opened) {
                // Its run, or whoever else holds it, ends without a word.
                is_waiting = true;
                continue;
            }
            match opened.unused_for() {
                Some(unused) if unused >= REST => opened.suspend().await,
                Some(_) => is_waiting = true,
                None => {}
            }
        }
        if !(is_waiting && workspace.tidying.begin()) {
            return;
        }
    }
}

/// Whether a run or a call holds it; the workspace and the list that we look at do.
fn is_held(opened: &Arc<OpenNotebook>) -> bool {
    Arc::strong_count(opened) > 2
}

//! The runs of one kernel, one after the other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kernel::{Client, Status};
use tokio::sync::{MutexGuard as Turn, watch};

use crate::run::Run;

/// The queue before one kernel. A kernel is sent one run at a time, so that a run which waits can still be taken
/// back, and an error in one does not abort those of other agents.
#[derive(Default)]
pub(crate) struct Lane {
    turn: tokio::sync::Mutex<()>,
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    running: Option<Arc<Run>>,
    /// Moves when the kernel is started anew on request.
    restarts: u64,
    /// That of the last run.
    connection: Option<watch::Receiver<Status>>,
}

impl Lane {
    /// Waits for the turn of a run; first come, first served. `None` if the kernel was started anew meanwhile.
    pub(crate) async fn enter(&self, run: &Arc<Run>) -> Option<Turn<'_, ()>> {
        let restarts = self.now().restarts;
        let turn = self.turn.lock().await;
        let mut now = self.now();
        (now.restarts == restarts).then(|| {
            now.running = Some(run.clone());
            turn
        })
    }

    /// What the kernel works on.
    pub(crate) fn running(&self) -> Option<Arc<Run>> {
        self.latest().filter(|run| !run.state().is_over())
    }

    /// Whether a run uses another connection than the last.
    pub(crate) fn is_new(&self, client: &Client) -> bool {
        let connection = client.status();
        let mut now = self.now();
        let is_known = now.connection.as_ref().is_some_and(|known| known.same_channel(&connection));
        now.connection = Some(connection);
        !is_known
    }

    /// How often the kernel was started anew on request.
    pub(crate) fn restarts(&self) -> u64 {
        self.now().restarts
    }

    /// The run that the kernel worked on last, or works on.
    pub(crate) fn latest(&self) -> Option<Arc<Run>> {
        self.now().running.clone()
    }

    /// Takes back the runs that wait.
    pub(crate) fn restarted(&self) {
        self.now().restarts += 1;
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

use std::sync::Arc;

use kernel::Status;
use parking_lot::Mutex;
use tokio::sync::{MutexGuard, watch};

use super::run::Run;
use crate::executor::Executor;

/// The runs of one kernel, one after the other. A kernel is sent one run at a time, so that a queued run can still be
/// cancelled, and an error in one does not abort those of other agents.
#[derive(Default)]
pub(crate) struct KernelQueue {
    turn: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The run that the kernel works on, or worked on last.
    latest: Option<Arc<Run>>,
    /// How often the kernel was restarted on request.
    restarts: u64,
    /// The connection of the last run.
    connection: Option<watch::Receiver<Status>>,
}

impl KernelQueue {
    /// Waits for the turn of a run, in the order of the calls. `None` if the kernel was restarted meanwhile.
    ///
    /// Example: run A has the turn, B and C wait, and `restarts` is 0. A restart increases it to 1 and ends A. Now B gets
    /// the turn, finds 1 instead of its 0 and returns `None`, and so does C. A run that enters after the restart starts
    /// with 1 and gets the turn after them.
    pub(crate) async fn enter(&self, run: &Arc<Run>) -> Option<MutexGuard<'_, ()>> {
        let restarts = self.restarts();
        let turn = self.turn.lock().await;
        let mut state = self.state.lock();
        (state.restarts == restarts).then(|| {
            state.latest = Some(run.clone());
            turn
        })
    }

    pub(crate) fn running(&self) -> Option<Arc<Run>> {
        self.latest().filter(|run| !run.state().is_over())
    }

    /// Whether a run uses another connection than the last one did.
    pub(crate) fn is_new_connection(&self, executor: &dyn Executor) -> bool {
        let connection = executor.status();
        let mut state = self.state.lock();
        let is_known = state.connection.as_ref().is_some_and(|known| known.same_channel(&connection));
        state.connection = Some(connection);
        !is_known
    }

    pub(crate) fn restarts(&self) -> u64 {
        self.state.lock().restarts
    }

    pub(crate) fn latest(&self) -> Option<Arc<Run>> {
        self.state.lock().latest.clone()
    }

    /// Cancels all waiting runs: see [`KernelQueue::enter`].
    pub(crate) fn restarted(&self) {
        self.state.lock().restarts += 1;
    }
}

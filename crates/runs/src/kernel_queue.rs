use std::sync::Arc;
use std::task::Poll;

use futures_util::future::{BoxFuture, FutureExt as _, ready};
use futures_util::poll;
use kernel::Status;
use parking_lot::Mutex;
use place::Executor;
use tokio::sync::{OwnedMutexGuard, watch};
use tokio::task::unconstrained;

use crate::run::Run;

/// The runs of one kernel, one after the other. A kernel is sent one run at a time, so that a queued run can still be
/// cancelled, and an error in one does not abort those of other agents.
#[derive(Default)]
pub(crate) struct KernelQueue {
    turn: Arc<tokio::sync::Mutex<()>>,
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
    /// Waits for the turn of a run, in the order of the calls. `None` if the kernel was restarted while the run
    /// waited.
    ///
    /// Example: run A has the turn, B and C wait, and `restarts` is 0. A restart increases it to 1 and ends A. Now B gets
    /// the turn, finds 1 instead of its 0 and returns `None`, and so does C. A run that enters after the restart starts
    /// with 1 and gets the turn after them.
    pub(crate) async fn enter(&self, run: &Arc<Run>) -> Option<OwnedMutexGuard<()>> {
        let restarts = self.restarts();
        let turn = self.turn.clone().lock_owned().await;
        let mut state = self.state.lock();
        (state.restarts == restarts).then(|| {
            state.latest = Some(run.clone());
            turn
        })
    }

    /// The same for a run that is followed by a task: it has its place in the order once this returns, also if the task is not
    /// polled for long.
    pub(crate) async fn line_up(
        self: Arc<Self>,
        run: Arc<Run>,
    ) -> BoxFuture<'static, Option<OwnedMutexGuard<()>>> {
        let mut entering = async move { self.enter(&run).await }.boxed();
        // A task that has used up its budget would not ask for the lock.
        match poll!(unconstrained(&mut entering)) {
            Poll::Ready(turn) => ready(turn).boxed(),
            Poll::Pending => entering,
        }
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

#[cfg(test)]
mod tests {
    use place::RunId;

    use super::*;

    #[tokio::test]
    async fn a_run_keeps_its_place_though_nobody_waits_for_its_turn_yet() {
        let queue = Arc::new(KernelQueue::default());
        let run = |id: &str| Arc::new(Run::new(RunId::new(id), None, String::new()));
        let first = queue.enter(&run("r1")).await.unwrap();
        let adopted = queue.clone().line_up(run("r2")).await;
        let later = tokio::spawn({
            let (queue, run) = (queue.clone(), run("r3"));
            async move { queue.enter(&run).await.map(|_turn| queue.latest().unwrap().id().clone()) }
        });
        drop(first);
        tokio::task::yield_now().await;
        assert_eq!(queue.latest().unwrap().id().as_str(), "r1");
        let turn = adopted.await.unwrap();
        assert_eq!(queue.latest().unwrap().id().as_str(), "r2");
        drop(turn);
        assert_eq!(later.await.unwrap().unwrap().as_str(), "r3");
    }
}

//! The runs of earlier and later servers on a kernel.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use keeper::logged_runs;
use place::{EarlierKernelRuns, Kernel as _, KernelState, Orphan, RunDetails, RunId};

use super::LocalKernel;
use crate::launch::running::details_of;

impl EarlierKernelRuns for LocalKernel {
    fn runs_of_others(&self) -> BoxFuture<'_, Vec<RunDetails>> {
        let is_idle = self.description().state == KernelState::Idle;
        let keeper = self.state.lock().kept.keeper.clone().filter(|_| !is_idle);
        async {
            let Some(keeper) = keeper else { return Vec::new() };
            let read = tokio::task::spawn_blocking(move || logged_runs(&keeper.folder.path)).await;
            let runs = read.unwrap_or_default().into_iter();
            let runs = runs.filter(|run| run.request().is_some() && run.is_unfinished());
            runs.map(|run| details_of(&self.root, &run.record.announcement)).collect()
        }
        .boxed()
    }

    fn take_orphans(&self) -> BoxFuture<'_, Vec<Orphan>> {
        self.adopted().boxed()
    }

    fn announce(&self, details: &RunDetails) -> bool {
        self.running().is_some_and(|it| it.attached().is_some_and(|attached| attached.announce(details)))
    }

    fn retract(&self, run: &RunId) {
        if let Some(running) = self.running() {
            running.executor().acknowledge(run);
        }
    }
}

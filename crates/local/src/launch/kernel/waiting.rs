//! The runs that wait for a kernel that is not ready.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use keeper::logged_runs;
use place::{EarlierKernelRuns, Kernel as _, KernelState, Orphan, RunDetails, RunId};

use super::{LocalKernel, Phase, State};
use crate::launch::running::{RunningKernel, details_of};

impl LocalKernel {
    /// The kernel is ready: its connection takes announcements from here on.
    pub(super) fn announce_waiting(state: &mut State, running: &dyn RunningKernel) {
        let runs = std::mem::take(&mut state.kept.waiting);
        if let Some(attached) = running.attached() {
            for run in &runs {
                attached.announce(run);
            }
        }
    }
}

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

    fn announce(&self, details: &RunDetails) {
        let mut state = self.state.lock();
        if let Phase::Running(running) = &state.phase {
            if let Some(attached) = running.attached() {
                attached.announce(details);
            }
        } else if self.keeping.is_some() {
            state.kept.waiting.push(details.clone());
        }
    }

    fn retract(&self, run: &RunId) {
        let mut state = self.state.lock();
        state.kept.waiting.retain(|waiting| waiting.run != *run);
        if let Phase::Running(running) = &state.phase {
            running.executor().acknowledge(run);
        }
    }
}

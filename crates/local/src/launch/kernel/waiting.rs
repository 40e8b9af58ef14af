//! The runs that wait for a kernel that is not ready.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use keeper::{ClientFrame, logged_runs};
use place::{EarlierKernelRuns, Orphan, RunDetails, RunId};
use tokio::sync::mpsc;

use super::{LocalKernel, Phase, State};
use crate::launch::running::{RunningKernel, announcement_of, details_of};

/// The runs that wait for a kernel that is not ready, and its keeper, if one is starting it.
#[derive(Default)]
pub(super) struct Waiting {
    runs: Vec<RunDetails>,
    keeper: Option<mpsc::UnboundedSender<ClientFrame>>,
}

impl Waiting {
    fn send(&self, frame: ClientFrame) {
        if let Some(keeper) = &self.keeper {
            // It has ended, or it is ready: then the runs are announced there again.
            let _ = keeper.send(frame);
        }
    }
}

impl LocalKernel {
    /// What a keeper that starts the kernel is to know of the runs that wait for it, from now on.
    pub(super) fn early_frames(&self) -> mpsc::UnboundedReceiver<ClientFrame> {
        let (sender, frames) = mpsc::unbounded_channel();
        let waiting = &mut self.state.lock().kept.waiting;
        waiting.keeper = Some(sender);
        for run in &waiting.runs {
            waiting.send(ClientFrame::Announce(announcement_of(&self.root, run)));
        }
        frames
    }

    /// The kernel is ready: its connection takes announcements from here on.
    pub(super) fn announce_waiting(state: &mut State, running: &dyn RunningKernel) {
        let Waiting { runs, .. } = std::mem::take(&mut state.kept.waiting);
        if let Some(attached) = running.attached() {
            for run in &runs {
                attached.announce(run);
            }
        }
    }
}

impl EarlierKernelRuns for LocalKernel {
    fn runs_of_others(&self) -> BoxFuture<'_, Vec<RunDetails>> {
        let keeper = self.state.lock().kept.keeper.clone();
        async {
            let Some(keeper) = keeper else { return Vec::new() };
            let read = tokio::task::spawn_blocking(move || logged_runs(&keeper.folder.path)).await;
            let runs = read.unwrap_or_default().into_iter().filter(|run| run.is_sent && run.is_unfinished());
            runs.map(|run| details_of(&self.root, run.run, run.data)).collect()
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
            state.kept.waiting.send(ClientFrame::Announce(announcement_of(&self.root, details)));
            state.kept.waiting.runs.push(details.clone());
        }
    }

    fn retract(&self, run: &RunId) {
        let mut state = self.state.lock();
        state.kept.waiting.runs.retain(|waiting| waiting.run != *run);
        match &state.phase {
            Phase::Running(running) => running.executor().acknowledge(run),
            _ => state.kept.waiting.send(ClientFrame::Acknowledge { run: run.clone() }),
        }
    }
}

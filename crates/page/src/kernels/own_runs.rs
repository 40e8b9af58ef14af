//! The runs of this program, from its own memory.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use place::{Error, ErrorKind, Place, RunId};
use runs::Run;

use super::server::{RunSource, ServerKernels};
use super::{MAX_ENDED, RECENT, SeenRun};

/// The runs of some agents, those of each workspace the newest first.
pub type Runs = Box<dyn Fn() -> Vec<Vec<Arc<Run>>> + Send + Sync>;

/// The runs of this program on the kernels of a server.
pub struct OwnRuns(Runs);

impl ServerKernels<OwnRuns> {
    /// The kernels of a place, with runs of this program.
    pub fn of_own_runs(place: Arc<dyn Place>, runs: Runs) -> Self {
        Self::new(place, OwnRuns(runs))
    }
}

impl OwnRuns {
    fn by_kernel(&self) -> HashMap<String, Vec<SeenRun>> {
        let mut by_kernel = HashMap::<String, Vec<SeenRun>>::new();
        for runs in (self.0)() {
            let mut ended = 0;
            for run in runs {
                ended += usize::from(run.state().is_over());
                if let Some(kernel) = run.kernel().filter(|_| ended <= MAX_ENDED || !run.state().is_over()) {
                    by_kernel.entry(kernel.id().to_string()).or_default().push(seen_run(&run));
                }
            }
        }
        for runs in by_kernel.values_mut() {
            runs.sort_by_key(|run| run.since);
        }
        by_kernel
    }
}

impl RunSource for OwnRuns {
    fn runs(&self) -> BoxFuture<'_, HashMap<String, Vec<SeenRun>>> {
        ready(self.by_kernel()).boxed()
    }

    fn answer_input(&self, run: &RunId, line: String) -> Result<(), Error> {
        let runs = (self.0)();
        let is_answered =
            runs.iter().flatten().any(|known| known.id() == run && known.answer_input(line.clone()));
        let not_waiting = || {
            let cause = format!("Run {run} does not wait for input.");
            Error::new(ErrorKind::NotFound, cause, "Look at its cell.")
        };
        is_answered.then_some(()).ok_or_else(not_waiting)
    }
}

/// A run as it is now.
pub(crate) fn seen_run(run: &Run) -> SeenRun {
    let version = *run.changes().borrow();
    let state = run.state();
    let is_recent =
        state.is_over() && !(run.is_closed() && run.ended_at().is_none_or(|at| at.elapsed() >= RECENT));
    SeenRun {
        id: run.id().clone(),
        notebook: run.cell().map(|cell| cell.path.clone()),
        cell: run.cell().map(|cell| cell.id.clone()),
        source: run.source().to_owned(),
        since: Some(run.since()),
        execution_count: run.execution_count(),
        outputs: (!state.is_over() || is_recent).then(|| run.cell_outputs()),
        version,
        is_recent,
        takes_input: true,
        is_interruptible: run.kernel().is_none_or(|kernel| kernel.check_interruptible().is_ok()),
        state,
    }
}

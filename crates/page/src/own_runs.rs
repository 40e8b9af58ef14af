//! The kernels of a place as the page of the program whose agents run code there sees them: with the runs from its own memory.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use place::{Error, ErrorKind, Future, Kernel, NextStep, Place, RunId, RunState};
use runs::Run;

use crate::machine::{Machine, SeenKernel, SeenRun, already_ended};
use crate::server_kernels::ServerKernels;

/// How many runs that have ended are looked at.
const MAX_ENDED: usize = 20;
/// How long the outputs of a run that has ended may take to be in its notebook.
const RECENT: Duration = Duration::from_secs(3);
/// By how much two measurements of the same moment may differ.
const JITTER: Duration = Duration::from_millis(200);

/// The runs of some agents, those of each workspace the newest first.
pub type Runs = Box<dyn Fn() -> Vec<Vec<Arc<Run>>> + Send + Sync>;

/// The kernels of a place, with runs of this program.
pub struct OwnRuns {
    kernels: ServerKernels,
    runs: Runs,
    known: Mutex<HashMap<RunId, Known>>,
}

/// A run as it was last passed on.
struct Known {
    changed_at: Instant,
    seen: SeenRun,
}

impl OwnRuns {
    pub fn new(place: Arc<dyn Place>, runs: Runs) -> Self {
        Self { kernels: ServerKernels::new(place), runs, known: Mutex::default() }
    }

    async fn seen(&self) -> Vec<SeenKernel> {
        let kernels = self.kernels.all().await;
        let mut runs = self.runs_by_kernel();
        let seen = kernels
            .iter()
            .map(|kernel| SeenKernel::of_server(&**kernel, runs.remove(&**kernel.id()).unwrap_or_default()));
        seen.collect()
    }

    /// The runs that are not over and those that ended last, the oldest first.
    fn runs_by_kernel(&self) -> HashMap<String, Vec<SeenRun>> {
        let mut found = HashMap::<String, Vec<SeenRun>>::new();
        let mut known = self.known.lock();
        let mut before = std::mem::take(&mut *known);
        for runs in (self.runs)() {
            let mut ended = 0;
            for run in runs {
                let is_over = run.state().is_over();
                ended += usize::from(is_over);
                let Some(kernel) = run.kernel().filter(|_| !is_over || ended <= MAX_ENDED) else { continue };
                let now = Known::of(&run, before.remove(run.id()));
                found.entry(kernel.id().to_string()).or_default().push(now.seen.clone());
                known.insert(run.id().clone(), now);
            }
        }
        for runs in found.values_mut() {
            runs.sort_by_key(|run| run.since);
        }
        found
    }

    /// The kernel that works on a run.
    async fn kernel_of(&self, run: &RunId) -> Result<Arc<dyn Kernel>, Error> {
        let runs = (self.runs)();
        let found = runs.iter().flatten().find(|known| known.id() == run && !known.state().is_over());
        let found = found.ok_or_else(|| already_ended(run))?;
        if found.state() == RunState::Queued {
            let cause = format!("Run {run} is queued.");
            return Err(Error::new(ErrorKind::Unsupported, cause, "Interrupt the run before it."));
        }
        let unknown =
            || Error::new(ErrorKind::NotFound, format!("Run {run} has no kernel."), NextStep::TryAgain);
        let id = found.kernel().map(|kernel| kernel.id().clone()).ok_or_else(unknown)?;
        self.kernels.kernel(&id).await
    }
}

impl Known {
    /// A run as it is now, and as it was before.
    fn of(run: &Run, before: Option<Self>) -> Self {
        let version = *run.changes().borrow();
        match before {
            Some(before) if before.seen.version == version => {
                let is_recent = before.seen.is_recent && before.changed_at.elapsed() < RECENT;
                let mut now = Self { seen: SeenRun { is_recent, ..before.seen }, ..before };
                if now.seen.state.is_over() && !is_recent {
                    now.seen.outputs = None;
                }
                now
            }
            before => {
                let since = before.and_then(|known| known.seen.since);
                Self { changed_at: Instant::now(), seen: seen_run(run, version, since) }
            }
        }
    }
}

/// A run as it is now. `before` is what it had as `since` when it was seen last.
pub(crate) fn seen_run(run: &Run, version: u64, before: Option<SystemTime>) -> SeenRun {
    let view = run.view();
    let is_over = view.state.is_over();
    let since = SystemTime::now().checked_sub(view.elapsed);
    // Measured again, the same moment would be another number, and the page would change.
    let is_same = |shown: &SystemTime| is_over || since.is_some_and(|since| is_near(*shown, since));
    let since = before.filter(is_same).or(since);
    SeenRun {
        id: run.id().clone(),
        notebook: run.cell().map(|cell| cell.path.clone()),
        cell: run.cell().map(|cell| cell.id.clone()),
        source: run.source().to_owned(),
        since,
        execution_count: view.execution_count,
        outputs: Some(run.cell_outputs()),
        version,
        is_recent: is_over,
        takes_input: true,
        is_interruptible: run.kernel().is_none_or(|kernel| kernel.check_interruptible().is_ok()),
        state: view.state,
    }
}

fn is_near(one: SystemTime, other: SystemTime) -> bool {
    one.duration_since(other).unwrap_or_else(|error| error.duration()) < JITTER
}

impl Machine for OwnRuns {
    fn look(&self) -> BoxFuture<'_, Vec<SeenKernel>> {
        self.seen().boxed()
    }

    /// With the login of the page, whose user may interrupt kernels or not.
    fn interrupt(&self, run: &RunId) -> Future<'_, ()> {
        let run = run.clone();
        async move { self.kernel_of(&run).await?.interrupt().await }.boxed()
    }

    fn answer_input(&self, run: &RunId, line: String) -> Future<'_, ()> {
        let runs = (self.runs)();
        let is_answered =
            runs.iter().flatten().any(|known| known.id() == run && known.answer_input(line.clone()));
        let not_waiting = || {
            let cause = format!("Run {run} does not wait for input.");
            Error::new(ErrorKind::NotFound, cause, "Look at its cell.")
        };
        let answered = is_answered.then_some(()).ok_or_else(not_waiting);
        std::future::ready(answered).boxed()
    }
}

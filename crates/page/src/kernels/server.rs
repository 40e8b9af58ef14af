//! The kernels that a Jupyter server lists.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use place::{Error, ErrorKind, Future, Kernel, KernelState, NotebookPath, Place, RunId, RunState};
use tokio::sync::Mutex;

use super::{Machine, SeenKernel, SeenRun, SeenSource, already_ended};

/// Pause between two requests for the server's kernels.
const PAUSE: Duration = Duration::from_secs(2);

/// The runs on a server's kernels.
pub trait RunSource: Send + Sync + 'static {
    /// The runs that are not over and those that ended last, the oldest first, by kernel.
    fn runs(&self) -> BoxFuture<'_, HashMap<String, Vec<SeenRun>>>;

    /// Whether a run is shown on a kernel that is busy or not.
    fn is_current(&self, _run: &SeenRun, _is_busy: bool) -> bool {
        true
    }

    /// Sends a run the line for which it waits.
    fn answer_input(&self, run: &RunId, line: String) -> Result<(), Error>;
}

type Source = Box<dyn Fn(&NotebookPath) -> Option<SeenSource> + Send + Sync>;

/// The list of the server, and when it was read.
type Listed = (Instant, Vec<Arc<dyn Kernel>>);

/// The kernels that a server lists, with runs that are known from `R`.
pub struct ServerKernels<R> {
    place: Arc<dyn Place>,
    listed: Mutex<Option<Listed>>,
    runs: R,
    source: Option<Source>,
}

impl<R: RunSource> ServerKernels<R> {
    pub fn new(place: Arc<dyn Place>, runs: R) -> Self {
        Self { place, listed: Mutex::default(), runs, source: None }
    }

    /// With what the page says of how a notebook is known; see [`Machine::source`].
    #[must_use]
    pub fn with_source(
        self,
        source: impl Fn(&NotebookPath) -> Option<SeenSource> + Send + Sync + 'static,
    ) -> Self {
        Self { source: Some(Box::new(source)), ..self }
    }

    /// The kernels, as the server has listed them lately; none if it does not answer.
    async fn all(&self) -> Vec<Arc<dyn Kernel>> {
        let mut listed = self.listed.lock().await;
        match &*listed {
            Some((at, kernels)) if at.elapsed() < PAUSE => kernels.clone(),
            _ => {
                let kernels = self.place.kernels().await.unwrap_or_else(|error| {
                    tracing::debug!(%error, "the kernels of the server are not known");
                    Vec::new()
                });
                *listed = Some((Instant::now(), kernels.clone()));
                kernels
            }
        }
    }

    async fn seen(&self) -> Vec<SeenKernel> {
        let kernels = self.all().await;
        let mut runs = self.runs.runs().await;
        let seen = |kernel: &Arc<dyn Kernel>| {
            let mut runs = runs.remove(&**kernel.id()).unwrap_or_default();
            let is_busy = kernel.description().state == KernelState::Busy;
            runs.retain(|run| self.runs.is_current(run, is_busy));
            seen_kernel(&**kernel, runs)
        };
        kernels.iter().map(seen).collect()
    }

    /// The kernel that works on a run.
    async fn kernel_of(&self, run: &RunId) -> Result<Arc<dyn Kernel>, Error> {
        let runs = self.runs.runs().await;
        let is_it = |seen: &SeenRun| seen.id == *run && !seen.state.is_over();
        let unfinished =
            runs.into_iter().find_map(|(kernel, runs)| Some((kernel, runs.into_iter().find(is_it)?)));
        let (kernel, seen) = unfinished.ok_or_else(|| already_ended(run))?;
        if seen.state == RunState::Queued {
            let cause = format!("Run {run} is queued in its agent's server.");
            return Err(Error::new(ErrorKind::Unsupported, cause, "Interrupt the run before it."));
        }
        let kernels = self.all().await;
        kernels.into_iter().find(|it| **it.id() == *kernel).ok_or_else(|| Error::no_kernel(&kernel))
    }
}

impl<R: RunSource> Machine for ServerKernels<R> {
    fn look(&self) -> BoxFuture<'_, Vec<SeenKernel>> {
        self.seen().boxed()
    }

    /// With the login of the page, whose user may interrupt kernels or not.
    fn interrupt(&self, run: &RunId) -> Future<'_, ()> {
        let run = run.clone();
        async move { self.kernel_of(&run).await?.interrupt().await }.boxed()
    }

    fn answer_input(&self, run: &RunId, line: String) -> Future<'_, ()> {
        ready(self.runs.answer_input(run, line)).boxed()
    }

    fn source(&self, path: &NotebookPath) -> Option<SeenSource> {
        self.source.as_ref()?(path)
    }
}

fn seen_kernel(kernel: &dyn Kernel, runs: Vec<SeenRun>) -> SeenKernel {
    let description = kernel.description();
    SeenKernel {
        id: kernel.id().to_string(),
        display_name: description.display_name,
        state: match description.state {
            KernelState::NotStarted | KernelState::Starting => "starting".to_owned(),
            KernelState::Idle => "idle".to_owned(),
            KernelState::Busy => "busy".to_owned(),
            KernelState::Unreachable { how } => how,
            KernelState::Dead { how } => how.to_string(),
        },
        process: None,
        language: Some(description.language).filter(|language| !language.is_empty()),
        notebook: runs.iter().rev().find_map(|run| run.notebook.clone()),
        started_at: None,
        memory: None,
        servers: description.connections.and_then(|count| usize::try_from(count).ok()).unwrap_or(0),
        runs,
    }
}

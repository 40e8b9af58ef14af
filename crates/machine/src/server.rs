//! The kernels of a Jupyter server as the page sees them: from the server, and from the logs of runs that programs of this user write.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use keeper::LogFollower;
use page::{Machine, SeenKernel, SeenRun, ServerKernels};
use parking_lot::Mutex;
use place::{Error, ErrorKind, Future, Kernel, KernelState, NotebookPath, Place, RunId, RunState};
use run_logs::{CurrentLog, RunLogs};

use crate::followed::Followed;

/// How long a run may be unfinished on an idle kernel: then the program that requested it has ended.
const IDLE: Duration = Duration::from_secs(5);

/// The kernels of a Jupyter server. `run_logs` is the folder of the logs.
pub fn of_server(place: Arc<dyn Place>, run_logs: Option<PathBuf>) -> Arc<dyn Machine> {
    Arc::new(ServerMachine::new(place, run_logs))
}

struct ServerMachine {
    place: Arc<dyn Place>,
    logs: Option<RunLogs>,
    kernels: ServerKernels,
    followed: Arc<Mutex<HashMap<PathBuf, Followed>>>,
}

impl ServerMachine {
    fn new(place: Arc<dyn Place>, run_logs: Option<PathBuf>) -> Self {
        let logs = run_logs.map(RunLogs::new);
        let kernels = ServerKernels::new(place.clone());
        Self { place, logs, kernels, followed: Arc::default() }
    }

    async fn seen(&self) -> Vec<SeenKernel> {
        let kernels = self.kernels.all().await;
        let mut runs = self.runs().await;
        let seen = |kernel: &Arc<dyn Kernel>| {
            seen_kernel(&**kernel, runs.remove(&**kernel.id()).unwrap_or_default())
        };
        kernels.iter().map(seen).collect()
    }

    /// The runs in the logs, by kernel.
    async fn runs(&self) -> HashMap<String, Vec<SeenRun>> {
        let Some(logs) = self.logs.clone() else { return HashMap::new() };
        let (server, followed) = (self.place.name(), self.followed.clone());
        let reading = tokio::task::spawn_blocking(move || read(&logs.current(&server), &mut followed.lock()));
        reading.await.unwrap_or_default()
    }

    /// The kernel that works on a run.
    async fn kernel_of(&self, run: &RunId) -> Result<Arc<dyn Kernel>, Error> {
        let runs = self.runs().await;
        let found =
            runs.iter().find_map(|(kernel, runs)| Some((kernel, runs.iter().find(|seen| seen.id == *run)?)));
        let Some((kernel, seen)) = found.filter(|(_, seen)| !seen.state.is_over()) else {
            return Err(page::already_ended(run));
        };
        if seen.state == RunState::Queued {
            let cause = format!("Run {run} is queued in its agent's server.");
            return Err(Error::new(ErrorKind::Unsupported, cause, "Interrupt the run before it."));
        }
        self.kernels.kernel(kernel).await
    }
}

/// Reads what was added to logs, and returns the runs in them by kernel.
fn read(current: &[CurrentLog], followed: &mut HashMap<PathBuf, Followed>) -> HashMap<String, Vec<SeenRun>> {
    followed.retain(|path, _| current.iter().any(|log| log.path == *path));
    let mut runs = HashMap::<String, Vec<SeenRun>>::new();
    for CurrentLog { path, kernel, start } in current {
        let log = followed.entry(path.clone());
        let log = log.or_insert_with(|| Followed::new(LogFollower::of_file(path.clone(), *start)));
        // A log that cannot be read has no runs.
        let _ = log.log.read();
        let seen = log.runs(true, |notebook| Some(NotebookPath::from(notebook.to_str()?)));
        let seen = seen.into_iter().map(|run| SeenRun { takes_input: false, ..run });
        runs.entry(kernel.clone()).or_default().extend(seen);
    }
    runs
}

fn seen_kernel(kernel: &dyn Kernel, mut runs: Vec<SeenRun>) -> SeenKernel {
    let is_idle = kernel.description().state != KernelState::Busy;
    let is_old = |run: &SeenRun| {
        run.since.and_then(|at| SystemTime::now().duration_since(at).ok()).is_some_and(|age| age > IDLE)
    };
    runs.retain(|run| run.state.is_over() || !(is_idle && is_old(run)));
    SeenKernel::of_server(kernel, runs)
}

impl Machine for ServerMachine {
    fn look(&self) -> BoxFuture<'_, Vec<SeenKernel>> {
        self.seen().boxed()
    }

    fn interrupt(&self, run: &RunId) -> Future<'_, ()> {
        let run = run.clone();
        async move { self.kernel_of(&run).await?.interrupt().await }.boxed()
    }

    fn answer_input(&self, run: &RunId, _line: String) -> Future<'_, ()> {
        std::future::ready(Err(page::answered_elsewhere(run))).boxed()
    }
}

//! The kernels of a place as its pages see them, beyond what its notebooks tell: the list of them, their runs for any server, and the
//! outputs so far. A `folder` asks the keepers and reads their logs; a `server` lists its kernels, with the runs of this
//! program (`own_runs`) or those in the logs of all programs of this user (`logged`).

#[cfg(unix)]
mod folder;
#[cfg(unix)]
mod logged;
mod observed;
mod own_runs;
mod server;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use environments::ProcessEnv;
use futures_util::future::{BoxFuture, ready};
use html::Libraries;
use notebook::{CellId, Notebook, Output};
use place::{Error, ErrorKind, Future, NotebookPath, Place, RunId, RunState};

#[cfg(unix)]
pub use self::folder::keeper_state;
pub(crate) use self::observed::ObservedKernel;
pub use self::own_runs::Runs;
pub(crate) use self::own_runs::seen_run;
pub use self::server::ServerKernels;

/// Maximum number of ended runs that are looked at.
const MAX_ENDED: usize = 20;
/// Longest time until the outputs of an ended run are in its notebook.
const RECENT: Duration = Duration::from_secs(3);

/// The kernels of a place, whoever started them. Without methods of its own, it sees none: no program reads the logs of another.
pub trait Machine: Send + Sync + 'static {
    /// The kernels at this moment, with the runs that are not over and those that ended last. Bounded, and starts nothing.
    fn look(&self) -> BoxFuture<'_, Vec<SeenKernel>> {
        Box::pin(ready(Vec::new()))
    }

    /// Interrupts a run; one that waits for its turn does not run.
    fn interrupt(&self, run: &RunId) -> Future<'_, ()> {
        Box::pin(ready(Err(unreachable(run))))
    }

    /// Sends a run the line for which it waits.
    fn answer_input(&self, run: &RunId, _line: String) -> Future<'_, ()> {
        Box::pin(ready(Err(unreachable(run))))
    }

    /// How a notebook is known that is read only now and then.
    fn source(&self, _path: &NotebookPath) -> Option<SeenSource> {
        None
    }

    /// The libraries of charts in the environment of the kernel of `notebook`, which is at `path`. Reads files only.
    fn libraries(&self, _path: &NotebookPath, _notebook: &Notebook) -> BoxFuture<'_, Libraries> {
        Box::pin(ready(Libraries::default()))
    }
}

/// The kernels of a folder.
#[cfg_attr(not(unix), expect(unused_variables, reason = "there are no keepers"))]
pub fn of_folder(root: &Path, process_env: &ProcessEnv) -> Arc<dyn Machine> {
    #[cfg(unix)]
    return Arc::new(folder::FolderMachine::new(root, process_env));
    #[cfg(not(unix))]
    return Arc::new(Unseen);
}

/// The kernels of a Jupyter server. `run_logs` is the folder of the logs.
#[cfg_attr(not(unix), expect(unused_variables, reason = "no program can read the log of another"))]
pub fn of_server(place: Arc<dyn Place>, run_logs: Option<PathBuf>) -> Arc<dyn Machine> {
    #[cfg(unix)]
    return Arc::new(ServerKernels::new(place.clone(), logged::LoggedRuns::new(place, run_logs)));
    #[cfg(not(unix))]
    return Arc::new(Unseen);
}

#[cfg(not(unix))]
struct Unseen;

#[cfg(not(unix))]
impl Machine for Unseen {}

fn unreachable(run: &RunId) -> Error {
    let cause = format!("Run {run} cannot be reached: on this system only its own server has access.");
    Error::new(ErrorKind::Unsupported, cause, "Ask the agent to interrupt or answer it.")
}

/// A kernel as a person sees it.
#[derive(Debug, Clone)]
pub struct SeenKernel {
    pub id: String,
    pub display_name: String,
    /// What it does, in a word or two.
    pub state: String,
    /// Its process, while there is one.
    pub process: Option<u32>,
    /// Its language, in lower case, if it has said so.
    pub language: Option<String>,
    /// The notebook for which it was started, if that is in the place.
    pub notebook: Option<NotebookPath>,
    pub started_at: Option<SystemTime>,
    /// What its process holds in memory, in bytes.
    pub memory: Option<u64>,
    /// How many programs are connected to it.
    pub servers: usize,
    pub runs: Vec<SeenRun>,
}

impl SeenKernel {
    /// A kernel runs one request at a time: one that it has not started waits while another program's runs.
    pub(crate) fn queue(&mut self) {
        let has_started = |run: &SeenRun| !run.state.is_over() && run.execution_count.is_some();
        if !self.runs.iter().any(has_started) {
            return;
        }
        for run in self.runs.iter_mut().filter(|run| run.execution_count.is_none()) {
            if run.state == RunState::Running {
                run.state = RunState::Queued;
            }
        }
    }
}

/// A run as a person sees it.
#[derive(Debug, Clone)]
pub struct SeenRun {
    pub id: RunId,
    /// The notebook of its cell, if that is in the place.
    pub notebook: Option<NotebookPath>,
    pub cell: Option<CellId>,
    pub source: String,
    pub state: RunState,
    /// When it was requested, or the kernel began with it.
    pub since: Option<SystemTime>,
    pub execution_count: Option<u64>,
    /// What it has shown so far; `None` if that is not known here.
    pub outputs: Option<Arc<[Output]>>,
    /// Differs whenever `outputs` do.
    pub version: u64,
    /// Its outputs may not be in the notebook yet.
    pub is_recent: bool,
    /// Whether [`Machine::answer_input`] can answer it.
    pub takes_input: bool,
    /// Whether [`Machine::interrupt`] can interrupt it, rather than only the person elsewhere.
    pub is_interruptible: bool,
}

/// A notebook in an application that is asked for it now and then.
#[derive(Debug, Clone, Copy)]
pub struct SeenSource {
    /// When it was read last.
    pub read_at: SystemTime,
    /// Whether it can be read again.
    pub is_connected: bool,
}

/// Why nothing can be done to a run that a page still shows.
pub(crate) fn already_ended(run: &RunId) -> Error {
    Error::new(ErrorKind::NotFound, format!("Run {run} has already ended."), "Look at its cell.")
}

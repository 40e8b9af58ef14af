//! The state that all sessions of a process share: places, open notebooks, runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::{OptionFuture, join, join_all};
use operations::IdRecords;
use packages::InstallationTurns;
use place::{Connector, EarlierRuns, Error, Leftovers, Machines, Mode, Place, SessionId};
use recorder::Recorder;
use render::Budget;
use runs::{Journal, OpenNotebook, Runner};
use tokio::sync::OnceCell;

use crate::file_digests::FileDigests;
use crate::idle::suspend_unused;
use crate::open_notebooks::OpenNotebooks;
use crate::places::{Located, Places};
use crate::session::PerAgent;

/// Time limit for shutting down.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// The time that the last records may take after that.
const LAST_RECORDS: Duration = Duration::from_secs(1);
/// The part of the shutdown for the last outputs of runs that the kernel continues without us.
const LAST_OUTPUTS: Duration = Duration::from_secs(1);
/// Codex ends a call after 60 s unless it is configured otherwise; other clients wait longer.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(50);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// The operator's limits for each session, so that one agent cannot use up a machine that others share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The number of open notebooks.
    pub notebooks: usize,
    /// The number of unfinished runs. Cells that are run in order count as one run.
    pub runs: usize,
}

impl Limits {
    pub(crate) const NONE: Self = Self { notebooks: usize::MAX, runs: usize::MAX };
}

/// Settings of the operator.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The largest reply.
    pub budget: Budget,
    /// The time for which a call waits for a run if the agent gives no timeout.
    pub default_timeout: Duration,
    /// The longest timeout that an agent can give.
    pub max_timeout: Duration,
    pub limits: Limits,
    /// Ends the ids of runs.
    pub run_suffix: String,
    /// Whether kernels are asked what runs have changed in their memory.
    pub asks_for_changes: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            budget: Budget::default(),
            default_timeout: DEFAULT_TIMEOUT,
            max_timeout: DAY,
            limits: Limits::NONE,
            run_suffix: String::new(),
            asks_for_changes: true,
        }
    }
}

/// The notebooks, kernels and runs of a process.
pub struct Workspace {
    places: Places,
    settings: Settings,
    runner: Arc<Runner>,
    notebooks: Arc<OpenNotebooks>,
    sessions: AtomicU64,
    /// For all agents without sessions together.
    common: PerAgent,
    installation_turns: InstallationTurns,
    /// The leftovers of earlier servers, as the first reply of this one reports them.
    left: OnceCell<Arc<Leftovers>>,
    is_left_reported: AtomicBool,
    files: FileDigests,
}

impl Workspace {
    /// A workspace with one place. Must be called within a runtime.
    pub fn new(place: Arc<dyn Place>, settings: Settings) -> Arc<Self> {
        Self::with_places(place, Vec::new(), settings, None)
    }

    /// A workspace with a default place, others that every session can name, and those that agents connect to.
    pub fn with_places(
        place: Arc<dyn Place>,
        others: Vec<Arc<dyn Place>>,
        settings: Settings,
        connector: Option<Arc<dyn Connector>>,
    ) -> Arc<Self> {
        let notebooks = Arc::default();
        suspend_unused(&notebooks);
        Arc::new(Self {
            places: Places::new(place, others, connector),
            common: PerAgent::new(settings.limits),
            runner: Runner::new(settings.run_suffix.clone(), settings.asks_for_changes),
            settings,
            notebooks,
            sessions: AtomicU64::new(0),
            installation_turns: InstallationTurns::default(),
            left: OnceCell::new(),
            is_left_reported: AtomicBool::new(false),
            files: FileDigests::default(),
        })
    }

    pub(crate) fn files(&self) -> &FileDigests {
        &self.files
    }

    /// Installations into one environment wait for each other.
    pub fn installation_turns(&self) -> &InstallationTurns {
        &self.installation_turns
    }

    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The machines of the person. `None` if there can be none, or nobody has signed in.
    pub fn machines(&self) -> Option<&Arc<dyn Machines>> {
        self.places.machines().filter(|machines| machines.is_present())
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Records all changes from now on below this folder, so that they can be undone. Does nothing the second time.
    pub fn record_history(&self, folder: PathBuf) {
        match Recorder::new(folder) {
            Ok(recorder) => self.runner.record_with(recorder),
            Err(error) => tracing::warn!(%error, "changes will not be recorded: no thread can be started"),
        }
    }

    /// Takes the ids of cells that their file does not tell apart from the record in this folder, and records nothing.
    pub fn read_ids(&self, folder: PathBuf) {
        self.runner.identify_by(IdRecords::read_only(folder));
    }

    pub(crate) fn recorder(&self) -> Option<&Recorder> {
        self.runner.recorder()
    }

    /// The leftovers of earlier servers; `None` once they were reported to an agent.
    pub async fn leftovers(&self) -> Option<Arc<Leftovers>> {
        let find = async {
            let places = self.places.all();
            let of_places = places.iter().filter_map(|it| it.earlier_runs()).map(EarlierRuns::leftovers);
            let mut all = Leftovers::default();
            for Leftovers { kernels, runs, warnings } in join_all(of_places).await {
                all.kernels.extend(kernels);
                all.runs.extend(runs);
                all.warnings.extend(warnings);
            }
            Arc::new(all)
        };
        if self.has_reported_leftovers() { None } else { Some(self.left.get_or_init(|| find).await.clone()) }
    }

    pub(crate) fn has_reported_leftovers(&self) -> bool {
        self.is_left_reported.load(Ordering::Relaxed)
    }

    /// Notes that the leftovers are about to be reported to an agent. `false` if that was done before.
    pub fn report_leftovers(&self, left: &Leftovers) -> bool {
        let is_first = !self.is_left_reported.swap(true, Ordering::Relaxed);
        if is_first {
            self.runner.reported(&left.runs);
        }
        is_first
    }

    pub fn runner(&self) -> &Arc<Runner> {
        &self.runner
    }

    pub fn journal(&self) -> &Journal {
        self.runner.journal()
    }

    /// Sorted by path.
    pub fn open_notebooks(&self) -> Vec<Arc<OpenNotebook>> {
        self.notebooks.all()
    }

    /// The open notebook with this path.
    pub fn open_notebook(&self, path: &str) -> Option<Arc<OpenNotebook>> {
        self.open_notebooks().into_iter().find(|opened| opened.path().as_str() == path)
    }

    /// An open notebook whose cells run in the kernel with this id.
    pub fn notebook_of_kernel(&self, kernel: &str) -> Option<Arc<OpenNotebook>> {
        let is_its = |opened: &Arc<OpenNotebook>| opened.kernel().is_some_and(|its| **its.id() == *kernel);
        self.open_notebooks().into_iter().find(is_its)
    }

    /// Opens a notebook. Returns the open one if there is one.
    pub(crate) async fn open(&self, located: Located, mode: Mode) -> Result<Arc<OpenNotebook>, Error> {
        let Located { place, path } = located;
        let document = self.runner.open(&place, &path, mode).await?;
        Ok(self.notebooks.open(place, document))
    }

    pub(crate) fn notebooks(&self) -> &OpenNotebooks {
        &self.notebooks
    }

    /// Shuts down the kernels that sessions started for notebooks, and closes those notebooks. Kernels that others use
    /// keep running.
    pub async fn stop(&self) -> Result<(), Error> {
        let mut ended = Ok(());
        for opened in self.open_notebooks() {
            let kernels = opened.take_kernels(|_| true);
            if !kernels.is_empty() {
                self.notebooks.close(&opened);
            }
            for kernel in kernels {
                if !kernel.is_shared().await {
                    ended = ended.and(kernel.shutdown().await);
                }
            }
        }
        ended
    }

    /// Ends kernels and tasks; runs store their last outputs. Returns in bounded time.
    pub async fn shutdown(&self) {
        let ended = async {
            if self.runner.end_runs_that_continue() {
                // Their last outputs are written while the documents are still open.
                let _ = tokio::time::timeout(LAST_OUTPUTS, self.runner.drain()).await;
            }
            let (on_machines, others): (Vec<_>, Vec<_>) =
                self.places.all().into_iter().partition(|place| self.places.is_machine(place));
            let machines = async {
                // First, since a machine ends only if no code runs on it.
                OptionFuture::from(self.places.machines().map(|machines| machines.shutdown())).await;
                join_all(on_machines.iter().map(|place| place.shutdown())).await;
            };
            join(machines, join_all(others.iter().map(|place| place.shutdown()))).await;
            self.runner.drain().await;
        };
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, ended).await;
        if let Some(recorder) = self.recorder() {
            recorder.drain(LAST_RECORDS).await;
        }
        self.runner.end_spans();
    }

    /// The state of all agents without sessions together.
    pub(crate) fn common(&self) -> &PerAgent {
        &self.common
    }

    pub(crate) fn new_session(&self) -> SessionId {
        SessionId::new(self.sessions.fetch_add(1, Ordering::Relaxed))
    }
}

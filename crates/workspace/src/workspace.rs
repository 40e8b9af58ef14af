//! What all sessions of one server share: the place, the open notebooks, the journal, the queues of the kernels.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use render::Budget;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use crate::journal::Journal;
use crate::lane::Lane;
use crate::opened::{KernelWish, Opened, known};
use crate::place::{Kernel, KernelRequest, Mode, Place};
use crate::run::Run;
use crate::run_state::{RunCell, RunState};
use crate::{Error, execute};

/// How long a run may still take to leave at the end, in all.
const CLOSING: Duration = Duration::from_secs(5);

/// What the operator of the server has set.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// What one reply may hold.
    pub budget: Budget,
    /// How long `execute_cell` waits when the agent does not say.
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { budget: Budget::default(), patience: Duration::from_secs(120) }
    }
}

/// One server's notebooks, kernels and runs.
pub struct Workspace {
    place: Arc<dyn Place>,
    settings: Settings,
    journal: Journal,
    shared: Mutex<Shared>,
    /// Every run's task.
    tasks: TaskTracker,
    /// Where tasks run that a kernel's connection begins: its own runtime ends with it.
    runtime: Handle,
    sessions: AtomicU64,
}

#[derive(Default)]
struct Shared {
    opened: HashMap<String, Arc<Opened>>,
    /// Names given by any session, for agents that have no session of their own.
    names: HashMap<String, BTreeSet<String>>,
    lanes: HashMap<String, Arc<Lane>>,
    /// The kernel for code that belongs to no notebook.
    scratch: Option<Arc<dyn Kernel>>,
}

impl Workspace {
    /// Serves one place. Needs to be called within the runtime that serves it.
    pub fn new(place: Arc<dyn Place>, settings: Settings) -> Arc<Self> {
        Arc::new(Self {
            place,
            settings,
            journal: Journal::default(),
            shared: Mutex::default(),
            tasks: TaskTracker::new(),
            runtime: Handle::current(),
            sessions: AtomicU64::new(0),
        })
    }

    /// The place.
    pub fn place(&self) -> &dyn Place {
        &*self.place
    }

    /// What the operator has set.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The runs.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The notebooks that are open, by path.
    pub fn opened(&self) -> Vec<Arc<Opened>> {
        let mut opened: Vec<_> = self.shared().opened.values().cloned().collect();
        opened.sort_by(|one, other| one.path().cmp(other.path()));
        opened
    }

    /// Opens a notebook, or gives the one that is open.
    pub async fn open(&self, path: &str, mode: Mode) -> Result<Arc<Opened>, Error> {
        let document = self.place.open(path, mode).await?;
        let path = document.path().to_owned();
        Ok(self.shared().opened.entry(path).or_insert_with(|| Arc::new(Opened::new(document))).clone())
    }

    /// Runs code in a notebook's kernel, which is chosen and started if need be. Never waits. The outputs go into
    /// the cell, if one is given.
    pub(crate) fn run(
        self: &Arc<Self>,
        notebook: Arc<Opened>,
        cell: Option<String>,
        source: String,
        session: u64,
    ) -> Arc<Run> {
        let cell = cell.map(|id| RunCell { path: notebook.path().to_owned(), id });
        let run = self.journal.begin(cell, source);
        self.tasks.spawn(execute::in_notebook(self.clone(), notebook, run.clone(), session));
        run
    }

    /// Runs cells of a notebook in order; each has its run from the beginning. Never waits.
    pub(crate) fn run_in_order(
        self: &Arc<Self>,
        notebook: &Arc<Opened>,
        cells: Vec<(String, String)>,
        stops_on_error: bool,
        session: u64,
    ) -> Vec<Arc<Run>> {
        let begin =
            |(id, source)| self.journal.begin(Some(RunCell { path: notebook.path().to_owned(), id }), source);
        let runs: Vec<_> = cells.into_iter().map(begin).collect();
        let running =
            execute::in_order(self.clone(), notebook.clone(), runs.clone(), stops_on_error, session);
        self.tasks.spawn(running);
        runs
    }

    /// Runs code in a kernel, by its id; without one in a kernel that belongs to no notebook. Never waits.
    pub(crate) fn run_code(
        self: &Arc<Self>,
        kernel: Option<&str>,
        source: String,
    ) -> Result<Arc<Run>, Error> {
        let kernel = kernel.map(|id| known(&*self.place, id)).transpose()?;
        let run = self.journal.begin(None, source);
        let (workspace, asked) = (self.clone(), run.clone());
        self.tasks.spawn(async move {
            let kernel = match kernel {
                Some(kernel) => Ok(kernel),
                None => workspace.scratch().await,
            };
            match kernel {
                Ok(kernel) => execute::in_kernel(&workspace, kernel, &asked, None).await,
                Err(error) => asked.end(RunState::Failed(error)),
            }
        });
        Ok(run)
    }

    /// Interrupts what the kernel runs. Gives the run that was interrupted, if it is one of ours.
    pub async fn interrupt(&self, kernel: &dyn Kernel) -> Result<Option<Arc<Run>>, Error> {
        let running = self.lane(kernel.id()).running();
        match &running {
            Some(run) => self.interrupt_run(run).await?,
            None => kernel.interrupt().await?,
        }
        Ok(running)
    }

    /// Interrupts a kernel by its id. Gives the run that was interrupted, if it is one of ours.
    pub async fn interrupt_kernel(&self, id: &str) -> Result<Option<Arc<Run>>, Error> {
        self.interrupt(&*known(&*self.place, id)?).await
    }

    /// Stops one run: interrupts the kernel if it works on it, else takes it out of the queue.
    pub async fn interrupt_run(&self, run: &Run) -> Result<(), Error> {
        match (run.state(), run.kernel()) {
            (RunState::Queued, _) | (_, None) => {
                run.note("It was taken back before it ran.");
                run.end(RunState::Interrupted);
                Ok(())
            }
            (state, _) if state.is_over() => Ok(()),
            (_, Some(kernel)) => {
                run.expect_interruption();
                kernel.interrupt().await
            }
        }
    }

    /// Starts the kernel anew, and takes back the runs that wait for it.
    pub async fn restart(&self, kernel: &dyn Kernel) -> Result<(), Error> {
        let lane = self.lane(kernel.id());
        lane.restarted();
        if let Some(run) = lane.running() {
            run.expect_restart();
            run.note("The kernel was started anew while this ran.");
        }
        kernel.restart().await
    }

    /// Stops what was started, and lets the runs write down how they ended. Bounded.
    pub async fn shutdown(&self) {
        let ended = async {
            self.place.shutdown().await;
            self.tasks.close();
            self.tasks.wait().await;
        };
        let _ = tokio::time::timeout(CLOSING, ended).await;
    }

    pub(crate) fn new_session(&self) -> u64 {
        self.sessions.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn remember_name(&self, name: &str, path: &str) {
        self.shared().names.entry(name.to_owned()).or_default().insert(path.to_owned());
    }

    pub(crate) fn forget_name(&self, name: &str, path: &str) {
        if let Some(paths) = self.shared().names.get_mut(name) {
            paths.remove(path);
        }
    }

    /// The one notebook to which sessions have given this name; `None` if there is none or more than one.
    pub(crate) fn named(&self, name: &str) -> Option<Arc<Opened>> {
        let shared = self.shared();
        let paths = shared.names.get(name).filter(|paths| paths.len() == 1)?;
        shared.opened.get(paths.first()?).cloned()
    }

    /// Whether another open notebook runs on this kernel.
    pub(crate) fn is_shared(&self, kernel: &dyn Kernel, path: &str) -> bool {
        let is_same = |opened: &Arc<Opened>| opened.kernel().is_some_and(|used| used.id() == kernel.id());
        self.opened().iter().any(|opened| opened.path() != path && is_same(opened))
    }

    /// Fails if there is no kernel with this id.
    pub(crate) fn check_kernel(&self, id: &str) -> Result<(), Error> {
        known(&*self.place, id).map(drop)
    }

    pub(crate) fn lane(&self, kernel: &str) -> Arc<Lane> {
        self.shared().lanes.entry(kernel.to_owned()).or_default().clone()
    }

    /// Lets go of an open notebook, unless it has been opened anew.
    pub(crate) fn close(&self, notebook: &Arc<Opened>) {
        let mut shared = self.shared();
        if shared.opened.get(notebook.path()).is_some_and(|open| Arc::ptr_eq(open, notebook)) {
            shared.opened.remove(notebook.path());
        }
    }

    /// Writes late output of a run that is over into its cell, once for all that comes within a moment.
    pub(crate) fn spawn_late(self: &Arc<Self>, notebook: Arc<Opened>, run: Arc<Run>) {
        self.tasks.spawn_on(execute::late(self.clone(), notebook, run), &self.runtime);
    }

    pub(crate) async fn choose(
        &self,
        notebook: &Opened,
        wish: &KernelWish,
        session: u64,
        progress: Option<mpsc::Sender<String>>,
    ) -> Result<Arc<dyn Kernel>, Error> {
        notebook.choose(&*self.place, wish, session, progress).await
    }

    async fn scratch(&self) -> Result<Arc<dyn Kernel>, Error> {
        if let Some(kernel) = self.shared().scratch.clone() {
            return Ok(kernel);
        }
        let kernel = self.place.kernel(KernelRequest::default()).await?;
        Ok(self.shared().scratch.get_or_insert(kernel).clone())
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspace").field("place", &self.place.description()).finish_non_exhaustive()
    }
}

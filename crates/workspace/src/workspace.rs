//! What all sessions of one server share: the place, the open notebooks, the journal, the queues of the kernels.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use render::Budget;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use crate::idle::Tidying;
use crate::journal::Journal;
use crate::lane::Lane;
use crate::limits::{Limits, Slot, Slots};
use crate::open_notebook::{OpenNotebook, find_kernel};
use crate::place::{Connector, Kernel, KernelChoice, KernelRequest, Mode, Place, ServerSpec};
use crate::places::{ConnectScope, Places};
use crate::run::Run;
use crate::run_state::{RunCell, RunState};
use crate::{Error, ErrorKind, KernelId, NextStep, SessionId, execute, idle, trace};

/// How long a run may still take to leave at the end, in all.
const CLOSING: Duration = Duration::from_secs(5);
/// How much of that is for the last outputs of runs that the kernel continues without us.
const LAST_OUTPUTS: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// What the operator of the server has set.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// What one reply may hold.
    pub budget: Budget,
    /// How long `execute_cell` waits when the agent does not say.
    pub default_timeout: Duration,
    /// The longest that a call waits for a run, whatever the agent says.
    pub max_timeout: Duration,
    /// How much one session may have at a time.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            budget: Budget::default(),
            default_timeout: Duration::from_secs(120),
            max_timeout: DAY,
            limits: Limits::default(),
        }
    }
}

/// One server's notebooks, kernels and runs.
pub struct Workspace {
    places: Places,
    settings: Settings,
    journal: Journal,
    shared: Mutex<Shared>,
    /// Held while a kernel of no notebook is chosen.
    scratching: tokio::sync::Mutex<()>,
    /// Every run's task.
    tasks: TaskTracker,
    /// Where tasks run that a kernel's connection begins: its own runtime ends with it.
    runtime: Handle,
    sessions: AtomicU64,
    /// What agents without sessions may have under way, all together.
    slots: Slots,
    pub(crate) tidying: Tidying,
}

/// A notebook: which place it is in, and its path there. Two ways into the same server are two places.
type Key = (usize, String);

fn key(place: &Arc<dyn Place>, path: &str) -> Key {
    (Arc::as_ptr(place).addr(), path.to_owned())
}

#[derive(Default)]
struct Shared {
    opened: HashMap<Key, Arc<OpenNotebook>>,
    /// Names given by any session, for agents that have no session of their own.
    names: HashMap<String, BTreeSet<Key>>,
    lanes: HashMap<KernelId, Arc<Lane>>,
    /// The kernel for code that belongs to no notebook, for each place.
    scratch: Vec<(Arc<dyn Place>, Arc<dyn Kernel>)>,
}

impl Workspace {
    /// Serves one place. Needs to be called within the runtime that serves it.
    pub fn new(place: Arc<dyn Place>, settings: Settings) -> Arc<Self> {
        Self::with_connector(place, settings, None)
    }

    /// Serves one place, and those that agents reach through the connector.
    pub fn with_connector(
        place: Arc<dyn Place>,
        settings: Settings,
        connector: Option<Arc<dyn Connector>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            places: Places::new(place, connector),
            slots: Slots::new(settings.limits),
            tidying: Tidying::default(),
            settings,
            journal: Journal::default(),
            shared: Mutex::default(),
            scratching: tokio::sync::Mutex::default(),
            tasks: TaskTracker::new(),
            runtime: Handle::current(),
            sessions: AtomicU64::new(0),
        })
    }

    /// The place of sessions that have not chosen another.
    pub fn place(&self) -> Arc<dyn Place> {
        self.places.first()
    }

    /// The place of agents that have no sessions.
    pub(crate) fn common_place(&self) -> Arc<dyn Place> {
        self.places.common()
    }

    /// Whether agents can reach other servers.
    pub fn can_connect(&self) -> bool {
        self.places.can_connect()
    }

    /// Reaches a server.
    pub async fn connect(&self, wish: ServerSpec, scope: ConnectScope) -> Result<Arc<dyn Place>, Error> {
        self.places.connect(wish, scope).await
    }

    /// A counter that moves whenever tools may be possible that were not, or no more.
    pub fn capabilities(&self) -> watch::Receiver<u64> {
        self.places.capabilities()
    }

    pub(crate) fn capabilities_changed(&self) {
        self.places.capabilities_changed();
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
    pub fn open_notebooks(&self) -> Vec<Arc<OpenNotebook>> {
        let mut opened: Vec<_> = self.shared().opened.values().cloned().collect();
        opened.sort_by(|one, other| one.path().cmp(other.path()));
        opened
    }

    /// Opens a notebook of `place`, or, if the path tells, of another place; or gives the one that is open.
    pub(crate) async fn open(
        &self,
        place: &Arc<dyn Place>,
        path: &str,
        mode: Mode,
    ) -> Result<Arc<OpenNotebook>, Error> {
        let place = self.places.of(path, place);
        let document = place.open(path, mode).await?;
        let key = key(&place, document.path());
        let mut shared = self.shared();
        let is_same = |opened: &Arc<OpenNotebook>| Arc::ptr_eq(opened.document(), &document);
        // A place gives another document where another file has taken the path.
        if let Some(opened) = shared.opened.get(&key).filter(|opened| is_same(opened)) {
            return Ok(opened.clone());
        }
        let opened = Arc::new(OpenNotebook::new(place, document));
        shared.opened.insert(key, opened.clone());
        Ok(opened)
    }

    /// The open notebook of `place` at `path`, as its document names it.
    pub(crate) fn find(&self, place: &Arc<dyn Place>, path: &str) -> Option<Arc<OpenNotebook>> {
        self.shared().opened.get(&key(place, path)).cloned()
    }

    /// Runs code in a notebook's kernel, which is chosen and started if need be. Never waits. The outputs go into
    /// the cell, if one is given.
    pub(crate) fn run(
        self: &Arc<Self>,
        notebook: Arc<OpenNotebook>,
        cell: Option<String>,
        source: String,
        session: SessionId,
        slot: Slot,
    ) -> Arc<Run> {
        let cell = cell.map(|id| RunCell { path: notebook.path().to_owned(), id });
        let run = self.journal.begin(cell, source);
        if run.cell().is_none() {
            run.span().record("cellbridge.notebook.path", notebook.path());
        }
        let running = execute::in_notebook(self.clone(), notebook, run.clone(), session);
        self.tasks.spawn(slot.held(running));
        run
    }

    /// Runs cells of a notebook in order; each has its run from the beginning. Never waits.
    pub(crate) fn run_in_order(
        self: &Arc<Self>,
        notebook: &Arc<OpenNotebook>,
        cells: Vec<(String, String)>,
        stops_on_error: bool,
        session: SessionId,
        slot: Slot,
    ) -> Vec<Arc<Run>> {
        let begin =
            |(id, source)| self.journal.begin(Some(RunCell { path: notebook.path().to_owned(), id }), source);
        let runs: Vec<_> = cells.into_iter().map(begin).collect();
        let running =
            execute::in_order(self.clone(), notebook.clone(), runs.clone(), stops_on_error, session);
        self.tasks.spawn(slot.held(running));
        runs
    }

    /// Runs code in a kernel of `place`, by its id; without one in a kernel that belongs to no notebook. Never waits
    /// for the run.
    pub(crate) async fn run_code(
        self: &Arc<Self>,
        place: Arc<dyn Place>,
        kernel: Option<&str>,
        source: String,
        slot: Slot,
    ) -> Result<Arc<Run>, Error> {
        let kernel = match kernel {
            Some(id) => Some(find_kernel(&*place, id).await?),
            None => None,
        };
        let run = self.journal.begin(None, source);
        let (workspace, asked) = (self.clone(), run.clone());
        let running = async move {
            let kernel = match kernel {
                Some(kernel) => Ok(kernel),
                None => workspace.scratch(place).await,
            };
            let ran = match kernel {
                Ok(kernel) => execute::in_kernel(&workspace, kernel, &asked, None).await,
                Err(error) => Err(error),
            };
            if let Err(error) = ran {
                asked.end(RunState::Failed(error));
            }
        };
        self.tasks.spawn(slot.held(running).instrument(run.span()));
        Ok(run)
    }

    /// Interrupts what the kernel runs. Gives the run that was interrupted, if it is one of ours.
    pub async fn interrupt(&self, kernel: &dyn Kernel) -> Result<Option<Arc<Run>>, Error> {
        let running = self.lane(kernel.id()).running();
        match &running {
            Some(run) => self.interrupt_run(run).await?,
            None => interrupt(kernel).await?,
        }
        Ok(running)
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
                interrupt(&*kernel).await
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
        trace::with_kernel("kernel.restart", kernel, kernel.restart()).await
    }

    /// Ends the kernels that sessions brought for notebooks, and lets go of those notebooks. A kernel that somebody else
    /// uses as well goes on.
    pub async fn stop(&self) -> Result<(), Error> {
        let mut ended = Ok(());
        for opened in self.open_notebooks() {
            let Some(kernel) = opened.give_up() else { continue };
            self.close(&opened);
            if !kernel.is_shared().await {
                ended = ended.and(kernel.shutdown().await);
            }
        }
        ended
    }

    /// Stops what was started, and lets the runs write down how they ended. Bounded.
    pub async fn shutdown(&self) {
        let ended = async {
            self.tasks.close();
            if self.end_runs_that_continue() {
                // Their last outputs are written while the documents are still open.
                let _ = tokio::time::timeout(LAST_OUTPUTS, self.tasks.wait()).await;
            }
            join_all(self.places.all().iter().map(|place| place.shutdown())).await;
            self.tasks.wait().await;
        };
        let _ = tokio::time::timeout(CLOSING, ended).await;
        self.end_spans();
    }

    /// Ends the runs on kernels that keep running without us; nothing else would end them. Returns whether there were any.
    fn end_runs_that_continue(&self) -> bool {
        let continues = |run: &Arc<Run>| {
            !run.state().is_over() && run.kernel().is_some_and(|kernel| kernel.outlives_us())
        };
        let runs: Vec<_> = self.journal.runs().into_iter().filter(continues).collect();
        for run in &runs {
            run.note("Cellbridge shut down during this run. The kernel continues it.");
            run.end(RunState::Interrupted);
        }
        !runs.is_empty()
    }

    /// Lets those who trace know how far the runs have come that are not over.
    pub fn end_spans(&self) {
        for run in self.journal.runs() {
            run.end_span();
        }
    }

    /// What agents without sessions may have under way.
    pub(crate) fn common_slots(&self) -> Slots {
        self.slots.clone()
    }

    /// A session has left a notebook: what nobody uses is let go of after a while.
    pub(crate) fn left(self: &Arc<Self>) {
        if self.tidying.begin() {
            self.runtime.spawn(idle::tidy(Arc::downgrade(self)));
        }
    }

    pub(crate) fn new_session(&self) -> SessionId {
        SessionId::new(self.sessions.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn remember_name(&self, name: &str, opened: &OpenNotebook) {
        let key = key(opened.place(), opened.path());
        self.shared().names.entry(name.to_owned()).or_default().insert(key);
    }

    pub(crate) fn forget_name(&self, name: &str, opened: &OpenNotebook) {
        if let Some(keys) = self.shared().names.get_mut(name) {
            keys.remove(&key(opened.place(), opened.path()));
        }
    }

    /// The one notebook of `place` to which sessions have given this name; `None` if there is none or more than one.
    pub(crate) fn named(&self, place: &Arc<dyn Place>, name: &str) -> Option<Arc<OpenNotebook>> {
        let (shared, here) = (self.shared(), Arc::as_ptr(place).addr());
        let mut keys = shared.names.get(name)?.iter().filter(|(place, _)| *place == here);
        match (keys.next(), keys.next()) {
            (Some(key), None) => shared.opened.get(key).cloned(),
            _ => None,
        }
    }

    /// Whether another open notebook runs on this kernel.
    pub(crate) fn is_shared(&self, kernel: &dyn Kernel, path: &str) -> bool {
        let is_same =
            |opened: &Arc<OpenNotebook>| opened.kernel().is_some_and(|used| used.id() == kernel.id());
        self.open_notebooks().iter().any(|opened| opened.path() != path && is_same(opened))
    }

    pub(crate) fn lane(&self, kernel: &KernelId) -> Arc<Lane> {
        self.shared().lanes.entry(kernel.clone()).or_default().clone()
    }

    /// Lets go of an open notebook, unless it has been opened anew.
    pub(crate) fn close(&self, notebook: &Arc<OpenNotebook>) {
        self.shared().opened.retain(|_, opened| !Arc::ptr_eq(opened, notebook));
    }

    /// Writes late output of a run that is over into its cell, once for all that comes within a moment.
    pub(crate) fn spawn_late(self: &Arc<Self>, notebook: Arc<OpenNotebook>, run: Arc<Run>) {
        self.tasks.spawn_on(execute::late(self.clone(), notebook, run), &self.runtime);
    }

    async fn scratch(&self, place: Arc<dyn Place>) -> Result<Arc<dyn Kernel>, Error> {
        let _one_at_a_time = self.scratching.lock().await;
        // One server can be two places: as each of two users.
        let is_here = |(its, _): &(Arc<dyn Place>, Arc<dyn Kernel>)| Arc::ptr_eq(its, &place);
        let known =
            self.shared().scratch.iter().find(|known| is_here(known)).map(|(_, kernel)| kernel.clone());
        if let Some(kernel) = known.filter(|kernel| !kernel.is_gone()) {
            return Ok(kernel);
        }
        let request = KernelRequest { is_needed: true, ..KernelRequest::default() };
        match place.kernel(request).await? {
            KernelChoice::Kernel { kernel, is_new } => {
                trace::kernel_chosen(&*kernel, is_new);
                let mut shared = self.shared();
                shared.scratch.retain(|known| !is_here(known));
                shared.scratch.push((place.clone(), kernel.clone()));
                Ok(kernel)
            }
            KernelChoice::OnFirstRun(_) => Err(no_kernel_came()),
        }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn interrupt(kernel: &dyn Kernel) -> Result<(), Error> {
    trace::with_kernel("kernel.interrupt", kernel, kernel.interrupt()).await
}

/// A place must bring a kernel when a run needs one.
pub(crate) fn no_kernel_came() -> Error {
    Error::new(ErrorKind::Internal, "The place started no kernel for the run.", NextStep::ReportBug)
}

impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspace").field("place", &self.place().description()).finish_non_exhaustive()
    }
}

//! Runs code: the turn in the kernel's queue, the kernel, and the outputs on their way into the notebook.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use kernel::{Client, Event};
use notebook::{CellId, Edit, Kernelspec};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::time::sleep;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use super::journal::Journal;
use super::kernel_queue::KernelQueue;
use super::run::Run;
use super::state::{RunCell, RunState};
use crate::kernel_request::{KernelRequest, KernelSelector};
use crate::limits::Slot;
use crate::open_notebook::{OpenNotebook, find_kernel};
use crate::place::{Kernel, KernelChoice, KernelState, Place};
use crate::{Error, ErrorKind, KernelId, NextStep, SessionId, progress, telemetry};

/// The least time between two writes of a run's outputs.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);
/// The same for a live notebook, which people watch.
const LIVE_WRITE_INTERVAL: Duration = Duration::from_millis(100);
/// A run that writes much spends at most one part in this many on writing.
const WRITING_SHARE: u32 = 10;
/// Output that comes within this time after the end is written at once.
const LATE_WRITE_DELAY: Duration = Duration::from_millis(200);

type DefaultKernel = (Arc<dyn Place>, Arc<dyn Kernel>);

/// Runs code in kernels. Every run is a task of it, which ends though the agent disconnects.
pub struct Runner {
    journal: Journal,
    /// By the kernel's id.
    queues: Mutex<HashMap<KernelId, Arc<KernelQueue>>>,
    tasks: TaskTracker,
    /// Where tasks run that are spawned on a kernel's connection: its own runtime ends with it.
    runtime: Handle,
    /// For each place, the kernel for code that belongs to no notebook.
    default_kernels: tokio::sync::Mutex<Vec<DefaultKernel>>,
}

impl Runner {
    /// Must be called within the runtime that serves the workspace.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            journal: Journal::default(),
            queues: Mutex::default(),
            tasks: TaskTracker::new(),
            runtime: Handle::current(),
            default_kernels: tokio::sync::Mutex::default(),
        })
    }

    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Runs code in a notebook's kernel, which is chosen and started if need be. Never waits. The outputs go into the cell, if
    /// one is given.
    pub(crate) fn run(
        self: &Arc<Self>,
        notebook: Arc<OpenNotebook>,
        cell: Option<CellId>,
        source: String,
        session: SessionId,
        slot: Slot,
    ) -> Arc<Run> {
        let cell = cell.map(|id| RunCell { path: notebook.path().clone(), id });
        let run = self.journal.begin(cell, source);
        if run.cell().is_none() {
            run.span().record("cellbridge.notebook.path", notebook.path().as_str());
        }
        let (runner, begun) = (self.clone(), run.clone());
        let running = async move { runner.run_in_notebook(&notebook, &begun, session).await };
        self.tasks.spawn(slot.hold_during(running));
        run
    }

    /// Runs cells of a notebook in order, given as id and source; each has its run from the beginning. Never waits.
    pub(crate) fn run_in_order(
        self: &Arc<Self>,
        notebook: &Arc<OpenNotebook>,
        cells: Vec<(CellId, String)>,
        stops_on_error: bool,
        session: SessionId,
        slot: Slot,
    ) -> Vec<Arc<Run>> {
        let begin =
            |(id, source)| self.journal.begin(Some(RunCell { path: notebook.path().clone(), id }), source);
        let runs: Vec<_> = cells.into_iter().map(begin).collect();
        let (runner, notebook, begun) = (self.clone(), notebook.clone(), runs.clone());
        let running = async move {
            let mut has_failed = false;
            for run in begun {
                if has_failed && stops_on_error {
                    run.note("It did not run: a cell before it failed.");
                    run.end(RunState::Interrupted);
                    continue;
                }
                if has_cell(&notebook, &run).await {
                    runner.run_in_notebook(&notebook, &run, session).await;
                    has_failed |= run.state().is_failure();
                }
            }
        };
        self.tasks.spawn(slot.hold_during(running));
        runs
    }

    /// Runs code in a kernel of `place`, by its id; without an id in the place's default kernel. Never waits for the run.
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
        let (runner, begun) = (self.clone(), run.clone());
        let running = async move {
            let kernel = match kernel {
                Some(kernel) => Ok(kernel),
                None => runner.default_kernel(place).await,
            };
            let ran = match kernel {
                Ok(kernel) => runner.run_in_kernel(kernel, &begun, None).await,
                Err(error) => Err(error),
            };
            if let Err(error) = ran {
                begun.end(RunState::Failed(error));
            }
        };
        self.tasks.spawn(slot.hold_during(running).instrument(run.span()));
        Ok(run)
    }

    /// Interrupts the kernel. Returns the interrupted run, if this program started it.
    pub async fn interrupt(&self, kernel: &dyn Kernel) -> Result<Option<Arc<Run>>, Error> {
        let running = self.queue(kernel.id()).running();
        match &running {
            Some(run) => self.interrupt_run(run).await?,
            None => interrupt_kernel(kernel).await?,
        }
        Ok(running)
    }

    /// Stops one run: interrupts the kernel if the run is running, otherwise removes it from the queue.
    pub async fn interrupt_run(&self, run: &Run) -> Result<(), Error> {
        match (run.state(), run.kernel()) {
            (RunState::Queued, _) | (_, None) => {
                run.note("It was cancelled before it ran.");
                run.end(RunState::Interrupted);
                Ok(())
            }
            (state, _) if state.is_over() => Ok(()),
            (_, Some(kernel)) => {
                run.expect_interruption();
                interrupt_kernel(&*kernel).await
            }
        }
    }

    /// Restarts the kernel, and cancels the runs that wait for it.
    pub async fn restart(&self, kernel: &dyn Kernel) -> Result<(), Error> {
        let queue = self.queue(kernel.id());
        queue.restarted();
        if let Some(run) = queue.running() {
            run.expect_restart();
            run.note("The kernel was restarted while this ran.");
        }
        telemetry::with_kernel("kernel.restart", kernel, kernel.restart()).await
    }

    /// Ends the runs on kernels that keep running without us; nothing else would end them. Returns whether there were any.
    pub(crate) fn end_runs_that_continue(&self) -> bool {
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

    /// Waits until all runs have stored how they ended.
    pub(crate) async fn drain(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Ends the spans of all runs, also of those that are not over.
    pub fn end_spans(&self) {
        for run in self.journal.runs() {
            run.end_span();
        }
    }

    fn queue(&self, kernel: &KernelId) -> Arc<KernelQueue> {
        self.queues.lock().entry(kernel.clone()).or_default().clone()
    }

    async fn default_kernel(&self, place: Arc<dyn Place>) -> Result<Arc<dyn Kernel>, Error> {
        let mut kernels = self.default_kernels.lock().await;
        // One server can be two places: as each of two users.
        let is_here = |(its, _): &DefaultKernel| Arc::ptr_eq(its, &place);
        let known = kernels.iter().find(|known| is_here(known)).map(|(_, kernel)| kernel.clone());
        if let Some(kernel) = known.filter(|kernel| !kernel.is_gone()) {
            return Ok(kernel);
        }
        let request = KernelRequest { is_for_run: true, ..KernelRequest::default() };
        match place.kernel(request).await? {
            KernelChoice::Kernel { kernel, is_new } => {
                telemetry::kernel_chosen(&*kernel, is_new);
                kernels.retain(|known| !is_here(known));
                kernels.push((place.clone(), kernel.clone()));
                Ok(kernel)
            }
            KernelChoice::OnFirstRun(_) => Err(no_kernel()),
        }
    }

    async fn run_in_notebook(
        self: &Arc<Self>,
        notebook: &Arc<OpenNotebook>,
        run: &Arc<Run>,
        session: SessionId,
    ) {
        let span = run.span();
        self.run_with_retry(notebook, run, session).instrument(span).await;
    }

    /// Runs in the notebook's kernel; in another one if that turns out to be gone.
    async fn run_with_retry(
        self: &Arc<Self>,
        notebook: &Arc<OpenNotebook>,
        run: &Arc<Run>,
        session: SessionId,
    ) {
        let mut is_retry = false;
        loop {
            let kernel = match choose_kernel(notebook, run, session).await {
                Ok(kernel) => kernel,
                Err(error) => return run.end(RunState::Failed(error)),
            };
            match self.run_in_kernel(kernel, run, Some(notebook)).await {
                Ok(()) => {
                    // Its outputs, if it has a cell.
                    if run.cell().is_some() {
                        notebook.changed_by(session);
                    }
                    return;
                }
                Err(error) if is_retry => return run.end(RunState::Failed(error)),
                Err(_) => {
                    run.note(
                        "The kernel was shut down since the last run. This one is new: the variables are gone.",
                    );
                    is_retry = true;
                }
            }
        }
    }

    /// Runs the code once it is its turn. The outputs go into the run, and into its cell if it has one. Fails, with nothing
    /// done, if the kernel turns out to be gone.
    async fn run_in_kernel(
        self: &Arc<Self>,
        kernel: Arc<dyn Kernel>,
        run: &Arc<Run>,
        notebook: Option<&Arc<OpenNotebook>>,
    ) -> Result<(), Error> {
        run.set_kernel(kernel.clone());
        let queue = self.queue(kernel.id());
        run.set_stage("waiting for earlier runs of the kernel");
        let Some(_turn) = queue.enter(run).await else {
            run.note("The kernel was restarted before this could run.");
            run.end(RunState::Interrupted);
            return Ok(());
        };
        if run.state().is_over() {
            return Ok(());
        }
        if let KernelState::Dead { how } = kernel.description().state {
            run.note(format!("The kernel had died ({how}) and was restarted: its variables are gone."));
        }
        run.set_stage("starting the kernel");
        let client = match telemetry::client(&*kernel).await {
            Ok(client) => client,
            Err(error) if kernel.is_gone() => return Err(error),
            Err(error) => {
                run.end(RunState::Failed(error));
                return Ok(());
            }
        };
        if queue.is_new_connection(&client) {
            let (queue, restarts) = (queue.clone(), queue.restarts());
            telemetry::connected(&kernel, &client, move || {
                let is_recorded = |run: Arc<Run>| {
                    matches!(run.state(), RunState::KernelDied { .. } | RunState::Lost { .. })
                };
                queue.restarts() != restarts || queue.latest().is_some_and(is_recorded)
            });
        }
        // It may have been cancelled while the kernel started.
        if run.state().is_over() {
            return Ok(());
        }
        let execution = client.execute(run.source(), self.sink(run, notebook));
        run.executing(client.clone(), execution);
        match notebook.zip(run.cell()) {
            None => run.over().await,
            Some((notebook, cell)) => {
                set_running(notebook, &cell.id, true).await;
                write_while_running(notebook, run).await;
                write_end(notebook, run, &*kernel, &client).await;
                set_running(notebook, &cell.id, false).await;
            }
        }
        run.close();
        Ok(())
    }

    /// Passes the kernel's events to the run. It outlives the run's task: threads print when they like.
    fn sink(
        self: &Arc<Self>,
        run: &Arc<Run>,
        notebook: Option<&Arc<OpenNotebook>>,
    ) -> Box<dyn FnMut(Event) + Send> {
        let (runner, run) = (Arc::downgrade(self), Arc::downgrade(run));
        let notebook = notebook.map(Arc::downgrade);
        Box::new(move |event| {
            let Some(run) = run.upgrade() else { return };
            let is_late = run.state().is_over();
            run.on_event(event);
            let notebook =
                notebook.as_ref().and_then(Weak::upgrade).filter(|_| is_late && run.cell().is_some());
            if let (Some(notebook), Some(runner)) = (notebook, runner.upgrade())
                && run.claim_late_write()
            {
                let runtime = runner.runtime.clone();
                let tasks = runner.tasks.clone();
                tasks.spawn_on(async move { runner.write_late(&notebook, &run).await }, &runtime);
            }
        })
    }

    /// Writes output that came after the end, once for everything that comes within a moment.
    async fn write_late(&self, notebook: &OpenNotebook, run: &Run) {
        sleep(LATE_WRITE_DELAY).await;
        run.release_late_write();
        // A newer run of the cell owns its outputs.
        let latest = run.cell().and_then(|cell| self.journal.latest_of(&cell.path, &cell.id));
        if latest.is_some_and(|latest| latest.id() == run.id()) {
            write(notebook, run, Vec::new()).await;
        }
    }
}

/// Chooses the notebook's kernel for a run.
async fn choose_kernel(
    notebook: &OpenNotebook,
    run: &Run,
    session: SessionId,
) -> Result<Arc<dyn Kernel>, Error> {
    let choosing = notebook.choose(KernelSelector::Any, session, true);
    // An agent that waits for the run is shown its stage.
    match progress::follow(choosing, |line| run.set_stage(line)).await? {
        KernelChoice::Kernel { kernel, .. } => Ok(kernel),
        KernelChoice::OnFirstRun(_) => Err(no_kernel()),
    }
}

/// Whether the run's cell still exists; ends the run if not. Notes if the cell's source has changed.
async fn has_cell(notebook: &OpenNotebook, run: &Run) -> bool {
    let (Some(cell), Ok(now)) = (run.cell(), notebook.document().snapshot().await) else { return true };
    match now.cell(&cell.id) {
        None => {
            run.note("It did not run: the cell was deleted meanwhile.");
            run.end(RunState::Interrupted);
            return false;
        }
        Some((_, cell)) if cell.source() != run.source() => {
            run.note("The cell was changed after this run was requested; what ran is what it was then.");
        }
        Some(_) => {}
    }
    true
}

async fn interrupt_kernel(kernel: &dyn Kernel) -> Result<(), Error> {
    telemetry::with_kernel("kernel.interrupt", kernel, kernel.interrupt()).await
}

/// A place must start a kernel when a run needs one.
fn no_kernel() -> Error {
    Error::new(ErrorKind::Internal, "The place started no kernel for the run.", NextStep::ReportBug)
}

async fn write_while_running(notebook: &OpenNotebook, run: &Run) {
    let mut changes = run.changes();
    let shortest = if notebook.document().is_live() { LIVE_WRITE_INTERVAL } else { WRITE_INTERVAL };
    let mut pause = shortest;
    loop {
        tokio::select! {
            () = run.over() => return,
            () = sleep(pause) => {}
        }
        if !changes.has_changed().unwrap_or(false) {
            continue;
        }
        changes.mark_unchanged();
        let begun = Instant::now();
        if let Some(outputs) = outputs(run) {
            match notebook.document().show(vec![outputs]).await {
                Ok(true) => {}
                // The document is being connected again; the run may be silent for long after that.
                Ok(false) => changes.mark_changed(),
                Err(error) => tracing::warn!(run = %run.id(), %error, "outputs could not be shown"),
            }
        }
        pause = shortest.max(begun.elapsed() * WRITING_SHARE);
    }
}

/// Writes the last outputs, and the metadata of the kernel that the notebook lacks.
async fn write_end(notebook: &OpenNotebook, run: &Run, kernel: &dyn Kernel, client: &Client) {
    let mut edits = Vec::new();
    if let Ok(present) = notebook.document().snapshot().await {
        if present.kernelspec().is_none() {
            let kernel = kernel.description();
            edits.push(Edit::SetKernelspec(Kernelspec {
                name: kernel.name,
                display_name: Some(kernel.display_name),
                language: Some(kernel.language),
            }));
        }
        if present.language().is_none() || !has_language_info(&present.metadata()) {
            edits.push(Edit::SetLanguageInfo(client.language_info().clone()));
        }
    }
    write(notebook, run, edits).await;
}

fn has_language_info(metadata: &notebook::Json) -> bool {
    metadata.member("language_info").is_some()
}

async fn set_running(notebook: &OpenNotebook, cell: &CellId, is_running: bool) {
    if let Err(error) = notebook.document().set_running(cell, is_running).await {
        tracing::debug!(%cell, %error, "cannot show others that the cell runs");
    }
}

/// The outputs so far as an edit; `None` if they no longer belong to the cell. A running cell has no number yet: front
/// ends take a cell with a number for finished.
fn outputs(run: &Run) -> Option<Edit> {
    let cell = run.cell().filter(|_| !run.is_detached())?;
    let view = run.view();
    let execution_count = view.execution_count.filter(|_| view.state.is_over());
    Some(Edit::SetOutputs { id: cell.id.clone(), outputs: view.outputs, execution_count })
}

async fn write(notebook: &OpenNotebook, run: &Run, mut edits: Vec<Edit>) {
    let Some(outputs) = outputs(run) else { return };
    edits.push(outputs);
    match notebook.document().apply(edits, Vec::new()).await {
        Ok(applied) => run.set_saved(applied.saved),
        Err(error) => {
            tracing::warn!(run = %run.id(), %error, "outputs could not be stored");
            if run.state().is_over() {
                run.note(format!("The outputs could not be stored in the notebook: {error}"));
            }
        }
    }
}

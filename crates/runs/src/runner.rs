//! Runs code in kernels, and owns the tasks that do so.
//!
//! `runner/task` has the methods of [`Runner`] for one run.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use notebook::CellId;
use operations::IdRecords;
use parking_lot::Mutex;
use place::{
    Document, Error, ErrorKind, Kernel, KernelChoice, KernelId, KernelRequest, LeftoverRun, Mode, NextStep,
    NotebookPath, Place, RunId, RunState, SessionId, SkipReason,
};
use recorder::Recorder;
use recorder::actor;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use crate::cell_tags::InSeries;
use crate::journal::Journal;
use crate::kernel_queue::KernelQueue;
use crate::open_notebook::OpenNotebook;
use crate::run::Run;
use crate::run_history::RunHistory;
use crate::session_order::InLine;
use crate::slots::Slot;
use crate::telemetry;
use crate::view::RunCell;

mod adopt;
mod others;
mod storing;
mod task;

pub use others::PendingRun;

/// How long an interrupt waits for the kernel to begin with the code.
const MAX_START: Duration = Duration::from_secs(1);
const SHUT_DOWN_DURING: &str = "Cellbridge shut down during this run. The kernel continues the run.";

type DefaultKernel = (Arc<dyn Place>, Arc<dyn Kernel>);

/// Asks a person for the line that a run waits for, and answers the run. Ends with the waiting.
pub type LineAsker = Box<dyn Fn(Arc<Run>) -> BoxFuture<'static, ()> + Send + Sync>;

/// Runs code in kernels. Every run is a task of it, which ends though the agent disconnects.
pub struct Runner {
    journal: Journal,
    history: RunHistory,
    /// Kernels are asked what runs have changed in their memory.
    asks_for_changes: bool,
    /// Records the outputs that runs replace.
    recorder: OnceLock<Arc<Recorder>>,
    /// Where the ids of cells are that their file does not tell apart.
    id_records: OnceLock<IdRecords>,
    line_asker: OnceLock<LineAsker>,
    /// By the kernel's id.
    queues: Mutex<HashMap<KernelId, Arc<KernelQueue>>>,
    /// The runs of earlier servers in the first reply, and whether they were over then.
    reported: Mutex<HashMap<RunId, bool>>,
    /// Whether this program ends: no further run begins, and the next server reports those that were announced.
    is_ending: AtomicBool,
    tasks: TaskTracker,
    /// Where tasks run that are spawned on a kernel's connection: its own runtime ends with it.
    runtime: Handle,
    /// For each place, the kernel for code that belongs to no notebook.
    default_kernels: tokio::sync::Mutex<Vec<DefaultKernel>>,
}

impl Runner {
    /// Must be called within the runtime that serves the workspace.
    pub fn new(run_suffix: String, asks_for_changes: bool) -> Arc<Self> {
        Arc::new(Self {
            journal: Journal::with_suffix(run_suffix),
            history: RunHistory::default(),
            asks_for_changes,
            recorder: OnceLock::new(),
            id_records: OnceLock::new(),
            line_asker: OnceLock::new(),
            queues: Mutex::default(),
            reported: Mutex::default(),
            is_ending: AtomicBool::new(false),
            tasks: TaskTracker::new(),
            runtime: Handle::current(),
            default_kernels: tokio::sync::Mutex::default(),
        })
    }

    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Records with this from now on, unless something records already.
    pub fn record_with(&self, recorder: Recorder) {
        let recorder = Arc::new(recorder);
        self.identify_by(recorder.id_records());
        self.history.record_with(recorder.clone());
        let _ = self.recorder.set(recorder);
    }

    /// Takes the ids of cells from these records from now on, unless from others already.
    pub fn identify_by(&self, records: IdRecords) {
        let _ = self.id_records.set(records);
    }

    /// Asks a person with this from now on, beside the calls that wait for runs, unless with another already.
    pub fn ask_for_lines(&self, asker: LineAsker) {
        let _ = self.line_asker.set(asker);
    }

    /// Opens a notebook, whose cells have the ids that programs of this person have told.
    pub async fn open(
        &self,
        place: &Arc<dyn Place>,
        path: &NotebookPath,
        mode: Mode,
    ) -> Result<Arc<dyn Document>, Error> {
        let document = place.open(path, mode).await?;
        if let Some(records) = self.id_records.get() {
            document.record_ids(records.of(&place.identity(document.path()))).await;
        }
        Ok(document)
    }

    /// What records changes; `None` if nothing does.
    pub fn recorder(&self) -> Option<&Recorder> {
        self.recorder.get().map(|recorder| &**recorder)
    }

    /// These runs of earlier servers were reported to an agent. Those that did not run are nowhere but in the journal from now on.
    pub fn reported(&self, runs: &[LeftoverRun]) {
        let states =
            runs.iter().filter_map(|left| Some((left.details.run.clone(), left.state.as_ref()?.is_over())));
        self.reported.lock().extend(states);
        for left in runs {
            if let Some(RunState::Skipped { reason }) = &left.state
                && let Some(run) = self.journal.adopt(left.details.clone(), SystemTime::now())
            {
                run.skip(reason.clone());
            }
        }
    }

    /// Whether no further run begins, because this program ends.
    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }

    /// Owns the task that runs `work`.
    pub fn spawn(&self, slot: Slot, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(slot.hold_during(actor::carried(work)));
    }

    pub fn history(&self) -> &RunHistory {
        &self.history
    }

    /// Runs code in a notebook's kernel, which is chosen and started if need be. Never waits. The outputs go into the cell, if
    /// one is given. With `series`, it is one of several.
    pub fn run(
        self: &Arc<Self>,
        notebook: Arc<OpenNotebook>,
        (cell, source): (Option<CellId>, String),
        series: Option<InSeries>,
        session: SessionId,
        slot: Slot,
        in_line: InLine,
    ) -> Arc<Run> {
        let cell = cell.map(|id| RunCell { path: notebook.path().clone(), id });
        let run = self.journal.begin(cell, source);
        if let Some(InSeries { may_fail, is_next }) = series {
            run.with(|it| (it.may_fail, it.is_in_series) = (may_fail, is_next));
        }
        if run.cell().is_none() {
            run.span().record("cellbridge.notebook.path", notebook.path().as_str());
        }
        run.expects_kernel_of(&notebook);
        let (runner, begun) = (self.clone(), run.clone());
        let running = async move {
            if runner.wait_in_line(&notebook, std::slice::from_ref(&begun), &in_line).await {
                runner.run_in_notebook(&notebook, &begun, session).await;
            }
        };
        self.tasks.spawn(slot.hold_during(actor::carried(running)));
        run
    }

    /// Runs code in a kernel; without one, in the default kernel of `place`. Never waits for the run.
    pub fn run_code(
        self: &Arc<Self>,
        place: Arc<dyn Place>,
        kernel: Option<Arc<dyn Kernel>>,
        source: String,
        slot: Slot,
        in_line: InLine,
    ) -> Arc<Run> {
        let run = self.journal.begin(None, source);
        if let Some(kernel) = &kernel {
            run.set_kernel(kernel.clone());
        }
        let (runner, begun) = (self.clone(), run.clone());
        let running = async move {
            in_line.wait().await;
            let kernel = match kernel {
                Some(kernel) => Ok(kernel),
                None => runner.default_kernel(&place, &begun).await,
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
        run
    }

    /// Stops one run: interrupts the kernel if the run is running, otherwise removes it from the queue.
    pub async fn interrupt_run(&self, run: &Run) -> Result<(), Error> {
        match (run.state(), run.kernel()) {
            (RunState::Queued, _) if !run.is_sent() => {
                run.skip(SkipReason::Cancelled);
                Ok(())
            }
            (state, _) if state.is_over() => Ok(()),
            (_, None) => {
                run.note("It was cancelled.");
                run.end(RunState::Interrupted);
                Ok(())
            }
            (_, Some(kernel)) => {
                kernel.check_interruptible()?;
                // A signal that comes before the code is lost: kernels ignore it while they are idle.
                _ = timeout(MAX_START, run.started()).await;
                if run.state().is_over() {
                    return Ok(());
                }
                self.check_begun(run, &*kernel).await?;
                run.expect_interruption();
                let execution = run.with(|it| it.execution.clone());
                let interrupting = async {
                    // Where only the kernel as a whole can be interrupted, that is.
                    let is_alone = execution.is_some_and(|execution| execution.interrupt());
                    if is_alone { Ok(()) } else { kernel.interrupt().await }
                };
                telemetry::with_kernel("kernel.interrupt", &*kernel, interrupting).await
            }
        }
    }

    /// Restarts the kernel, and cancels the runs that wait for it.
    pub async fn restart(&self, kernel: &dyn Kernel) -> Result<(), Error> {
        kernel.check_restartable()?;
        let queue = self.queue(kernel.id());
        queue.restarted();
        self.history.restarted(kernel, Some(actor::current()));
        if let Some(run) = queue.running() {
            run.expect_restart();
            run.note("The kernel was restarted while this ran.");
        }
        telemetry::with_kernel("kernel.restart", kernel, kernel.restart()).await
    }

    /// Ends the runs on kernels that keep running without us; nothing else would end them. Returns whether there were any.
    pub fn end_runs_that_continue(&self) -> bool {
        self.is_ending.store(true, Ordering::Relaxed);
        self.journal.runs().iter().for_each(|run| run.leave_announced());
        let continues = |run: &Arc<Run>| {
            !run.state().is_over() && run.kernel().is_some_and(|kernel| kernel.outlives_us())
        };
        let runs: Vec<_> = self.journal.runs().into_iter().filter(continues).collect();
        for run in &runs {
            if run.state() == RunState::Queued && !run.is_sent() {
                run.skip(SkipReason::ShutDown);
            } else {
                run.note(SHUT_DOWN_DURING);
                run.end(RunState::Interrupted);
            }
        }
        !runs.is_empty()
    }

    /// Waits until all runs have stored how they ended.
    pub async fn drain(&self) {
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

    /// The kernel of `place` for code of no notebook. `run` is to say what an agent should know of it.
    async fn default_kernel(
        self: &Arc<Self>,
        place: &Arc<dyn Place>,
        run: &Run,
    ) -> Result<Arc<dyn Kernel>, Error> {
        let mut kernels = self.default_kernels.lock().await;
        // One server can be two places: as each of two users.
        let is_here = |(its, _): &DefaultKernel| Arc::ptr_eq(its, place);
        let known = kernels.iter().find(|known| is_here(known)).map(|(_, kernel)| kernel.clone());
        if let Some(kernel) = known.filter(|kernel| !kernel.is_gone()) {
            run.announce(place, Some(&kernel));
            return Ok(kernel);
        }
        run.announce(place, None);
        let request = KernelRequest { is_for_run: true, ..KernelRequest::default() };
        match place.kernel(request).await? {
            KernelChoice::Kernel { kernel, is_new } => {
                telemetry::kernel_chosen(&*kernel, is_new);
                kernels.retain(|known| !is_here(known));
                kernels.push((place.clone(), kernel.clone()));
                // An earlier server may have left it.
                let notices = self.adopt_at(&kernel, place, None).await;
                for notice in notices {
                    run.note(notice);
                }
                Ok(kernel)
            }
            KernelChoice::OnFirstRun(_) => Err(no_kernel()),
        }
    }
}

/// Interrupts the kernel, whoever requested what it works on.
pub async fn interrupt_kernel(kernel: &dyn Kernel) -> Result<(), Error> {
    telemetry::with_kernel("kernel.interrupt", kernel, kernel.interrupt()).await
}

/// A place must start a kernel when a run needs one.
pub fn no_kernel() -> Error {
    Error::new(ErrorKind::Internal, "The place started no kernel for the run.", NextStep::ReportBug)
}

//! The task of a run: it chooses a kernel, waits for its turn, and stays until the outputs are stored.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use kernel::Status;
use place::{
    Death, Error, ErrorKind, Execution, Executor, Kernel, KernelChoice, KernelSelector, KernelState,
    RunDetails, RunState, SessionId, SkipReason, progress,
};
use tokio::time::{sleep, timeout};
use tracing::Instrument as _;

use super::{Runner, no_kernel};
use crate::error_hints;
use crate::kernel_queue::KernelQueue;
use crate::memory_changes::MemoryChanges;
use crate::open_notebook::OpenNotebook;
use crate::outputs;
use crate::run::Run;
use crate::run_history::Begun;
use crate::session_order::InLine;
use crate::telemetry;

/// Another program's edit this long before a run counts as one during the run.
const RECENT: Duration = Duration::from_millis(20);

/// How long a kernel may take to exit by itself, and how often it is looked whether a server has started another process.
const EXIT_WAIT: Duration = Duration::from_secs(2);
const EXIT_POLL: Duration = Duration::from_millis(50);

const REPLACED: &str =
    "The kernel was shut down after the last run. This is a new kernel, without its variables.";
const ELSEWHERE: &str =
    "The notebook now uses another kernel, which was running already. This run uses that kernel's variables.";
/// Why a series stops.
const RESTARTED_BETWEEN: &str =
    "the kernel was restarted after the cell before it, so its variables are gone";
const GONE: &str = "the kernel of the cells before it is gone, and so are their variables";

impl Runner {
    /// Waits until everything is done that the session requested before these runs. Returns whether one of them is still to
    /// run; otherwise all have ended.
    pub(crate) async fn wait_in_line(
        &self,
        notebook: &OpenNotebook,
        runs: &[Arc<Run>],
        in_line: &InLine,
    ) -> bool {
        if in_line.is_first() {
            return true;
        }
        let expected = runs.first().and_then(|run| run.kernel()).or_else(|| notebook.kernel());
        let kernel = expected.filter(|kernel| is_started(&**kernel));
        for run in runs {
            run.set_stage("waiting for earlier runs of this session");
            if let Some(kernel) = &kernel {
                run.set_kernel(kernel.clone());
            }
            run.announce(notebook.place(), kernel.as_ref());
        }
        let restarts = || kernel.as_ref().map(|kernel| self.queue(kernel.id()).restarts());
        let before = restarts();
        in_line.wait().await;
        let reason = match () {
            () if self.is_ending.load(Ordering::Relaxed) => Some(SkipReason::ShutDown),
            () if restarts() != before => Some(SkipReason::Restarted),
            () => None,
        };
        if let Some(reason) = reason {
            for run in runs.iter().filter(|run| !run.state().is_over()) {
                run.skip(reason.clone());
            }
        }
        runs.iter().any(|run| !run.state().is_over())
    }

    pub(crate) async fn run_in_notebook(
        self: &Arc<Self>,
        notebook: &Arc<OpenNotebook>,
        run: &Arc<Run>,
        session: SessionId,
    ) {
        if run.cell().is_some() && run.source().trim().is_empty() {
            // As in Jupyter: a blank cell is not sent, and its outputs stay.
            return run.end(RunState::Done);
        }
        let span = run.span();
        run.announce(notebook.place(), notebook.kernel().as_ref());
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
        // It has ended by itself, or somebody else has ended it: we would have taken it from the notebook.
        let gone = notebook.kernel().filter(|kernel| kernel.is_gone());
        loop {
            if run.with(|it| it.is_in_series)
                && (is_retry || notebook.kernel().is_none_or(|kernel| kernel.is_gone()))
            {
                return run.skip(SkipReason::SeriesStopped(GONE.to_owned()));
            }
            let expected = if is_retry { None } else { expected_kernel(notebook, run) };
            let chosen = match expected {
                Some(kernel) => Ok((kernel, false)),
                None => choose_kernel(notebook, run, session).await,
            };
            let (kernel, is_new) = match chosen {
                Ok(chosen) => chosen,
                Err(error) => return run.end(RunState::Failed(error)),
            };
            let is_replaced = gone
                .as_ref()
                .is_some_and(|gone| gone.id() != kernel.id() && self.history.instance(&**gone).is_some());
            if is_retry || is_replaced {
                run.note_restart(if is_new { REPLACED } else { ELSEWHERE });
            }
            self.adopt(&kernel, notebook).await;
            run.add_notices(notebook.take_notices());
            match self.run_in_kernel(kernel, run, Some(notebook)).await {
                Ok(()) => {
                    // Its outputs, if it has a cell.
                    if run.cell().is_some() {
                        notebook.changed_by(session);
                    }
                    return;
                }
                Err(error) if is_retry => return run.end(RunState::Failed(error)),
                Err(_) => is_retry = true,
            }
        }
    }

    /// Runs the code once it is its turn. The outputs go into the run, and into its cell if it has one. Fails, with nothing
    /// done, if the kernel turns out to be gone.
    pub(super) async fn run_in_kernel(
        self: &Arc<Self>,
        kernel: Arc<dyn Kernel>,
        run: &Arc<Run>,
        notebook: Option<&Arc<OpenNotebook>>,
    ) -> Result<(), Error> {
        run.set_kernel(kernel.clone());
        let queue = self.queue(kernel.id());
        run.set_stage("waiting for earlier runs of the kernel");
        run.announce_at(&kernel);
        let Some(_turn) = queue.enter(run).await else {
            run.skip(SkipReason::Restarted);
            return Ok(());
        };
        if !run.state().is_over()
            && self.runs_after_death(&*kernel, run)
            && let Some(executor) = self.prepare(&kernel, &queue, run, notebook).await?
        {
            self.execute(&*kernel, &*executor, run, notebook).await;
        }
        Ok(())
    }

    /// Gets the kernel ready for the code, and passes on its notices. `None` if the run is over by then.
    async fn prepare(
        self: &Arc<Self>,
        kernel: &Arc<dyn Kernel>,
        queue: &Arc<KernelQueue>,
        run: &Run,
        notebook: Option<&Arc<OpenNotebook>>,
    ) -> Result<Option<Arc<dyn Executor>>, Error> {
        let is_reached_again = matches!(kernel.description().state, KernelState::Unreachable { .. });
        run.set_stage("starting the kernel");
        let executor = match telemetry::executor(&**kernel).await {
            Ok(executor) => executor,
            Err(error) if kernel.is_gone() && error.kind == ErrorKind::KernelGone => return Err(error),
            Err(error) => {
                run.end(RunState::Failed(error));
                return Ok(None);
            }
        };
        if run.is_announced_at_place() {
            // It takes the runs that wait for it from here on.
            let waits =
                |it: &Arc<Run>| !it.is_sent() && it.kernel().is_some_and(|its| its.id() == kernel.id());
            for waiting in self.journal.runs().iter().rev().filter(|it| waits(it)) {
                waiting.announce_at(kernel);
            }
        }
        run.add_notices(kernel.take_notices());
        if queue.is_new_connection(&*executor) {
            let (queue, restarts) = (queue.clone(), queue.restarts());
            telemetry::connected(kernel, &*executor, move || {
                let is_recorded = |run: Arc<Run>| {
                    matches!(run.state(), RunState::KernelDied { .. } | RunState::Lost { .. })
                };
                queue.restarts() != restarts || queue.latest().is_some_and(is_recorded)
            });
        }
        if let (true, Some(notebook)) = (is_reached_again, notebook) {
            self.adopt(kernel, notebook).await;
            run.add_notices(notebook.take_notices());
        }
        if self.asks_for_changes {
            executor.prepare_changes().await;
        }
        // It may have been cancelled while the kernel started.
        Ok((!run.state().is_over()).then_some(executor))
    }

    /// Sends the code, and stays until its outputs are stored.
    async fn execute(
        self: &Arc<Self>,
        kernel: &dyn Kernel,
        executor: &dyn Executor,
        run: &Arc<Run>,
        home: Option<&Arc<OpenNotebook>>,
    ) {
        // An application that stores outputs itself is not raced.
        let notebook = home.filter(|notebook| !notebook.document().stores_outputs());
        let before = match notebook {
            // The call that requested the run, or the run before, has just looked: a second look costs two thread switches.
            Some(notebook) => {
                let now = Instant::now();
                notebook.document().snapshot_since(now.checked_sub(RECENT).unwrap_or(now)).await.ok()
            }
            None => None,
        };
        let shown_before = before.as_ref().zip(run.cell()).and_then(|(before, cell)| before.cell(&cell.id));
        let shown_before = shown_before.map(|(_, cell)| cell.shown_revision());
        let begun = self.history.begin(kernel, run);
        if begun.is_restarted && run.with(|it| it.is_in_series) {
            return run.skip(SkipReason::SeriesStopped(RESTARTED_BETWEEN.to_owned()));
        }
        if begun.is_restarted {
            run.mark_restarted();
        } else if begun.is_said {
            run.with(|it| it.is_restart_said = true);
        }
        let details = RunDetails { shown_before, ..run.details() };
        run.set_stage("waiting for the kernel, which may be running something else");
        run.sent();
        let execution = executor.execute(&details, self.sink(run, notebook));
        run.executing(execution.clone());
        let written = async {
            let Some((notebook, cell)) = notebook.zip(run.cell()) else {
                return self.write_after(home, run, before).await;
            };
            let shown_as_running = async {
                run.begun().await;
                outputs::set_running(notebook, &cell.id, true).await;
            };
            tokio::join!(shown_as_running, outputs::write_while_running(&**notebook.document(), run));
            let is_settled = self.write_end(notebook, run, before, kernel, executor).await;
            outputs::set_running(notebook, &cell.id, false).await;
            is_settled
        };
        let (is_settled, ()) = tokio::join!(written, self.ask_for_changes(run, &*execution));
        if let Some(home) = home {
            self.ended(home, run, (kernel, executor), begun).await;
            outputs::note_captured(home, run).await;
        }
        if run.with(|it| it.exit).is_some_and(|exit| !exit.keeps_kernel) {
            run.exited(exited(kernel, executor).await);
        }
        // Otherwise a later server stores the rest, or this one if it reaches the keeper again.
        let is_out_of_reach = matches!(kernel.description().state, KernelState::Unreachable { .. });
        if run.is_finished() && is_settled && !is_out_of_reach {
            executor.acknowledge(run.id());
        }
        run.close();
    }

    /// Says that the kernel had died, if so. Returns whether the run can still run: one in a series relies on the variables.
    fn runs_after_death(&self, kernel: &dyn Kernel, run: &Run) -> bool {
        let KernelState::Dead { how } = kernel.description().state else { return true };
        if run.with(|it| it.is_in_series) {
            let cause = match how {
                Death::Restarted => RESTARTED_BETWEEN.to_owned(),
                how => format!("the kernel died after the cell before it ({how}), so its variables are gone"),
            };
            run.skip(SkipReason::SeriesStopped(cause));
            return false;
        }
        // Somebody else's restart is noticed as one, though it ended our connection.
        if how != Death::Restarted {
            run.note_restart(&format!(
                "The kernel had died ({how}) and was restarted: its variables are gone."
            ));
            // So that the next run does not say it again.
            self.history.restarted(kernel, None);
        }
        true
    }

    /// Remembers a run that is over, and adds what is known about its error.
    async fn ended(
        &self,
        notebook: &OpenNotebook,
        run: &Run,
        (kernel, executor): (&dyn Kernel, &dyn Executor),
        begun: Begun,
    ) {
        if self.history.ended(notebook, run, kernel, begun) {
            run.mark_restarted();
        }
        if let Some(hint) = error_hints::hint(&self.history, notebook, run, kernel, executor).await {
            run.note(hint);
        }
        // A client may kill this program once it has the answer.
        if let Some(recorder) = self.recorder().filter(|_| kernel.outlives_us()) {
            recorder.flushed().await;
        }
    }

    /// Waits until the run is over, and adds what it has changed in memory. The next run must not begin before.
    async fn ask_for_changes(&self, run: &Run, execution: &dyn Execution) {
        run.over().await;
        let count = run
            .with(|it| it.execution_count.filter(|_| it.changes.is_none()))
            .filter(|_| self.asks_for_changes && run.is_finished());
        let Some(count) = count else { return };
        if let Some(answer) = execution.changes(count).await {
            run.with(|it| it.changes = Some(MemoryChanges::read(&answer)));
        }
    }
}

/// Waits until a kernel that was asked to exit has done so, which takes it a moment: the next run must not find it alive. Not all do:
/// `IRkernel` leaves that to the application. Returns whether it was seen.
async fn exited(kernel: &dyn Kernel, executor: &dyn Executor) -> bool {
    let (mut status, process) = (executor.status(), kernel.instance());
    let replaced = async {
        while kernel.instance() == process {
            sleep(EXIT_POLL).await;
        }
    };
    let dead = status.wait_for(|status| matches!(status, Status::Dead { .. }));
    let either = async {
        tokio::select! {
            _ = dead => {}
            () = replaced => {}
        }
    };
    timeout(EXIT_WAIT, either).await.is_ok()
}

/// The kernel that the notebook had when the run was requested, if the notebook has another one now and the first still runs.
fn expected_kernel(notebook: &OpenNotebook, run: &Run) -> Option<Arc<dyn Kernel>> {
    let expected = run.kernel().filter(|kernel| !kernel.is_gone())?;
    let present = notebook.kernel().filter(|kernel| !kernel.is_gone())?;
    (present.id() != expected.id()).then_some(expected)
}

/// Chooses the notebook's kernel for a run. Returns also whether it is new.
async fn choose_kernel(
    notebook: &OpenNotebook,
    run: &Run,
    session: SessionId,
) -> Result<(Arc<dyn Kernel>, bool), Error> {
    let choosing = notebook.choose(KernelSelector::Any, session, true);
    // An agent that waits for the run is shown its stage.
    match progress::follow(choosing, |line| run.set_stage(line)).await? {
        KernelChoice::Kernel { kernel, is_new } => Ok((kernel, is_new)),
        KernelChoice::OnFirstRun(_) => Err(no_kernel()),
    }
}

/// Whether a kernel has been asked for.
fn is_started(kernel: &dyn Kernel) -> bool {
    !kernel.is_gone() && kernel.description().state != KernelState::NotStarted
}

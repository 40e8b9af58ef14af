//! Several cells of a notebook that run in order. One that fails, or after which the kernel is another, ends the series.

use std::sync::Arc;

use notebook::{Cell, CellId};
use place::{RunState, SessionId, SkipReason};

use crate::cell_tags::CellTags;
use crate::open_notebook::OpenNotebook;
use crate::run::Run;
use crate::runner::Runner;
use crate::session_order::InLine;
use crate::slots::Slot;
use crate::view::RunCell;

impl Runner {
    /// Runs cells of a notebook in order, given as id and source; each has its run from the beginning. Never waits.
    pub fn run_in_order(
        self: &Arc<Self>,
        notebook: &Arc<OpenNotebook>,
        cells: Vec<(CellId, String)>,
        stops_on_error: bool,
        session: SessionId,
        slot: Slot,
        in_line: InLine,
    ) -> Vec<Arc<Run>> {
        let begin =
            |(id, source)| self.journal().begin(Some(RunCell { path: notebook.path().clone(), id }), source);
        let runs: Vec<_> = cells.into_iter().map(begin).collect();
        for run in &runs {
            run.expects_kernel_of(notebook);
        }
        let series = Series {
            runner: self.clone(),
            notebook: notebook.clone(),
            runs: runs.clone(),
            stops_on_error,
            session,
            stopped: None,
        };
        let runner = self.clone();
        let waiting = async move {
            if runner.wait_in_line(&series.notebook, &series.runs, &in_line).await {
                series.run().await;
            }
            // Whatever the session requests next of the notebook comes only now.
            drop(in_line);
        };
        self.spawn(slot, waiting);
        runs
    }
}

struct Series {
    runner: Arc<Runner>,
    notebook: Arc<OpenNotebook>,
    runs: Vec<Arc<Run>>,
    stops_on_error: bool,
    session: SessionId,
    /// Why the rest does not run.
    stopped: Option<String>,
}

impl Series {
    async fn run(mut self) {
        let mut has_run = false;
        for (index, run) in self.runs.clone().iter().enumerate() {
            if index < 2 {
                // The first one may have to start the kernel, which takes the others after it.
                let kernel = self.notebook.kernel();
                self.runs[index..].iter().for_each(|it| it.announce(self.notebook.place(), kernel.as_ref()));
            }
            if self.runner.is_ending() {
                run.skip(SkipReason::ShutDown);
            } else if let Some(reason) = &self.stopped {
                run.skip(SkipReason::SeriesStopped(reason.clone()));
            } else if run.state().is_over() {
                // It was cancelled.
                self.stopped = self.why_to_stop(run, None);
            } else {
                let cell = cell_of(&self.notebook, run, self.session).await;
                let tags = cell.as_ref().map(|(_, cell)| CellTags::of(cell));
                if tags.is_some_and(|tags| tags.is_skipped) {
                    run.skip(SkipReason::Tag);
                } else if !run.state().is_over() {
                    let may_fail = tags.is_some_and(|tags| tags.may_fail);
                    run.with(|it| (it.may_fail, it.is_in_series) = (may_fail, has_run));
                    self.runner.run_in_notebook(&self.notebook, run, self.session).await;
                    has_run |= run.is_finished();
                    self.stopped = self.why_to_stop(run, cell.map(|(index, _)| index));
                }
            }
        }
    }

    /// Why nothing runs after a run that is over.
    fn why_to_stop(&self, run: &Run, index: Option<usize>) -> Option<String> {
        let cell = index.map_or_else(|| "a cell before it".to_owned(), |index| format!("cell {index}"));
        let has_failed = run.has_failed() && self.stops_on_error;
        let failed = || has_failed.then(|| "a cell before it failed".to_owned());
        match (run.with(|it| it.exit), run.state()) {
            (Some(exit), _) if exit.keeps_kernel => Some(format!("{cell} asked to exit")),
            (Some(_), _) => Some(format!("{cell} asked the kernel to exit (exit() or quit())")),
            (None, state @ RunState::KernelDied { .. }) => Some(format!("{cell} {}", state.outcome())),
            // The variables of the cells before are gone for the rest, too.
            (None, RunState::Skipped { reason: SkipReason::SeriesStopped(cause) }) => Some(cause),
            _ => failed(),
        }
    }
}

/// The cell of a run that `session` has requested as it is now, and its index; `None` if it no longer exists, with the run ended unless
/// that session has deleted the cell.
async fn cell_of(notebook: &OpenNotebook, run: &Run, session: SessionId) -> Option<(usize, Cell)> {
    let cell = run.cell()?;
    // If the notebook cannot be read, the run says so.
    let now = notebook.document().snapshot().await.ok()?;
    let Some((index, cell)) = now.cell(&cell.id) else {
        if run.with(|it| it.deleted_by == Some(session)) {
            run.detach_outputs();
            run.note("The cell was deleted after this run was requested; its source ran.");
        } else {
            run.skip(SkipReason::CellDeleted);
        }
        return None;
    };
    Some((index, cell.clone()))
}

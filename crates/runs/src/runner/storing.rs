//! Stores the outputs of runs in their cells, also what comes after the end, and records what they replace.

use std::sync::{Arc, Weak};
use std::time::Duration;

use kernel::Event;
use notebook::Notebook;
use place::{Executor, Kernel};
use tokio::time::sleep;

use super::Runner;
use crate::open_notebook::OpenNotebook;
use crate::outputs::{self, Written};
use crate::run::Run;

/// Output that comes within this time after the end is written at once.
const LATE_WRITE_DELAY: Duration = Duration::from_millis(200);

impl Runner {
    /// Writes the last outputs of a run, and records what they replace. Returns whether nothing is left to store.
    pub(super) async fn write_end(
        &self,
        notebook: &OpenNotebook,
        run: &Run,
        before: Option<Notebook>,
        kernel: &dyn Kernel,
        executor: &dyn Executor,
    ) -> bool {
        self.write_others(notebook).await;
        let Ok(written) = outputs::write_end(notebook, run, before.as_ref(), kernel, executor).await else {
            return false;
        };
        if let (Some(before), Some(written)) = (before, written) {
            self.record(notebook, run, before, written).await;
        }
        true
    }

    /// Writes what code of no cell has updated, once it is over, and records that. It has no outputs of its own to store.
    pub(super) async fn write_after(
        &self,
        home: Option<&Arc<OpenNotebook>>,
        run: &Run,
        before: Option<Notebook>,
    ) -> bool {
        let Some(home) = home else { return true };
        run.over().await;
        self.write_others(home).await;
        if home.late_writes().await.is_empty() {
            return true;
        }
        if let (Some(before), Ok(notebook)) = (before, home.document().snapshot().await) {
            self.record(home, run, before, Written { edits: Vec::new(), notebook }).await;
        }
        true
    }

    /// Records what a run has written, also what it has updated that other cells show: an undo of the run takes that back.
    async fn record(&self, notebook: &OpenNotebook, run: &Run, before: Notebook, written: Written) {
        let Written { mut edits, notebook: after } = written;
        let late = std::mem::take(&mut *notebook.late_writes().await);
        let late = late.iter().filter(|id| *id != run.id()).filter_map(|id| self.journal.run(id).ok());
        // What was replaced since is not its own.
        edits.extend(late.filter_map(|late| outputs::outputs(&late)).filter(|edit| edit.is_applied(&after)));
        let Some(recorder) = self.recorder().filter(|_| !edits.is_empty()) else { return };
        recorder.record(outputs::change_by(notebook, run, before, after, edits));
    }

    /// Writes what a run has updated that other cells show: "saved" holds for that, too.
    async fn write_others(&self, notebook: &OpenNotebook) {
        for other in self.journal.runs().into_iter().filter(|other| other.is_in(notebook.path())) {
            self.write_claimed(notebook, &other).await;
        }
    }

    /// Passes the kernel's events to the run. It outlives the run's task: threads print when they like.
    pub(super) fn sink(
        self: &Arc<Self>,
        run: &Arc<Run>,
        notebook: Option<&Arc<OpenNotebook>>,
    ) -> Box<dyn FnMut(Event) + Send> {
        let (runner, run) = (Arc::downgrade(self), Arc::downgrade(run));
        let notebook = notebook.map(Arc::downgrade);
        Box::new(move |event| {
            let Some(run) = run.upgrade() else { return };
            let is_late = run.state().is_over();
            let asks = matches!(event, Event::InputWanted { .. });
            run.on_event(event);
            if let (true, Some(runner)) = (asks, runner.upgrade()) {
                runner.ask_for_line(&run);
            }
            let notebook =
                notebook.as_ref().and_then(Weak::upgrade).filter(|_| is_late && run.cell().is_some());
            if let (Some(notebook), Some(runner)) = (notebook, runner.upgrade())
                && !run.with(|it| std::mem::replace(&mut it.is_late_write_pending, true))
            {
                let runtime = runner.runtime.clone();
                let tasks = runner.tasks.clone();
                let writing = async move {
                    // Once for everything that comes within a moment.
                    sleep(LATE_WRITE_DELAY).await;
                    runner.write_claimed(&notebook, &run).await;
                };
                tasks.spawn_on(writing, &runtime);
            }
        })
    }

    /// Asks outside of any call for the line that a run waits for. A keeper's runs are answered through their keeper.
    fn ask_for_line(&self, run: &Arc<Run>) {
        let is_kept = run.kernel().is_some_and(|kernel| kernel.description().keeping.is_some());
        if let Some(ask) = self.line_asker.get().filter(|_| !is_kept) {
            self.runtime.spawn(ask(run.clone()));
        }
    }

    /// Writes late output now, if that is still to be done.
    async fn write_claimed(&self, notebook: &OpenNotebook, run: &Run) {
        let mut late_writes = notebook.late_writes().await;
        if !run.with(|it| std::mem::take(&mut it.is_late_write_pending)) {
            return;
        }
        // A newer run of the cell owns its outputs.
        let latest = run.cell().and_then(|cell| self.journal.latest_of(&cell.path, &cell.id));
        if latest.is_some_and(|latest| latest.id() == run.id()) {
            // That it failed is noted.
            if let Ok(Some(_)) = outputs::write(notebook, run, None, Vec::new()).await {
                self.history.stored(notebook, run);
                late_writes.insert(run.id().clone());
            }
        }
    }
}

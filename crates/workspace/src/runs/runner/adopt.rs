//! Runs of earlier servers: followed to their end, and stored as if this server had begun them.

use std::sync::Arc;
use std::time::SystemTime;

use kernel::Event;
use notebook::Notebook;
use tokio::sync::mpsc::UnboundedReceiver;

use super::Runner;
use crate::executor::Executor;
use crate::left::describe;
use crate::open_notebook::OpenNotebook;
use crate::place::{Kernel, Mode, Place};
use crate::runs::orphan::{Orphan, OrphanedExecution};
use crate::runs::outputs;
use crate::runs::run::Run;
use crate::runs::state::RunState;

pub(super) const NOT_RUN: &str = "It did not run: its server ended before its turn.";
const NEWER_RUN: &str = "The outputs are only here: the cell has run again since.";
const CHANGED: &str = "The outputs are only here: the cell was changed or deleted since.";

type Events = UnboundedReceiver<(SystemTime, Event)>;

impl Runner {
    /// Adopts the runs that earlier servers left at a kernel of `notebook`, whose next answer says what became of them. Returns
    /// once that is known; what still runs is followed by a task.
    pub(crate) async fn adopt(self: &Arc<Self>, kernel: &Arc<dyn Kernel>, notebook: &Arc<OpenNotebook>) {
        let notices = self.adopt_at(kernel, notebook.place(), Some(notebook)).await;
        for notice in notices {
            notebook.add_notice(notice);
        }
    }

    /// The same at a kernel of `place`, which may be that of no notebook. Returns what an agent should know.
    pub(crate) async fn adopt_at(
        self: &Arc<Self>,
        kernel: &Arc<dyn Kernel>,
        place: &Arc<dyn Place>,
        notebook: Option<&Arc<OpenNotebook>>,
    ) -> Vec<String> {
        let mut notices = Vec::new();
        for orphan in kernel.take_orphans().await {
            let Orphan { note, requested_at, is_stored, is_acknowledged, execution, executor } = orphan;
            let id = note.run.clone();
            let Some(run) = self.journal.adopt(note, requested_at) else {
                // One of ours that ended with its keeper.
                if self.journal.run(&id).is_ok_and(|known| known.is_closed()) {
                    executor.acknowledge(&id);
                }
                continue;
            };
            run.set_kernel(kernel.clone());
            let Some(OrphanedExecution { execution, mut events }) = execution else {
                run.note(NOT_RUN);
                run.end(RunState::Interrupted);
                if !is_acknowledged {
                    executor.acknowledge(run.id());
                    notices.extend(self.news_of(&run));
                }
                continue;
            };
            run.executing(execution);
            while let Ok((time, event)) = events.try_recv() {
                run.on_event_at(time, event);
            }
            if is_acknowledged {
                run.close();
                continue;
            }
            notices.extend(self.news_of(&run));
            if is_stored && run.is_finished() {
                executor.acknowledge(run.id());
                run.close();
                continue;
            }
            let (runner, kernel) = (self.clone(), kernel.clone());
            let (place, notebook) = (place.clone(), notebook.cloned());
            self.tasks.spawn(async move {
                runner.follow(&run, events, (&kernel, &*executor), (&place, notebook)).await;
            });
        }
        notices.extend(kernel.take_notices());
        notices
    }

    /// What became of a run, unless an agent was told that already.
    fn news_of(&self, run: &Run) -> Option<String> {
        let is_known = self.reported.lock().get(run.id()) == Some(&run.state().is_over());
        (!is_known).then(|| described(run))
    }

    /// Follows a run to its end, and stores its outputs.
    async fn follow(
        &self,
        run: &Arc<Run>,
        events: Events,
        (kernel, executor): (&Arc<dyn Kernel>, &dyn Executor),
        (place, notebook): (&Arc<dyn Place>, Option<Arc<OpenNotebook>>),
    ) {
        let queue = self.queue(kernel.id());
        // Later runs wait for it, and an interrupt is meant for it.
        let _turn = if run.state().is_over() { None } else { queue.enter(run).await };
        let home = home(run, place, notebook).await;
        let before = match &home {
            Some(home) => self.before_outputs(home).await,
            None => None,
        };
        if let Some(home) = &home
            && is_unchanged(home, run).await
        {
            tokio::join!(receive(run, events), outputs::write_while_running(&**home.document(), run));
        } else {
            receive(run, events).await;
        }
        // This program ends, or the kernel was restarted: another one stores the outcome.
        if !run.is_finished() {
            return run.close();
        }
        if let Some(home) = &home {
            self.store(run, home, before, &**kernel, executor).await;
        }
        executor.acknowledge(run.id());
        run.close();
    }

    /// Writes the outputs into the cell, unless that belongs to something newer.
    async fn store(
        &self,
        run: &Run,
        notebook: &OpenNotebook,
        before: Option<Notebook>,
        kernel: &dyn Kernel,
        executor: &dyn Executor,
    ) {
        let latest = run.cell().and_then(|cell| self.journal.latest_of(&cell.path, &cell.id));
        if latest.is_some_and(|latest| latest.id() != run.id()) {
            return run.note(NEWER_RUN);
        }
        if !is_unchanged(notebook, run).await {
            return run.note(CHANGED);
        }
        self.write_end(notebook, run, before, kernel, executor).await;
    }
}

/// Passes events on until the run is over.
async fn receive(run: &Run, mut events: Events) {
    loop {
        tokio::select! {
            event = events.recv() => match event {
                Some((time, event)) => run.on_event_at(time, event),
                None => return,
            },
            () = run.over() => return,
        }
    }
}

/// The notebook of the run's cell: `notebook`, or another one that ran on the same kernel.
async fn home(
    run: &Run,
    place: &Arc<dyn Place>,
    notebook: Option<Arc<OpenNotebook>>,
) -> Option<Arc<OpenNotebook>> {
    let path = &run.cell()?.path;
    if let Some(notebook) = notebook.filter(|notebook| notebook.path() == path) {
        return Some(notebook);
    }
    let document = place.open(path, Mode::Connect).await.ok()?;
    Some(Arc::new(OpenNotebook::new(place.clone(), document)))
}

/// Whether the cell is still what was run, and no run of another server has come after it.
async fn is_unchanged(notebook: &OpenNotebook, run: &Run) -> bool {
    let (Some(cell), Ok(now)) = (run.cell(), notebook.document().snapshot().await) else { return false };
    let count = run.view().execution_count;
    now.cell(&cell.id).is_some_and(|(_, cell)| {
        let is_newer = cell.execution_count().zip(count).is_some_and(|(there, ours)| there > ours);
        cell.source() == run.source() && !is_newer
    })
}

/// What became of a run, for an agent.
fn described(run: &Run) -> String {
    describe(run.id(), run.cell().map(|cell| &cell.id), "", &run.state(), run.is_finished())
}

//! Runs of earlier servers: followed to their end, and stored as if this server had begun them.

use std::sync::Arc;
use std::time::SystemTime;

use kernel::Event;
use notebook::Notebook;
use tokio::sync::mpsc::UnboundedReceiver;

use super::Runner;
use crate::executor::Executor;
use crate::open_notebook::OpenNotebook;
use crate::place::{Kernel, Mode};
use crate::runs::orphan::{Orphan, OrphanedExecution};
use crate::runs::outputs;
use crate::runs::run::Run;
use crate::runs::state::RunState;

const NOT_RUN: &str = "It did not run: its server ended before its turn.";
const NEWER_RUN: &str = "The outputs are only here: the cell has run again since.";
const CHANGED: &str = "The outputs are only here: the cell was changed or deleted since.";

type Events = UnboundedReceiver<(SystemTime, Event)>;

impl Runner {
    /// Adopts the runs that earlier servers left at a kernel of `notebook`, which is told what became of them. Returns once
    /// that is known; what still runs is followed by a task.
    pub(crate) async fn adopt(self: &Arc<Self>, kernel: &Arc<dyn Kernel>, notebook: &Arc<OpenNotebook>) {
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
                    notebook.add_notice(described(&run));
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
            notebook.add_notice(described(&run));
            if is_stored && run.is_finished() {
                executor.acknowledge(run.id());
                run.close();
                continue;
            }
            let (runner, kernel, notebook) = (self.clone(), kernel.clone(), notebook.clone());
            self.tasks.spawn(async move {
                runner.follow(&run, events, &kernel, &*executor, &notebook).await;
            });
        }
        kernel.take_notices().into_iter().for_each(|notice| notebook.add_notice(notice));
    }

    /// Follows a run to its end, and stores its outputs.
    async fn follow(
        &self,
        run: &Arc<Run>,
        events: Events,
        kernel: &Arc<dyn Kernel>,
        executor: &dyn Executor,
        notebook: &Arc<OpenNotebook>,
    ) {
        let queue = self.queue(kernel.id());
        // Later runs wait for it, and an interrupt is meant for it.
        let _turn = if run.state().is_over() { None } else { queue.enter(run).await };
        let home = home(run, notebook).await;
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
async fn home(run: &Run, notebook: &Arc<OpenNotebook>) -> Option<Arc<OpenNotebook>> {
    let path = &run.cell()?.path;
    if path == notebook.path() {
        return Some(notebook.clone());
    }
    let document = notebook.place().open(path, Mode::Connect).await.ok()?;
    Some(Arc::new(OpenNotebook::new(notebook.place().clone(), document)))
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
    let state = match run.state() {
        RunState::Queued | RunState::Running => "is still running".to_owned(),
        RunState::WaitingForInput { prompt, .. } => format!("waits for input ({prompt:?})"),
        RunState::Done => "ended well".to_owned(),
        RunState::Error { name, .. } => format!("ended with {name}"),
        RunState::Interrupted if run.is_finished() => "was interrupted".to_owned(),
        RunState::Interrupted => "did not run".to_owned(),
        RunState::KernelDied { how } => format!("ended because the kernel died ({how})"),
        RunState::Lost { cause, .. } => format!("is lost ({cause})"),
        RunState::Failed(error) => error.cause,
    };
    let cell = run.cell().map(|cell| format!(" of cell {}", cell.id)).unwrap_or_default();
    format!("Of a server that has ended: run {}{cell} {state}.", run.id())
}

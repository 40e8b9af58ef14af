//! Runs of earlier servers: followed to their end, and stored as if this server had begun them.

use std::sync::Arc;
use std::time::Duration;

use kernel::TimedEvents;
use notebook::{Cell, Notebook};
use place::{Error, ErrorKind, Executor, Kernel, Mode, Orphan, Place, RunState, SkipReason, sentence};

use super::Runner;
use crate::open_notebook::OpenNotebook;
use crate::outputs;
use crate::run::Run;

/// The pauses after which it is tried again to store the outputs of a notebook that was out of reach. Then a later server does it.
const STORE_AGAIN: [Duration; 3] =
    [Duration::from_secs(5), Duration::from_secs(25), Duration::from_secs(120)];
const NEWER_RUN: &str = "These outputs are not in the notebook: the cell has been run again since.";
const CHANGED: &str = "These outputs are not in the notebook: the cell has been changed or deleted since.";

impl Runner {
    /// Adopts the runs that earlier servers left at a kernel of `notebook`, and reports them in the notebook's next reply. Returns
    /// once their outcomes are known; a task follows what still runs.
    pub async fn adopt(self: &Arc<Self>, kernel: &Arc<dyn Kernel>, notebook: &Arc<OpenNotebook>) {
        let notices = self.adopt_at(kernel, notebook.place(), Some(notebook)).await;
        for notice in notices {
            notebook.add_notice(notice);
        }
    }

    /// The same at a kernel of `place`, which may be that of no notebook. Returns what an agent should know.
    pub async fn adopt_at(
        self: &Arc<Self>,
        kernel: &Arc<dyn Kernel>,
        place: &Arc<dyn Place>,
        notebook: Option<&Arc<OpenNotebook>>,
    ) -> Vec<String> {
        let mut notices = Vec::new();
        let orphans = match kernel.earlier_runs() {
            Some(runs) => runs.take_orphans().await,
            None => Vec::new(),
        };
        for orphan in orphans {
            let Orphan { details, requested_at, is_stored, is_acknowledged, execution, executor } = orphan;
            let (id, shown_before) = (details.run.clone(), details.shown_before.clone());
            let is_out_of_reach = details.cell.is_some() && details.notebook.is_none();
            let was_lost =
                self.journal.run(&id).is_ok_and(|known| matches!(known.state(), RunState::Lost { .. }));
            let Some(run) = self.journal.adopt(details, requested_at) else {
                // A run of this server that ended with its keeper.
                if self.journal.run(&id).is_ok_and(|known| known.is_closed()) {
                    executor.acknowledge(&id);
                }
                continue;
            };
            let news_of = |run| self.news_of(run, was_lost);
            if was_lost {
                self.reported.lock().remove(&id);
                self.history.found(notebook, &id);
            }
            run.set_kernel(kernel.clone());
            let Some((execution, mut events)) = execution else {
                run.skip(SkipReason::ServerEnded);
                if !is_acknowledged {
                    executor.acknowledge(run.id());
                    notices.extend(news_of(&run));
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
            notices.extend(news_of(&run));
            let adopted = Adopted { run: run.clone(), shown_before, is_out_of_reach, events, executor };
            if run.is_finished()
                && let Ok(Some(home)) = self.home(&adopted, place, notebook.cloned()).await
            {
                // Before anybody asks which cells are stale, and before the next run.
                self.history.adopted(&home, &run, &**kernel);
            }
            if is_stored && run.is_finished() {
                adopted.executor.acknowledge(run.id());
                run.close();
                continue;
            }
            let turn = if run.state().is_over() {
                None
            } else {
                // Later runs wait for it, and an interrupt is meant for it.
                Some(self.queue(kernel.id()).line_up(run.clone()).await)
            };
            let (runner, kernel) = (self.clone(), kernel.clone());
            let (place, notebook) = (place.clone(), notebook.cloned());
            self.tasks.spawn(async move {
                let _turn = match turn {
                    Some(turn) => turn.await,
                    None => None,
                };
                runner.follow(adopted, &*kernel, &place, notebook).await;
            });
        }
        notices.extend(kernel.take_notices());
        notices
    }

    /// The outcome of a run, unless it was already reported to an agent. One that `was_lost` is of this server.
    fn news_of(&self, run: &Run, was_lost: bool) -> Option<String> {
        let is_known = self.reported.lock().get(run.id()) == Some(&run.state().is_over());
        (!is_known).then(|| {
            let (cell, outcome) = (run.cell().map(|cell| &cell.id), run.state().outcome());
            sentence(run.id(), cell, None, &outcome, was_lost)
        })
    }

    /// Follows a run to its end, and stores its outputs.
    async fn follow(
        &self,
        mut adopted: Adopted,
        kernel: &dyn Kernel,
        place: &Arc<dyn Place>,
        notebook: Option<Arc<OpenNotebook>>,
    ) {
        let run = adopted.run.clone();
        let home = self.home(&adopted, place, notebook).await;
        let before = match &home {
            Ok(Some(home)) => home.document().snapshot().await.ok(),
            _ => None,
        };
        if let Ok(Some(home)) = &home
            && matches!(self.why_not_stored(&adopted, home).await, Ok(None))
        {
            let document = home.document().clone();
            tokio::join!(adopted.receive(), outputs::write_while_running(&*document, &run));
        } else {
            adopted.receive().await;
        }
        // If this program ends, or the kernel was restarted, another one stores the outcome.
        if let Ok(Some(home)) = &home {
            self.history.adopted(home, &run, kernel);
        }
        let is_settled = run.is_finished()
            && match &home {
                Ok(Some(home)) => self.store(&adopted, home, before.clone(), kernel).await,
                Ok(None) => true,
                Err(error) => not_stored(&run, error),
            };
        if is_settled {
            adopted.executor.acknowledge(run.id());
        }
        run.close();
        let Ok(Some(home)) = home else { return };
        self.history.stored(&home, &run);
        for pause in STORE_AGAIN.into_iter().filter(|_| run.is_finished() && !is_settled) {
            tokio::time::sleep(pause).await;
            if self.store(&adopted, &home, before.clone(), kernel).await {
                self.history.stored(&home, &run);
                run.note("The outputs are in the notebook now.");
                return adopted.executor.acknowledge(run.id());
            }
        }
    }

    /// Writes the outputs into the cell, unless that belongs to something newer. Returns whether nothing is left to store.
    async fn store(
        &self,
        adopted: &Adopted,
        notebook: &OpenNotebook,
        before: Option<Notebook>,
        kernel: &dyn Kernel,
    ) -> bool {
        match self.why_not_stored(adopted, notebook).await {
            Ok(None) => self.write_end(notebook, &adopted.run, before, kernel, &*adopted.executor).await,
            Ok(Some(reason)) => {
                adopted.run.note(reason);
                true
            }
            Err(error) => not_stored(&adopted.run, &error),
        }
    }

    /// Why the outputs of a run do not belong into its cell; `None` if they do. Fails if the notebook cannot be read.
    async fn why_not_stored(
        &self,
        adopted: &Adopted,
        notebook: &OpenNotebook,
    ) -> Result<Option<&'static str>, Error> {
        let run = &adopted.run;
        let Some(cell) = run.cell() else { return Ok(Some(CHANGED)) };
        let latest = self.journal.latest_of(&cell.path, &cell.id);
        if latest.is_some_and(|latest| latest.id() != run.id()) {
            return Ok(Some(NEWER_RUN));
        }
        let now = notebook.document().snapshot().await?;
        Ok(match now.cell(&cell.id) {
            Some((_, cell)) if cell.source() != run.source() => Some(CHANGED),
            Some((_, cell)) if adopted.is_followed_by(cell) => Some(NEWER_RUN),
            Some(_) => None,
            None => Some(CHANGED),
        })
    }

    /// The notebook of a run's cell: `notebook`, or another one that ran on the same kernel. `None` if it has no cell. Fails if its
    /// notebook cannot be opened.
    async fn home(
        &self,
        adopted: &Adopted,
        place: &Arc<dyn Place>,
        notebook: Option<Arc<OpenNotebook>>,
    ) -> Result<Option<Arc<OpenNotebook>>, Error> {
        if adopted.is_out_of_reach {
            let cause = "The notebook is outside this server's folder.";
            let next = "A server that works in the notebook's folder stores them.";
            return Err(Error::new(ErrorKind::Forbidden, cause, next));
        }
        let Some(cell) = adopted.run.cell() else { return Ok(None) };
        if let Some(notebook) = notebook.filter(|notebook| *notebook.path() == cell.path) {
            return Ok(Some(notebook));
        }
        let document = self.open(place, &cell.path, Mode::Connect).await?;
        Ok(Some(Arc::new(OpenNotebook::new(place.clone(), document))))
    }
}

/// A run of an earlier server that is followed.
struct Adopted {
    run: Arc<Run>,
    /// What its cell showed before: see [`RunDetails`](place::RunDetails).
    shown_before: Option<String>,
    /// Whether its cell is in a notebook that cannot be opened from here.
    is_out_of_reach: bool,
    events: TimedEvents,
    /// The connection over which its outcome is acknowledged.
    executor: Arc<dyn Executor>,
}

impl Adopted {
    /// Passes events on until the run is over.
    async fn receive(&mut self) {
        loop {
            tokio::select! {
                event = self.events.recv() => match event {
                    Some((time, event)) => self.run.on_event_at(time, event),
                    None => return,
                },
                () = self.run.over() => return,
            }
        }
    }

    /// Whether another run of the cell has ended since this one began. While this one runs, its outputs are shown without a number.
    fn is_followed_by(&self, cell: &Cell) -> bool {
        let (there, ours) = (cell.execution_count(), self.run.view().execution_count);
        match &self.shown_before {
            Some(before) => there.is_some() && there != ours && *before != cell.shown_revision(),
            // An earlier version did not look. Numbers of different processes of the kernel do not compare.
            None => there.zip(ours).is_some_and(|(there, ours)| there > ours),
        }
    }
}

/// Says why the outputs of a run are not in its notebook. Returns whether nothing is left to store: those of a notebook that is
/// gone have no place.
fn not_stored(run: &Run, error: &Error) -> bool {
    outputs::not_stored(run, error);
    error.kind == ErrorKind::NotFound
}

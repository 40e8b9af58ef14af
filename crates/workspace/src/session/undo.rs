//! The history of a notebook, and the way back.

mod conflicts;
mod selection;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use kernel::{restored_widgets, shown_widgets};
use notebook::{CellId, Edit, Json, Notebook};
use operations::{
    Activity, Blobs, Creation, LogError, Operation, OperationId, OperationKind, OperationLog, Plan, Recorded,
    RunAction, Since, UndoScope, brief_diff_of, by_call, changed_since, compare, diff_of, live, of_same_call,
    plan, record, since_creation,
};
use place::{Applied, Error, ErrorKind, Expected, NotebookPath, Place, RunId};
use recorder::{
    Recorder,
    actor::{self, Actor},
};
use runs::OpenNotebook;

use self::conflicts::{nothing, refused, running_elsewhere, unknown};
use super::Session;

/// The operations that an undo selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoTarget {
    /// The latest operations that are still in effect, of this session and of ended sessions of the same agent.
    Last(usize),
    /// The latest operations, of any author.
    LastOfAll(usize),
    Operation(OperationId),
    /// All operations since then that are still in effect, of any author.
    Since(Since),
}

/// An operation, and what became of it.
#[derive(Debug, Clone)]
pub struct PastOperation {
    pub operation: Operation,
    pub is_undone: bool,
    /// The cells in which it is in effect.
    pub live_cells: Vec<CellId>,
    /// Somebody else has changed a cell since this, its last operation.
    pub is_changed_since: bool,
}

/// The effect of an undo, done or not.
#[derive(Debug, Clone)]
pub struct Undone {
    /// The operations that were undone, newest first.
    pub operations: Vec<Operation>,
    /// The changes, as a diff for each cell.
    pub diff: String,
    /// The same with cells that return or go as ranges.
    pub brief: String,
    /// The cells that were touched.
    pub cells: Vec<CellId>,
    /// The cells whose former outputs were too large to be kept.
    pub without_outputs: Vec<CellId>,
    /// `None` for a preview.
    pub applied: Option<Applied>,
}

impl Session {
    /// The operations of a notebook, in order. What one call did is one operation.
    pub async fn history(
        &self,
        opened: &OpenNotebook,
        since: Option<Since>,
    ) -> Result<Vec<PastOperation>, Error> {
        let all = self.operations(opened).await?;
        let part = part(&all, since.as_ref())?;
        let now = opened.document().snapshot().await?;
        let (changed, live) = (changed_since(&all, &now), live(&all));
        // `live` omits what was before the creation, which nobody has undone: it belonged to an earlier file at this path.
        let is_own = |id: OperationId| since_creation(&all).first().is_some_and(|first| first.id <= id);
        let of_call = |operation: &Operation| {
            let live = live.iter().filter(|live| of_same_call(live, operation));
            live.flat_map(|live| &live.cells).map(|change| change.id.clone()).collect()
        };
        let past = |operation: Operation| PastOperation {
            live_cells: of_call(&operation),
            is_undone: is_own(operation.id)
                // Checkpoints and undos are never in `live`: their absence does not mean that they were undone.
                && matches!(operation.kind, OperationKind::Change { .. })
                && live.iter().all(|live| !of_same_call(live, &operation)),
            // `by_call` gives a call the id of its first operation, but the change may concern a later one.
            is_changed_since: part.iter().any(|it| changed.contains(&it.id) && of_same_call(it, &operation)),
            operation,
        };
        Ok(by_call(part).into_iter().map(past).collect())
    }

    /// The agents that have changed notebooks since then, or are connected, in any place and by any server of this person.
    pub async fn activities(&self, since: SystemTime) -> Result<Vec<Activity>, Error> {
        self.recorder()?.activities(since).await
    }

    /// A number that changes with the history of a notebook.
    pub async fn history_version(&self, opened: &OpenNotebook) -> Result<u64, Error> {
        self.ask(opened, OperationLog::size).await
    }

    /// Changes of an operation, as a diff for each cell, or for this cell alone.
    pub async fn operation_diff(
        &self,
        opened: &OpenNotebook,
        id: OperationId,
        only: Option<CellId>,
    ) -> Result<(Operation, String), Error> {
        let all = self.operations(opened).await?;
        let meant = all.iter().find(|operation| operation.id == id).cloned();
        // An insert with a run is recorded as two operations: the id of either shows all that the call did.
        let of_call =
            meant.map(|meant| by_call(&all).into_iter().find(|it| of_same_call(it, &meant)).unwrap_or(meant));
        let mut operation = of_call.ok_or_else(|| unknown(&Since::Operation(id)))?;
        if let Some(only) = only {
            operation.cells.retain(|change| change.id == only);
            operation.metadata.clear();
        }
        let question = move |log: &OperationLog| {
            let diff = diff_of(&operation, &|id| log.content(id));
            (operation, diff)
        };
        self.ask(opened, question).await
    }

    /// The difference of cells that were changed since then, or at all, as a diff for each cell.
    pub async fn difference(&self, opened: &OpenNotebook, since: Option<&Since>) -> Result<String, Error> {
        let all = self.operations(opened).await?;
        let compared = compare(part(&all, since)?, &opened.document().snapshot().await?);
        let operation =
            Operation { cells: compared.cells, metadata: compared.metadata, ..Operation::default() };
        let question = move |log: &OperationLog| {
            // A text of somebody else was never recorded: its contents are only in `blobs`.
            diff_of(&operation, &|id| compared.blobs.get(id).or_else(|| log.content(id)))
        };
        self.ask(opened, question).await
    }

    /// The changes of edits, as a diff for each cell. Fails as they would, and touches nothing.
    pub fn preview(
        &self,
        opened: &OpenNotebook,
        before: &Notebook,
        edits: &[Edit],
        expected: &[Expected],
    ) -> Result<String, Error> {
        // First, as in the edit itself: a preview must not promise what the edit would refuse.
        expected.iter().try_for_each(|expected| expected.check(before))?;
        let (operation, blobs) = planned_change(opened, before, edits)?;
        Ok(diff_of(&operation, &|id| blobs.get(id)))
    }

    /// Creates a checkpoint.
    pub async fn checkpoint(&self, opened: &OpenNotebook, name: &str) -> Result<(), Error> {
        self.recorder()?.checkpoint(&identity(opened), self.actor(), name.to_owned()).await
    }

    /// Creates a checkpoint that nobody has asked for, if it can be recorded. Never waits.
    pub fn checkpoint_if_recorded(&self, opened: &OpenNotebook, name: &str) {
        self.mark(&identity(opened), OperationKind::Checkpoint { name: name.to_owned(), is_automatic: true });
    }

    /// Records what the person did to a run that another program has started. Never waits.
    pub fn acted(&self, opened: &OpenNotebook, run: &RunId, action: RunAction) {
        self.mark(&identity(opened), OperationKind::OnRun { run: run.clone(), action });
    }

    /// Records that somebody has written a notebook as a copy of another.
    pub fn copied(&self, copy: &OpenNotebook, of: &NotebookPath) {
        self.created(copy.place(), copy.path(), Some(of.to_string()));
    }

    /// Records that a notebook was made, perhaps as a copy.
    pub(super) fn created(&self, place: &Arc<dyn Place>, path: &NotebookPath, copy_of: Option<String>) {
        self.mark(&place.identity(path), OperationKind::Creation { created: Creation { copy_of } });
    }

    fn mark(&self, notebook: &str, kind: OperationKind) {
        if let Ok(recorder) = self.recorder() {
            recorder.mark(notebook, self.actor(), kind);
        }
    }

    /// Takes operations back: all, or nothing is done. With `only`, just what they did to these cells. Fails if somebody else
    /// has changed a cell since, or if one is running.
    pub fn undo<'s>(
        &'s self,
        opened: &'s OpenNotebook,
        target: &'s UndoTarget,
        only: Option<&'s [CellId]>,
        is_preview: bool,
    ) -> place::Future<'s, Undone> {
        // Boxed, so that its code is not again in each crate that undoes.
        Box::pin(async move {
            let all = self.operations(opened).await?;
            let others = self.connected_others(opened, &all).await?;
            let mut chosen = selection::chosen(&all, target, (&self.actor().agent, &others))?;
            if let Some(only) = only {
                for operation in &mut chosen {
                    operation.cells.retain(|change| only.contains(&change.id));
                    // The kernelspec and the like belong to no cell: a call that names cells must not change them.
                    operation.metadata.clear();
                }
                // The reply and the record must not name operations that had no part in these cells.
                chosen.retain(|operation| !operation.is_empty());
                if chosen.is_empty() {
                    return Err(nothing(
                        "The selected operations did not change any of these cells.".to_owned(),
                    ));
                }
            }
            let now = opened.document().snapshot().await?;
            // Before the plan: while a run writes outputs, every plan would report other outputs instead of the run to wait for.
            self.check_not_running(opened, &chosen).await?;
            // Contents are beside the log, on a disk: they are read where the log is, and not on this thread.
            let (before, question) = (now.clone(), chosen.clone());
            let planned = move |log: &OperationLog| {
                let widgets =
                    question.iter().filter_map(|operation| log.content(operation.widgets.as_ref()?));
                (plan(&before, &question, &|id| log.content(id)), widgets.collect::<Vec<_>>())
            };
            let (planned, widgets) = self.ask(opened, planned).await?;
            let Plan { mut edits, cells, mut without_outputs, after } =
                planned.map_err(|them| refused(&now, &them, &all))?;
            if opened.document().stores_outputs() {
                // Only the application itself can set outputs.
                for edit in edits.extract_if(.., |edit| matches!(edit, Edit::SetOutputs { .. })) {
                    if let Edit::SetOutputs { id, .. } = edit {
                        without_outputs.push(id);
                    }
                }
            }
            let (operation, blobs) = planned_change(opened, &now, &edits)?;
            let [diff, brief] = [diff_of, brief_diff_of].map(|words| words(&operation, &|id| blobs.get(id)));
            let applied = if is_preview {
                None
            } else {
                // The plan is made for a snapshot: if somebody changes a cell before the edits arrive, that must not be lost.
                let expected =
                    cells.iter().filter_map(|id| now.cell(id)).map(|(_, cell)| Expected::unchanged(cell));
                let operations = chosen.iter().map(|operation| operation.id).collect();
                let only = only.map(<[CellId]>::to_vec);
                let expected = expected.collect();
                let kind = OperationKind::Undo(UndoScope { operations, only });
                // The state of widgets goes with the outputs that show them, so where outputs stay, it stays.
                if !opened.document().stores_outputs() {
                    edits.extend(restored(&after, widgets));
                }
                let applied = self.edit_as(opened, &now, edits, expected, kind).await?;
                // After the edit: if that is refused, the outputs of the run still belong to the cell.
                self.detach_outputs(opened, &chosen);
                Some(applied)
            };
            let operations =
                by_call(&chosen.iter().rev().cloned().collect::<Vec<_>>()).into_iter().rev().collect();
            Ok(Undone { operations, diff, brief, cells, without_outputs, applied })
        })
    }

    /// Later outputs of an ended run must not replace what the undo has restored.
    fn detach_outputs(&self, opened: &OpenNotebook, undone: &[Operation]) {
        for operation in undone {
            let OperationKind::Change { runs } = &operation.kind else { continue };
            for change in &operation.cells {
                let run = self.workspace.journal().latest_of(opened.path(), &change.id);
                // A later run of the cell belongs to another operation: its outputs must still arrive.
                if let Some(run) = run.filter(|run| runs.contains(run.id())) {
                    run.detach_outputs();
                }
            }
        }
    }

    async fn operations(&self, opened: &OpenNotebook) -> Result<Vec<Operation>, Error> {
        let read = self.ask(opened, OperationLog::read).await?;
        read.map_err(|error| {
            let next = match error {
                LogError::Newer { .. } => "Use the newer version of this program.",
                LogError::Io { .. } => "Ask the person to look at that folder.",
            };
            Error::new(ErrorKind::Unavailable, format!("The history cannot be read: {error}."), next)
                .with_source(error)
        })
    }

    /// Asks the record of a notebook.
    async fn ask<T: Send + 'static>(
        &self,
        opened: &OpenNotebook,
        question: impl FnOnce(&OperationLog) -> T + Send + 'static,
    ) -> Result<T, Error> {
        self.recorder()?.ask(&identity(opened), question).await
    }

    fn recorder(&self) -> Result<&Recorder, Error> {
        self.workspace.recorder().ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                "This server records no history of notebooks.",
                "Change the cells back by editing them.",
            )
        })
    }

    /// The author of changes, by the tool's call or else by the session.
    pub(super) fn actor(&self) -> Actor {
        let actor = actor::current();
        if actor.agent.is_empty() {
            Actor { tool: actor.tool, arrived: actor.arrived, ..self.own_actor() }
        } else {
            actor
        }
    }

    /// Other connected sessions of the agent's name, at any server. Ended ones count as this agent's: before a restart, it had another.
    async fn connected_others(
        &self,
        opened: &OpenNotebook,
        all: &[Operation],
    ) -> Result<HashSet<String>, Error> {
        let agent = self.actor().agent;
        let namesakes = all.iter().filter(|operation| operation.agent == agent);
        let mut others: HashSet<_> = namesakes.map(|operation| operation.session.clone()).collect();
        // This session is connected, too: without this, its operations would not be its own.
        others.remove(self.lock.name());
        let question = move |log: &OperationLog| {
            others.retain(|session| log.is_connected(session));
            others
        };
        self.ask(opened, question).await
    }

    /// Fails if a cell that the undo would touch is running or queued, also in another program.
    async fn check_not_running(&self, opened: &OpenNotebook, operations: &[Operation]) -> Result<(), Error> {
        let elsewhere = running_elsewhere(opened).await?;
        for change in operations.iter().flat_map(|operation| &operation.cells) {
            let id = &change.id;
            let run = self.workspace.journal().latest_of(opened.path(), id);
            let whose = match run.filter(|run| !run.state().is_over()) {
                Some(run) => format!("run {}", run.id()),
                None if elsewhere.contains(id) => "another program runs it".to_owned(),
                None => continue,
            };
            return Err(Error::new(
                ErrorKind::Busy,
                format!("Cell {id} is running or queued ({whose}). Nothing was undone."),
                place::NextStep::WaitForRun,
            ));
        }
        Ok(())
    }
}

/// Widget state before `operations`, from the diffs in `earlier`, newest first. `None` if it stays as it is.
fn restored(after: &Notebook, earlier: Vec<Bytes>) -> Option<Edit> {
    if earlier.is_empty() {
        return None;
    }
    let widgets: Vec<String> = after.cells().iter().flat_map(|cell| shown_widgets(&cell.outputs())).collect();
    let present = after.metadata().member("widgets");
    let back = |present: Option<Json>, earlier| restored_widgets(present.as_ref(), &earlier, &widgets);
    // Each holds only what its operation changed, so that it applies to the state which that operation left.
    let value = earlier.into_iter().filter_map(|text| Json::parse(text).ok()).fold(present.clone(), back);
    (value != present).then(|| Edit::SetMetadata { name: "widgets".to_owned(), value })
}

/// The operations since then, or all.
fn part<'o>(all: &'o [Operation], since: Option<&Since>) -> Result<&'o [Operation], Error> {
    since.map_or(Ok(all), |since| since.of(all).ok_or_else(|| unknown(since)))
}

/// The identity of a notebook in the record of operations.
pub(super) fn identity(opened: &OpenNotebook) -> String {
    opened.place().identity(opened.path())
}

/// The changes of edits, as an operation with the contents that it names. Fails as the edits would.
fn planned_change(
    opened: &OpenNotebook,
    before: &Notebook,
    edits: &[Edit],
) -> Result<(Operation, Blobs), Error> {
    let mut after = before.clone();
    for edit in edits {
        after.apply(edit).map_err(|error| Error::edit_refused(opened.path(), error))?;
    }
    let Recorded { cells, metadata, blobs } = record(before, &after, edits);
    Ok((Operation { cells, metadata, ..Operation::default() }, blobs))
}

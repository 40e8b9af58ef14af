//! The history of a notebook, and the way back.

use std::sync::Arc;

use notebook::{CellId, Edit, Notebook};
use operations::{
    LogError, Obstacle, Operation, Part, Plan, Refusal, Since, changed_since, compare, diff_of, live, plan,
    record, since_creation,
};

use super::Session;
use crate::actor;
use crate::open_notebook::OpenNotebook;
use crate::place::{Applied, Expected, KernelState, Place};
use crate::recorder::Recorder;
use crate::{Error, ErrorKind, NotebookPath};

/// What is to be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoTarget {
    /// The last operations of this agent that are not undone.
    Last(usize),
    /// The last operations of whoever made them.
    LastOfAll(usize),
    Operation(u64),
    /// All operations since then that are not undone, whoever made them.
    Since(Since),
}

/// An operation, and what became of it.
#[derive(Debug, Clone)]
pub struct PastOperation {
    pub operation: Operation,
    pub is_undone: bool,
    /// Somebody else has changed a cell since this, its last operation.
    pub is_changed_since: bool,
}

/// What an undo has done, or would do.
#[derive(Debug, Clone)]
pub struct Undone {
    /// What was undone, newest first.
    pub operations: Vec<Operation>,
    /// What that changed, as a diff for each cell.
    pub diff: String,
    /// The cells that were touched.
    pub cells: Vec<CellId>,
    /// The cells whose former outputs were too large to be kept.
    pub without_outputs: Vec<CellId>,
    /// `None` if it was only to be shown.
    pub applied: Option<Applied>,
}

impl Session {
    /// The operations of a notebook, in order.
    pub async fn history(
        &self,
        opened: &OpenNotebook,
        since: Option<Since>,
    ) -> Result<Vec<PastOperation>, Error> {
        let all = self.operations(opened).await?;
        let part = match &since {
            None => &all[..],
            Some(since) => since.of(&all).ok_or_else(|| unknown(since))?,
        };
        let now = opened.document().snapshot().await?;
        let (changed, live) = (changed_since(&all, &now), live(&all));
        let is_own = |id: u64| since_creation(&all).first().is_some_and(|first| first.id <= id);
        let past = |operation: &Operation| PastOperation {
            is_undone: is_own(operation.id)
                && !operation.is_undo()
                && operation.checkpoint.is_none()
                && live.iter().all(|live| live.id != operation.id),
            is_changed_since: changed.contains(&operation.id),
            operation: operation.clone(),
        };
        Ok(part.iter().map(past).collect())
    }

    /// What an operation changed, as a diff for each cell.
    pub async fn operation_diff(&self, opened: &OpenNotebook, id: u64) -> Result<(Operation, String), Error> {
        let all = self.operations(opened).await?;
        let operation = all.into_iter().find(|operation| operation.id == id);
        let operation = operation.ok_or_else(|| unknown(&Since::Operation(id)))?;
        let question = move |log: &operations::OperationLog| {
            let diff = diff_of(&operation, &|id| log.content(id));
            (operation, diff)
        };
        self.recorder()?.ask(&identity(opened), question).await
    }

    /// How the cells that were changed since then, or at all, differ from what they were, as a diff for each cell.
    pub async fn difference(&self, opened: &OpenNotebook, since: Option<&Since>) -> Result<String, Error> {
        let all = self.operations(opened).await?;
        let part = match since {
            None => &all[..],
            Some(since) => since.of(&all).ok_or_else(|| unknown(since))?,
        };
        let compared = compare(part, &opened.document().snapshot().await?);
        let operation =
            Operation { cells: compared.cells, metadata: compared.metadata, ..Operation::default() };
        let question = move |log: &operations::OperationLog| {
            diff_of(&operation, &|id| compared.blobs.get(id).or_else(|| log.content(id)))
        };
        self.recorder()?.ask(&identity(opened), question).await
    }

    /// What edits would change, as a diff for each cell. Fails as they would, and touches nothing.
    pub fn preview(
        &self,
        opened: &OpenNotebook,
        before: &Notebook,
        edits: &[Edit],
        expected: &[Expected],
    ) -> Result<String, Error> {
        expected.iter().try_for_each(|expected| expected.check(before))?;
        let mut after = before.clone();
        for edit in edits {
            after.apply(edit).map_err(|error| Error::edit_refused(opened.path(), error))?;
        }
        let shown = record(before, &after, edits);
        let operation = Operation { cells: shown.cells, metadata: shown.metadata, ..Operation::default() };
        Ok(diff_of(&operation, &|id| shown.blobs.get(id)))
    }

    /// Marks this moment of a notebook, to come back to it.
    pub async fn checkpoint(&self, opened: &OpenNotebook, name: &str) -> Result<(), Error> {
        self.recorder()?.checkpoint(&identity(opened), self.actor(), name.to_owned()).await
    }

    /// The same, if it can be recorded. Never waits.
    pub fn checkpoint_if_recorded(&self, opened: &OpenNotebook, name: &str) {
        if let Ok(recorder) = self.recorder() {
            recorder.checkpoint_later(&identity(opened), self.actor(), name.to_owned());
        }
    }

    /// Records that somebody has written a notebook as a copy of another.
    pub fn copied(&self, copy: &OpenNotebook, of: &NotebookPath) {
        self.created(copy.place(), copy.path(), Some(of.to_string()));
    }

    /// Records that a notebook was made, perhaps as a copy.
    pub(super) fn created(&self, place: &Arc<dyn Place>, path: &NotebookPath, copy_of: Option<String>) {
        if let Ok(recorder) = self.recorder() {
            recorder.created(&place.identity(path), self.actor(), copy_of);
        }
    }

    /// Takes operations back: all, or nothing is done. With `only`, just what they did to these cells. Fails if somebody else
    /// has changed a cell since, or if one is running.
    pub async fn undo(
        &self,
        opened: &OpenNotebook,
        target: &UndoTarget,
        only: Option<&[CellId]>,
        is_preview: bool,
    ) -> Result<Undone, Error> {
        let all = self.operations(opened).await?;
        let mut chosen = self.chosen(&all, target)?;
        if let Some(only) = only {
            let is_meant = |id: &str| only.iter().any(|cell| *cell == *id);
            for operation in &mut chosen {
                operation.cells.retain(|change| is_meant(&change.id));
                operation.metadata.clear();
            }
            chosen.retain(|operation| !operation.is_empty());
            if chosen.is_empty() {
                return Err(nothing("None of these cells was changed by what is to be undone.".to_owned()));
            }
        }
        let now = opened.document().snapshot().await?;
        self.check_not_running(opened, &chosen).await?;
        let (before, question) = (now.clone(), chosen.clone());
        let planned = move |log: &operations::OperationLog| plan(&before, &question, &|id| log.content(id));
        let planned = self.recorder()?.ask(&identity(opened), planned).await?;
        let Plan { mut edits, cells, mut without_outputs, .. } =
            planned.map_err(|them| refused(&now, &them, &all))?;
        if opened.document().stores_outputs() {
            // Only the application itself can set outputs.
            for edit in edits.extract_if(.., |edit| matches!(edit, Edit::SetOutputs { .. })) {
                if let Edit::SetOutputs { id, .. } = edit {
                    without_outputs.push(id);
                }
            }
        }
        let diff = self.preview(opened, &now, &edits, &[])?;
        let applied = if is_preview {
            None
        } else {
            let expected =
                cells.iter().filter_map(|id| now.cell(id)).map(|(_, cell)| Expected::unchanged(cell));
            let undoes = chosen.iter().map(|operation| operation.id).collect();
            let only = only.map(|cells| cells.iter().map(ToString::to_string).collect());
            let expected = expected.collect();
            Some(self.edit_as(opened, &now, edits, expected, (undoes, only)).await?)
        };
        Ok(Undone { operations: chosen, diff, cells, without_outputs, applied })
    }

    async fn operations(&self, opened: &OpenNotebook) -> Result<Vec<Operation>, Error> {
        let read = self.recorder()?.ask(&identity(opened), operations::OperationLog::read).await?;
        read.map_err(|error| {
            let next = match error {
                LogError::Newer { .. } => "Use the newer version of this program.",
                LogError::Io { .. } => "Ask the person to look at that folder.",
            };
            Error::new(ErrorKind::Unavailable, format!("The history cannot be read: {error}."), next)
        })
    }

    fn recorder(&self) -> Result<&Recorder, Error> {
        self.workspace.recorder().ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                "This server keeps no history of notebooks.",
                "Change the cells back by editing them.",
            )
        })
    }

    /// Who acts, by the tool's call or else by the session.
    pub(super) fn actor(&self) -> actor::Actor {
        let mut actor = actor::current();
        if actor.agent.is_empty() {
            actor.agent = self.state().agent.clone().unwrap_or_default();
        }
        actor
    }

    /// The operations that are meant, newest first.
    fn chosen(&self, all: &[Operation], target: &UndoTarget) -> Result<Vec<Operation>, Error> {
        let live = live(all);
        let chosen: Vec<Operation> = match target {
            UndoTarget::Last(count) => {
                let agent = self.actor().agent;
                let own = live.iter().filter(|operation| operation.agent == agent);
                let own: Vec<_> = own.take((*count).max(1)).cloned().collect();
                if let (true, Some(last)) = (own.is_empty(), live.first()) {
                    let whose = if last.agent.is_empty() { "somebody else" } else { last.agent.as_str() };
                    return Err(nothing(format!(
                        "No operation of yours is left to be undone; the last of all is o{}, by {whose}.",
                        last.id
                    )));
                }
                own
            }
            UndoTarget::LastOfAll(count) => live.into_iter().take((*count).max(1)).collect(),
            UndoTarget::Operation(id) => {
                let found = all.iter().find(|operation| operation.id == *id);
                let found = found.ok_or_else(|| unknown(&Since::Operation(*id)))?;
                if found.checkpoint.is_some() {
                    return Err(nothing(format!("o{id} is a checkpoint, which changed nothing.")));
                }
                if let Some(made) = all.iter().rfind(|it| it.created.is_some() && it.id >= *id) {
                    let cause = if made.id == *id {
                        format!("o{id} made this notebook, and an undo deletes no notebook.")
                    } else {
                        format!(
                            "o{id} is about an earlier notebook at this path; {} made this one.",
                            made.name()
                        )
                    };
                    return Err(nothing(cause));
                }
                match live.into_iter().find(|operation| operation.id == *id) {
                    Some(live) => vec![live],
                    None if found.is_undo() => vec![found.clone()],
                    None => return Err(nothing(format!("o{id} is undone already."))),
                }
            }
            UndoTarget::Since(since) => {
                let part = since.of(all).ok_or_else(|| unknown(since))?;
                let is_meant = |operation: &Operation| part.iter().any(|meant| meant.id == operation.id);
                live.into_iter().filter(is_meant).collect()
            }
        };
        if chosen.is_empty() {
            let made = all.iter().rfind(|operation| operation.created.is_some());
            let made = made
                .map(|made| format!(": {} made this notebook, and an undo deletes no notebook", made.name()));
            return Err(nothing(format!("There is nothing to be undone{}.", made.unwrap_or_default())));
        }
        Ok(chosen)
    }

    /// Fails if a cell that is to be touched runs or waits for its turn, also where another program runs it.
    async fn check_not_running(&self, opened: &OpenNotebook, operations: &[Operation]) -> Result<(), Error> {
        let elsewhere = running_elsewhere(opened).await?;
        for change in operations.iter().flat_map(|operation| &operation.cells) {
            let id = CellId::from(change.id.as_str());
            let run = self.workspace.journal().latest_of(opened.path(), &id);
            let whose = match run.filter(|run| !run.state().is_over()) {
                Some(run) => format!("run {}", run.id()),
                None if elsewhere.contains(&id) => "another program runs it".to_owned(),
                None => continue,
            };
            return Err(Error::new(
                ErrorKind::Busy,
                format!("Cell {id} is running or waits for its turn ({whose}). Nothing was undone."),
                crate::NextStep::WaitForRun,
            ));
        }
        Ok(())
    }
}

/// The cells that other programs run now or have waiting, as far as that is known.
async fn running_elsewhere(opened: &OpenNotebook) -> Result<Vec<CellId>, Error> {
    let mut cells = opened.place().cells_to_run(opened.path()).await?;
    let shown = opened.document().running_cells();
    if !shown.is_empty() {
        // A program that was killed may have left them so.
        let kernels = opened.place().kernels().await?;
        if kernels.iter().any(|kernel| kernel.description().state == KernelState::Busy) {
            cells.extend(shown);
        }
    }
    Ok(cells)
}

/// What identifies a notebook in the record of operations.
pub(super) fn identity(opened: &OpenNotebook) -> String {
    opened.place().identity(opened.path())
}

fn unknown(since: &Since) -> Error {
    let what = match since {
        Since::Checkpoint(name) => format!("There is no checkpoint {name:?}"),
        Since::Operation(id) => format!("There is no operation o{id}"),
        Since::Time(_) => "There is no such time".to_owned(),
    };
    Error::new(
        ErrorKind::NotFound,
        format!("{what} in the history of this notebook."),
        "The history lists what there is; old operations are removed.",
    )
}

fn nothing(cause: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, cause, "The history lists what can be undone.")
}

/// What stands in the way, and the later operations that changed it, if it was one of `all`.
fn refused(now: &Notebook, refusals: &[Refusal], all: &[Operation]) -> Error {
    let live = live(all);
    let later = |refusal: &Refusal| {
        let is_later = |it: &&Operation| it.id > refusal.operation && refusal.part.is_changed_by(it);
        let later = live.iter().find(is_later);
        later.map(|it| format!(" by o{}", it.id))
    };
    let is_recorded = refusals.iter().all(|refusal| later(refusal).is_some());
    let who = if is_recorded { "later operations have" } else { "somebody else has" };
    let mut cause = format!("Nothing was undone, because {who} changed what it is about since:");
    for refusal @ Refusal { operation, part, obstacle } in refusals {
        let by = later(refusal).unwrap_or_default();
        match part {
            Part::Cell(id) => {
                let index = now.cell(id).map(|(index, _)| format!("#{index}, ")).unwrap_or_default();
                cause.push_str(&format!("\n- cell {id} ({index}o{operation}) "));
            }
            Part::Metadata(name) => cause.push_str(&format!("\n- the notebook's {name} (o{operation}) ")),
        }
        match obstacle {
            Obstacle::Changed { diff } => cause.push_str(&format!("has changed{by}:\n{}", diff.trim_end())),
            Obstacle::NewOutputs => cause.push_str(&format!("has other outputs{by}")),
            Obstacle::Moved => cause.push_str(&format!("was moved{by}")),
            Obstacle::Deleted => cause.push_str(&format!("was deleted{by}")),
            Obstacle::Exists => cause.push_str(&format!("is there again{by}")),
            Obstacle::Forgotten => cause.push_str("can no longer be restored: its former content is gone"),
        }
    }
    Error::new(
        ErrorKind::Conflict,
        cause,
        "Undo later operations of these cells first, or undo the other cells alone.",
    )
}

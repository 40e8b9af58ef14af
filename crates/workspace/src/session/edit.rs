//! Edits of a session: what the agent has read is checked, and what changes is recorded as the agent's.

use std::sync::{Arc, Weak};

use notebook::{Edit, Notebook, placed};
use operations::OperationKind;
use place::{Applied, Error, Expected, NotebookPath};
use recorder::{
    RecordedEdit,
    actor::{self, Actor},
};
use runs::OpenNotebook;
use uuid::Uuid;

use super::{Session, undo};

impl Session {
    /// Applies all of `edits` or none to a notebook, as [`Document::apply`](place::Document::apply) does, and records
    /// what the agent knows of the cells afterwards. `before` is the notebook from which the edits were made.
    pub async fn edit(
        &self,
        notebook: &OpenNotebook,
        before: &Notebook,
        edits: Vec<Edit>,
        expected: Vec<Expected>,
    ) -> Result<Applied, Error> {
        self.edit_as(notebook, before, edits, expected, OperationKind::EDIT).await
    }

    /// The same for edits that undo operations: all that they did, or what they did to some cells.
    pub(super) async fn edit_as(
        &self,
        notebook: &OpenNotebook,
        before: &Notebook,
        edits: Vec<Edit>,
        expected: Vec<Expected>,
        kind: OperationKind,
    ) -> Result<Applied, Error> {
        let path = notebook.path();
        let edits = placed(before, edits);
        let made = edits.clone();
        let stale = expected.iter().find_map(|expected| stale(before, expected));
        // The person's changes first, and below those of the edits: the next edit may change a part.
        self.workspace.carry_runs(notebook, before);
        let applied = match notebook.document().apply(edits, expected).await {
            Ok(applied) => applied,
            Err(error) => {
                // The refusal shows the first cell that has changed.
                self.saw(path, before, stale);
                return Err(error);
            }
        };
        self.workspace.carry_runs(notebook, &applied.notebook);
        notebook.changed_by(self.id);
        for run in self.workspace.journal().unfinished(path) {
            let deletes = |edit: &Edit| matches!((edit, run.cell()), (Edit::Delete { ids }, Some(cell)) if ids.contains(&cell.id));
            if made.iter().any(deletes) {
                run.cell_deleted_by(self.id);
            }
        }
        self.changed(path, before, &applied.notebook, &made);
        let inserted = made.iter().find_map(|edit| match edit {
            Edit::Insert { cell, .. } => Some(&cell.id),
            _ => None,
        });
        if let Some(id) = inserted {
            self.works_on(path, Some(id));
        }
        if let Some(recorder) = self.workspace.recorder() {
            recorder.record(RecordedEdit {
                notebook: undo::identity(notebook),
                actor: self.actor(),
                before: before.clone(),
                after: applied.notebook.clone(),
                edits: made,
                kind,
                checkpoint: self.first_change_of(path),
            });
        }
        Ok(applied)
    }

    /// The name of the checkpoint before the first change of this session to a notebook. A session that is one call has none:
    /// each of its changes would be the first.
    pub(super) fn first_change_of(&self, path: &NotebookPath) -> Option<String> {
        let mut state = self.state();
        let is_first = !state.is_stateless && state.edited.insert(path.clone());
        let agent = state.agent.as_deref().unwrap_or("an agent");
        is_first.then(|| format!("before {agent}"))
    }

    /// A sentence for an agent whose changes are not recorded. Returned once.
    pub fn take_record_warning(&self) -> Option<String> {
        let warning = self.workspace.recorder()?.take_warning()?;
        Some(format!("Note: {warning}."))
    }

    /// Runs `work`, whose changes are recorded as those of this agent and of `tool`, and waits a moment where it is not known
    /// whether they can be.
    pub async fn acting<F: Future>(&self, tool: &str, work: F) -> F::Output {
        let call = Uuid::new_v4().simple().to_string();
        let output = actor::acting(
            Actor { tool: tool.to_owned(), call, arrived: actor::now(), ..self.own_actor() },
            work,
        )
        .await;
        if let Some(recorder) = self.workspace.recorder() {
            recorder.settle().await;
        }
        output
    }

    /// This session, without a tool.
    pub(super) fn own_actor(&self) -> Actor {
        let state = self.state();
        let session = if state.is_stateless { Weak::new() } else { Arc::downgrade(&self.lock) };
        Actor { agent: state.agent.clone().unwrap_or_default(), session, ..Actor::default() }
    }
}

/// The index of the cell if it is there with another revision than expected.
fn stale(notebook: &Notebook, expected: &Expected) -> Option<usize> {
    let (index, cell) = notebook.cell(&expected.id)?;
    (expected.revision.as_deref()? != cell.revision()).then_some(index)
}

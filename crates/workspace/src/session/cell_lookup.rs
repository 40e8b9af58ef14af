//! Finds the cell that an agent means, and remembers the cells that it has seen.

use notebook::{CellId, CellRef, Edit, Notebook};
use place::{Error, ErrorKind, Expected, NextStep, NotebookPath};

use super::Session;

/// The reference to the cell with the person's cursor. No id contains an `@`.
const SELECTED: &str = "@selected";

impl Session {
    /// The index of the cell that a reference means, for a tool that only reads.
    pub fn find(
        &self,
        path: &NotebookPath,
        notebook: &Notebook,
        reference: &CellRef,
    ) -> Result<usize, Error> {
        match reference {
            CellRef::Id(id) if id.eq_ignore_ascii_case(SELECTED) => {
                Ok(notebook.resolve(&CellRef::Id(self.selected(path)?.to_string()))?)
            }
            reference => Ok(notebook.resolve(reference)?),
        }
    }

    /// The id of the cell with the person's cursor.
    fn selected(&self, path: &NotebookPath) -> Result<CellId, Error> {
        let document =
            self.workspace.notebooks().find(&self.home(path), path).map(|opened| opened.document().clone());
        if let Some(id) = document.as_ref().and_then(|document| document.selected()) {
            return Ok(id);
        }
        Err(if document.is_some_and(|document| document.is_live()) {
            Error::new(
                ErrorKind::Unavailable,
                format!("No person's cursor is in a cell of {path}, so {SELECTED} matches no cell."),
                "Ask the person to click into the cell, or name it by its id; a cursor that was already there is \
                 seen within 15 s.",
            )
        } else {
            Error::new(
                ErrorKind::Unsupported,
                format!(
                    "{path} is not a live notebook, so no cursors are visible and {SELECTED} matches no cell."
                ),
                NextStep::NameCell,
            )
        })
    }

    /// The index of the cell that a reference means, for a tool that changes or runs it.
    ///
    /// An index means the cell that this agent was shown there. Fails if another cell is there now: an agent that was
    /// shown the cells a, b and c means b by 1, but if somebody inserted x at the front, 1 is a.
    pub fn target(
        &self,
        path: &NotebookPath,
        notebook: &Notebook,
        reference: &CellRef,
    ) -> Result<usize, Error> {
        let index = self.find(path, notebook, reference)?;
        self.works_on(path, Some(notebook.cells()[index].id()));
        let CellRef::Index(asked) = reference else { return Ok(index) };
        let mut state = self.state();
        let Some(seen) = state.seen.get_mut(path) else { return Ok(index) };
        let Some(believed) = seen.order.get(asked).cloned() else { return Ok(index) };
        let now = notebook.cells()[index].id().clone();
        if believed == now {
            return Ok(index);
        }
        // The refusal says which cell is there now.
        seen.order.insert(*asked, now.clone());
        let cause = match notebook.cell(&believed) {
            Some((moved, _)) => format!(
                "The notebook has changed: the cell that you saw at index {asked} ({believed}) is at index {moved} now, \
                 and {now} is at {asked}. Nothing was done."
            ),
            None => format!(
                "The notebook has changed: the cell that you saw at index {asked} ({believed}) was deleted, \
                 and {now} is there now. Nothing was done."
            ),
        };
        Err(Error::new(ErrorKind::Conflict, cause, NextStep::NameCell))
    }

    /// The state that a cell must have before this agent changes it: the revision `claimed`, or else the one that it was shown.
    pub fn expected(&self, path: &NotebookPath, id: &CellId, claimed: Option<String>) -> Expected {
        let seen = || self.state().seen.get(path)?.revisions.get(id).cloned();
        Expected { id: id.clone(), revision: claimed.or_else(seen), read: None }
    }

    /// Remembers that the agent was shown the sources and indices of these cells.
    pub fn saw(
        &self,
        path: &NotebookPath,
        notebook: &Notebook,
        indices: impl IntoIterator<Item = usize> + Clone,
    ) {
        self.state().seen.entry(path.clone()).or_default().saw(notebook, indices);
    }

    /// Remembers that the agent was shown the indices and revisions of these cells.
    pub fn listed(&self, path: &NotebookPath, notebook: &Notebook, listed: impl IntoIterator<Item = usize>) {
        self.state().seen.entry(path.clone()).or_default().listed(notebook, listed);
    }

    /// Records what the agent knows after its own edits.
    pub(super) fn changed(&self, path: &NotebookPath, before: &Notebook, after: &Notebook, edits: &[Edit]) {
        let mut state = self.state();
        let seen = state.seen.entry(path.clone()).or_default();
        for edit in edits {
            seen.changed_by_agent(edit, before, after);
        }
    }

    /// The indices of cells whose source is no longer what this agent was shown.
    pub fn changed_by_others(&self, path: &NotebookPath, notebook: &Notebook) -> Vec<usize> {
        self.state().seen.get(path).map(|seen| seen.changed(notebook)).unwrap_or_default()
    }
}

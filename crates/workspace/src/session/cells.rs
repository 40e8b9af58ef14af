//! Which cell an agent means, and what it has seen of the cells.

use notebook::{CellRef, Notebook};

use super::Session;
use crate::place::Expected;
use crate::{Error, ErrorKind, NextStep};

/// The reference to the cell that a person is in. No id has an `@`.
const SELECTED: &str = "@selected";

impl Session {
    /// The cell that a reference means, for a tool that only looks. `@selected` is the one that a person is in.
    pub fn find(&self, path: &str, notebook: &Notebook, reference: &CellRef) -> Result<usize, Error> {
        match reference {
            CellRef::Id(id) if id.eq_ignore_ascii_case(SELECTED) => {
                Ok(notebook.resolve(&CellRef::Id(self.selected(path)?))?)
            }
            reference => Ok(notebook.resolve(reference)?),
        }
    }

    /// The id of the cell that a person is in.
    fn selected(&self, path: &str) -> Result<String, Error> {
        let document = self.workspace.find(&self.home(path), path).map(|opened| opened.document().clone());
        if let Some(id) = document.as_ref().and_then(|document| document.selected()) {
            return Ok(id);
        }
        Err(if document.is_some_and(|document| document.is_live()) {
            Error::new(
                ErrorKind::Unavailable,
                format!("No person is known to have the cursor in a cell of {path}, so {SELECTED} is none."),
                "Ask the person to click into the cell, or name it by its id; who was there before is seen within 15 s.",
            )
        } else {
            Error::new(
                ErrorKind::Unsupported,
                format!(
                    "People are not seen in {path}, which is not edited together, so {SELECTED} is no cell."
                ),
                NextStep::NameCell,
            )
        })
    }

    /// The cell that a reference means, for a tool that changes or runs it.
    ///
    /// An index means the cell that this agent was shown there: it fails if another cell stands there now.
    pub fn target(&self, path: &str, notebook: &Notebook, reference: &CellRef) -> Result<usize, Error> {
        let index = self.find(path, notebook, reference)?;
        self.works_on(path, Some(notebook.cells()[index].id()));
        let CellRef::Index(asked) = reference else { return Ok(index) };
        let mut desk = self.desk();
        let Some(seen) = desk.seen.get_mut(path) else { return Ok(index) };
        let Some(believed) = seen.order.get(asked).cloned() else { return Ok(index) };
        let now = notebook.cells()[index].id().to_owned();
        if believed == now {
            return Ok(index);
        }
        // The refusal tells this much.
        seen.order.insert(*asked, now.clone());
        let cause = match notebook.cell(&believed) {
            Some((moved, _)) => format!(
                "The notebook has changed: the cell that you saw at index {asked} ({believed}) is at index {moved} now, \
                 and at {asked} stands {now}. Nothing was done."
            ),
            None => format!(
                "The notebook has changed: the cell that you saw at index {asked} ({believed}) is gone, and {now} \
                 stands there now. Nothing was done."
            ),
        };
        Err(Error::new(ErrorKind::Conflict, cause, NextStep::NameCell))
    }

    /// What must still be true of a cell before this agent changes it: `claimed`, or else what it was shown.
    pub fn expected(&self, path: &str, id: &str, claimed: Option<String>) -> Expected {
        let seen = || self.desk().seen.get(path)?.revisions.get(id).cloned();
        Expected { id: id.to_owned(), revision: claimed.or_else(seen) }
    }

    /// Remembers that the agent was shown the sources of these cells, and where they stand.
    pub fn saw(&self, path: &str, notebook: &Notebook, shown: impl IntoIterator<Item = usize> + Clone) {
        self.desk().seen.entry(path.to_owned()).or_default().saw(notebook, shown);
    }

    /// Remembers that the agent was told where these cells stand.
    pub fn listed(&self, path: &str, notebook: &Notebook, listed: impl IntoIterator<Item = usize>) {
        self.desk().seen.entry(path.to_owned()).or_default().listed(notebook, listed);
    }

    /// The agent put a cell in: what it saw from there on stands one further.
    pub fn inserted(&self, path: &str, index: usize) {
        if let Some(seen) = self.desk().seen.get_mut(path) {
            seen.inserted(index);
        }
    }

    /// The agent took a cell out: what it saw after it stands one before.
    pub fn removed(&self, path: &str, index: usize) {
        if let Some(seen) = self.desk().seen.get_mut(path) {
            seen.removed(index);
        }
    }

    /// The indices of cells whose source is no longer what this agent was shown.
    pub fn changed_by_others(&self, path: &str, notebook: &Notebook) -> Vec<usize> {
        self.desk().seen.get(path).map(|seen| seen.changed(notebook)).unwrap_or_default()
    }
}

//! An edit with what it was made on, so that it can be applied again if it was lost.

use notebook::{Cell, CellId, Edit, Notebook, is_closer};

/// How many earlier revisions of its cell a merged edit remembers. Any of them may be in the file.
const MAX_BASES: usize = 50;

/// An edit, and the cells as they were when it was made.
///
/// An example. A cell contains "a", with revision r1. An agent sets it to "b" (r2) and then to "c"; neither gets into the
/// file. The two intents become one: set the source to "c", made on r1 or r2. A new document, built from the file, then
/// shows one of these:
///
/// - "c": the intent holds, and nothing needs to be done.
/// - "a" or "b" (r1 or r2): the edit was lost, and nobody has touched the cell. It is applied again.
/// - "c + 1": neither revision, and closer to "c" than to "b": the intent holds, and somebody has typed beside it.
/// - "theirs": neither revision, and not close to "c". It is a conflict; theirs stays.
#[derive(Debug, Clone)]
pub struct Intent {
    edit: Edit,
    /// The cells that it was made on, with their revisions. A cell may be there several times; any revision fits.
    bases: Vec<(CellId, String)>,
    /// The source that it replaces.
    old_source: Option<String>,
}

impl Intent {
    pub fn of(edit: Edit, before: &Notebook) -> Self {
        let ids: &[CellId] = match &edit {
            Edit::SetSource { id, .. } | Edit::SetType { id, .. } | Edit::MergeMetadata { id, .. } => {
                std::slice::from_ref(id)
            }
            Edit::Delete { ids } => ids,
            _ => &[],
        };
        let revision = |id: &CellId| Some((id.clone(), before.cell(id)?.1.revision().to_owned()));
        let bases = ids.iter().filter_map(revision).collect();
        let old_source = match &edit {
            Edit::SetSource { id, .. } => before.cell(id).map(|(_, cell)| cell.source().into_owned()),
            _ => None,
        };
        Self { edit, bases, old_source }
    }

    /// Whether the notebook shows it, perhaps with what others have typed beside it.
    pub fn holds(&self, notebook: &Notebook) -> bool {
        match (&self.edit, &self.old_source) {
            (Edit::SetSource { id, source }, Some(old)) => notebook.cell(id).is_some_and(|(_, cell)| {
                let now = cell.source();
                now == *source || !self.is_based_on(id, cell) && is_closer(&now, source, old)
            }),
            (edit, _) => edit.is_applied(notebook),
        }
    }

    /// Whether it leaves the order and number of the cells as they are.
    pub fn keeps_cells(&self) -> bool {
        !matches!(self.edit, Edit::Insert { .. } | Edit::Delete { .. } | Edit::Move { .. })
    }

    /// The edit to apply again. `None` if somebody has changed what it was made on.
    pub fn again(&self, notebook: &Notebook) -> Option<Edit> {
        let is_untouched = |(id, _): &(CellId, String)| {
            notebook.cell(id).is_some_and(|(_, cell)| self.is_based_on(id, cell))
        };
        if !self.bases.iter().all(is_untouched) {
            return None;
        }
        Some(match &self.edit {
            Edit::Move { id, .. } if notebook.cell(id).is_none() => return None,
            Edit::Move { id, index } => {
                Edit::Move { id: id.clone(), index: (*index).min(notebook.cells().len().saturating_sub(1)) }
            }
            Edit::SetOutputs { id, .. } if notebook.cell(id).is_none() => return None,
            edit => edit.clone(),
        })
    }

    fn is_based_on(&self, id: &CellId, cell: &Cell) -> bool {
        self.bases.iter().any(|(known, revision)| known == id && cell.revision() == revision)
    }

    /// Whether this edit leaves nothing of an earlier one.
    pub fn replaces(&self, before: &Self) -> bool {
        match (&self.edit, &before.edit) {
            (Edit::SetSource { id, .. }, Edit::SetSource { id: other, .. })
            | (Edit::SetType { id, .. }, Edit::SetType { id: other, .. })
            | (Edit::SetOutputs { id, .. }, Edit::SetOutputs { id: other, .. })
            | (Edit::Move { id, .. }, Edit::Move { id: other, .. }) => id == other,
            (Edit::SetMetadata { name, .. }, Edit::SetMetadata { name: other, .. }) => name == other,
            // A member that is an object is merged with the earlier one.
            (Edit::MergeMetadata { id, patch }, Edit::MergeMetadata { id: other, patch: earlier }) => {
                id == other
                    && earlier
                        .members()
                        .all(|(name, _)| patch.member(&name).is_some_and(|member| !member.is_object()))
            }
            (Edit::Delete { .. }, Edit::Delete { .. }) => false,
            (Edit::Delete { ids }, edit) => edit.cells().iter().any(|id| ids.contains(id)),
            _ => false,
        }
    }

    /// Makes this edit fit also where an earlier edit fits, which it replaces.
    pub fn add_bases(&mut self, before: &Self) {
        let skipped = before.bases.len().saturating_sub(MAX_BASES);
        self.bases.extend(before.bases.iter().skip(skipped).cloned());
    }

    /// Whether the notebook looks as if the edit had never been made. Positions, outputs and the notebook's metadata change
    /// too often to say so.
    pub fn is_undone(&self, notebook: &Notebook) -> bool {
        let can_say = match self.edit {
            Edit::Insert { .. }
            | Edit::SetSource { .. }
            | Edit::SetType { .. }
            | Edit::MergeMetadata { .. }
            | Edit::Delete { .. } => true,
            Edit::Move { .. } | Edit::SetOutputs { .. } | Edit::SetMetadata { .. } => false,
        };
        can_say && !self.holds(notebook) && self.again(notebook).is_some()
    }

    /// A few words for agents, such as `the new source of cell c0`.
    pub fn describe(&self) -> String {
        match &self.edit {
            Edit::Insert { cell, .. } => format!("the new cell {}", cell.id),
            Edit::SetSource { id, .. } => format!("the new source of cell {id}"),
            Edit::SetType { id, .. } => format!("the new type of cell {id}"),
            Edit::MergeMetadata { id, .. } => format!("the new metadata of cell {id}"),
            Edit::Move { id, .. } => format!("the move of cell {id}"),
            Edit::Delete { ids } => format!("the deletion of {}", ids.join(", ")),
            Edit::SetOutputs { id, .. } => format!("the outputs of cell {id}"),
            Edit::SetMetadata { .. } => "the notebook's metadata".to_owned(),
        }
    }
}

/// Whether edits only record what a kernel sent, with which nobody can disagree.
pub fn are_outputs(edits: &[Edit]) -> bool {
    let is_output = |edit: &Edit| matches!(edit, Edit::SetOutputs { .. } | Edit::SetMetadata { .. });
    edits.iter().all(is_output)
}

#[cfg(test)]
mod tests;

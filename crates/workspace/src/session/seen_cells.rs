//! The cells that one agent has seen in a notebook.

use std::collections::{BTreeMap, HashMap};

use notebook::{CellId, Edit, Notebook};

#[derive(Default)]
pub(super) struct SeenCells {
    /// The ids of cells by the index at which they were last shown.
    pub(super) order: BTreeMap<usize, CellId>,
    /// The revisions of the cells whose source was shown.
    pub(super) revisions: HashMap<CellId, String>,
}

impl SeenCells {
    /// The sources of these cells were shown.
    pub(super) fn saw(&mut self, notebook: &Notebook, indices: impl IntoIterator<Item = usize> + Clone) {
        self.listed(notebook, indices.clone());
        for cell in indices.into_iter().filter_map(|index| notebook.cells().get(index)) {
            self.revisions.insert(cell.id().clone(), cell.revision().to_owned());
        }
    }

    /// The indices and revisions of these cells were shown. Where the agent has seen a source, that is what it knows.
    pub(super) fn listed(&mut self, notebook: &Notebook, listed: impl IntoIterator<Item = usize>) {
        for index in listed {
            if let Some(cell) = notebook.cells().get(index) {
                self.order.insert(index, cell.id().clone());
                self.revisions.entry(cell.id().clone()).or_insert_with(|| cell.revision().to_owned());
            }
        }
    }

    /// The agent changed a cell, and knows where the others are now.
    pub(super) fn changed_by_agent(&mut self, edit: &Edit, before: &Notebook, after: &Notebook) {
        let index_in = |notebook: &Notebook, id: &CellId| notebook.cell(id).map(|(index, _)| index);
        match edit {
            Edit::Insert { cell, .. } => {
                if let Some(index) = index_in(after, &cell.id) {
                    self.insert(index);
                    self.saw(after, [index]);
                }
            }
            Edit::SetSource { id, .. } | Edit::SetType { id, .. } | Edit::MergeMetadata { id, .. } => {
                self.saw(after, index_in(after, id));
            }
            Edit::Move { id, .. } => {
                if let (Some(from), Some(to)) = (index_in(before, id), index_in(after, id)) {
                    self.remove(from);
                    self.insert(to);
                }
            }
            Edit::Delete { ids } => {
                let mut indices: Vec<usize> = ids.iter().filter_map(|id| index_in(before, id)).collect();
                // From the end, so that each index is still right.
                indices.sort_unstable_by(|one, other| other.cmp(one));
                for index in indices {
                    self.remove(index);
                }
            }
            Edit::SetOutputs { .. } | Edit::SetMetadata { .. } => {}
        }
    }

    /// Moves what was seen from `index` on to the next index.
    fn insert(&mut self, index: usize) {
        let order = std::mem::take(&mut self.order).into_iter();
        self.order = order.map(|(at, id)| (if at < index { at } else { at + 1 }, id)).collect();
    }

    /// Moves what was seen after `index` to the index before.
    fn remove(&mut self, index: usize) {
        let order = std::mem::take(&mut self.order).into_iter().filter(|(at, _)| *at != index);
        self.order = order.map(|(at, id)| (if at < index { at } else { at - 1 }, id)).collect();
    }

    /// The indices of cells whose source has changed since it was shown.
    pub(super) fn changed(&self, notebook: &Notebook) -> Vec<usize> {
        let has_changed =
            |id: &CellId, revision: &str| self.revisions.get(id).is_some_and(|seen| seen != revision);
        let cells = notebook.cells().iter().enumerate();
        cells.filter(|(_, cell)| has_changed(cell.id(), cell.revision())).map(|(index, _)| index).collect()
    }
}

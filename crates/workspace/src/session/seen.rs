//! What one agent believes of a notebook.

use std::collections::{BTreeMap, HashMap};

use notebook::Notebook;

#[derive(Default)]
pub(super) struct Seen {
    /// The ids of the cells at the indices at which they were last shown.
    pub(super) order: BTreeMap<usize, String>,
    /// The revisions of the cells whose source was shown.
    pub(super) revisions: HashMap<String, String>,
}

impl Seen {
    /// The sources of these cells were shown.
    pub(super) fn saw(&mut self, notebook: &Notebook, shown: impl IntoIterator<Item = usize> + Clone) {
        self.listed(notebook, shown.clone());
        for cell in shown.into_iter().filter_map(|index| notebook.cells().get(index)) {
            self.revisions.insert(cell.id().to_owned(), cell.revision().to_owned());
        }
    }

    /// It was told where these cells stand.
    pub(super) fn listed(&mut self, notebook: &Notebook, listed: impl IntoIterator<Item = usize>) {
        for index in listed {
            if let Some(cell) = notebook.cells().get(index) {
                self.order.insert(index, cell.id().to_owned());
            }
        }
    }

    pub(super) fn inserted(&mut self, index: usize) {
        let order = std::mem::take(&mut self.order).into_iter();
        self.order = order.map(|(at, id)| (if at < index { at } else { at + 1 }, id)).collect();
    }

    pub(super) fn removed(&mut self, index: usize) {
        let order = std::mem::take(&mut self.order).into_iter().filter(|(at, _)| *at != index);
        self.order = order.map(|(at, id)| (if at < index { at } else { at - 1 }, id)).collect();
    }

    /// The indices of cells whose source is another now.
    pub(super) fn changed(&self, notebook: &Notebook) -> Vec<usize> {
        let is_other =
            |id: &str, revision: &str| self.revisions.get(id).is_some_and(|known| known != revision);
        let cells = notebook.cells().iter().enumerate();
        cells.filter(|(_, cell)| is_other(cell.id(), cell.revision())).map(|(index, _)| index).collect()
    }
}

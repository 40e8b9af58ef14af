//! An edit, and what it was made on: whether it may be made again where it was lost.

use notebook::{Edit, Notebook};

/// An edit that was made or promised.
#[derive(Debug, Clone)]
pub(super) struct Intent {
    edit: Edit,
    /// The cells it relies on, with the revisions that they had.
    relies: Vec<(String, String)>,
}

impl Intent {
    pub(super) fn of(edit: Edit, before: &Notebook) -> Self {
        let ids: &[String] = match &edit {
            Edit::SetSource { id, .. } | Edit::Move { id, .. } => std::slice::from_ref(id),
            Edit::Delete { ids } => ids,
            _ => &[],
        };
        let revision = |id: &String| Some((id.clone(), before.cell(id)?.1.revision().to_owned()));
        let relies = ids.iter().filter_map(revision).collect();
        Self { edit, relies }
    }

    pub(super) fn holds(&self, notebook: &Notebook) -> bool {
        self.edit.holds(notebook)
    }

    /// The edit to make again: nobody has touched what it changes. `None` if somebody has.
    pub(super) fn again(&self, notebook: &Notebook) -> Option<Edit> {
        let is_untouched = |(id, revision): &(String, String)| {
            notebook.cell(id).is_some_and(|(_, cell)| cell.revision() == revision)
        };
        if !self.relies.iter().all(is_untouched) {
            return None;
        }
        Some(match &self.edit {
            Edit::Insert { index, cell } => {
                Edit::Insert { index: (*index).min(notebook.cells().len()), cell: cell.clone() }
            }
            Edit::Move { id, index } => {
                Edit::Move { id: id.clone(), index: (*index).min(notebook.cells().len().saturating_sub(1)) }
            }
            Edit::SetOutputs { id, .. } if notebook.cell(id).is_none() => return None,
            edit => edit.clone(),
        })
    }

    /// What it was to do, for an agent.
    pub(super) fn describe(&self) -> String {
        match &self.edit {
            Edit::Insert { cell, .. } => format!("the new cell {}", cell.id),
            Edit::SetSource { id, .. } => format!("the new source of cell {id}"),
            Edit::Move { id, .. } => format!("the move of cell {id}"),
            Edit::Delete { ids } => format!("the deletion of {}", ids.join(", ")),
            Edit::SetOutputs { id, .. } => format!("the outputs of cell {id}"),
            _ => "the notebook's metadata".to_owned(),
        }
    }
}

/// Whether edits only write down what a kernel said, which nobody else has a say in.
pub(super) fn are_outputs(edits: &[Edit]) -> bool {
    let is_output = |edit: &Edit| {
        matches!(edit, Edit::SetOutputs { .. } | Edit::SetKernelspec(_) | Edit::SetLanguageInfo(_))
    };
    edits.iter().all(is_output)
}

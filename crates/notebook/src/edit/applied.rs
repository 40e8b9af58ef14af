//! Whether a notebook shows the effect of an edit.

use crate::{Edit, Notebook};

impl Edit {
    /// Whether the notebook shows the effect of this edit, regardless of its author.
    ///
    /// An inserted cell counts even if others have changed it since.
    pub fn is_applied(&self, notebook: &Notebook) -> bool {
        match self {
            Self::Insert { cell, .. } => notebook.cell(&cell.id).is_some(),
            Self::SetSource { id, source } => {
                notebook.cell(id).is_some_and(|(_, cell)| cell.source() == *source)
            }
            Self::SetType { id, cell_type } => {
                notebook.cell(id).is_some_and(|(_, cell)| cell.cell_type() == cell_type)
            }
            Self::MergeMetadata { id, patch } => notebook.cell(id).is_some_and(|(_, cell)| {
                let metadata = cell.metadata();
                metadata.merged(patch).is_equivalent(&metadata)
            }),
            Self::Move { id, index } => notebook.cell(id).is_some_and(|(current, _)| current == *index),
            Self::Delete { ids } => ids.iter().all(|id| notebook.cell(id).is_none()),
            Self::SetOutputs { id, outputs, execution_count } => {
                notebook.cell(id).is_some_and(|(_, cell)| cell.has_outputs(outputs, *execution_count))
            }
            Self::SetMetadata { name, value } => notebook.has_metadata(name, value.as_ref()),
        }
    }
}

#[cfg(test)]
mod tests;

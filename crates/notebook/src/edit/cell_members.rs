//! Changes the type and the metadata of a cell. Members that nbformat does not know stay.

use std::sync::{Arc, OnceLock};

use super::EditError;
use crate::cell::Outputs;
use crate::{CellId, CellType, Json, Notebook};

impl Notebook {
    pub(super) fn set_type(&mut self, id: &CellId, cell_type: &CellType) -> Result<(), EditError> {
        let index = self.index(id)?;
        if self.cells[index].cell_type() == cell_type {
            return Ok(());
        }
        let cell = self.modified_cell(index);
        cell.text = cell.text.without("outputs").without("execution_count");
        if *cell_type == CellType::Code {
            cell.text = cell.text.without("attachments");
        }
        cell.cell_type = cell_type.clone();
        cell.outputs = Outputs::Set(Arc::default());
        cell.outputs_digest = OnceLock::new();
        cell.execution_count = None;
        cell.revision = OnceLock::new();
        Ok(())
    }

    pub(super) fn merge_metadata(&mut self, id: &CellId, patch: &Json) -> Result<(), EditError> {
        let index = self.index(id)?;
        if !patch.is_object() {
            return Err(EditError::NotAnObject { what: "metadata of a cell" });
        }
        let metadata = self.cells[index].0.metadata.merged(patch);
        self.replace_metadata(index, metadata);
        Ok(())
    }

    /// Sets the metadata of a cell, unless it has the same.
    pub(super) fn replace_metadata(&mut self, index: usize, metadata: Json) {
        if metadata.is_equivalent(&self.cells[index].0.metadata) {
            return;
        }
        let cell = self.modified_cell(index);
        if cell.cell_type == CellType::Code {
            // They can be large, and are printed from the cell's own field.
            cell.text = cell.text.without("outputs");
        }
        cell.text = cell.text.with("metadata", &metadata);
        cell.metadata = metadata;
        cell.revision = OnceLock::new();
    }
}

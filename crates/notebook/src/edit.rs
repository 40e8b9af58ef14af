//! Changes to a notebook.

mod applied;
mod carry_ids;
mod cell_members;

use std::sync::{Arc, OnceLock};

use crate::cell::{CellData, Outputs, Source};
use crate::{Cell, CellId, CellType, Json, Kernelspec, Notebook, Output, other_members};

/// One change, applied by [`Notebook::apply`].
#[derive(Debug, Clone)]
pub enum Edit {
    /// Inserts a cell before the one at `index`, or at the end: others may have deleted cells since the index was chosen.
    Insert { index: usize, cell: NewCell },
    /// Replaces a cell's source; its outputs stay.
    SetSource { id: CellId, source: String },
    /// Changes a cell's type. Outputs, and attachments of what becomes a code cell, are dropped: nbformat allows none.
    SetType { id: CellId, cell_type: CellType },
    /// Changes a cell's metadata by a JSON merge patch (RFC 7396), an object: `null` removes a member.
    MergeMetadata { id: CellId, patch: Json },
    /// Moves a cell.
    Move {
        id: CellId,
        /// Its index afterwards.
        index: usize,
    },
    /// Deletes cells.
    Delete { ids: Vec<CellId> },
    /// Replaces the outputs and the execution count of a code cell. Large parts are shared, not copied.
    SetOutputs { id: CellId, outputs: Arc<[Output]>, execution_count: Option<u64> },
    /// Sets a member of the notebook's metadata, such as `language_info`; `None` removes it.
    SetMetadata { name: String, value: Option<Json> },
}

impl Edit {
    /// The ids of the cells that it makes, changes or deletes.
    pub fn cells(&self) -> &[CellId] {
        match self {
            Self::Insert { cell, .. } => std::slice::from_ref(&cell.id),
            Self::Delete { ids } => ids,
            Self::SetSource { id, .. }
            | Self::SetType { id, .. }
            | Self::MergeMetadata { id, .. }
            | Self::Move { id, .. }
            | Self::SetOutputs { id, .. } => std::slice::from_ref(id),
            Self::SetMetadata { .. } => &[],
        }
    }

    /// Sets the notebook's kernelspec.
    pub fn set_kernelspec(spec: &Kernelspec) -> Self {
        let mut object = serde_json::Map::new();
        // nbformat requires it.
        let display_name = spec.display_name.as_deref().unwrap_or(&spec.name);
        object.insert("display_name".to_owned(), display_name.into());
        object.extend(spec.language.as_deref().map(|language| ("language".to_owned(), language.into())));
        object.insert("name".to_owned(), spec.name.as_str().into());
        let value = Some(Json::from_value(&object.into()));
        Self::SetMetadata { name: "kernelspec".to_owned(), value }
    }

    /// Sets the notebook's `language_info`.
    pub fn set_language_info(info: Json) -> Self {
        Self::SetMetadata { name: "language_info".to_owned(), value: Some(info) }
    }
}

/// A cell to be inserted.
#[derive(Debug, Clone)]
pub struct NewCell {
    /// Its id: up to 64 letters, digits, `-` and `_`. Files before nbformat 4.5 do not keep it.
    pub id: CellId,
    pub cell_type: CellType,
    pub source: String,
    /// An object.
    pub metadata: Option<Json>,
    /// Files embedded in the cell: name → MIME bundle.
    pub attachments: Option<Json>,
    /// Members that nbformat does not know, an object.
    pub others: Option<Json>,
    /// The cell that it follows, wherever that is by now; if it is gone, the index counts.
    pub after: Option<CellId>,
}

impl NewCell {
    /// A cell with a random id, and without metadata and attachments.
    pub fn new(cell_type: CellType, source: impl Into<String>) -> Self {
        let (id, source) = (CellId::random(), source.into());
        Self { id, cell_type, source, metadata: None, attachments: None, others: None, after: None }
    }
}

/// Why an edit was refused. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    #[error("the notebook has no cell with the id {id:?}")]
    UnknownCell { id: CellId },
    #[error("index {index} is outside the notebook, which has {len} cells")]
    OutOfRange { index: usize, len: usize },
    #[error("cell {id:?} is not a code cell")]
    NotCode { id: CellId },
    #[error("the notebook already has a cell with the id {id:?}")]
    DuplicateId { id: CellId },
    #[error("{id:?} is not a valid cell id: an id has 1 to 64 letters, digits, '-' and '_'")]
    InvalidId { id: CellId },
    #[error("the {what} must be a JSON object")]
    NotAnObject { what: &'static str },
}

/// Edits that were made for the notebook `before`, such that they mean the same where others have added cells since: a new cell follows
/// the one that it would follow in `before`, or is the last.
pub fn placed(before: &Notebook, mut edits: Vec<Edit>) -> Vec<Edit> {
    if !edits.iter().any(|edit| matches!(edit, Edit::Insert { .. })) {
        return edits;
    }
    let mut now = before.clone();
    for edit in &mut edits {
        if let Edit::Insert { index, cell } = edit {
            match now.cells.get(*index) {
                Some(_) => cell.after = index.checked_sub(1).map(|above| now.cells[above].id().clone()),
                None => *index = usize::MAX,
            }
        }
        // One that is refused here is refused there.
        let _ = now.apply(edit);
    }
    edits
}

impl Notebook {
    /// Applies an edit, or changes nothing if it is refused. An edit that changes nothing leaves the notebook unmodified.
    pub fn apply(&mut self, edit: &Edit) -> Result<(), EditError> {
        match edit {
            Edit::Insert { index, cell } => self.insert(*index, cell),
            Edit::SetSource { id, source } => self.set_source(id, source),
            Edit::SetType { id, cell_type } => self.set_type(id, cell_type),
            Edit::MergeMetadata { id, patch } => self.merge_metadata(id, patch),
            Edit::Move { id, index } => self.move_cell(id, *index),
            Edit::Delete { ids } => self.delete(ids),
            Edit::SetOutputs { id, outputs, execution_count } => {
                self.set_outputs(id, outputs, *execution_count)
            }
            Edit::SetMetadata { name, value } => {
                self.set_metadata(name, value.as_ref());
                Ok(())
            }
        }
    }

    /// Where an insertion at `index` puts a cell.
    pub fn index_of_new(&self, index: usize, cell: &NewCell) -> usize {
        let after = cell.after.as_ref().and_then(|after| self.cell(after));
        after.map_or(index, |(after, _)| after + 1).min(self.cells.len())
    }

    fn insert(&mut self, index: usize, cell: &NewCell) -> Result<(), EditError> {
        let index = self.index_of_new(index, cell);
        let NewCell { id, cell_type, source, metadata, attachments, others, after: _ } = cell;
        if !CellId::is_valid(id) {
            return Err(EditError::InvalidId { id: id.clone() });
        }
        if self.cell(id).is_some() {
            return Err(EditError::DuplicateId { id: id.clone() });
        }
        let metadata = metadata.clone().unwrap_or(Json::empty_object());
        if !metadata.is_object() {
            return Err(EditError::NotAnObject { what: "metadata of a cell" });
        }
        let mut text = Json::empty_object().with("metadata", &metadata);
        if let Some(attachments) = attachments {
            text = text.with("attachments", attachments);
        }
        let others = others.as_ref().and_then(other_members);
        for (name, value) in others.iter().flat_map(Json::members) {
            text = text.with(&name, &value);
        }
        let data = CellData {
            id: id.clone(),
            has_own_id: true,
            cell_type: cell_type.clone(),
            text,
            slot: None,
            source: Source::Set(source.as_str().into()),
            metadata,
            execution_count: None,
            outputs: Outputs::Set(Arc::default()),
            is_modified: true,
            needs_repair: false,
            revision: OnceLock::new(),
            outputs_digest: OnceLock::new(),
        };
        self.modified_cells().insert(index, Cell(Arc::new(data)));
        Ok(())
    }

    fn set_source(&mut self, id: &CellId, source: &str) -> Result<(), EditError> {
        let index = self.index(id)?;
        if self.cells[index].source() != source {
            let cell = self.modified_cell(index);
            cell.source = Source::Set(source.into());
            cell.revision = OnceLock::new();
        }
        Ok(())
    }

    fn move_cell(&mut self, id: &CellId, index: usize) -> Result<(), EditError> {
        let from = self.index(id)?;
        let len = self.cells.len();
        if index >= len {
            return Err(EditError::OutOfRange { index, len });
        }
        if from != index {
            let cells = self.modified_cells();
            let cell = cells.remove(from);
            cells.insert(index, cell);
        }
        Ok(())
    }

    fn delete(&mut self, ids: &[CellId]) -> Result<(), EditError> {
        let mut indices = ids.iter().map(|id| self.index(id)).collect::<Result<Vec<_>, _>>()?;
        indices.sort_unstable();
        indices.dedup();
        if !indices.is_empty() {
            let cells = self.modified_cells();
            for index in indices.into_iter().rev() {
                cells.remove(index);
            }
        }
        Ok(())
    }

    fn set_outputs(
        &mut self,
        id: &CellId,
        outputs: &Arc<[Output]>,
        execution_count: Option<u64>,
    ) -> Result<(), EditError> {
        let index = self.index(id)?;
        let cell = self.cells[index].clone();
        if !cell.is_code() {
            return Err(EditError::NotCode { id: id.clone() });
        }
        let is_unchanged = cell.execution_count() == execution_count
            && cell.output_count() == outputs.len()
            && *cell.outputs() == **outputs;
        if !is_unchanged {
            self.replace_metadata(index, cell.lasting_metadata());
            let cell = self.modified_cell(index);
            cell.outputs_digest = OnceLock::new();
            cell.outputs = Outputs::Set(Arc::clone(outputs));
            cell.execution_count = execution_count;
        }
        Ok(())
    }

    fn set_metadata(&mut self, name: &str, value: Option<&Json>) {
        if self.has_metadata(name, value) {
            return;
        }
        let metadata = self.metadata();
        self.metadata = Some(match value {
            Some(value) => metadata.with(name, value),
            None => metadata.without(name),
        });
        self.is_modified = true;
    }

    /// Whether this member of the notebook's metadata has this value, or is not there.
    fn has_metadata(&self, name: &str, value: Option<&Json>) -> bool {
        match (self.metadata().member(name), value) {
            (Some(present), Some(value)) => present.is_equivalent(value),
            (present, value) => present.is_none() && value.is_none(),
        }
    }

    fn index(&self, id: &CellId) -> Result<usize, EditError> {
        self.cell(id).map(|(index, _)| index).ok_or_else(|| EditError::UnknownCell { id: id.clone() })
    }

    fn modified_cells(&mut self) -> &mut Vec<Cell> {
        self.is_modified = true;
        Arc::make_mut(&mut self.cells)
    }

    fn modified_cell(&mut self, index: usize) -> &mut CellData {
        let cell = Arc::make_mut(&mut self.modified_cells()[index].0);
        cell.is_modified = true;
        cell
    }
}

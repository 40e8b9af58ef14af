//! Applies edits in one transaction.

use std::sync::Arc;

use notebook::{Cell, CellId, CellType, Edit, Json, Notebook, RUN_TIMES};
use yrs::{
    Any, Array, GetString, In, Map, MapPrelim, MapRef, Out, ReadTxn, TextPrelim, Transact, TransactionMut,
};

use crate::elements::elements;
use crate::{ApplyError, LiveNotebook, change, copy, outputs, read_cell, shape};

impl LiveNotebook {
    /// Applies all of `edits` in order, or none. Returns the update to send, which is empty if nothing changed.
    ///
    /// Only what differs is changed, so simultaneous edits by others in the same cell survive. A moved cell is removed and
    /// inserted again, as in `JupyterLab`, because Y arrays have no move operation; so is a cell with a new type, because
    /// `JupyterLab` reads the type of a cell only when it is inserted.
    pub fn apply(&mut self, edits: &[Edit]) -> Result<Vec<u8>, ApplyError> {
        let mut notebook = self.snapshot()?;
        // All edits are checked on the notebook before the document is touched: a transaction cannot be rolled back.
        let mut befores = Vec::with_capacity(edits.len());
        for edit in edits {
            befores.push(notebook.clone());
            notebook.apply(edit)?;
        }
        for edit in edits {
            if let Edit::Move { id, .. } | Edit::SetType { id, .. } = edit {
                self.remember_move(id);
            }
        }
        let mut txn = self.doc.transact_mut();
        let mut ids = self.list_ids(befores.first().unwrap_or(&notebook), &txn);
        for (edit, before) in edits.iter().zip(&befores) {
            self.apply_edit(edit, before, &mut ids, &mut txn);
        }
        let update = if txn.has_changes() { txn.encode_update_v1() } else { Vec::new() };
        Ok(update)
    }

    /// The id of each element of the document's list; `None` for elements that are not cells.
    fn list_ids<T: ReadTxn>(&self, notebook: &Notebook, txn: &T) -> Vec<Option<CellId>> {
        let mut cell_ids = notebook.cells().iter().map(|cell| cell.id().clone());
        let is_cell = |cell: &Out| match cell {
            Out::YMap(cell) => read_cell::identity(cell.as_ref()).is_some(),
            _ => false,
        };
        elements(&self.cells, txn)
            .into_iter()
            .map(|cell| if is_cell(&cell) { cell_ids.next() } else { None })
            .collect()
    }

    /// Applies one edit, which was checked on the notebook `before` it.
    fn apply_edit(
        &self,
        edit: &Edit,
        before: &Notebook,
        list_ids: &mut Vec<Option<CellId>>,
        txn: &mut TransactionMut<'_>,
    ) {
        match edit {
            Edit::Insert { index, cell } => {
                let position = list_position(list_ids, before.index_of_new(*index, cell));
                self.cells.insert(txn, to_u32(position), shape::cell(cell));
                list_ids.insert(position, Some(cell.id.clone()));
            }
            Edit::SetSource { id, source } => {
                if let Some(cell) = self.cell_at(id, list_ids, txn) {
                    set_source(&cell, source, txn);
                }
            }
            // Nothing is written to show the same.
            Edit::SetType { .. } | Edit::MergeMetadata { .. } if edit.is_applied(before) => {}
            Edit::SetType { id, cell_type } => self.set_type(id, cell_type, list_ids, txn),
            Edit::MergeMetadata { id, patch } => {
                let Some(cell) = self.cell_at(id, list_ids, txn) else { return };
                let old = before.cell(id).map_or(Json::empty_object(), |(_, cell)| cell.metadata());
                merge_metadata(&cell, &old, patch, txn);
            }
            Edit::Move { id, index } => self.move_cell(id, *index, before, list_ids, txn),
            Edit::Delete { ids } => {
                for id in ids {
                    if let Some(position) = position_of(list_ids, id) {
                        self.cells.remove(txn, to_u32(position));
                        list_ids.remove(position);
                    }
                }
            }
            Edit::SetOutputs { id, outputs, execution_count } => {
                let Some(cell) = self.cell_at(id, list_ids, txn) else { return };
                let old = before.cell(id).map(|(_, cell)| cell.outputs()).unwrap_or_default();
                outputs::set(&cell, &old, outputs, txn);
                let has_times = |(_, cell): (_, &Cell)| cell.metadata().member(RUN_TIMES).is_some();
                if before.cell(id).is_some_and(has_times) && !edit.is_applied(before) {
                    metadata(&cell, txn).remove(txn, RUN_TIMES);
                }
                let count = shape::count(*execution_count);
                set_if_different(&cell, "execution_count", &count, txn);
            }
            Edit::SetMetadata { name, value } => {
                let metadata = metadata(&self.meta, txn);
                set_or_remove(&metadata, name, value.as_ref(), txn);
            }
        }
    }

    fn cell_at(&self, id: &CellId, list_ids: &[Option<CellId>], txn: &TransactionMut<'_>) -> Option<MapRef> {
        match self.cells.get(txn, to_u32(position_of(list_ids, id)?)) {
            Some(Out::YMap(cell)) => Some(cell),
            _ => None,
        }
    }

    fn move_cell(
        &self,
        id: &CellId,
        index: usize,
        before: &Notebook,
        list_ids: &mut Vec<Option<CellId>>,
        txn: &mut TransactionMut<'_>,
    ) {
        let is_there = before.cell(id).is_some_and(|(from, _)| from == index);
        let Some(from) = position_of(list_ids, id).filter(|_| !is_there) else { return };
        let Some(content) = self.content(id, from, txn) else { return };
        self.cells.remove(txn, to_u32(from));
        let id = list_ids.remove(from);
        let to = list_position(list_ids, index);
        self.cells.insert(txn, to_u32(to), content);
        list_ids.insert(to, id);
    }

    fn set_type(
        &self,
        id: &CellId,
        cell_type: &CellType,
        list_ids: &[Option<CellId>],
        txn: &mut TransactionMut<'_>,
    ) {
        let Some(position) = position_of(list_ids, id) else { return };
        let Some(mut content) = self.content(id, position, txn) else { return };
        content.insert("cell_type".into(), cell_type.name().into());
        content.retain(|name, _| !["outputs", "execution_count", "execution_state"].contains(&&**name));
        if *cell_type == CellType::Code {
            content.remove("attachments");
            content.extend(shape::not_run().map(|(name, value)| (name.into(), value)));
        }
        self.cells.remove(txn, to_u32(position));
        self.cells.insert(txn, to_u32(position), content);
    }

    /// A copy of a cell, to be inserted in its place or elsewhere.
    fn content(&self, id: &CellId, position: usize, txn: &TransactionMut<'_>) -> Option<MapPrelim> {
        let In::Map(mut content) = copy::of(&self.cells.get(txn, to_u32(position))?, txn, 0) else {
            return None;
        };
        // An id that was assigned from the old position must not change.
        content.insert("id".into(), id.as_str().into());
        Some(content)
    }
}

/// The metadata of a cell or of the notebook, which becomes a shared map if it is a plain one.
fn metadata(owner: &MapRef, txn: &mut TransactionMut<'_>) -> MapRef {
    let old = match owner.get(txn, "metadata") {
        Some(Out::YMap(metadata)) => return metadata,
        Some(Out::Any(Any::Map(old))) => old,
        _ => Arc::default(),
    };
    let members: MapPrelim =
        old.iter().map(|(name, value)| (name.as_str(), In::Any(value.clone()))).collect();
    owner.insert(txn, "metadata", members)
}

/// Changes those members of a cell's metadata, `old`, that the patch names.
fn merge_metadata(cell: &MapRef, old: &Json, patch: &Json, txn: &mut TransactionMut<'_>) {
    let metadata = metadata(cell, txn);
    let new = old.merged(patch);
    for (name, _) in patch.members() {
        set_or_remove(&metadata, &name, new.member(&name).as_ref(), txn);
    }
}

fn set_or_remove(map: &MapRef, name: &str, value: Option<&Json>, txn: &mut TransactionMut<'_>) {
    match value {
        Some(value) => set_if_different(map, name, &shape::any(value), txn),
        None => {
            map.remove(txn, name);
        }
    }
}

/// Replaces a cell's source with minimal changes.
fn set_source(cell: &MapRef, source: &str, txn: &mut TransactionMut<'_>) {
    match cell.get(txn, "source") {
        Some(Out::YText(text)) => {
            let old = text.get_string(txn);
            change::apply(&text, &old, source, &change::between(&old, source), txn);
        }
        _ => {
            cell.insert(txn, "source", TextPrelim::new(source));
        }
    }
}

/// Sets a plain member unless it has the value.
fn set_if_different(map: &MapRef, name: &str, value: &Any, txn: &mut TransactionMut<'_>) {
    if map.get(txn, name) != Some(Out::Any(value.clone())) {
        map.insert(txn, name, value.clone());
    }
}

fn position_of(list_ids: &[Option<CellId>], id: &CellId) -> Option<usize> {
    list_ids.iter().position(|found| found.as_ref() == Some(id))
}

/// The position in the document's list of the cell with this index, or the end of the list.
///
/// Example: if the list is [a, not a cell, b], cell 1 is b at position 2, and a cell inserted at index 2 goes to position 3.
fn list_position(list_ids: &[Option<CellId>], index: usize) -> usize {
    let mut cells = list_ids.iter().enumerate().filter(|(_, id)| id.is_some());
    cells.nth(index).map_or(list_ids.len(), |(position, _)| position)
}

/// The library counts in 32 bits; more cells do not fit into memory.
fn to_u32(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;

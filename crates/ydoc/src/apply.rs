//! Edits, made in one transaction.

use notebook::{Edit, Json, Notebook};
use yrs::{
    Any, Array, GetString, In, Map, MapPrelim, MapRef, Out, ReadTxn, TextPrelim, Transact, TransactionMut,
};

use crate::elements::elements;
use crate::{ApplyError, LiveNotebook, change, copy, outputs, read, read_cell, shape};

impl LiveNotebook {
    /// Makes all of `edits` or none, in order, on the notebook as it is now. The update to send, empty if there was
    /// nothing to change.
    ///
    /// Only what differs is changed: what others do elsewhere in the same cell at the same time survives. A cell that
    /// is moved is taken out and put in again, as in `JupyterLab`, since Y arrays know no moves.
    pub fn apply(&mut self, edits: &[Edit]) -> Result<Vec<u8>, ApplyError> {
        let mut notebook = self.snapshot()?;
        // All edits are checked on the notebook before the document is touched: a transaction cannot be rolled back.
        let mut befores = Vec::with_capacity(edits.len());
        for edit in edits {
            befores.push(notebook.clone());
            notebook.apply(edit)?;
        }
        for edit in edits {
            if let Edit::Move { id, .. } = edit {
                self.remember_move(id);
            }
        }
        let mut txn = self.doc.transact_mut();
        let mut places = self.places(befores.first().unwrap_or(&notebook), &txn);
        for (edit, before) in edits.iter().zip(&befores) {
            self.make(edit, before, &mut places, &mut txn);
        }
        let update = if txn.has_changes() { txn.encode_update_v1() } else { Vec::new() };
        Ok(update)
    }

    /// The id of each element of the document's list; `None` for those that the notebook does not show.
    fn places<T: ReadTxn>(&self, notebook: &Notebook, txn: &T) -> Vec<Option<String>> {
        let mut ids = notebook.cells().iter().map(|cell| cell.id().to_owned());
        let is_shown = |cell: &Out| match cell {
            Out::YMap(cell) => read_cell::identity(cell.as_ref()).is_some(),
            _ => false,
        };
        elements(&self.cells, txn)
            .into_iter()
            .map(|cell| if is_shown(&cell) { ids.next() } else { None })
            .collect()
    }

    /// Makes one edit, which fits the notebook.
    fn make(
        &self,
        edit: &Edit,
        notebook: &Notebook,
        places: &mut Vec<Option<String>>,
        txn: &mut TransactionMut<'_>,
    ) {
        match edit {
            Edit::Insert { index, cell } => {
                let place = place_of(places, *index);
                self.cells.insert(txn, to_u32(place), shape::cell(cell));
                places.insert(place, Some(cell.id.clone()));
            }
            Edit::SetSource { id, source } => {
                if let Some(cell) = self.cell_at(id, places, txn) {
                    set_source(&cell, source, txn);
                }
            }
            Edit::Move { id, index } => self.move_cell(id, *index, notebook, places, txn),
            Edit::Delete { ids } => {
                for id in ids {
                    if let Some(place) = position(places, id) {
                        self.cells.remove(txn, to_u32(place));
                        places.remove(place);
                    }
                }
            }
            Edit::SetOutputs { id, outputs, execution_count } => {
                let Some(cell) = self.cell_at(id, places, txn) else { return };
                let old = notebook.cell(id).map(|(_, cell)| cell.outputs()).unwrap_or_default();
                outputs::set(&cell, &old, outputs, txn);
                let count = shape::count(*execution_count);
                set_if_other(&cell, "execution_count", &count, txn);
            }
            Edit::SetKernelspec(spec) => self.set_metadata("kernelspec", &shape::kernelspec(spec), txn),
            Edit::SetLanguageInfo(info) => self.set_metadata("language_info", &shape::any(info), txn),
        }
    }

    fn cell_at(&self, id: &str, places: &[Option<String>], txn: &TransactionMut<'_>) -> Option<MapRef> {
        match self.cells.get(txn, to_u32(position(places, id)?)) {
            Some(Out::YMap(cell)) => Some(cell),
            _ => None,
        }
    }

    fn move_cell(
        &self,
        id: &str,
        index: usize,
        notebook: &Notebook,
        places: &mut Vec<Option<String>>,
        txn: &mut TransactionMut<'_>,
    ) {
        let is_there = notebook.cell(id).is_some_and(|(from, _)| from == index);
        let Some(from) = position(places, id).filter(|_| !is_there) else { return };
        let Some(cell) = self.cells.get(txn, to_u32(from)) else { return };
        let In::Map(mut content) = copy::of(&cell, txn, 0) else { return };
        // An id that was made up from the old place must not change with it.
        content.insert("id".into(), id.into());
        self.cells.remove(txn, to_u32(from));
        let id = places.remove(from);
        let to = place_of(places, index);
        self.cells.insert(txn, to_u32(to), content);
        places.insert(to, id);
    }

    /// Sets a member of the notebook's metadata.
    fn set_metadata(&self, name: &str, value: &Any, txn: &mut TransactionMut<'_>) {
        match self.meta.get(txn, "metadata") {
            Some(Out::YMap(metadata)) => set_if_other(&metadata, name, value, txn),
            old => {
                let mut metadata = MapPrelim::default();
                if let Some(Out::Any(Any::Map(old))) = old {
                    metadata =
                        old.iter().map(|(name, value)| (name.as_str(), In::Any(value.clone()))).collect();
                }
                metadata.insert(name.into(), In::Any(value.clone()));
                self.meta.insert(txn, "metadata", metadata);
            }
        }
    }
}

/// Replaces a cell's source by the least change.
fn set_source(cell: &MapRef, source: &str, txn: &mut TransactionMut<'_>) {
    match cell.get(txn, "source") {
        Some(Out::YText(text)) => {
            let old = text.get_string(txn);
            change::make(&text, &old, source, &change::between(&old, source), txn);
        }
        _ => {
            cell.insert(txn, "source", TextPrelim::new(source));
        }
    }
}

/// Sets a plain member unless it says the same already.
fn set_if_other(map: &MapRef, name: &str, value: &Any, txn: &mut TransactionMut<'_>) {
    let json = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        write(&mut out);
        Json::parse(out.into()).ok()
    };
    let old = map.get(txn, name).and_then(|old| json(&|out| read::value(&old, txn, 0, out)));
    let new = json(&|out| read::any(value, 0, out));
    let is_same = old.zip(new).is_some_and(|(old, new)| old.is_equivalent(&new));
    if !is_same {
        map.insert(txn, name, value.clone());
    }
}

fn position(places: &[Option<String>], id: &str) -> Option<usize> {
    places.iter().position(|place| place.as_deref() == Some(id))
}

/// Where in the document's list the cell of that index stands, or would stand.
fn place_of(places: &[Option<String>], index: usize) -> usize {
    let mut shown = places.iter().enumerate().filter(|(_, id)| id.is_some());
    shown.nth(index).map_or(places.len(), |(place, _)| place)
}

/// The library counts in 32 bits; more cells do not fit into memory.
fn to_u32(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;

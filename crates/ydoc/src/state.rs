//! What the document knows besides the notebook, and where in it somebody is.

use serde_json::{Value, json};
use yrs::{Any, Assoc, GetString, ID, IndexedSequence, Map, MapRef, Out, ReadTxn, Transact};

use crate::elements::elements;
use crate::{LiveNotebook, read, read_cell};

impl LiveNotebook {
    /// The path of the file, as the server keeps it up to date when it is renamed.
    pub fn path(&self) -> Option<String> {
        self.text_of_state("path")
    }

    /// Whether the server has changes that are not in the file. `None` if it does not tell.
    pub fn is_dirty(&self) -> Option<bool> {
        let txn = self.doc.try_transact().ok()?;
        match self.state.get(&txn, "dirty") {
            Some(Out::Any(Any::Bool(is_dirty))) => Some(is_dirty),
            _ => None,
        }
    }

    /// The hash of the file that was last written, if the server tells.
    pub fn hash(&self) -> Option<String> {
        self.text_of_state("hash")
    }

    fn text_of_state(&self, name: &str) -> Option<String> {
        let txn = self.doc.try_transact().ok()?;
        self.state.get(&txn, name).and_then(|value| read::text(&value, &txn))
    }

    /// Shows to others whether a code cell runs. The update to send; `None` if there is nothing to change.
    pub fn set_running(&mut self, cell_id: &str, is_running: bool) -> Option<Vec<u8>> {
        self.check().ok()?;
        let state = if is_running { "running" } else { "idle" };
        let mut txn = self.doc.transact_mut();
        let (_, cell) = self.find(cell_id, &txn)?;
        let is_code = cell.get(&txn, "cell_type") == Some(Out::from("code"));
        if !is_code || cell.get(&txn, "execution_state") == Some(Out::from(state)) {
            return None;
        }
        cell.insert(&mut txn, "execution_state", state);
        Some(txn.encode_update_v1())
    }

    /// The start of a cell's source as an entry of `cursors` in the awareness state, where `JupyterLab` looks for it.
    pub fn cursor(&self, cell_id: &str) -> Option<Value> {
        self.check().ok()?;
        let txn = self.doc.try_transact().ok()?;
        let (_, cell) = self.find(cell_id, &txn)?;
        let Some(Out::YText(source)) = cell.get(&txn, "source") else { return None };
        let id = |id: ID| json!({ "client": id.client.get(), "clock": id.clock });
        let text = read_cell::identity(source.as_ref()).map(id);
        let is_empty = source.get_string(&txn).is_empty();
        let first = source.sticky_index(&txn, 0, Assoc::After).filter(|_| !is_empty);
        let first = first.and_then(|index| index.id().copied()).map(id);
        // As `JSON.stringify` writes a relative position: https://docs.yjs.dev/api/relative-positions
        let position = json!({ "type": text, "tname": null, "item": first, "assoc": 0 });
        Some(json!({ "anchor": position, "head": position, "primary": true, "empty": true }))
    }

    /// The first cell that shows this id, and its place in the document.
    pub(crate) fn find<T: ReadTxn>(&self, cell_id: &str, txn: &T) -> Option<(u32, MapRef)> {
        let cells = (0..).zip(elements(&self.cells, txn));
        cells
            .filter_map(|(index, cell)| match cell {
                Out::YMap(cell) => Some((index, cell)),
                _ => None,
            })
            .find(|(_, cell)| read_cell::cell_id(cell, txn) == cell_id)
    }
}

#[cfg(test)]
mod tests;

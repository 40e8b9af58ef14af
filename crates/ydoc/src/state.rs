//! The document's state besides the notebook.

use notebook::CellId;
use yrs::{Map, MapRef, Out, Transact};

use crate::elements::elements;
use crate::{LiveNotebook, read, read_cell};

impl LiveNotebook {
    /// The path of the file, which the server updates when the file is renamed.
    pub fn path(&self) -> Option<String> {
        self.state_text("path")
    }

    /// The hash of the file that was last written, if the server reports it.
    pub fn hash(&self) -> Option<String> {
        self.state_text("hash")
    }

    fn state_text(&self, name: &str) -> Option<String> {
        let txn = self.doc.try_transact().ok()?;
        self.state.get(&txn, name).and_then(|value| read::text(&value, &txn))
    }

    /// Shows others whether a code cell is running. Returns the update to send; `None` if nothing changed.
    pub fn set_running(&mut self, cell_id: &CellId, is_running: bool) -> Option<Vec<u8>> {
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

    /// The cells that somebody shows as running.
    pub fn running(&self) -> Vec<CellId> {
        let Ok(txn) = self.doc.try_transact() else { return Vec::new() };
        let cells = elements(&self.cells, &txn).into_iter().filter_map(|cell| cell.cast::<MapRef>().ok());
        let running = cells.filter(|cell| cell.get(&txn, "execution_state") == Some(Out::from("running")));
        running.map(|cell| read_cell::cell_id(&cell, &txn)).collect()
    }
}

#[cfg(test)]
mod tests;

//! Undoes what moving by taking out and putting in again can do when two move the same cell at once: two of it.

use std::collections::HashMap;

use yrs::{Array, ID, Map, MapRef, Out, ReadTxn, Transact};

use crate::elements::elements;
use crate::{LiveNotebook, read, read_cell};

/// So many moves are remembered.
const REMEMBERED: usize = 1_000;

impl LiveNotebook {
    /// To be called before a cell is moved.
    pub(crate) fn remember_move(&mut self, id: &str) {
        let txn = self.doc.transact();
        let has_id = |cell: &Out| match cell {
            Out::YMap(cell) => raw_id(cell, &txn).as_deref() == Some(id),
            _ => false,
        };
        // Where several have the id already, that is not for us to mend.
        let is_only = elements(&self.cells, &txn).into_iter().filter(has_id).count() <= 1;
        drop(txn);
        if self.moved.len() >= REMEMBERED {
            self.moved.clear();
        }
        if is_only {
            self.moved.insert(id.to_owned());
        } else {
            self.moved.remove(id);
        }
    }

    /// Removes what was put in twice because somebody else moved a cell at the same time as we did. The update to
    /// send, if there was such a cell. To be called after [`LiveNotebook::integrate`]; costs nothing without moves.
    ///
    /// Everybody who moved the cell keeps the same one, so that all end with one.
    pub fn repair(&mut self) -> Option<Vec<u8>> {
        self.check().ok()?;
        if self.moved.is_empty() {
            return None;
        }
        let mut txn = self.doc.transact_mut();
        let mut copies: HashMap<String, Vec<(ID, u32)>> = HashMap::new();
        for (place, cell) in (0..).zip(elements(&self.cells, &txn)) {
            let Out::YMap(cell) = cell else { continue };
            if let Some((id, identity)) =
                raw_id(&cell, &txn).filter(|id| self.moved.contains(id)).zip(identity(&cell))
            {
                copies.entry(id).or_default().push((identity, place));
            }
        }
        let mut surplus = Vec::new();
        for mut copies in copies.into_values() {
            copies.sort_unstable_by_key(|(identity, _)| (identity.client.get(), identity.clock));
            surplus.extend(copies.into_iter().skip(1).map(|(_, place)| place));
        }
        surplus.sort_unstable();
        for place in surplus.iter().rev() {
            self.cells.remove(&mut txn, *place);
        }
        if surplus.is_empty() { None } else { Some(txn.encode_update_v1()) }
    }
}

fn raw_id<T: ReadTxn>(cell: &MapRef, txn: &T) -> Option<String> {
    cell.get(txn, "id").and_then(|id| read::text(&id, txn))
}

fn identity(cell: &MapRef) -> Option<ID> {
    read_cell::identity(cell.as_ref())
}

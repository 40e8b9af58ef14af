//! Removes the second copy of a cell that two clients moved, or whose type they changed, at the same time.
//!
//! Both are a removal and an insertion. Example: A and B both move cell x. Each removes the old x, which merges into one
//! removal, and inserts a copy, so afterwards there are two: A's copy with the identity (client 5, clock 40) and B's with
//! (client 9, clock 12). Everybody who moved x keeps the copy with the smallest identity, here A's, and removes the other.

use std::collections::HashMap;

use notebook::CellId;
use yrs::{Array, ID, Map, MapRef, Out, ReadTxn, Transact};

use crate::elements::elements;
use crate::{LiveNotebook, read, read_cell};

/// When more moves are remembered, all are forgotten.
const MAX_REMEMBERED: usize = 1_000;

impl LiveNotebook {
    /// Call it before a cell is moved, or gets another type.
    pub(crate) fn remember_move(&mut self, id: &CellId) {
        let txn = self.doc.transact();
        let has_id = |cell: &Out| match cell {
            Out::YMap(cell) => raw_id(cell, &txn).as_ref() == Some(id),
            _ => false,
        };
        // If several cells have the id already, they are not copies of one move.
        let is_only = elements(&self.cells, &txn).into_iter().filter(has_id).count() <= 1;
        drop(txn);
        if self.moved.len() >= MAX_REMEMBERED {
            self.moved.clear();
        }
        if is_only {
            self.moved.insert(id.clone());
        } else {
            self.moved.remove(id);
        }
    }

    /// Removes second copies of cells that we and somebody else moved or retyped at the same time. Returns the update to send, if there
    /// were any. Call it after [`LiveNotebook::integrate`]; without moves it costs nothing.
    pub fn repair(&mut self) -> Option<Vec<u8>> {
        self.check().ok()?;
        if self.moved.is_empty() {
            return None;
        }
        let mut txn = self.doc.transact_mut();
        let mut copies: HashMap<CellId, Vec<(ID, u32)>> = HashMap::new();
        for (position, cell) in (0..).zip(elements(&self.cells, &txn)) {
            let Out::YMap(cell) = cell else { continue };
            if let Some((id, identity)) =
                raw_id(&cell, &txn).filter(|id| self.moved.contains(id)).zip(identity(&cell))
            {
                copies.entry(id).or_default().push((identity, position));
            }
        }
        let mut surplus = Vec::new();
        for mut copies in copies.into_values() {
            copies.sort_unstable_by_key(|(identity, _)| (identity.client.get(), identity.clock));
            surplus.extend(copies.into_iter().skip(1).map(|(_, position)| position));
        }
        surplus.sort_unstable();
        for position in surplus.iter().rev() {
            self.cells.remove(&mut txn, *position);
        }
        if surplus.is_empty() { None } else { Some(txn.encode_update_v1()) }
    }
}

fn raw_id<T: ReadTxn>(cell: &MapRef, txn: &T) -> Option<CellId> {
    cell.get(txn, "id").and_then(|id| read::text(&id, txn)).map(CellId::from)
}

fn identity(cell: &MapRef) -> Option<ID> {
    read_cell::identity(cell.as_ref())
}

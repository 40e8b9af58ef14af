//! The position of a cursor in the notebook, as awareness states contain it.

use notebook::CellId;
use serde_json::{Value, json};
use yrs::block::ClientID;
use yrs::{
    Assoc, BranchID, GetString, ID, IndexedSequence, Map, MapRef, Out, ReadTxn, StickyIndex, Transact,
};

use crate::elements::elements;
use crate::validate::MAX_CLIENT;
use crate::{LiveNotebook, read_cell};

/// A position in a shared text that stays at its character while the text changes
/// (<https://docs.yjs.dev/api/relative-positions>).
///
/// Example: client 7 has typed `ab` into a cell's source that it inserted at its clock 3, so `a` is (7, 4) and `b` is (7, 5).
/// A cursor before `b` is `At((7, 5))`. Others insert `xyz` in front, and it is still before `b`, now at offset 4. A cursor
/// behind `b` is at no character and is stored as `EndOf((7, 3))`, the identity of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// Before this character.
    At(ID),
    /// At the end of this text.
    EndOf(ID),
}

impl Position {
    /// Reads a position as `JSON.stringify` or `Y.relativePositionToJSON` writes it. `None` for a position in a root type,
    /// which the source of a cell never is.
    pub(crate) fn read(position: &Value) -> Option<Self> {
        let id = |name| {
            let id = position.get(name)?;
            let client = id.get("client")?.as_u64().filter(|client| *client <= MAX_CLIENT)?;
            Some(ID::new(ClientID::new(client), id.get("clock")?.as_u64()?.try_into().ok()?))
        };
        id("item").map(Self::At).or_else(|| id("type").map(Self::EndOf))
    }

    /// The position of the primary cursor in a state.
    pub(crate) fn of_cursors(state: &Value) -> Option<Self> {
        let cursors = state.get("cursors")?.as_array()?;
        let is_primary = |cursor: &&Value| cursor.get("primary").and_then(Value::as_bool) == Some(true);
        let cursor = cursors.iter().find(is_primary).or_else(|| cursors.first())?;
        Self::read(cursor.get("head")?)
    }
}

impl LiveNotebook {
    /// The start of a cell's source as an entry of `cursors` in the awareness state, as `JupyterLab` reads it.
    pub fn cursor(&self, cell_id: &CellId) -> Option<Value> {
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

    /// The cell whose source contains the position: the inverse of [`LiveNotebook::cursor`].
    pub(crate) fn cell_with(&self, position: Position) -> Option<CellId> {
        self.check().ok()?;
        let txn = self.doc.try_transact().ok()?;
        let text = match position {
            Position::EndOf(text) => text,
            // Even a deleted character still refers to its text.
            Position::At(character) => {
                let found = StickyIndex::from_id(character, Assoc::After).get_offset(&txn)?;
                match found.branch.id() {
                    BranchID::Nested(text) => text,
                    BranchID::Root(_) => return None,
                }
            }
        };
        let holds = |cell: &MapRef| match cell.get(&txn, "source") {
            Some(Out::YText(source)) => read_cell::identity(source.as_ref()) == Some(text),
            _ => false,
        };
        elements(&self.cells, &txn).into_iter().find_map(|cell| match cell {
            Out::YMap(cell) if holds(&cell) => Some(read_cell::cell_id(&cell, &txn)),
            _ => None,
        })
    }

    /// The first cell with this id, and its position in the document's list.
    pub(crate) fn find<T: ReadTxn>(&self, cell_id: &CellId, txn: &T) -> Option<(u32, MapRef)> {
        let cells = (0..).zip(elements(&self.cells, txn));
        cells
            .filter_map(|(index, cell)| match cell {
                Out::YMap(cell) => Some((index, cell)),
                _ => None,
            })
            .find(|(_, cell)| read_cell::cell_id(cell, txn) == *cell_id)
    }
}

#[cfg(test)]
mod tests;

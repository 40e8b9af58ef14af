//! Where in the notebook somebody is, as it is told in the awareness state.

use serde_json::{Value, json};
use yrs::block::ClientID;
use yrs::{
    Assoc, BranchID, GetString, ID, IndexedSequence, Map, MapRef, Out, ReadTxn, StickyIndex, Transact,
};

use crate::elements::elements;
use crate::validate::LARGEST_CLIENT;
use crate::{LiveNotebook, read_cell};

/// A place in a shared text that stays where it is while the text changes
/// (<https://docs.yjs.dev/api/relative-positions>).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// At this character.
    At(ID),
    /// At an end of this text.
    EndOf(ID),
}

impl Position {
    /// Reads a position as `JSON.stringify` or `Y.relativePositionToJSON` writes it. `None` for one that is in no text
    /// below the roots: sources of cells are.
    pub(crate) fn read(position: &Value) -> Option<Self> {
        let id = |name| {
            let id = position.get(name)?;
            let client = id.get("client")?.as_u64().filter(|client| *client <= LARGEST_CLIENT)?;
            Some(ID::new(ClientID::new(client), id.get("clock")?.as_u64()?.try_into().ok()?))
        };
        id("item").map(Self::At).or_else(|| id("type").map(Self::EndOf))
    }

    /// Where the main one of a state's cursors stands.
    pub(crate) fn of_cursors(state: &Value) -> Option<Self> {
        let cursors = state.get("cursors")?.as_array()?;
        let is_primary = |cursor: &&Value| cursor.get("primary").and_then(Value::as_bool) == Some(true);
        let cursor = cursors.iter().find(is_primary).or_else(|| cursors.first())?;
        Self::read(cursor.get("head")?)
    }
}

impl LiveNotebook {
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

    /// The cell in whose source the position lies, if it is there: the inverse of [`LiveNotebook::cursor`].
    pub(crate) fn cell_with(&self, position: Position) -> Option<String> {
        self.check().ok()?;
        let txn = self.doc.try_transact().ok()?;
        let text = match position {
            Position::EndOf(text) => text,
            // The character may have been deleted; it still knows the text that it was in.
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

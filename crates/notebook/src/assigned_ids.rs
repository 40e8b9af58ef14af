//! What has to be known of a notebook's cells to call them the same when its file, which does not tell them apart, is read again.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::cell::CellData;
use crate::{Cell, CellId, Json, Notebook, ids};

/// How many words of a cell are compared. They are chosen by their hashes, so that two cells have the same ones among what they share.
const MAX_WORDS: usize = 32;

/// The ids of a notebook's cells, with what identifies each cell: no sources, only digests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssignedIds {
    pub(crate) cells: Vec<KnownCell>,
    /// The ids that several cells had in the file: one of them is called so, the others are not.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) shared: BTreeSet<String>,
}

/// A cell as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KnownCell {
    pub(crate) id: String,
    pub(crate) cell_type: String,
    /// Equal for cells of the same type and source.
    pub(crate) content: String,
    /// Hashes of words in the source, sorted.
    pub(crate) words: Vec<u32>,
}

impl KnownCell {
    fn of(cell: &Cell) -> Self {
        let source = cell.source();
        Self {
            id: cell.id().to_string(),
            cell_type: cell.cell_type().name().to_owned(),
            content: const_hex::encode(&ids::content_hash(cell.cell_type(), &source)[..16]),
            words: words(&source),
        }
    }

    /// How many of a thousand words both cells have; 0 for cells of different types.
    pub(crate) fn similarity(&self, other: &Self) -> usize {
        if self.cell_type != other.cell_type {
            return 0;
        }
        let common = self.words.iter().filter(|word| other.words.binary_search(word).is_ok()).count();
        let all = self.words.len() + other.words.len() - common;
        (common * 1000).checked_div(all).unwrap_or_default()
    }
}

impl Notebook {
    /// What has to be known of the cells to call them the same when the notebook is read again.
    pub fn assigned_ids(&self) -> AssignedIds {
        let shared = self.cells.iter().filter_map(|cell| file_id(&cell.0).filter(|id| **id != **cell.id()));
        AssignedIds { cells: self.cells.iter().map(KnownCell::of).collect(), shared: shared.collect() }
    }

    /// Whether the file that [`Notebook::write`] writes does not tell all cells apart by their ids.
    pub fn lacks_ids(&self) -> bool {
        let is_in_file = |cell: &Cell| cell.0.has_own_id && cell.0.slot.is_some();
        if self.has_ids() {
            !self.is_modified && !self.cells.iter().all(|cell| cell.0.has_own_id)
        } else {
            !self.cells.iter().all(is_in_file)
        }
    }
}

/// The id of a cell in its file, if it is called otherwise.
fn file_id(cell: &CellData) -> Option<String> {
    let id = cell.text.member("id").filter(|_| !cell.has_own_id)?;
    Json::text(&id).filter(|id| CellId::is_valid(id)).map(String::from)
}

fn words(source: &str) -> Vec<u32> {
    let is_between = |letter: char| !letter.is_alphanumeric() && letter != '_';
    // Numbers tell nothing: they are what is edited most, and all cells have the same ones.
    let words = source.split(is_between).filter(|word| word.starts_with(|first: char| !first.is_numeric()));
    let hashes: BTreeSet<u32> = words.map(fnv1a).collect();
    hashes.into_iter().take(MAX_WORDS).collect()
}

/// The same in every program, unlike the hashes of the standard library.
fn fnv1a(word: &str) -> u32 {
    word.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

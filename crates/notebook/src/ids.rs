//! The ids of cells: validation, random ids, and ids for files that have none.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use sha2::{Digest, Sha256};

use crate::cell::{CellData, CellType};
use crate::text_id;

text_id! {
    /// The id of a cell. Unique within its notebook.
    CellId
}

text_id! {
    /// A run, as agents refer to it: `r12`. Unique in a process.
    RunId
}

impl CellId {
    /// Whether nbformat allows this text as an id.
    pub fn is_valid(text: &str) -> bool {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=64).contains(&text.len()) && text.bytes().all(is_allowed)
    }

    /// A new id of eight hexadecimal digits.
    pub fn random() -> Self {
        let number = getrandom::u64();
        // Without a source of randomness, the random key of the standard hasher has to do.
        let number = number.unwrap_or_else(|_| RandomState::new().hash_one(0));
        format!("{:08x}", number >> 32).into()
    }
}

/// Gives each cell that has no valid and unique id one that depends on its content alone, so that reading the same file
/// again gives the same ids.
pub(crate) fn assign_missing(cells: &mut [CellData], has_ids: bool) {
    let mut used = HashSet::with_capacity(cells.len());
    for cell in cells.iter_mut() {
        if cell.has_own_id && !used.insert(cell.id.clone()) {
            cell.has_own_id = false;
            cell.needs_repair |= has_ids;
        }
    }
    // The number of ids tried for each content: equal cells get different ids, in order.
    let mut repeats = HashMap::<_, u64>::new();
    for cell in cells.iter_mut().filter(|cell| !cell.has_own_id) {
        let content = content_hash(&cell.cell_type, &cell.source());
        let repeat = repeats.entry(content).or_default();
        cell.id = loop {
            let mut hash = Sha256::new_with_prefix(content);
            hash.update(repeat.to_le_bytes());
            *repeat += 1;
            let id = CellId::from(const_hex::encode(&hash.finalize()[..4]));
            if used.insert(id.clone()) {
                break id;
            }
        };
    }
}

/// Equal for cells of the same type and source.
pub(crate) fn content_hash(cell_type: &CellType, source: &str) -> [u8; 32] {
    let mut hash = Sha256::new_with_prefix(cell_type.name());
    hash.update([0]);
    hash.update(source);
    hash.finalize().into()
}

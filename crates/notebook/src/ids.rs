//! Ids of cells: which are valid, fresh ones, and those made up for files without.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use sha2::{Digest, Sha256};

use crate::CellType;
use crate::cell::{Inner, hex8};

/// Whether nbformat allows this as an id.
pub(crate) fn is_valid(id: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=64).contains(&id.len()) && id.bytes().all(is_allowed)
}

/// A new id of eight hexadecimal digits.
pub(crate) fn fresh() -> String {
    let random = getrandom::u64().ok();
    // The standard library's hasher has a random key of its own.
    let random = random.unwrap_or_else(|| RandomState::new().hash_one(0));
    format!("{:08x}", random >> 32)
}

/// Gives each cell without an id of its own one that depends on its content alone, so that reading the same file again
/// gives the same ids.
pub(crate) fn make_up(cells: &mut [Inner], has_ids: bool) {
    let mut used = HashSet::with_capacity(cells.len());
    for cell in cells.iter_mut() {
        if cell.has_own_id && !used.insert(cell.id.clone()) {
            cell.has_own_id = false;
            cell.is_faulty |= has_ids;
        }
    }
    // How many cells had the same content so far.
    let mut repeats = HashMap::<_, u64>::new();
    for cell in cells.iter_mut().filter(|cell| !cell.has_own_id) {
        let content = content_hash(&cell.cell_type, &cell.source());
        let repeat = repeats.entry(content).or_default();
        cell.id = loop {
            let mut hash = Sha256::new_with_prefix(content);
            hash.update(repeat.to_le_bytes());
            *repeat += 1;
            let id = hex8(&hash.finalize()).into_boxed_str();
            if used.insert(id.clone()) {
                break id;
            }
        };
    }
}

/// The same for cells of the same type and source.
pub(crate) fn content_hash(cell_type: &CellType, source: &str) -> [u8; 32] {
    let mut hash = Sha256::new_with_prefix(cell_type.name());
    hash.update([0]);
    hash.update(source);
    hash.finalize().into()
}

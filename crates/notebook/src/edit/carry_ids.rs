//! Keeps the ids of cells when a file without ids is read again.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use crate::{Cell, CellId, Notebook, ids};

/// When it is exceeded, the comparison is coarser.
const DIFF_TIMEOUT: Duration = Duration::from_millis(500);

impl Notebook {
    /// Gives cells without an id in the file the ids that they had in `previous`: first cells with the same content, then,
    /// between those, cells of the same type by position. This does not modify the notebook.
    ///
    /// Example: `previous` has the code cells a: `x`, b: `y`, c: `z`, and another program has rewritten the file as `x`,
    /// `new`, `y2`, `z`. The first and the last cell have known contents and stay a and c. Between them, `new` is
    /// where b was and becomes b; `y2` keeps the id that it was assigned when it was read.
    pub fn carry_ids(&mut self, previous: &Notebook) {
        if self.cells.iter().all(|cell| cell.0.has_own_id) {
            return;
        }
        let mut used: HashSet<&CellId> =
            self.cells.iter().filter(|cell| cell.0.has_own_id).map(Cell::id).collect();
        let mut carried = vec![None; self.cells.len()];
        for (old, new) in pairs(previous.cells(), self.cells()) {
            let id = previous.cells[old].id();
            if !self.cells[new].0.has_own_id && used.insert(id) {
                carried[new] = Some(id);
            }
        }
        let mut new_ids = Vec::with_capacity(carried.len());
        for (cell, carried) in self.cells.iter().zip(carried) {
            new_ids.push(match carried {
                Some(id) => id.clone(),
                None if cell.0.has_own_id || used.insert(cell.id()) => cell.0.id.clone(),
                None => CellId::random(),
            });
        }
        for (cell, id) in Arc::make_mut(&mut self.cells).iter_mut().zip(new_ids) {
            if cell.0.id != id {
                Arc::make_mut(&mut cell.0).id = id;
            }
        }
    }
}

/// The indices of cells that are taken to be the same: old, new.
fn pairs(old: &[Cell], new: &[Cell]) -> Vec<(usize, usize)> {
    let contents = |cells: &[Cell]| -> Vec<_> {
        cells.iter().map(|cell| ids::content_hash(&cell.0.cell_type, &cell.source())).collect()
    };
    let deadline = Some(Instant::now() + DIFF_TIMEOUT);
    let steps = capture_diff_slices_deadline(Algorithm::Myers, &contents(old), &contents(new), deadline);
    let mut pairs = Vec::with_capacity(new.len());
    for step in steps {
        if let DiffOp::Equal { .. } = step {
            pairs.extend(step.old_range().zip(step.new_range()));
        } else {
            let by_position = step.old_range().zip(step.new_range());
            pairs.extend(by_position.filter(|(a, b)| old[*a].0.cell_type == new[*b].0.cell_type));
        }
    }
    pairs
}

//! Keeps the ids of cells when a file that does not tell them apart is read again.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use crate::assigned_ids::{AssignedIds, KnownCell};
use crate::{Cell, CellId, Notebook};

/// When it is exceeded, the comparison is coarser.
const DIFF_TIMEOUT: Duration = Duration::from_millis(500);
/// How similar an edited cell is at least to what it was, where cells were inserted or deleted beside it, in thousandths.
const MIN_SIMILARITY: usize = 300;
/// More pairs of cells are not compared by their words.
const MAX_COMPARED: usize = 4096;
/// Cells with so many words are not the same if they have fewer than this in common, in thousandths.
const TELLING_WORDS: usize = 5;
const MIN_IN_COMMON: usize = 100;

impl Notebook {
    /// Gives cells that the file does not tell apart the ids that they had in `previous`. This does not modify the notebook.
    pub fn carry_ids(&mut self, previous: &Self) {
        let have_own = |notebook: &Self| notebook.cells.iter().all(|cell| cell.0.has_own_id);
        if !have_own(self) || !have_own(previous) {
            self.take_ids(&previous.assigned_ids());
        }
    }

    /// The same, from what is known of an earlier reading. A cell that was not there gets an id that no other has had.
    ///
    /// Example: the cells were a: `x = 1`, b: `y = x + 1`, c: `z`, and another program has rewritten the file as `new`, `x = 1`,
    /// `y = x + 2`, `z`. Two cells have known contents and stay a and c. Between them, `y = x + 2` is most like what b was, and
    /// becomes b. `new` is another cell.
    pub fn take_ids(&mut self, previous: &AssignedIds) {
        let is_own = |cell: &Cell| cell.0.has_own_id && !previous.shared.contains(cell.id().as_str());
        if self.cells.iter().all(is_own) {
            return;
        }
        let mut used: HashSet<CellId> =
            self.cells.iter().filter(|cell| is_own(cell)).map(|cell| cell.id().clone()).collect();
        let mut carried = vec![None; self.cells.len()];
        for (old, new) in pairs(&previous.cells, &self.assigned_ids().cells) {
            let id = CellId::from(previous.cells[old].id.as_str());
            if !is_own(&self.cells[new]) && used.insert(id.clone()) {
                carried[new] = Some(id);
            }
        }
        let has_ids = self.has_ids();
        for (cell, carried) in Arc::make_mut(&mut self.cells).iter_mut().zip(carried) {
            if is_own(cell) {
                continue;
            }
            let id = carried.unwrap_or_else(CellId::random);
            if cell.0.id != id {
                let cell = Arc::make_mut(&mut cell.0);
                cell.needs_repair |= has_ids;
                (cell.id, cell.has_own_id) = (id, false);
            }
        }
    }
}

/// The indices of cells that are taken to be the same: old, new.
fn pairs(old: &[KnownCell], new: &[KnownCell]) -> Vec<(usize, usize)> {
    let contents =
        |cells: &[KnownCell]| -> Vec<String> { cells.iter().map(|it| it.content.clone()).collect() };
    let deadline = Some(Instant::now() + DIFF_TIMEOUT);
    let steps = capture_diff_slices_deadline(Algorithm::Myers, &contents(old), &contents(new), deadline);
    let (mut pairs, mut blocks) = (Vec::with_capacity(new.len()), Vec::new());
    for step in steps {
        if let DiffOp::Equal { .. } = step {
            pairs.extend(step.old_range().zip(step.new_range()));
        } else {
            blocks.push((step.old_range().collect::<Vec<_>>(), step.new_range().collect::<Vec<_>>()));
        }
    }
    // A cell that is gone here and there elsewhere was moved.
    let mut gone: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for index in blocks.iter().flat_map(|(old, _)| old).filter(|index| !old[**index].words.is_empty()) {
        gone.entry(&old[*index].content).or_default().push_back(*index);
    }
    let mut moved = HashSet::new();
    for (_, block) in &mut blocks {
        block.retain(|index| {
            let from = gone.get_mut(new[*index].content.as_str()).and_then(VecDeque::pop_front);
            pairs.extend(from.map(|from| (from, *index)));
            moved.extend(from);
            from.is_none()
        });
    }
    for (mut block, now) in blocks {
        block.retain(|index| !moved.contains(index));
        align((old, &block), (new, &now), &mut pairs);
    }
    pairs
}

/// Adds the pairs of cells of which the new ones are taken to be edited versions of the old ones, in the same order.
fn align(
    (old, block): (&[KnownCell], &[usize]),
    (new, now): (&[KnownCell], &[usize]),
    pairs: &mut Vec<(usize, usize)>,
) {
    let compared = || (0..block.len()).flat_map(|from| (0..now.len()).map(move |to| (from, to)));
    let similarity = |(from, to): &(usize, usize)| old[block[*from]].similarity(&new[now[*to]]);
    let closest = if block.len() * now.len() > MAX_COMPARED {
        None
    } else {
        compared()
            .map(|pair| (similarity(&pair), Reverse((pair.0.abs_diff(pair.1), pair.0)), pair))
            .filter(|(similarity, ..)| *similarity >= MIN_SIMILARITY)
            .max()
    };
    if let Some((.., (from, to))) = closest {
        pairs.push((block[from], now[to]));
        align((old, &block[..from]), (new, &now[..to]), pairs);
        align((old, &block[from + 1..]), (new, &now[to + 1..]), pairs);
    } else if block.len() == now.len() {
        let may_be_same = |(from, to): &(&usize, &usize)| {
            let (from, to) = (&old[**from], &new[**to]);
            let are_telling = from.words.len().min(to.words.len()) >= TELLING_WORDS;
            from.cell_type == to.cell_type && (!are_telling || from.similarity(to) >= MIN_IN_COMMON)
        };
        pairs.extend(block.iter().zip(now).filter(may_be_same).map(|(from, to)| (*from, *to)));
    }
}

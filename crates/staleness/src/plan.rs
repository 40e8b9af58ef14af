//! Which cells to run, so that stale ones are up to date.

use std::collections::BTreeSet;

use crate::facts::CellState;

/// The positions of the cells to run, in order: of the `wanted` ones those that are stale, with the cells above that they
/// need. With `all`, also the cells that would be stale afterwards, because one of these changes their input.
pub fn plan(states: &[CellState], wanted: &[usize], all: bool) -> Vec<usize> {
    let mut planned = BTreeSet::new();
    let mut open: Vec<usize> =
        wanted.iter().copied().filter(|position| states[*position].state.is_stale()).collect();
    loop {
        while let Some(position) = open.pop() {
            if planned.insert(position) {
                let needed = states[position]
                    .inputs
                    .iter()
                    .filter(|input| input.must_run || states[input.position].state.is_stale());
                open.extend(needed.map(|input| input.position));
            }
        }
        let is_changed = |position: &usize| {
            !planned.contains(position)
                && states[*position]
                    .inputs
                    .iter()
                    .any(|input| input.is_changing && planned.contains(&input.position))
        };
        if all {
            open.extend((0..states.len()).filter(is_changed));
        }
        if open.is_empty() {
            return planned.into_iter().collect();
        }
    }
}

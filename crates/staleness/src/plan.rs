//! Which cells to run, so that stale ones are up to date.

use std::collections::BTreeSet;

use crate::facts::{CellState, Input};

/// The positions of the cells to run, in order: of the `wanted` ones those that are stale, with the cells above that they
/// need. With `all`, also the cells that would be stale afterwards, because one of these changes their input.
pub fn plan(states: &[CellState], wanted: &[usize], all: bool) -> Vec<usize> {
    let mut plan = Plan { states, planned: BTreeSet::new() };
    plan.planned.extend(wanted.iter().filter(|position| states[**position].state.is_stale()));
    loop {
        let mut more = plan.needed();
        if all {
            more.extend(plan.changed());
        }
        let known = plan.planned.len();
        plan.planned.extend(more);
        if plan.planned.len() == known {
            return plan.planned.into_iter().collect();
        }
    }
}

struct Plan<'s> {
    states: &'s [CellState],
    planned: BTreeSet<usize>,
}

impl Plan<'_> {
    /// The cells that planned ones need.
    fn needed(&self) -> Vec<usize> {
        let mut needed = Vec::new();
        for position in &self.planned {
            for input in &self.states[*position].inputs {
                let is_lost = input.is_overwritten || self.overwrites(input, *position);
                let must_run = input.writers.iter().filter(|writer| {
                    is_lost || writer.has_failed || self.states[writer.position].state.is_stale()
                });
                needed.extend(must_run.map(|writer| writer.position));
            }
        }
        needed
    }

    /// Whether a planned cell writes the name before the cell at `position` runs, and is none of the name's writers.
    fn overwrites(&self, input: &Input, position: usize) -> bool {
        self.planned.range(..position).any(|planned| {
            self.states[*planned].writes.contains(&input.name)
                && input.writers.iter().all(|writer| writer.position != *planned)
        })
    }

    /// The cells that use what planned ones make again.
    fn changed(&self) -> Vec<usize> {
        let is_changed = |position: &usize| {
            let inputs = self.states[*position].inputs.iter();
            let mut writers = inputs.flat_map(|input| &input.writers);
            writers.any(|writer| writer.is_changing && self.planned.contains(&writer.position))
        };
        (0..self.states.len()).filter(is_changed).collect()
    }
}

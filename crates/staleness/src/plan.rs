//! Which cells to run, so that stale ones are up to date.

use std::collections::{BTreeSet, HashMap};

use names::Name;

use crate::facts::{CellState, Input, StaleState, Writer};

/// The positions of the cells to run, in order: of the `wanted` ones those that are stale, with the cells above that they
/// need. With `all`, also the cells that would be stale afterwards, because one of these changes their input.
///
/// A cell that changes its own input needs it as it was: `df = load()`, `df["x"] *= 2` in cells 0 and 1 run together. A cell that runs
/// now, or waits for its turn, runs again only if it uses what one of the planned cells makes again.
pub fn plan(states: &[CellState], wanted: &[usize], all: bool) -> Vec<usize> {
    let mut plan = Plan { states, planned: BTreeSet::new() };
    plan.planned.extend(wanted.iter().filter(|position| states[**position].state.is_stale()));
    // Each planned cell may overwrite what others need, or give them another input. It ends because the plan only grows.
    loop {
        let mut more = plan.needed();
        if all {
            more.extend(plan.changed());
        }
        let known = plan.planned.len();
        plan.planned.extend(more);
        if plan.planned.len() == known {
            // Only now: whether a running cell must run again depends on the whole plan.
            return plan.without_running();
        }
    }
}

struct Plan<'s> {
    states: &'s [CellState],
    planned: BTreeSet<usize>,
}

impl Plan<'_> {
    /// A cell that runs now is right unless a planned cell above it makes its input again: then it would end with the value of before.
    fn without_running(&self) -> Vec<usize> {
        let mut remaining = Vec::with_capacity(self.planned.len());
        for position in &self.planned {
            let state = &self.states[*position];
            let uses_one = || {
                let mut writers = state.inputs.iter().flat_map(|input| &input.writers);
                // A writer that is running and not run again gives its value without the plan.
                writers.any(|writer| remaining.binary_search(&writer.position).is_ok())
            };
            if state.state != StaleState::Running || uses_one() {
                remaining.push(*position);
            }
        }
        remaining
    }

    /// The cells that planned ones need.
    fn needed(&self) -> Vec<usize> {
        let mut needed = Vec::new();
        // For each name, the planned cells that write it, in order.
        let mut writing = HashMap::<&Name, Vec<usize>>::new();
        for position in &self.planned {
            // A weak writer leaves the object as it was in most runs. To repair each `model.predict(x)` would run half of a notebook.
            let writes = self.states[*position].writes.iter().filter(|(_, written)| !written.is_weak);
            writes.for_each(|(name, _)| writing.entry(name).or_default().push(*position));
        }
        for position in &self.planned {
            for input in &self.states[*position].inputs {
                // Only a new object is without a cache's former results, or the entry of `d[k] = 1` under the former `k`.
                let is_retained = || input.retains.iter().any(|name| is_written(&writing, name, *position));
                // `isinstance` is false for objects of a class from before it was defined again.
                for made_with in &input.made_with {
                    if made_with.is_outdated || self.planned.contains(&made_with.definer) {
                        needed.extend(&made_with.makers);
                    }
                }
                let is_lost = input.is_overwritten || overwrites(&writing, input, *position) || is_retained();
                // What changes the object that an earlier writer makes again has to change it again.
                let again = input.writers.iter().position(|writer| self.planned.contains(&writer.position));
                for (index, writer) in input.writers.iter().enumerate() {
                    // A writer that defines the name does not need the object that those before it make.
                    let is_made_again = again.is_some_and(|again| again < index && !writer.defines);
                    if is_lost || is_made_again || writer.must_run || self.is_stale(writer, &input.name) {
                        needed.push(writer.position);
                    }
                }
            }
        }
        needed
    }

    /// Whether what the writer makes of the name is stale.
    fn is_stale(&self, writer: &Writer, name: &Name) -> bool {
        let cell = &self.states[writer.position];
        // By name: in `a = 1; b = f(x)`, a change of `x` leaves `a` valid, so that a user of `a` does not need the cell.
        cell.writes.get(name).map_or(cell.state, |written| written.state).is_stale()
    }

    /// The cells that use what planned ones make again.
    fn changed(&self) -> Vec<usize> {
        // From top to bottom, because a cell passes on what those above have changed.
        let mut changing = Vec::with_capacity(self.states.len());
        for position in 0..self.states.len() {
            let names = if self.planned.contains(&position) {
                self.changing(position, &changing)
            } else {
                // What does not run leaves its names as they are, even if it is stale.
                BTreeSet::new()
            };
            changing.push(names);
        }
        (0..self.states.len())
            .filter(|position| self.new_inputs(*position, &changing).next().is_some())
            .collect()
    }

    /// The inputs of a cell that planned cells change.
    fn new_inputs<'p>(
        &'p self,
        position: usize,
        changing: &'p [BTreeSet<&'p Name>],
    ) -> impl Iterator<Item = &'p Name> {
        let inputs = self.states[position].inputs.iter();
        inputs
            .filter(|input| input.writers.iter().any(|it| changing[it.position].contains(&input.name)))
            .map(|it| &it.name)
    }

    /// The names that a planned cell gives another value, given those of the cells above it. One that runs only for others makes its
    /// objects again, without what cells below have changed in them.
    fn changing<'p>(&'p self, position: usize, above: &[BTreeSet<&'p Name>]) -> BTreeSet<&'p Name> {
        let cell = &self.states[position];
        let new: BTreeSet<&Name> = cell
            .inputs
            .iter()
            .filter(|input| {
                input
                    .writers
                    .iter()
                    .any(|it| it.position < position && above[it.position].contains(&input.name))
            })
            .map(|input| &input.name)
            .collect();
        let is_for_itself = cell.state.is_stale() || !new.is_empty();
        let changes = cell.writes.iter().filter(|(_, written)| {
            let is_new = written.state < StaleState::UpToDate
                || written.inputs.iter().any(|input| new.contains(input));
            // `x = x + 1`: the cell changes what it uses.
            let is_own = || written.inputs.iter().any(|input| cell.writes.contains_key(input));
            let may_differ = || !written.is_weak && (written.varies || is_own());
            // `k = 3` gives 3 each time: its users need not run again, whatever the cell runs for.
            !written.is_fixed && (is_new || !is_for_itself || may_differ())
        });
        changes.map(|(name, _)| name).collect()
    }
}

/// Whether a planned cell writes the name until the cell at `position` has run.
fn is_written(writing: &HashMap<&Name, Vec<usize>>, name: &Name, position: usize) -> bool {
    writing.get(name).is_some_and(|planned| planned.iter().any(|planned| *planned <= position))
}

/// Whether a planned cell writes the name before the cell at `position` runs, and is none of the name's writers.
fn overwrites(writing: &HashMap<&Name, Vec<usize>>, input: &Input, position: usize) -> bool {
    let above = writing.get(&input.name).into_iter().flatten().take_while(|planned| **planned < position);
    let mut others = above
        // The writers of the name give it the value of a fresh run, so that only other cells spoil it.
        .filter(|planned| input.writers.binary_search_by_key(planned, |writer| &writer.position).is_err());
    others.next().is_some()
}

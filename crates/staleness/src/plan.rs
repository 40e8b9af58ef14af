//! The cells to run so that stale ones are up to date.

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::{CellState, Facts, StaleState};
use crate::replay::{Env, Replay, Trace};
use crate::value::{Caller, Difference, Kind, NOBODY, Own, Value, Write};

/// The cells to run, by their positions in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub cells: Vec<usize>,
    /// Stale cells that do not run, each with the one above that keeps it from running, if it is not the cell itself.
    pub left_out: Vec<(usize, Option<usize>)>,
}

/// The positions of the cells to run, in order: of the `wanted` ones those that are stale, with the cells above that they
/// need. With `all`, also the cells that would be stale afterwards, because one of these changes their input.
///
/// The planned cells are run on the values that the kernel has, as far as names tell. A cell that would not get what it gets in a run of the
/// whole notebook needs the cells that write it there. A cell that runs now, or waits for its turn, runs again only if it uses what one of
/// the planned cells makes again.
///
/// Left out are cells that a run would not bring up to date, and those that need them.
pub fn plan(facts: Facts<'_>, states: &[CellState], wanted: &[usize], all: bool) -> Plan {
    let stale: Vec<usize> =
        wanted.iter().copied().filter(|position| states[*position].state.is_stale()).collect();
    if stale.is_empty() {
        return Plan::default();
    }
    let replay = Replay::new(facts);
    let mut left_out = BTreeMap::new();
    loop {
        let wanted = stale.iter().copied().filter(|position| !left_out.contains_key(position)).collect();
        let planned = replay.with_needed(wanted, states, all);
        let before = left_out.len();
        replay.add_obstructed(planned.iter().chain(&stale), states, &mut left_out);
        // It ends because more cells are left out each time.
        if left_out.len() == before {
            let cells = replay.without_running(&planned, states);
            return Plan { cells, left_out: left_out.into_iter().collect() };
        }
    }
}

impl<'a> Replay<'a> {
    /// The cells that these need before them, and with `all` those that they make stale.
    fn missing(&self, planned: &BTreeSet<usize>, states: &[CellState], all: bool) -> BTreeSet<usize> {
        let (fresh, end) = self.run_all(planned);
        let mut env: Env<'a> = self.kernel.clone();
        let mut more = BTreeSet::new();
        for position in 0..self.facts.cells.len() {
            if planned.contains(&position) {
                self.add_needed(position, &env, &fresh, &mut more);
                // The inputs of cells below depend on these.
                if !more.is_subset(planned) {
                    return more;
                }
                self.run_next(&mut env, position, true);
            } else if all && self.is_changed(position, &fresh[position], states) {
                more.insert(position);
            }
        }
        if all {
            self.add_lost(planned, &env, &end, &mut more);
        }
        more
    }

    /// Adds the cells whose changes of an object are lost, because a planned cell makes it again.
    fn add_lost(&self, planned: &BTreeSet<usize>, env: &Env<'a>, end: &Env<'a>, more: &mut BTreeSet<usize>) {
        let written: BTreeSet<&str> =
            planned.iter().flat_map(|position| self.now[*position].writes.keys().copied()).collect();
        // Random states go on from the last draw in any case.
        for name in written.into_iter().filter(|name| !name.contains(' ')) {
            let (Some(has), Some(gets)) = (env.get(name), end.get(name)) else { continue };
            let edited = |_| None;
            if has.difference(gets, NOBODY, Kind::Setting, &edited) == Difference::Differs {
                let lost = gets.writers.after(has.state());
                more.extend(lost.iter().filter_map(|writer| writer.caller.position()));
            }
        }
    }

    /// Whether the last run of a cell did not get what it gets after these runs.
    fn is_changed(&self, position: usize, fresh: &Trace<'a>, states: &[CellState]) -> bool {
        if states[position].state.is_stale() {
            return false;
        }
        let Some(last) = &self.last[position] else { return false };
        let uses = self.now[position].uses.keys().zip(last.got.iter().zip(&fresh.got));
        { uses }.any(|(name, (got, gets))| {
            gets.is_some()
                && self.difference(position, name, got.as_deref(), gets.as_deref(), last)
                    == Difference::Differs
        })
    }

    /// Adds the cells that write what a cell would otherwise get in another state.
    fn add_needed(&self, position: usize, env: &Env<'a>, fresh: &[Trace<'a>], more: &mut BTreeSet<usize>) {
        let effective = &self.now[position];
        let trace = &fresh[position];
        let classes = if self.comparable.is_empty() { Vec::new() } else { self.classes_of(position) };
        for (name, gets) in effective.uses.keys().zip(&trace.got) {
            let Some(gets) = gets.as_deref() else { continue };
            let none = Vec::new();
            let is_set_again = effective.repeats.get(name) == Some(&names::Repeat::Same)
                || effective.writes.get(name) == Some(&Write::Fills);
            let parts = trace.parts.get(name).filter(|_| is_set_again).unwrap_or(&none);
            let own = Own {
                caller: Caller::Cell(position),
                parts,
                replaces: !names::is_shared(name),
                calls: false,
            };
            let has = env.get(name);
            let is_called = || has.is_some_and(|value| value.has_call_of(Caller::Cell(position)));
            let is_module = self.is_module(name, position);
            let kind = Kind::of(name, is_module);
            let edited = |caller: Caller| self.edited(caller, usize::MAX);
            let difference = match has {
                Some(value) => value.difference(gets, own, kind, &edited),
                None => Difference::Differs,
            };
            for class in classes.iter().filter(|class| *class != name) {
                self.add_makers(class, gets, env, more);
            }
            if difference == Difference::Differs || difference == Difference::MayDiffer && is_called() {
                // Another import of a module leaves it as it is.
                let is_same_module = is_module && has.is_some_and(|has| has.has_definition_of(gets));
                // An object that is there already needs only the later changes.
                let writers = gets.writers.after(has.map_or(0, |value| value.state()));
                let writers = writers.iter().filter(|writer| !is_same_module || !writer.write.binds());
                more.extend(writers.filter_map(|writer| writer.caller.position()));
            }
        }
        let value = |name: &str| {
            effective
                .uses
                .keys()
                .zip(&trace.got)
                .find(|(it, _)| **it == name)
                .and_then(|(_, it)| it.as_deref())
        };
        let mut need = |name: &str| {
            let writers = value(name).into_iter().flat_map(|value| value.writers.iter());
            more.extend(writers.filter_map(|writer| writer.caller.position()));
        };
        // A part of an earlier object cannot change the one that there is now.
        for (name, _) in effective.writes.iter().filter(|(_, write)| !write.binds()) {
            let Some(identity) = env.get(name).map(|value| value.identity) else { continue };
            let is_of_earlier = |used: &&&str| {
                let made_of = env.get(**used).and_then(|value| value.made_of.get(name));
                made_of.is_some_and(|made_of| *made_of != identity)
            };
            effective.uses.keys().filter(is_of_earlier).for_each(|used| need(used));
        }
    }

    /// Adds the cells that make a value with a class that has been defined again since.
    fn add_makers(&self, class: &str, value: &Value<'a>, env: &Env<'a>, more: &mut BTreeSet<usize>) {
        let Some(identity) = env.get(class).map(|value| value.identity) else { return };
        for position in value.writers.iter().filter_map(|writer| writer.caller.position()) {
            let names = self.now[position].writes.keys();
            let is_old = |name: &&str| {
                env.get(name).and_then(|value| value.made_of.get(class)).is_some_and(|made| *made != identity)
            };
            if !{ names }.any(is_old) || !more.insert(position) {
                continue;
            }
            let inputs = self.fresh[position].got.iter().flatten();
            inputs.for_each(|input| self.add_makers(class, input, env, more));
        }
    }

    /// These cells, with those that they need, and with `all` those that would be stale afterwards.
    fn with_needed(&self, mut planned: BTreeSet<usize>, states: &[CellState], all: bool) -> BTreeSet<usize> {
        loop {
            let more = self.missing(&planned, states, all);
            let before = planned.len();
            planned.extend(more);
            // It ends because the plan only grows.
            if planned.len() == before {
                return planned;
            }
        }
    }

    /// Adds those of these cells that a run would not bring up to date, and those that need one of them.
    fn add_obstructed<'p>(
        &self,
        cells: impl Iterator<Item = &'p usize>,
        states: &[CellState],
        left_out: &mut BTreeMap<usize, Option<usize>>,
    ) {
        for position in cells.copied().collect::<BTreeSet<_>>() {
            let inputs = self.fresh[position].got.iter().flatten();
            let mut writers =
                inputs.flat_map(|value| value.writers.iter()).filter_map(|it| it.caller.position());
            if states[position].obstacle.is_some() {
                left_out.entry(position).or_insert(None);
            } else if let Some(writer) =
                writers.find(|writer| *writer < position && left_out.contains_key(writer))
            {
                left_out.entry(position).or_insert(Some(writer));
            }
        }
    }

    /// A cell that runs now is right unless a planned cell above it makes its input again: then it would end with the value of before.
    fn without_running(&self, planned: &BTreeSet<usize>, states: &[CellState]) -> Vec<usize> {
        let mut remaining: Vec<usize> = Vec::with_capacity(planned.len());
        for position in planned {
            let uses_one = || {
                let writers = self.fresh[*position].got.iter().flatten();
                let writers = writers.flat_map(|value| value.writers.iter().collect::<Vec<_>>());
                // A writer that is running and not run again gives its value without the plan.
                { writers }
                    .filter_map(|writer| writer.caller.position())
                    .any(|at| remaining.binary_search(&at).is_ok())
            };
            if states[*position].state != StaleState::Running || uses_one() {
                remaining.push(*position);
            }
        }
        remaining
    }
}

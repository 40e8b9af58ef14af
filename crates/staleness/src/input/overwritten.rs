//! What a name has if something else has written it after the cells that do so in a run of the whole notebook, or if they have done so more
//! often.

use std::collections::BTreeMap;

use names::Repeat;

use super::{Finding, Used};
use crate::book::{Book, Event};
use crate::effective::Write;
use crate::evidence::verb;
use crate::facts::{Run, StaleState};

impl Book<'_> {
    /// When a cell last ran before another one used what it defines, with any source.
    fn defined_at(&self, definer: usize, run: &Run, used: Used<'_>) -> Option<u64> {
        let earlier = || self.ran_before(definer, used.order).map(|(_, order, _)| order);
        run.last_before(used.order).or_else(earlier)
    }

    /// What wrote the name after its writers had, and before the cell ran.
    pub(super) fn overwritten(
        &self,
        used: Used<'_>,
        definer: usize,
        writers: &[(usize, Write)],
    ) -> Option<Finding> {
        let defined = self.present_run(definer)?;
        // What failed before it defined the name has left it as it was.
        let is_defined = !defined.has_failed || defined.has_assigned(used.name);
        let defined_at = if is_defined { self.defined_at(definer, defined, used)? } else { 0 };
        let is_writer = |event: &Event<'_>| event.position.is_some_and(|position| has(writers, position));
        let fixed = defined.names.fixed.get(used.name);
        // `k = 3` in a deleted cell and in the present one is the same value, whichever ran last.
        let is_same = |event: &Event<'_>| fixed.is_some() && event.run.names.fixed.get(used.name) == fixed;
        let others = self
            .earlier_writes(used)
            .filter(|(event, order)| *order > defined_at && !is_writer(event) && !is_same(event));
        // What an edit has removed is not done again.
        let is_module = self.is_module(definer, used.name);
        let is_removed = |event: &Event<'_>| {
            // What was set in a module stays until a restart, so that an edit removes nothing there.
            !is_module
                && event
                    .position
                    .is_some_and(|position| self.facts.cells[position].source != event.run.source)
        };
        let is_weak = |event: &Event<'_>| event.write.is_weak() && !is_removed(event);
        // A sure write first: a later call of a method does not make it less certain.
        let (event, _) = others.max_by_key(|(event, order)| (!is_weak(event), *order))?;
        if is_weak(event) {
            let clause = format!("{} {} and ran before it", self.source_of(event), verb(event.write));
            return Some(used.finding(StaleState::MayHaveChanged, &clause));
        }
        let from = self.source_of(event);
        let clause = format!("{from} wrote it after {} and before this ran", self.cell(definer));
        Some(used.finding(StaleState::OutOfOrder, &clause))
    }

    /// Whether the cell itself, or a cell that changes the object, has done so more often than a run of the notebook does.
    pub(super) fn repeated(
        &self,
        used: Used<'_>,
        definer: usize,
        writers: &[(usize, Write)],
    ) -> Option<Finding> {
        let defined = self.present_run(definer)?;
        let defined_at = self.defined_at(definer, defined, used)?;
        let is_writer = |position: usize| position != definer && has(writers, position);
        // Of the others, none has: this is asked of each user of a random state, which has hundreds of writers.
        let is_rewritten = self.is_rewritten(used.name);
        // For each cell, how often it has done so, and whether that is seen.
        let mut changes = BTreeMap::<usize, (usize, bool)>::new();
        for event in self.events(used.name) {
            let Some(position) = event.position else { continue };
            let is_own = position == used.position;
            if !(is_own || is_rewritten && is_writer(position)) {
                continue;
            }
            // Earlier changes were of an object that the definer has replaced since.
            let times =
                event.run.orders().filter(|order| (defined_at + 1..used.order).contains(order)).count();
            // What another source did is not done again.
            let counts = times > 0
                // A writer that binds the name has replaced the object, so that its earlier runs left nothing in it.
                && (is_own || !event.write.binds())
                && is_lasting(event, used, is_own, defined_at, self);
            // The cell's own judged run counts as one: it changes the object, too, but is not in the range.
            let known = changes.entry(position).or_insert((usize::from(is_own), false));
            *known = (known.0 + times, known.1 | counts);
        }
        let (position, _) = changes.into_iter().find(|(_, (times, counts))| *times > 1 && *counts)?;
        let who = if position == used.position { "it".to_owned() } else { self.cell(position) };
        let clause = format!("{who} has changed it more than once since {} ran", self.cell(definer));
        Some(used.finding(StaleState::OutOfOrder, &clause))
    }

    /// Whether the part that an event changed may not be the part that its cell changes now.
    fn has_other_keys(&self, event: &Event<'_>, used: Used<'_>, defined_at: u64, position: usize) -> bool {
        let Some(keys) = self.now[position].keys.get(used.name) else { return false };
        let is_edited = event.run.source != self.facts.cells[position].source;
        // From the first change on: each later value of the key has left an entry of its own.
        let since = event.run.orders().find(|order| *order > defined_at).unwrap_or(event.run.order);
        let is_new = |key: &&str| self.is_written_between(key, position, (since, used.order));
        // The names of other cells do not show a key that the cell makes itself, so that any edit may have changed it.
        keys.is_local && is_edited || keys.inputs.iter().any(is_new)
    }

    /// Cells that may define the name have run again with other values, and have not defined it: it is that of an earlier run. The memory
    /// does not show an assignment of the same object, so that this is not sure.
    pub(super) fn of_earlier_run(&self, used: Used<'_>, writers: &[(usize, Write)]) -> Option<Finding> {
        let mut last = None;
        for (writer, _) in writers.iter().filter(|(_, write)| write.binds()) {
            let run = self.present_run(*writer).filter(|run| !run.has_failed)?;
            // Without the memory, nobody knows whether the branch was taken.
            let is_left = run.assigned.is_some()
                && !run.has_assigned(used.name)
                && self.now[*writer].writes.get(used.name) == Some(&Write::MayDefine)
                && run.source == self.facts.cells[*writer].source
                && run.order < used.order;
            // In its first run, the cell had no value of its own that could be left over.
            let before = run.earlier.last().filter(|_| is_left)?;
            let inputs = &self.now[*writer].flows.get(used.name)?.inputs;
            let between = (*before, run.order);
            let is_new = |input: &&str| *input != used.name && self.is_assigned_between(input, between);
            // With the same values, the branch was probably taken again, and has assigned the same object.
            inputs.iter().find(|input| is_new(input))?;
            last = Some((writer, run));
        }
        let (writer, run) = last?;
        let clause = format!("{} may define it, but did not ({})", self.cell(*writer), self.at(run));
        Some(used.finding(StaleState::MayHaveChanged, &clause))
    }

    /// Whether a run has given a name another object between two others, as far as the memory shows it.
    fn is_assigned_between(&self, name: &str, (from, to): (u64, u64)) -> bool {
        self.events(name).iter().any(|event| {
            event.run.last_before(to).is_some_and(|order| order > from)
                && (event.run.assigned.is_none() || event.run.has_assigned(name))
        })
    }
}

/// Whether a cell is among writers.
fn has(writers: &[(usize, Write)], position: usize) -> bool {
    writers.binary_search_by_key(&position, |(writer, _)| *writer).is_ok()
}

/// Whether what an event did to an object is still there after its cell has run again.
fn is_lasting(event: &Event<'_>, used: Used<'_>, is_own: bool, defined_at: u64, book: &Book<'_>) -> bool {
    if event.run.has_failed && event.run.assigned.is_some() && !event.run.has_assigned(used.name) {
        return false;
    }
    match event.repeat {
        Repeat::Differs => true,
        // A cell that binds the name that it uses makes the value from the last one.
        _ if event.write.binds() => is_own,
        // The next run starts with it again, to be sure.
        Repeat::Unknown => is_own && used.is_next(),
        Repeat::Same => {
            let parts =
                |names: &names::Names| names.effects.parts.get(used.name).cloned().unwrap_or_default();
            let now = event.position.map(|position| parts(&book.facts.cells[position].names));
            // What the cell did with another source is part of what it changes now.
            let is_used =
                |position: usize| book.now[position].repeats.get(used.name) == Some(&Repeat::Differs);
            now.is_some_and(|now| parts(&event.run.names).iter().any(|part| !now.contains(part)))
                || is_own && event.position.is_some_and(is_used)
                || event
                    .position
                    .is_some_and(|position| book.has_other_keys(event, used, defined_at, position))
        }
    }
}

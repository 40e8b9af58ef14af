//! The effects of cells and runs, with the functions of the notebook that they call.

use std::collections::{BTreeMap, BTreeSet};

use names::{INTERACTIVITY, Name, Names, attribute, patched};

use crate::definers::{Definers, From};
use crate::effective::Effective;
use crate::facts::{Cell, Facts, Run};

/// Reads cells and runs together with the functions of the notebook.
pub(super) struct Sources<'d, 'a> {
    facts: Facts<'a>,
    definers: &'d Definers<'a>,
    patches: Vec<(&'a str, u32)>,
    is_interactive: bool,
}

impl<'d, 'a> Sources<'d, 'a> {
    pub(super) fn new(facts: Facts<'a>, definers: &'d Definers<'a>) -> Self {
        let mut all =
            facts.cells.iter().map(|cell| &cell.names).chain(facts.runs.iter().map(|run| &run.names));
        let is_interactive = all.any(|names| names.sets(INTERACTIVITY));
        Self { facts, definers, patches: patches(facts), is_interactive }
    }

    fn of(
        &self,
        (names, source): (&'a Names, u64),
        position: usize,
        random: &'a BTreeMap<Name, syntax::RandomUse>,
        assigned: Vec<&'a Name>,
    ) -> Effective<'a> {
        let is_defined = |name: &str| self.definers.positions.contains_key(name);
        let effective = Effective::of(names, source, self.definers.from(position));
        let effective = effective.with_assigned(assigned, source, &is_defined).with_random(random);
        effective.with_patched(names, &self.patches)
    }

    pub(super) fn of_cell(&self, position: usize, run: Option<&'a Run>) -> Effective<'a> {
        let cell = &self.facts.cells[position];
        let around = self.definers.from(position);
        let mut assigned = run.map(|run| still_assigned(cell, run, around)).unwrap_or_default();
        assigned.retain(|name| run.is_none_or(|run| !self.is_loaded(run, name)));
        let mut effective = self.of((&cell.names, cell.source), position, &cell.random, assigned);
        let shows = cell.names.has_inner_expressions && self.is_interactive;
        // The outputs show on which options the cell depends, and names do not.
        let options = cell.shows.iter().copied().chain(shows.then_some(INTERACTIVITY));
        effective.uses.extend(options.map(|options| (options, None)));
        effective
    }

    pub(super) fn of_run(&self, run: &'a Run, position: Option<usize>) -> Effective<'a> {
        let position = position.unwrap_or(self.facts.cells.len());
        let assigned = assigned(run).filter(|name| !self.is_loaded(run, name)).collect();
        self.of((&run.names, run.source), position, &run.random, assigned)
    }

    /// Whether a name is a module that a run has loaded again: it has another content by that alone.
    fn is_loaded(&self, run: &Run, name: &str) -> bool {
        let imports =
            |cell: &Cell| cell.names.imports.get(name).is_some_and(|path| run.loaded.contains_key(path));
        !run.loaded.is_empty() && self.facts.cells.iter().any(imports)
    }
}

/// The attributes that cells set of classes of libraries.
fn patches(facts: Facts<'_>) -> Vec<(&str, u32)> {
    let changes = facts.cells.iter().flat_map(|cell| cell.names.effects.changes.keys());
    let patches = changes.filter_map(|name| Some((name.as_str(), attribute(patched(name)?))));
    patches.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The names that a run has assigned, by the memory of its kernel.
fn assigned(run: &Run) -> impl Iterator<Item = &Name> {
    run.assigned.as_deref().into_iter().flatten()
}

/// The same, as far as a cell still does it that was perhaps edited since. What its names have shown, they show now, too. What they have
/// not shown, it does as long as it uses the name.
fn still_assigned<'a>(cell: &'a Cell, run: &'a Run, around: From<'_, 'a>) -> Vec<&'a Name> {
    if run.source == cell.source || run.assigned.is_none() {
        return assigned(run).collect();
    }
    let [before, now] = [(&run.names, run.source), (&cell.names, cell.source)]
        .map(|(names, source)| Effective::of(names, source, around));
    let is_used = |name: &str| now.uses.contains_key(name) || now.unknown.is_some();
    let is_still = |name: &&Name| {
        now.writes.contains_key(name.as_str())
            || (!before.writes.contains_key(name.as_str()) && is_used(name))
    };
    assigned(run).filter(is_still).collect()
}

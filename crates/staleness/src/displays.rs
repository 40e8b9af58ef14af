//! What a display shows belongs to the cell that displays it, and cells below may update it.

use std::collections::BTreeMap;

use names::{CONFIGURATION, is_shared};

use crate::book::Book;
use crate::facts::State;
use crate::input::Finding;

impl Book<'_> {
    /// The displays of a cell, by the names that stand for them, of which something else is shown than a run of the whole notebook shows.
    pub(crate) fn updated_displays(&self, position: usize) -> BTreeMap<&str, Finding> {
        let made_by = &self.facts.cells[position].names.made_by;
        let is_display = |name: &str| {
            name != CONFIGURATION && is_shared(name)
                || made_by.get(name).is_some_and(|function| function == "display")
        };
        let effective = &self.now[position];
        let displays = effective.writes.keys().copied();
        // What only updates one shows none.
        let displays = displays.filter(|name| !effective.uses.contains_key(name) && is_display(name));
        displays.filter_map(|name| Some((name, self.updated(name, position)?))).collect()
    }

    fn updated(&self, name: &str, position: usize) -> Option<Finding> {
        let run = self.run(position).filter(|run| self.is_present(run))?;
        let last = self.events(name).iter().max_by_key(|event| event.run.order);
        let is_above = |other: Option<usize>| other.is_none_or(|other| other < position);
        let wrong =
            last.filter(|last| last.run.order > run.order && is_above(last.position) && !last.write.binds());
        let clause = if let Some(event) = wrong {
            format!("{} has updated it since", self.source_of(event))
        } else {
            let below = self.writers(name).iter().filter(|(writer, _)| *writer > position);
            let below = below.take_while(|(_, write)| !write.binds()).map(|(writer, _)| *writer);
            let is_edited = |writer: &usize| {
                self.state_without_names(*writer).is_some_and(|state| state.state == State::Edited)
            };
            let edited = below.into_iter().find(is_edited)?;
            format!("{} updates it and was edited", self.cell(edited))
        };
        let evidence = format!("shows {name}: {clause}");
        Some(Finding { state: State::MayHaveChanged, evidence, is_missing: false })
    }
}

//! What a display shows belongs to the cell that displays it, and cells below may update it.

use names::{Names, is_configuration, is_shared};

use crate::book::Book;
use crate::facts::{CellState, StaleState};

impl Book<'_> {
    /// Tells of cells that nothing else is wrong with, but that show something else than in a run of the whole notebook.
    pub(crate) fn judge_displays(&self, states: &mut [CellState]) {
        for position in 0..states.len() {
            if states[position].state <= StaleState::MayHaveChanged {
                continue;
            }
            let displays = self.displays(position);
            let evidence = displays.into_iter().find_map(|name| self.updated(name, position, states));
            if let Some(evidence) = evidence {
                (states[position].state, states[position].evidence) = (StaleState::MayHaveChanged, evidence);
            }
        }
    }

    /// The names that stand for displays of a cell.
    fn displays(&self, position: usize) -> Vec<&str> {
        let Names { made_by, effects, .. } = &*self.facts.cells[position].names;
        let effective = &self.now[position];
        let shows = |name: &str| {
            let is_used = effective.uses.contains_key(name);
            // What only updates one shows none. Of a handle, the only other method is `display`.
            is_shared(name) && !is_configuration(name) && !is_used
                || !is_used && made_by.get(name).is_some_and(|function| function == "display")
                || effects.called().any(|called| called == name) && self.is_handle(name, position)
        };
        effective.writes.keys().copied().filter(|name| shows(name)).collect()
    }

    /// Whether a cell above has bound the name to a handle of displays.
    fn is_handle(&self, name: &str, position: usize) -> bool {
        let (_, definer) = self.writers_above(name, position);
        let made_by = |definer: usize| self.facts.cells[definer].names.made_by.get(name);
        definer
            .and_then(made_by)
            .is_some_and(|function| matches!(function.as_str(), "display" | "DisplayHandle"))
    }

    fn updated(&self, name: &str, position: usize, states: &[CellState]) -> Option<String> {
        let run = self.present_run(position)?;
        let events = self.events(name).iter().filter(|event| !event.write.is_weak());
        let last = events.max_by_key(|event| event.run.order);
        let is_above = |other: Option<usize>| other.is_none_or(|other| other < position);
        let is_wrong =
            last.filter(|last| last.run.order > run.order && is_above(last.position) && !last.write.binds());
        if let Some(event) = is_wrong {
            return Some(format!("shows {name}: {} updated it afterwards", self.source_of(event)));
        }
        let below = self.writers(name).iter().filter(|(writer, _)| *writer > position);
        let updating = below.take_while(|(_, write)| !write.binds()).filter(|(_, write)| !write.is_weak());
        let mut updating = updating.map(|(writer, _)| *writer);
        let stale = updating.find(|writer| states[*writer].state.is_stale())?;
        let state = states[stale].state.name();
        Some(format!("shows {name}: {} updates it and is stale: {state}", self.cell(stale)))
    }
}

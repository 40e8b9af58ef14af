//! What a display shows belongs to the cell that displays it, and cells below may update it.

use names::{is_configuration, is_shared};

use crate::book::Book;
use crate::facts::{CellState, State};

impl Book<'_> {
    /// Tells of cells that nothing else is wrong with, but that show something else than in a run of the whole notebook.
    pub(crate) fn judge_displays(&self, states: &mut [CellState]) {
        for position in 0..states.len() {
            if states[position].state <= State::MayHaveChanged {
                continue;
            }
            let displays = self.displays(position);
            let evidence = displays.into_iter().find_map(|name| self.updated(name, position, states));
            if let Some(evidence) = evidence {
                (states[position].state, states[position].evidence) = (State::MayHaveChanged, evidence);
            }
        }
    }

    /// The names that stand for displays of a cell.
    fn displays(&self, position: usize) -> Vec<&str> {
        let made_by = &self.facts.cells[position].names.made_by;
        let is_display = |name: &str| {
            !is_configuration(name) && is_shared(name)
                || made_by.get(name).is_some_and(|function| function == "display")
        };
        let effective = &self.now[position];
        let written = effective.writes.keys().copied();
        // What only updates one shows none.
        written.filter(|name| !effective.uses.contains_key(name) && is_display(name)).collect()
    }

    fn updated(&self, name: &str, position: usize, states: &[CellState]) -> Option<String> {
        let run = self.run(position).filter(|run| self.is_present(run))?;
        let last = self.events(name).iter().max_by_key(|event| event.run.order);
        let is_above = |other: Option<usize>| other.is_none_or(|other| other < position);
        let is_wrong =
            last.filter(|last| last.run.order > run.order && is_above(last.position) && !last.write.binds());
        if let Some(event) = is_wrong {
            return Some(format!("shows {name}: {} has updated it since", self.source_of(event)));
        }
        let below = self.writers(name).iter().filter(|(writer, _)| *writer > position);
        let mut updating = below.take_while(|(_, write)| !write.binds()).map(|(writer, _)| *writer);
        let stale = updating.find(|writer| states[*writer].state.is_stale())?;
        let state = states[stale].state.name();
        Some(format!("shows {name}: {} updates it and is stale: {state}", self.cell(stale)))
    }
}

//! The rules, in their order. See the documentation of the crate.

use crate::book::Book;
use crate::facts::{CellState, Facts, State};
use crate::input::Used;

/// The state of each cell of [`Facts::cells`].
pub fn states(facts: Facts<'_>) -> Vec<CellState> {
    let book = Book::new(facts);
    let mut states = Vec::with_capacity(facts.cells.len());
    for position in 0..facts.cells.len() {
        let state = book.state(position, &states);
        states.push(state);
    }
    states
}

impl Book<'_> {
    /// `above` has the states of the cells above.
    fn state(&self, position: usize, above: &[CellState]) -> CellState {
        let cell = &self.facts.cells[position];
        if cell.is_blank {
            return CellState::new(State::UpToDate, "");
        }
        let mut state =
            self.state_without_names(position).unwrap_or_else(|| self.state_by_names(position, above));
        state.inputs = self.inputs(position);
        state.writes = self.strong_writes(position);
        state
    }

    /// What needs no names.
    fn state_without_names(&self, position: usize) -> Option<CellState> {
        let cell = &self.facts.cells[position];
        let Some(run) = self.run(position) else {
            return Some(match cell.execution_count {
                Some(count) => CellState::new(
                    State::OutputsFromElsewhere,
                    format!("In[{count}] is of a run that is not known here"),
                ),
                None if cell.has_outputs => CellState::new(
                    State::OutputsFromElsewhere,
                    "its outputs are of a run that is not known here",
                ),
                None => CellState::new(State::NeverRun, "no run of it is known"),
            });
        };
        let at = self.at(run);
        if let (Some(shown), Some(ours)) = (cell.execution_count, run.execution_count)
            && shown != ours
        {
            let evidence = format!("it shows In[{shown}]; the last run known here was In[{ours}] ({at})");
            return Some(CellState::new(State::OutputsFromElsewhere, evidence));
        }
        if run.source != cell.source {
            return Some(CellState::new(State::Edited, format!("edited since its {at}")));
        }
        match self.facts.instance {
            Some(instance) if instance == run.instance => None,
            Some(_) => {
                Some(CellState::new(State::OtherKernel, format!("{at}, before the kernel was restarted")))
            }
            None => Some(CellState::new(State::OtherKernel, format!("{at}, and its kernel no longer runs"))),
        }
    }

    fn state_by_names(&self, position: usize, above: &[CellState]) -> CellState {
        let effective = &self.now[position];
        if let Some(why) = &effective.unknown {
            return CellState::new(State::NothingKnown, format!("its names cannot be known: {why}"));
        }
        let mut best = CellState::new(State::UpToDate, "");
        let Some(run) = self.run(position) else { return best };
        for (name, through) in &effective.uses {
            let (order, execution_count) = (run.order, run.execution_count);
            let used = Used { position, order, execution_count, name, through: through.as_ref() };
            for finding in self.findings(used, above) {
                if finding.state < best.state {
                    (best.state, best.evidence) = (finding.state, finding.evidence);
                }
            }
        }
        best
    }
}

//! The rules, in their order. See the documentation of the crate.

use std::collections::BTreeMap;

use names::{Name, is_configuration};

use crate::book::Book;
use crate::facts::{CellState, Facts, StaleState, Written};
use crate::input::{Finding, Used};

/// The state of each cell of [`Facts::cells`].
pub fn states(facts: Facts<'_>) -> Vec<CellState> {
    let book = Book::new(facts);
    let mut states = Vec::with_capacity(facts.cells.len());
    // From top to bottom: a cell is stale if one above it is that writes its input.
    for position in 0..facts.cells.len() {
        let state = book.state(position, &states);
        states.push(state);
    }
    // Last, because the cells that update a display stand below the one that shows it.
    book.judge_displays(&mut states);
    states
}

impl Book<'_> {
    /// `above` has the states of the cells above.
    fn state(&self, position: usize, above: &[CellState]) -> CellState {
        let cell = &self.facts.cells[position];
        if cell.is_blank {
            return CellState::new(StaleState::UpToDate, "");
        }
        // Also for a cell whose own state needs no names: each name that it writes has a state of its own, for the cells below.
        let found = self.found(position, above);
        let without_names = self.state_without_names(position);
        let writes = self.written(position, without_names.as_ref(), &found);
        let mut state = without_names.unwrap_or_else(|| self.state_by_names(position, found));
        state.inputs = self.inputs(position);
        state.writes = writes;
        state
    }

    /// What needs no names.
    ///
    /// Whose outputs these are comes first: nothing that is known of another run is about them. The source comes before the kernel, because
    /// a cell that was edited must run in any kernel, and its edit is what its reader can see. Names come last: they can only be compared
    /// between runs in one kernel.
    fn state_without_names(&self, position: usize) -> Option<CellState> {
        let cell = &self.facts.cells[position];
        let Some(run) = self.run(position) else {
            return Some(match cell.execution_count {
                Some(count) => CellState::new(
                    StaleState::OutputsFromElsewhere,
                    format!("In[{count}] is from a run that Cellbridge did not see"),
                ),
                None if cell.has_outputs => CellState::new(
                    StaleState::OutputsFromElsewhere,
                    "its outputs are from a run that Cellbridge did not see",
                ),
                None => CellState::new(StaleState::NeverRun, "Cellbridge has seen no run of this cell"),
            });
        };
        let at = || self.at(run);
        // Another program may have run the same source: only the count shows it.
        if let (Some(shown), Some(ours)) = (cell.execution_count, run.execution_count)
            && shown != ours
        {
            let evidence =
                format!("it shows In[{shown}]; the last run that Cellbridge saw was In[{ours}] ({})", at());
            return Some(CellState::new(StaleState::OutputsFromElsewhere, evidence));
        }
        if run.source != cell.source {
            return Some(CellState::new(StaleState::Edited, format!("edited after its {}", at())));
        }
        match self.facts.instance {
            Some(instance) if instance == run.instance => None,
            Some(_) => Some(CellState::new(
                StaleState::OtherKernel,
                format!("{}, before the kernel was restarted", at()),
            )),
            None => {
                Some(CellState::new(StaleState::OtherKernel, format!("{}, and its kernel has stopped", at())))
            }
        }
    }

    /// What is wrong with the names that a cell uses, if it has run in the present kernel.
    fn found(&self, position: usize, above: &[CellState]) -> BTreeMap<&str, Finding> {
        let mut found = BTreeMap::new();
        let Some(run) = self.present_run(position) else { return found };
        let effective = &self.now[position];
        for (name, through) in &effective.uses {
            let is_own = effective.own.contains(name);
            // Its own branch has bound the name.
            if is_own && run.has_assigned(name) {
                continue;
            }
            let (order, execution_count) = (run.order, run.execution_count);
            let used = Used { position, order, execution_count, name, through: *through, is_own };
            if let Some(worst) = self.worst(used, above) {
                found.insert(*name, worst);
            }
        }
        found
    }

    /// What is known is said even if not everything can be known.
    fn state_by_names(&self, position: usize, found: BTreeMap<&str, Finding>) -> CellState {
        // The order of the states is that of the rules: the least is the surest, and what the cell needs first.
        if let Some(worst) = found.into_values().min_by_key(|finding| finding.state) {
            return CellState::new(worst.state, worst.evidence);
        }
        // Only now: a finding holds whatever else the cell may do.
        match &self.now[position].unknown {
            Some(why) => {
                CellState::new(StaleState::NothingKnown, format!("its names cannot be determined: {why}"))
            }
            None => CellState::new(StaleState::UpToDate, ""),
        }
    }

    /// What can be said of the names that a cell writes. Each has the state of what it is made of, which may not be that of the cell.
    fn written(
        &self,
        position: usize,
        cell: Option<&CellState>,
        found: &BTreeMap<&str, Finding>,
    ) -> BTreeMap<Name, Written> {
        let effective = &self.now[position];
        let ran = self.ran(position);
        // A cell that fails in a run of the whole notebook makes nothing of what it makes here.
        let needs = &self.facts.cells[position].names.effects.needs;
        let missing = found.iter().filter(|(name, finding)| finding.is_missing && needs.contains(**name));
        let missing = missing.map(|(_, finding)| finding.state).filter(|state| state.is_stale()).min();
        let written = |(name, write): (&&str, &crate::effective::Write)| {
            let name = *name;
            let flow = &effective.flows[name];
            let by_cell = match cell.map(|cell| cell.state) {
                // An edit of one statement leaves the names that the others make.
                Some(StaleState::Edited) => {
                    let before = ran.and_then(|ran| ran.flows.get(name));
                    let is_same = before.is_some_and(|before| before.code == flow.code)
                        || self.is_fixed(position, name);
                    if is_same { StaleState::UpToDate } else { StaleState::Edited }
                }
                Some(state) => state,
                None => StaleState::UpToDate,
            };
            let by_inputs =
                flow.inputs.iter().filter_map(|input| found.get(*input)).map(|finding| finding.state);
            let state = by_inputs.chain([by_cell]).chain(missing).min().unwrap_or(StaleState::UpToDate);
            let inputs = flow.inputs.iter().map(|input| (*input).to_owned()).collect();
            let varies = flow.varies;
            // Settings are made again with the same values.
            let is_set_again = is_configuration(name)
                && state == StaleState::UpToDate
                && flow.inputs.iter().all(|it| *it == name);
            let is_fixed = is_set_again || write.binds() && self.is_fixed(position, name);
            let is_weak = write.is_weak();
            (name.to_owned(), Written { state, is_weak, is_fixed, inputs, varies })
        };
        effective.writes.iter().map(written).collect()
    }
}

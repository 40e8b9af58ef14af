//! The states of cells. See the documentation of the crate.

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::{CellState, Facts, Obstacle, StaleState};
use crate::replay::{Replay, Trace};
use crate::value::Difference;

/// The state of each cell of [`Facts::cells`].
pub fn states(facts: Facts<'_>) -> Vec<CellState> {
    let replay = Replay::new(facts);
    let mut states = Vec::with_capacity(facts.cells.len());
    // For each cell, the written names whose values may be others, though nothing is stale.
    let mut unsure = Vec::with_capacity(facts.cells.len());
    // From top to bottom: the reason why a cell is stale may be that one above is.
    for position in 0..facts.cells.len() {
        let (state, names) = replay.state(position, &states, &unsure);
        states.push(state);
        unsure.push(names);
    }
    // Last, because the cells that update a display stand below the one that shows it.
    replay.judge_displays(&mut states);
    states
}

/// Something that is wrong with a name that a cell uses.
pub(crate) struct Finding {
    pub(crate) obstacle: Option<Obstacle>,
    /// Values that are made of the name are the same in any case.
    pub(crate) is_without_effect: bool,
    pub(crate) state: StaleState,
    pub(crate) evidence: String,
}

impl<'a> Replay<'a> {
    /// `above` has the states of the cells above, and `unsure` the written names that may have changed.
    fn state(
        &self,
        position: usize,
        above: &[CellState],
        unsure: &[BTreeSet<&'a str>],
    ) -> (CellState, BTreeSet<&'a str>) {
        let cell = &self.facts.cells[position];
        if cell.is_blank {
            return (CellState::new(StaleState::UpToDate, ""), BTreeSet::new());
        }
        let findings = self.findings(position, above, unsure);
        let effective = &self.now[position];
        let is_unsure = |input: &&str| {
            findings
                .get(*input)
                .is_some_and(|it| it.state == StaleState::MayHaveChanged && !it.is_without_effect)
        };
        let is_other = self.is_unsure(position);
        let flows = effective.flows.iter();
        let names = flows
            .filter(|(_, flow)| is_other && flow.varies || flow.inputs.iter().any(is_unsure))
            .map(|(name, _)| *name);
        let names = names.collect();
        let state =
            self.state_without_names(position).unwrap_or_else(|| self.state_by_names(position, findings));
        (state, names)
    }

    /// The state as far as it needs no names.
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
        if let (Some(count), Some(ours)) = (cell.execution_count, run.execution_count)
            && count != ours
        {
            let evidence =
                format!("it shows In[{count}]; the last run that Cellbridge saw was In[{ours}] ({})", at());
            return Some(CellState::new(StaleState::OutputsFromElsewhere, evidence));
        }
        if cell.has_outputs && cell.outputs.zip(run.outputs).is_some_and(|(outputs, ours)| outputs != ours) {
            let evidence = format!("its outputs are not those of its last run here ({})", at());
            return Some(CellState::new(StaleState::OutputsFromElsewhere, evidence));
        }
        if run.source != cell.source {
            return Some(CellState::new(StaleState::Edited, format!("edited after its {}", at())));
        }
        if run.is_interrupted {
            let what =
                if run.kernel_died { "its kernel died while it ran" } else { "it did not run to its end" };
            let state = CellState::new(StaleState::Interrupted, format!("{what} ({})", at()));
            return Some(CellState { obstacle: Some(Obstacle::Stopped), ..state });
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

    /// The faults of the names that a cell uses, if it has run in the present kernel.
    fn findings(
        &self,
        position: usize,
        above: &[CellState],
        unsure: &[BTreeSet<&'a str>],
    ) -> BTreeMap<&'a str, Finding> {
        let Some(last) = &self.last[position] else { return BTreeMap::new() };
        let fresh = &self.fresh[position];
        let uses = self.now[position].uses.iter().zip(last.got.iter().zip(&fresh.got));
        let mut findings: BTreeMap<&'a str, Finding> = uses
            .filter_map(|((name, through), (got, gets))| {
                let (got, gets) = (got.as_deref(), gets.as_deref());
                let difference = self.difference(position, name, got, gets, last);
                let used = Used { position, name, through: *through, got, gets };
                let finding = match difference {
                    Difference::Differs => self.reason(&used, above)?,
                    Difference::MayDiffer | Difference::Fills => self.doubt(&used, difference),
                    Difference::Same if used.gets.is_none() && used.got.is_none() => {
                        self.never_written(&used)?
                    }
                    Difference::Same => self.unsure(&used, unsure)?,
                };
                Some((*name, finding))
            })
            .collect();
        self.add_own_import(position, last, &mut findings);
        self.add_earlier_classes(position, last, &mut findings);
        findings
    }

    /// Adds a module that the cell imports and uses itself.
    fn add_own_import(&self, position: usize, last: &Trace<'a>, findings: &mut BTreeMap<&'a str, Finding>) {
        if last.imported == self.fresh[position].imported {
            return;
        }
        let names = &self.facts.cells[position].names;
        let functions = names.functions.values().chain([&names.effects]);
        let reads: BTreeSet<&str> = functions.flat_map(|it| it.reads.iter().map(String::as_str)).collect();
        for (name, path) in names.imports.iter().filter(|(name, _)| reads.contains(name.as_str())) {
            findings.extend(self.edited_module(name, None, path).map(|finding| (name.as_str(), finding)));
        }
    }

    /// Adds what was made with a class of before, in a cell that uses the class, too.
    fn add_earlier_classes(
        &self,
        position: usize,
        last: &Trace<'a>,
        findings: &mut BTreeMap<&'a str, Finding>,
    ) {
        if self.comparable.is_empty() {
            return;
        }
        let classes = self.classes_of(position);
        let got: BTreeMap<&str, _> = self.now[position]
            .uses
            .iter()
            .zip(&last.got)
            .collect::<Vec<_>>()
            .into_iter()
            .map(|((name, through), got)| (*name, (*through, got.as_deref())))
            .collect();
        for class in classes {
            let identity = got.get(class).and_then(|(_, value)| *value).map(|value| value.identity);
            let Some(identity) = identity else { continue };
            for (name, (through, value)) in &got {
                let made = value.and_then(|value| value.made_of.get(class));
                if *name == class || made.is_none_or(|made| *made >= identity) {
                    continue;
                }
                let clause = format!("it was created with {class} before {class} was redefined");
                let finding = finding(StaleState::OutOfOrder, name, *through, &clause);
                let is_worse = findings.get(name).is_none_or(|other| finding.state < other.state);
                if is_worse {
                    findings.insert(name, finding);
                }
            }
        }
    }

    pub(crate) fn classes_of(&self, position: usize) -> Vec<&'a str> {
        let names = &self.facts.cells[position].names;
        let is_code = |name: &str| {
            let definer = self.definer_above(name, position + 1);
            definer.is_some_and(|at| self.facts.cells[at].names.functions.contains_key(name))
        };
        self.comparable.used_by(&self.now[position], names, is_code)
    }

    /// A finding is told even if not everything can be known.
    fn state_by_names(&self, position: usize, findings: BTreeMap<&str, Finding>) -> CellState {
        // The order of the states is that of the rules: the least is the surest, and what the cell needs first.
        if let Some(worst) = findings.into_values().min_by_key(|finding| finding.state) {
            return CellState { obstacle: worst.obstacle, ..CellState::new(worst.state, worst.evidence) };
        }
        // Only now: a finding holds whatever else the cell may do.
        match &self.now[position].unknown {
            Some(why) => {
                CellState::new(StaleState::NothingKnown, format!("its names cannot be determined: {why}"))
            }
            None => CellState::new(StaleState::UpToDate, ""),
        }
    }
}

/// A name that a cell used in its last run: what it got, and what it gets in a run of the whole notebook.
pub(crate) struct Used<'u, 'a> {
    pub(crate) position: usize,
    pub(crate) name: &'a str,
    pub(crate) through: Option<&'a str>,
    pub(crate) got: Option<&'u crate::value::Value<'a>>,
    pub(crate) gets: Option<&'u crate::value::Value<'a>>,
}

/// `uses df: …`, `uses df through load(): …`
pub(crate) fn finding(state: StaleState, name: &str, through: Option<&str>, clause: &str) -> Finding {
    let evidence = match through {
        None => format!("uses {name}: {clause}"),
        Some(function) => format!("uses {name} through {function}(): {clause}"),
    };
    Finding { obstacle: None, is_without_effect: false, state, evidence }
}

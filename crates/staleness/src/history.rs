//! The runs of a notebook's cells that are remembered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::SystemTime;

use names::{Name, Names};
use notebook::CellId;
#[cfg(test)]
use syntax::hash;

use crate::facts::{Module, Run};

/// How many runs are remembered. The oldest of those that are not the last of their cell are forgotten first.
const MAX_RUNS: usize = 1000;
/// How many runs of a cell with the same source are remembered by their numbers.
const MAX_EARLIER: usize = 100;

/// Between the numbers of two runs there is room for those of the parts of the later one.
pub(crate) const SPREAD: u64 = 1 << 32;

/// The last run of each cell of a notebook, deleted cells included; of each cell the last run with every earlier source; and
/// the runs of code in no cell.
#[derive(Debug, Default)]
pub struct History {
    runs: Vec<Run>,
    count: u64,
    /// See [`Ended::changed_files`]: what the kernel has said last.
    changed_files: BTreeMap<Name, u64>,
}

/// A run that has ended, after the kernel had started with it.
#[derive(Debug, Clone)]
pub struct Ended {
    pub cell: Option<CellId>,
    /// The hash of what ran.
    pub source: u64,
    pub names: Arc<Names>,
    pub instance: u64,
    pub ended_at: SystemTime,
    pub has_failed: bool,
    /// See [`Run::is_interrupted`].
    pub is_interrupted: bool,
    /// See [`Run::kernel_died`].
    pub kernel_died: bool,
    /// See [`Run::assigned`].
    pub assigned: Option<BTreeSet<Name>>,
    /// See [`Run::unchanged`].
    pub unchanged: BTreeSet<Name>,
    /// See [`Run::drew`].
    pub drew: BTreeSet<Name>,
    /// See [`Run::random_states`].
    pub random_states: BTreeMap<Name, u64>,
    /// See [`Run::loaded`].
    pub loaded: BTreeMap<Name, Module>,
    /// Of the modules whose files had changed since they were loaded, when the run ended, the digests of the files. `None` if its kernel
    /// has not looked.
    pub changed_files: Option<BTreeMap<Name, u64>>,
    /// See [`Run::outputs`].
    pub outputs: Option<u64>,
    pub execution_count: Option<u64>,
}

impl History {
    /// Adds a run. It takes the place of the earlier one of its cell.
    pub fn add(&mut self, ended: Ended) {
        self.count += 1;
        let order = self.count * SPREAD;
        let is_last = |run: &Run| run.cell.is_some() && run.cell == ended.cell && !run.is_superseded;
        let last = self.runs.iter().position(is_last).map(|index| self.runs.remove(index));
        let here = last.as_ref().filter(|run| run.instance == ended.instance);
        let first = here.map_or(order, |run| run.first);
        // With other modules or another random state they are two runs, because what they have made differs.
        let is_same = |run: &Run| {
            (run.source, &run.loaded, &run.random_states)
                == (ended.source, &ended.loaded, &ended.random_states)
        };
        let same = here.filter(|run| is_same(run));
        let mut earlier = same.map(|run| run.earlier.clone()).unwrap_or_default();
        earlier.extend(same.map(|run| run.order));
        earlier.drain(..earlier.len().saturating_sub(MAX_EARLIER));
        let mut failed = same.map(|run| run.failed.clone()).unwrap_or_default();
        failed.extend(same.filter(|run| run.has_failed).map(|run| run.order));
        let has_succeeded = !ended.has_failed || here.is_some_and(|run| run.has_succeeded);
        let mut assigned = ended.assigned;
        if let (Some(assigned), Some(before)) = (&mut assigned, same.and_then(|run| run.assigned.as_ref())) {
            // What only the memory shows is not seen again where the value is equal.
            let is_hidden = |name: &&Name| !ended.names.effects.defines.contains(*name);
            assigned.extend(before.iter().filter(is_hidden).cloned());
        }
        // The names that another source defined are still in the kernel.
        if let Some(last) = last.filter(|run| !is_same(run)) {
            self.runs.push(Run { is_superseded: true, ..last });
        }
        let Ended {
            cell,
            source,
            names,
            instance,
            ended_at,
            has_failed,
            is_interrupted,
            kernel_died,
            drew,
            ..
        } = ended;
        let Ended { random_states, loaded, outputs, execution_count, unchanged, .. } = ended;
        self.changed_files = ended.changed_files.unwrap_or_else(|| std::mem::take(&mut self.changed_files));
        self.runs.push(Run {
            cell,
            is_superseded: false,
            source,
            names,
            instance,
            order,
            first,
            earlier,
            failed,
            ended_at,
            has_failed,
            is_interrupted,
            kernel_died,
            has_succeeded,
            assigned: assigned.map(Arc::new),
            unchanged: Arc::new(unchanged),
            drew,
            random_states,
            loaded,
            outputs,
            execution_count,
            merged_counts: BTreeSet::new(),
            random: BTreeMap::new(),
        });
        while self.runs.len() > MAX_RUNS {
            let is_of_a_cell = |run: &Run| run.cell.is_some() && !run.is_superseded;
            let least = self.runs.iter().position(|run| !is_of_a_cell(run)).unwrap_or(0);
            self.runs.remove(least);
        }
    }

    /// The cell of this run shows something else that comes from the run: late output, or what another run has updated.
    /// Returns the instance of the run, if that is the last one of the cell.
    pub fn shows(
        &mut self,
        cell: &CellId,
        execution_count: Option<u64>,
        outputs: Option<u64>,
    ) -> Option<u64> {
        let is_it = |run: &&mut Run| run.cell.as_ref() == Some(cell) && !run.is_superseded;
        let run = self.runs.iter_mut().find(is_it).filter(|run| run.execution_count == execution_count)?;
        run.outputs = outputs;
        Some(run.instance)
    }

    /// The same runs, as the cells have them that were made of other cells since.
    pub(crate) fn replace(&mut self, runs: Vec<Run>) {
        self.runs = runs;
    }

    /// The files of the modules that runs in this instance have loaded, and the digests of the files, as far as the kernel has said so.
    pub fn modules(&self, instance: Option<u64>) -> (BTreeMap<Name, String>, BTreeMap<Name, u64>) {
        let runs = self.runs.iter().filter(|run| Some(run.instance) == instance);
        let loaded = || runs.clone().flat_map(|run| &run.loaded);
        let files = loaded().map(|(name, module)| (name.clone(), module.file.clone())).collect();
        let digests = loaded().filter_map(|(name, module)| Some((name.clone(), module.content?)));
        (files, digests.chain(self.changed_files.clone()).collect())
    }

    /// In the order in which they ended.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }
}

#[cfg(test)]
impl Ended {
    /// A run in the first instance that did not fail.
    pub(crate) fn well(cell: Option<CellId>, source: &str) -> Self {
        Self {
            cell,
            source: hash(source),
            names: Arc::new(Names::of_cell(source)),
            instance: 1,
            ended_at: SystemTime::UNIX_EPOCH,
            has_failed: false,
            is_interrupted: false,
            kernel_died: false,
            assigned: None,
            unchanged: BTreeSet::new(),
            drew: BTreeSet::new(),
            random_states: BTreeMap::new(),
            loaded: BTreeMap::new(),
            changed_files: None,
            outputs: None,
            execution_count: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(cell: Option<usize>, source: u64) -> Ended {
        let ended = Ended::well(cell.map(|cell| CellId::from(format!("c{cell}"))), "");
        Ended { source, ..ended }
    }

    #[test]
    fn the_last_run_of_a_cell_is_forgotten_last() {
        let mut history = History::default();
        history.add(ended(Some(0), 1));
        history.add(ended(Some(0), 2));
        for _ in 0..MAX_RUNS * 2 {
            history.add(ended(None, 3));
        }
        assert_eq!(history.runs().len(), MAX_RUNS);
        assert_eq!(history.runs().iter().filter(|run| run.cell.is_some()).count(), 1);
        assert_eq!(history.runs()[0].source, 2);
        for cell in 0..MAX_RUNS * 2 {
            history.add(ended(Some(cell), 4));
        }
        assert_eq!(history.runs().len(), MAX_RUNS);
        assert_eq!(history.runs().last().unwrap().cell, Some(format!("c{}", MAX_RUNS * 2 - 1).into()));
    }

    #[test]
    fn earlier_runs_with_the_same_source_are_numbers() {
        let mut history = History::default();
        for source in [1, 2, 2, 2] {
            history.add(ended(Some(0), source));
        }
        let run = &history.runs()[1];
        let orders = [1, 2, 3, 4, 5].map(|number| number * SPREAD);
        assert_eq!((run.first, run.order, &*run.earlier), (orders[0], orders[3], &orders[1..3]));
        let before: Vec<_> = orders[1..].iter().map(|order| run.last_before(*order)).collect();
        assert_eq!(before, [None, Some(orders[1]), Some(orders[2]), Some(orders[3])]);
        for _ in 0..MAX_EARLIER * 2 {
            history.add(ended(Some(0), 2));
        }
        assert_eq!(history.runs()[1].earlier.len(), MAX_EARLIER);
    }
}

//! The runs of a notebook's cells that are remembered.

use std::collections::BTreeMap;
use std::sync::Arc;

use names::Name;
use notebook::CellId;

use crate::facts::Run;

/// The number of runs that are remembered. The oldest of those that are not the last of their cell are forgotten first.
const MAX_RUNS: usize = 1000;
/// The number of runs of a cell with the same source that are remembered by their numbers.
const MAX_EARLIER: usize = 100;

/// Between the numbers of two runs there is room for those of the parts of the later one.
pub(crate) const SPREAD: u64 = 1 << 32;

/// The last run of each cell of a notebook, deleted cells included; of each cell the last run with every earlier source; and
/// the runs of code in no cell.
#[derive(Debug, Default)]
pub struct History {
    runs: Vec<Run>,
    count: u64,
    /// See [`History::add`]: what the kernel has said last.
    changed_files: BTreeMap<Name, u64>,
}

impl History {
    /// Adds a run that has ended, after the kernel had started with it. It takes the place of the earlier one of its cell. `changed_files`
    /// has the digests of the files of modules, of those whose files had changed since they were loaded when the run ended. `None` if its
    /// kernel has not looked.
    pub fn add(&mut self, mut run: Run, changed_files: Option<BTreeMap<Name, u64>>) {
        self.count += 1;
        run.order = self.count * SPREAD;
        let is_last = |other: &Run| run.cell.is_some() && run.cell == other.cell && !other.is_superseded;
        let last = self.runs.iter().position(is_last).map(|index| self.runs.remove(index));
        let here = last.as_ref().filter(|last| last.instance == run.instance);
        run.first = here.map_or(run.order, |last| last.first);
        run.has_succeeded = !run.has_failed || here.is_some_and(|last| last.has_succeeded);
        // With other modules or another random state they are two runs, because what they have made differs.
        let key = |run: &Run| (run.source, run.loaded.clone(), run.random_states.clone());
        let is_same = here.is_some_and(|last| key(last) == key(&run));
        run.changed.clone_from(&run.assigned);
        let is_like = |other: &&Run| {
            (&other.cell, other.source, other.instance) == (&run.cell, run.source, run.instance)
        };
        let like = here.filter(|_| is_same).or_else(|| self.runs.iter().rev().find(is_like));
        run.is_steady =
            run.cell.is_none() || like.is_none_or(|other| other.is_steady && other.outputs == run.outputs);
        let before = here.filter(|_| is_same).map(|last| &last.equal);
        let since = |name: &Name| before.and_then(|equal| equal.get(name).copied()).unwrap_or(run.order);
        run.equal = run.unchanged.iter().map(|name| (name.clone(), since(name))).collect();
        match last {
            Some(last) if is_same => {
                run.earlier = last.earlier;
                run.earlier.push(last.order);
                run.earlier.drain(..run.earlier.len().saturating_sub(MAX_EARLIER));
                run.failed = last.failed;
                run.failed.extend(last.has_failed.then_some(last.order));
                if let (Some(assigned), Some(before)) = (&mut run.assigned, last.assigned) {
                    // A change that only the memory shows is not seen again where the value is equal.
                    let is_hidden = |name: &&Name| !run.names.effects.defines.contains(*name);
                    Arc::make_mut(assigned).extend(before.iter().filter(is_hidden).cloned());
                }
            }
            // The names that another source defined are still in the kernel.
            Some(last) if key(&last) != key(&run) => self.runs.push(Run { is_superseded: true, ..last }),
            _ => {}
        }
        self.changed_files = changed_files.unwrap_or_else(|| std::mem::take(&mut self.changed_files));
        self.runs.push(run);
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
mod tests {
    use super::*;

    fn ended(cell: Option<usize>, source: u64) -> Run {
        Run { source, ..Run::well(cell.map(|cell| CellId::from(format!("c{cell}"))), "") }
    }

    #[test]
    fn the_last_run_of_a_cell_is_forgotten_last() {
        let mut history = History::default();
        history.add(ended(Some(0), 1), None);
        history.add(ended(Some(0), 2), None);
        for _ in 0..MAX_RUNS * 2 {
            history.add(ended(None, 3), None);
        }
        assert_eq!(history.runs().len(), MAX_RUNS);
        assert_eq!(history.runs().iter().filter(|run| run.cell.is_some()).count(), 1);
        assert_eq!(history.runs()[0].source, 2);
        for cell in 0..MAX_RUNS * 2 {
            history.add(ended(Some(cell), 4), None);
        }
        assert_eq!(history.runs().len(), MAX_RUNS);
        assert_eq!(history.runs().last().unwrap().cell, Some(format!("c{}", MAX_RUNS * 2 - 1).into()));
    }

    #[test]
    fn earlier_runs_with_the_same_source_are_numbers() {
        let mut history = History::default();
        for source in [1, 2, 2, 2] {
            history.add(ended(Some(0), source), None);
        }
        let run = &history.runs()[1];
        let orders = [1, 2, 3, 4, 5].map(|number| number * SPREAD);
        assert_eq!((run.first, run.order, &*run.earlier), (orders[0], orders[3], &orders[1..3]));
        let before: Vec<_> = orders[1..].iter().map(|order| run.last_before(*order)).collect();
        assert_eq!(before, [None, Some(orders[1]), Some(orders[2]), Some(orders[3])]);
        for _ in 0..MAX_EARLIER * 2 {
            history.add(ended(Some(0), 2), None);
        }
        assert_eq!(history.runs()[1].earlier.len(), MAX_EARLIER);
    }
}

//! The rules about one name that a cell uses.

use names::{is_predefined, is_shared};

use crate::book::{Book, Event};
use crate::effective::Write;
use crate::evidence::uses;
use crate::facts::{CellState, Input, Run, StaleState, Writer};

mod missing;
mod overwritten;
mod writer;

/// Something that is wrong with an input.
pub(crate) struct Finding {
    pub(crate) state: StaleState,
    pub(crate) evidence: String,
    /// In a run of the whole notebook the cell fails here: no cell above defines the name.
    pub(crate) is_missing: bool,
}

/// A name that a cell uses in a run in the present kernel.
#[derive(Clone, Copy)]
pub(crate) struct Used<'u> {
    pub(crate) position: usize,
    /// The run's number.
    pub(crate) order: u64,
    pub(crate) execution_count: Option<u64>,
    pub(crate) name: &'u str,
    pub(crate) through: Option<&'u str>,
    /// Whether the cell may have bound it itself.
    pub(crate) is_own: bool,
}

impl Used<'_> {
    pub(crate) fn finding(&self, state: StaleState, clause: &str) -> Finding {
        let evidence = format!("{}: {clause}", uses(self.name, self.through));
        Finding { state, evidence, is_missing: false }
    }

    /// Whether it is about the run that comes next.
    fn is_next(&self) -> bool {
        self.order == u64::MAX
    }
}

impl Book<'_> {
    /// The worst of what is wrong with a used name; of equal ones, the first. `above` has the states of the cells above.
    pub(crate) fn worst(&self, used: Used<'_>, above: &[CellState]) -> Option<Finding> {
        let (writers, definer) = self.writers_above(used.name, used.position);
        let made = definer.and_then(|definer| self.made(used, definer));
        let mut worst = None;
        for writer in writers {
            // A random state has hundreds of writers: only what becomes the answer is worded.
            let limit = worst.as_ref().map_or(StaleState::UpToDate, |worst: &Finding| worst.state);
            worst = self.writer(used, *writer, made, above, limit).or(worst);
        }
        let others = match definer {
            // Defining a module again leaves it as it is.
            Some(definer) if self.is_module(definer, used.name) => [
                self.overwritten(used, definer, writers).filter(|found| found.state.is_stale()),
                self.misconfigured(used, writers),
                None,
            ],
            Some(definer) => [
                self.overwritten(used, definer, writers),
                self.repeated(used, definer, writers),
                self.cached(used, definer)
                    .or_else(|| self.of_earlier_class(used))
                    .or_else(|| self.of_earlier_run(used, writers)),
            ],
            // Its own branch may bind it: that no other cell does is no fault.
            None if used.is_own => [const { None }; 3],
            None if is_shared(used.name) => [self.misconfigured(used, writers), None, None],
            None => {
                // Even if something has replaced `print`, a fresh run does not fail here.
                let is_missing = !is_predefined(used.name);
                [self.without_definer(used).map(|found| Finding { is_missing, ..found }), None, None]
            }
        };
        worst.into_iter().chain(others.into_iter().flatten()).min_by_key(|finding| finding.state)
    }

    /// What a cell depends on, if it runs next.
    pub(crate) fn inputs(&self, position: usize) -> Vec<Input> {
        let effective = &self.now[position];
        let definitions = self.definitions(position);
        let input = |name: &str, through: Option<&str>| {
            let is_own = effective.own.contains(name);
            // As if it ran after everything so far: what its last run has found does not matter for the next.
            let used = Used { position, order: u64::MAX, execution_count: None, name, through, is_own };
            let (writers, definer) = self.writers_above(name, position);
            let is_stale = |finding: Finding| finding.state.is_stale();
            let is_overwritten = definer.is_some_and(|definer| {
                let is_module = self.is_module(definer, name);
                self.overwritten(used, definer, writers).is_some_and(is_stale)
                    // Another import gives the same module, so that it cannot undo what was repeated.
                    || !is_module && self.repeated(used, definer, writers).is_some()
                    || self.cached(used, definer).is_some()
            }) || self.misconfigured(used, writers).is_some_and(is_stale);
            let made = definer.and_then(|definer| self.made(used, definer));
            let writers =
                writers.iter().map(|(writer, write)| self.writer_of(*writer, *write, used, made)).collect();
            let keys = effective.keys.get(name).map(|keys| &keys.inputs);
            let retains = effective.caches.get(name).into_iter().chain(keys).flatten();
            let retains = retains.map(|it| (*it).to_owned()).collect();
            let made_with = self.made_with(used, &definitions);
            Input { name: name.to_owned(), writers, is_overwritten, retains, made_with }
        };
        let inputs = effective.uses.iter().map(|(name, through)| input(name, *through));
        // Without writers, there is no cell that a plan could run for it.
        inputs.filter(|input| !input.writers.is_empty()).collect()
    }

    fn writer_of(&self, position: usize, write: Write, used: Used<'_>, made: Option<Made>) -> Writer {
        let must_run =
            |run: &Run| is_cut(run, used.name) || made.is_some_and(|made| made.loses(run, write, used));
        Writer {
            position,
            must_run: self.run(position).is_some_and(must_run),
            defines: write == Write::Defines,
        }
    }

    /// When the definer of a name last made its object, before the cell ran.
    fn made(&self, used: Used<'_>, definer: usize) -> Option<Made> {
        let run = self.present_run(definer)?;
        // A failed run may have come as far as the definition: only the memory can show that.
        let is_made = match &run.assigned {
            Some(assigned) => assigned.contains(used.name),
            None => !run.has_failed,
        };
        let order = run.last_before(used.order).filter(|_| is_made && !self.is_module(definer, used.name))?;
        Some(Made { definer, order })
    }

    /// What other code wrote to the name in this kernel before the cell ran, and when.
    fn earlier_writes(&self, used: Used<'_>) -> impl Iterator<Item = (&Event<'_>, u64)> {
        self.events(used.name).iter().filter_map(move |event| {
            // What the cell itself did counts if it defined the name by another source: running it again does not undo that.
            let is_own = event.position == Some(used.position);
            let is_same = event.run.source == self.facts.cells[used.position].source;
            if is_own && (is_same || !event.write.binds()) {
                return None;
            }
            Some((event, event.run.last_before(used.order)?))
        })
    }
}

/// When the object of a name was made.
#[derive(Clone, Copy)]
struct Made {
    definer: usize,
    /// The number of the run.
    order: u64,
}

impl Made {
    /// Whether a run has changed an object of before, so that this one is without the change.
    fn loses(self, run: &Run, write: Write, used: Used<'_>) -> bool {
        // A writer that binds the name gives it an object of its own, and loses nothing with the earlier one.
        !write.binds() && run.last_before(used.order).is_some_and(|order| order < self.order)
    }
}

/// Whether a writer ended before it could define or change the name as it does in a fresh run: it was stopped, or the name is still that
/// of an earlier run which did not fail. A fresh run fails in the same place, so that what it left is what a fresh run leaves.
fn is_cut(run: &Run, name: &str) -> bool {
    run.has_failed && !run.has_assigned(name) && (run.is_interrupted || run.has_succeeded)
}

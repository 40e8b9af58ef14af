//! The facts about a notebook, and the states of its cells that follow.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use names::{Name, Names};
use notebook::{CellId, Notebook};
use syntax::{RandomUse, hash, is_blank};

/// A code cell as it is now.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Its position in the notebook.
    pub index: usize,
    pub id: CellId,
    /// See [`hash`](crate::hash).
    pub source: u64,
    pub names: Arc<Names>,
    /// Its use of random states, which count as names.
    pub random: BTreeMap<Name, RandomUse>,
    /// Whether it has no code.
    pub is_blank: bool,
    pub has_outputs: bool,
    /// The options on which its outputs depend, as what they look like tells. They are asked for only if a cell sets the options.
    pub shows: Vec<&'static str>,
    pub execution_count: Option<u64>,
    /// See [`notebook::Cell::outputs_digest`]. `None` where no run says what its outputs should be.
    pub outputs: Option<u64>,
}

impl Cell {
    /// The code cells of a notebook without their names, and their sources.
    pub(crate) fn all_of(notebook: &Notebook, language: &str) -> (Vec<Self>, Vec<String>) {
        let code = notebook.cells().iter().enumerate().filter(|(_, cell)| cell.is_code());
        let fact = |(index, cell): (usize, &notebook::Cell)| {
            let source = cell.source().into_owned();
            (Self::of(index, cell, &source, language), source)
        };
        code.map(fact).unzip()
    }

    /// A code cell without its names.
    pub(crate) fn of(index: usize, cell: &notebook::Cell, source: &str, language: &str) -> Self {
        Self {
            index,
            id: cell.id().clone(),
            source: hash(source),
            names: Arc::default(),
            random: BTreeMap::new(),
            // In other languages, `#` may start code.
            // Comments are sent to the kernel, too, which removes what the cell showed before.
            is_blank: source.trim().is_empty()
                || (is_python(language) && is_blank(source) && cell.output_count() == 0),
            has_outputs: cell.output_count() > 0,
            shows: Vec::new(),
            execution_count: cell.execution_count(),
            outputs: None,
        }
    }
}

pub(crate) fn is_python(language: &str) -> bool {
    language.eq_ignore_ascii_case("python")
}

/// A module that a run has loaded, or loaded again, from a file that is no part of an installed package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Relative to the notebook's folder if it lies there.
    pub file: String,
    /// A digest of what was loaded. `None` if the file may have been another one then.
    pub content: Option<u64>,
}

/// A run of a cell, or of code that is in no cell.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent facts")]
pub struct Run {
    /// The cell may have been deleted since.
    pub cell: Option<CellId>,
    /// Whether the cell has run with another source since.
    pub is_superseded: bool,
    pub source: u64,
    pub names: Arc<Names>,
    /// The life of a kernel from a start to an end: a restart starts another.
    pub instance: u64,
    /// Later runs have greater numbers.
    pub order: u64,
    /// The number of the cell's first run in this instance.
    // A cell that ran before it ran out of order; one that ran between it and the last run has an input that was rerun.
    pub first: u64,
    /// The numbers of its earlier runs with the same source in this instance, in order.
    // With another source they are runs of their own, because their names may differ.
    pub earlier: Vec<u64>,
    /// Of these, the ones of runs that failed.
    pub failed: BTreeSet<u64>,
    /// Since the Unix epoch.
    pub ended_at: Duration,
    pub has_failed: bool,
    // A fresh run fails in the same place, but it is not stopped in the same place.
    /// Whether it was stopped before its end, which another run would not be.
    pub is_interrupted: bool,
    /// Whether its kernel died while it ran.
    pub kernel_died: bool,
    /// Whether a run of the cell in this instance has not failed, with any source.
    pub has_succeeded: bool,
    /// The names that it has bound or whose objects it has replaced or resized, if its kernel could tell.
    // Shared, because runs are copied for each judgement, and the set is large after `from m import *`.
    pub assigned: Option<Arc<BTreeSet<Name>>>,
    /// The same of its last run alone.
    pub changed: Option<Arc<BTreeSet<Name>>>,
    /// Names whose values are equal to those before it in all that they hold, as far as its kernel has looked.
    pub unchanged: Arc<BTreeSet<Name>>,
    /// Whether all its runs have written the same outputs.
    pub is_steady: bool,
    /// Of these names, the number of the run from which on each has left an equal value.
    pub equal: BTreeMap<Name, u64>,
    /// The random states that it has changed, if its kernel could tell.
    pub drew: BTreeSet<Name>,
    /// Of those of them that its kernel has looked at, a digest of the state that the run has left.
    pub random_states: BTreeMap<Name, u64>,
    /// The modules that it has loaded, or loaded again.
    pub loaded: BTreeMap<Name, Module>,
    /// A digest of what it has written into its cell, with what has updated that since. `None` if that is not known.
    pub outputs: Option<u64>,
    pub execution_count: Option<u64>,
    /// Those of the runs that it was put together from, when their cells were merged.
    pub merged_counts: BTreeSet<u64>,
    /// See [`Cell::random`]. Only needed if its source is no longer that of its cell.
    pub random: BTreeMap<Name, RandomUse>,
}

impl Run {
    /// A run of Python in the first instance.
    #[cfg(test)]
    pub(crate) fn well(cell: Option<CellId>, source: &str) -> Self {
        let names = Arc::new(Names::of_cell(source));
        Self { cell, source: hash(source), names, instance: 1, ..Self::default() }
    }

    /// Whether the memory of its kernel shows that it has bound the name.
    pub(crate) fn has_assigned(&self, name: &str) -> bool {
        self.assigned.as_ref().is_some_and(|assigned| assigned.contains(name))
    }

    /// Whether its run of this number has left a value that is equal to the one before it.
    pub(crate) fn is_equal(&self, name: &str, order: u64) -> bool {
        self.equal.get(name).is_some_and(|first| *first <= order)
    }

    /// The number of its last run, up to this one, that has left another value.
    pub(crate) fn changed_at(&self, name: &str, order: u64) -> u64 {
        let equal = self.equal.get(name).filter(|first| **first <= order);
        equal.map_or(order, |first| self.last_before(*first).unwrap_or(*first))
    }

    /// Whether all its runs have left such a value.
    pub(crate) fn is_always_equal(&self, name: &str) -> bool {
        self.orders().next().is_some_and(|first| self.is_equal(name, first))
    }

    /// Whether its kernel could tell what it has changed.
    pub(crate) fn can_tell(&self) -> bool {
        self.assigned.is_some() && !self.has_failed
    }

    /// The execution counts that its cells may show.
    pub(crate) fn counts(&self) -> impl Iterator<Item = u64> {
        self.merged_counts.iter().copied().chain(self.execution_count)
    }

    /// All numbers of its runs with this source, the last one included.
    pub(crate) fn orders(&self) -> impl Iterator<Item = u64> {
        self.earlier.iter().copied().chain([self.order])
    }

    /// The number of the last time that it ran before `order`.
    pub(crate) fn last_before(&self, order: u64) -> Option<u64> {
        if self.order < order {
            return Some(self.order);
        }
        // A cell that somebody reruns all day has a long list, and each of its users asks.
        self.earlier[..self.earlier.partition_point(|earlier| *earlier < order)].last().copied()
    }
}

/// Shows a time to the agent.
pub type Clock<'a> = &'a dyn Fn(SystemTime) -> String;

#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The code cells, in order.
    pub cells: &'a [Cell],
    /// At most one for each cell, besides those that are superseded.
    pub runs: &'a [Run],
    /// The kernel's instance now; `None` if the notebook has no living kernel.
    pub instance: Option<u64>,
    /// For each module that a run has loaded, the digest of its file as it is now; 0 if there is none any longer. Without those
    /// whose files cannot be seen from here.
    pub modules: &'a BTreeMap<Name, u64>,
    pub clock: Clock<'a>,
}

/// The state of a cell's outputs. A later one is a weaker statement, so that the least of several findings decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StaleState {
    NeverRun,
    OutputsFromElsewhere,
    Edited,
    /// Its last run was stopped before its end.
    Interrupted,
    OtherKernel,
    UndefinedName,
    OutOfOrder,
    InputChanged,
    MayHaveChanged,
    NothingKnown,
    UpToDate,
    /// A run of it as it is has not ended.
    Running,
    /// One waits for its turn.
    Queued,
}

impl StaleState {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::NeverRun => "never run",
            Self::OutputsFromElsewhere => "outputs from elsewhere",
            Self::Edited => "edited",
            Self::Interrupted => "interrupted",
            Self::OtherKernel => "other kernel",
            Self::UndefinedName => "undefined name",
            Self::OutOfOrder => "out of order",
            Self::InputChanged => "input changed",
            Self::MayHaveChanged => "may have changed",
            Self::NothingKnown => "nothing known",
            Self::UpToDate => "up to date",
            Self::Running => "running",
            Self::Queued => "queued",
        }
    }

    /// Whether the outputs are not to be believed. What may have changed, or is not known, is not stale.
    pub fn is_stale(self) -> bool {
        self < Self::MayHaveChanged
    }
}

/// The state of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellState {
    pub state: StaleState,
    /// Why, in one line. Empty for a cell that is up to date.
    pub evidence: String,
    /// A reason for which a run of the cell does not help.
    pub obstacle: Option<Obstacle>,
}

/// A reason for which a run does not bring a cell up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// Its last run was interrupted, or its kernel died: whether it runs again is for somebody to decide.
    Stopped,
    /// Python keeps a module that was edited.
    LoadedModule,
}

impl CellState {
    /// A run of the cell as it is has not ended: what is known of its last outputs no longer matters.
    pub fn runs(&mut self, evidence: String) {
        *self = Self::new(StaleState::Running, evidence);
    }

    pub fn new(state: StaleState, evidence: impl Into<String>) -> Self {
        Self { state, evidence: evidence.into(), obstacle: None }
    }
}

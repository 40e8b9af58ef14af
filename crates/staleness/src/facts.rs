//! What is known of a notebook, and what follows for its cells.

use std::sync::Arc;
use std::time::SystemTime;

use names::Names;
use notebook::CellId;

/// A code cell as it is now.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Where it stands in the notebook.
    pub index: usize,
    pub id: CellId,
    /// See [`hash`](crate::hash).
    pub source: u64,
    pub names: Arc<Names>,
    /// Whether it has no code.
    pub is_blank: bool,
    pub has_outputs: bool,
    pub execution_count: Option<u64>,
}

/// The last run of a cell, or a run of code that is in no cell.
#[derive(Debug, Clone)]
pub struct Run {
    /// The cell may have been deleted since.
    pub cell: Option<CellId>,
    pub source: u64,
    pub names: Arc<Names>,
    /// The life of a kernel from a start to an end: a restart begins another.
    pub instance: u64,
    /// Later runs have greater numbers.
    pub order: u64,
    /// The number of the cell's first run in this instance.
    pub first: u64,
    /// The number of the first run since which the source is the same, in this instance.
    pub since: u64,
    pub ended_at: SystemTime,
    pub has_failed: bool,
    pub execution_count: Option<u64>,
}

/// Shows a time to the agent.
pub type Clock<'a> = &'a dyn Fn(SystemTime) -> String;

#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The code cells, in order.
    pub cells: &'a [Cell],
    /// At most one for each cell.
    pub runs: &'a [Run],
    /// The kernel's instance now; `None` if the notebook has no living kernel.
    pub instance: Option<u64>,
    pub clock: Clock<'a>,
}

/// What can be said of a cell's outputs. A later one is a weaker statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    NeverRun,
    OutputsFromElsewhere,
    Edited,
    OtherKernel,
    UndefinedName,
    OutOfOrder,
    InputChanged,
    MayHaveChanged,
    NothingKnown,
    UpToDate,
}

impl State {
    pub const ALL: [Self; 10] = [
        Self::NeverRun,
        Self::OutputsFromElsewhere,
        Self::Edited,
        Self::OtherKernel,
        Self::UndefinedName,
        Self::OutOfOrder,
        Self::InputChanged,
        Self::MayHaveChanged,
        Self::NothingKnown,
        Self::UpToDate,
    ];

    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::NeverRun => "never run",
            Self::OutputsFromElsewhere => "outputs from elsewhere",
            Self::Edited => "edited",
            Self::OtherKernel => "other kernel",
            Self::UndefinedName => "undefined name",
            Self::OutOfOrder => "out of order",
            Self::InputChanged => "input changed",
            Self::MayHaveChanged => "may have changed",
            Self::NothingKnown => "nothing known",
            Self::UpToDate => "up to date",
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
    pub state: State,
    /// Why, in one line. Empty for a cell that is up to date.
    pub evidence: String,
    /// The cells that it depends on, as positions in [`Facts::cells`].
    pub(crate) inputs: Vec<Input>,
}

/// A writer of a name that a cell uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Input {
    pub(crate) position: usize,
    /// Whether running it again changes the name.
    pub(crate) is_changing: bool,
    /// Whether it must run again, stale or not, for the cell to be up to date.
    pub(crate) must_run: bool,
}

impl CellState {
    pub(crate) fn new(state: State, evidence: impl Into<String>) -> Self {
        Self { state, evidence: evidence.into(), inputs: Vec::new() }
    }
}

//! The words of the evidence.

use crate::book::{Book, Event};
use crate::effective::Write;
use crate::facts::Run;

impl Book<'_> {
    /// `run 14:02`
    pub(crate) fn at(&self, run: &Run) -> String {
        format!("run {}", (self.facts.clock)(run.ended_at))
    }

    /// `cell 3`
    pub(crate) fn cell(&self, position: usize) -> String {
        // Positions count code cells only; agents know the index in the notebook.
        format!("cell {}", self.facts.cells[position].index)
    }

    /// What an event belongs to, and when it was: `cell 3 (run 14:02)`.
    pub(crate) fn source_of(&self, event: &Event<'_>) -> String {
        let what = match (event.position, &event.run.cell) {
            // Who looks into the cell would not find there what has changed the name.
            (Some(position), _) if event.run.is_superseded => {
                format!("an earlier source of {}", self.cell(position))
            }
            (Some(position), _) => self.cell(position),
            // It has no index that the reader could look up.
            (None, Some(_)) => "a deleted cell".to_owned(),
            (None, None) => "code outside the cells".to_owned(),
        };
        format!("{what} ({})", self.at(event.run))
    }
}

/// `uses df`, `uses df through load()`
pub(crate) fn uses(name: &str, through: Option<&str>) -> String {
    match through {
        None => format!("uses {name}"),
        Some(function) => format!("uses {name} through {function}()"),
    }
}

/// What a cell does to a name, in a sentence.
pub(crate) fn verb(write: Write) -> &'static str {
    match write {
        Write::Passes => "passes it to a function that changes it",
        Write::Calls => "calls a method of it",
        Write::Changes => "changes it",
        Write::MayDefine => "may define it",
        Write::Defines => "defines it",
    }
}

//! The rules about a name that no cell above defines.

use names::{is_history, is_predefined};

use super::{Finding, Used};
use crate::book::Book;
use crate::facts::{Run, StaleState};

impl Book<'_> {
    /// Where a name comes from that no cell above defines.
    pub(super) fn without_definer(&self, used: Used<'_>) -> Option<Finding> {
        let others = self.writers(used.name);
        // A cell that only changes the object cannot be where the name comes from.
        let below = others.iter().find(|(position, write)| *position > used.position && write.binds());
        let written = self
            .earlier_writes(used)
            .filter(|(event, _)| event.write.binds())
            .max_by_key(|(_, order)| *order);
        match (written, below) {
            // Not `undefined name`: the notebook defines it, but too late for a run from top to bottom.
            (Some((event, ..)), Some((below, _))) => {
                let from = self.source_of(event);
                let clause = format!("it came from {from}, and only {} defines it, below", self.cell(*below));
                Some(used.finding(StaleState::OutOfOrder, &clause))
            }
            (Some((event, order)), None) if is_predefined(used.name) && !is_history(used.name) => {
                // It is there in each kernel, but hidden in this one, unless the name was deleted since.
                let is_deleted = self
                    .earlier_writes(used)
                    .any(|(other, at)| at > order && other.run.names.effects.deletes.contains(used.name));
                let from = self.source_of(event);
                let clause = format!("{from} defines it until the kernel restarts, and ran before it");
                (!is_deleted).then(|| used.finding(StaleState::MayHaveChanged, &clause))
            }
            (Some((event, ..)), None) => {
                let clause = format!("it came from {}, and no cell defines it", self.source_of(event));
                self.gone(used, &clause)
            }
            // As far as is known, the cell has found as little as a fresh run does, so that its outputs are right.
            (None, Some(_)) => None,
            (None, None) => self.never_written(used),
        }
    }

    /// A name that nothing wrote in this kernel before the cell ran.
    fn never_written(&self, used: Used<'_>) -> Option<Finding> {
        if is_history(used.name) {
            return Some(used.finding(
                StaleState::NothingKnown,
                "its value depends on earlier runs, which are not tracked",
            ));
        }
        if is_predefined(used.name) {
            return None;
        }
        let id = &self.facts.cells[used.position].id;
        let is_gone = |run: &&&Run| run.is_superseded || run.cell.as_ref() != Some(id);
        let defined = self.defining(used.name).iter().find(is_gone);
        if let Some(run) = defined {
            let clause = format!("the code that last defined it no longer exists ({})", self.at(run));
            return self.gone(used, &clause);
        }
        // A cell of which nothing is known may define it.
        let is_later = |position: &usize| {
            self.run(*position).is_none_or(|run| {
                !self.is_present(run)
                    || run.order > used.order
                    || run.source != self.facts.cells[*position].source
            })
        };
        let above = self.unknown().iter().copied().filter(|position| *position < used.position);
        // From the nearest one up, as for a name that is known: the last to bind it decides.
        let unknown = above.rev().find(is_later)?;
        let why = self.now[unknown].unknown?;
        let clause =
            format!("{} ({why}) may define it, but has not run since, or ran too late", self.cell(unknown));
        Some(used.finding(StaleState::MayHaveChanged, &clause))
    }

    /// A name that no other cell defines any longer, unless one above may do so of which nothing is known.
    fn gone(&self, used: Used<'_>, clause: &str) -> Option<Finding> {
        let may_define = |position: &usize| {
            let names = &self.facts.cells[*position].names;
            *position < used.position && (names.binds_anything || names.possible.contains(used.name))
        };
        let is_defined = self.unknown().iter().any(may_define);
        (!is_defined).then(|| used.finding(StaleState::UndefinedName, clause))
    }
}

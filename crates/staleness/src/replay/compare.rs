//! Comparison of what the last run of a cell got with other values, and questions about its run.

use names::Unknown;

use crate::facts::Run;
use crate::value::{Caller, Difference, Kind, Own, Value};

use super::{Replay, Trace};

impl<'a> Replay<'a> {
    /// Compares the value of a used name that the last run of a cell got with another one.
    pub(crate) fn difference(
        &self,
        position: usize,
        name: &str,
        got: Option<&Value<'a>>,
        gets: Option<&Value<'a>>,
        last: &Trace<'a>,
    ) -> Difference {
        let run = self.present_run(position);
        let is_own = self.now[position].own.contains(name);
        // Its own branch has bound the name.
        if is_own && run.is_some_and(|run| run.has_assigned(name)) {
            return Difference::Same;
        }
        let kind = Kind::of(name, self.is_module(name, position));
        let none = Vec::new();
        let is_again = last.again.contains(name);
        let parts = last.parts.get(name).filter(|_| !is_again).unwrap_or(&none);
        let own = Own { caller: Caller::Cell(position), parts, replaces: false, calls: !is_again };
        let nothing = Value::default();
        let edited = |caller: Caller| self.edited(caller, position);
        // A name that no cell defines is not the same in a fresh kernel in any case.
        let is_there = kind == Kind::Setting || names::is_shared(name);
        let is_defined =
            |value: Option<&Value<'a>>| value.is_some_and(|value| value.is_defined() || is_there);
        if !is_defined(got) && !is_defined(gets) {
            return Difference::Same;
        }
        let (got, gets) = (got.unwrap_or(&nothing), gets.unwrap_or(&nothing));
        let difference = got.difference(gets, own, kind, &edited);
        // It has left an equal value, but shows something else than before: it may have met what it had done itself.
        let is_unlike = run.is_some_and(|run| !run.is_steady && run.is_equal(name, run.order));
        if is_unlike && got.is_written_by(own.caller) {
            difference.max(Difference::MayDiffer)
        } else {
            difference
        }
    }

    /// If past code is what a cell other than this one ran before it was edited, whether it has run since.
    pub(crate) fn edited(&self, caller: Caller, by_others_than: usize) -> Option<bool> {
        let Caller::Past(run) = caller else { return None };
        let position = self.positions.get(run).copied().flatten();
        position.filter(|position| *position != by_others_than).map(|_| self.facts.runs[run].is_superseded)
    }

    pub(crate) fn is_module(&self, name: &str, position: usize) -> bool {
        let above = self.definer_above(name, position);
        above.is_some_and(|at| self.facts.cells[at].names.imports.contains_key(name))
    }

    /// The nearest cell above that defines a name now.
    pub(crate) fn definer_above(&self, name: &str, position: usize) -> Option<usize> {
        let all = self.definers.get(name)?;
        all[..all.partition_point(|definer| *definer < position)].last().copied()
    }

    /// Whether a cell shows the number of a run that is not its last one here.
    pub(crate) fn is_from_elsewhere(&self, position: usize) -> bool {
        let (cell, run) = (&self.facts.cells[position], self.run(position));
        match (cell.execution_count, run) {
            (Some(count), Some(run)) => run.execution_count.is_some_and(|ours| ours != count),
            (count, None) => count.is_some() || cell.has_outputs,
            (None, Some(_)) => false,
        }
    }

    pub(crate) fn run(&self, position: usize) -> Option<&'a Run> {
        self.runs[position].map(|index| &self.facts.runs[index])
    }

    /// The run of a cell in the kernel as it is now.
    pub(crate) fn present_run(&self, position: usize) -> Option<&'a Run> {
        self.run(position).filter(|run| self.is_present(run))
    }

    pub(crate) fn is_present(&self, run: &Run) -> bool {
        self.facts.instance == Some(run.instance)
    }

    /// Whether a cell may do what its names do not show. What is no Python fails before it does anything, unless the kernel could run it.
    pub(crate) fn may_bind_anything(&self, position: usize) -> bool {
        let has_run = || {
            let run = self.run(position).filter(|run| run.source == self.facts.cells[position].source);
            run.is_some_and(|run| !run.has_failed)
        };
        self.now[position].unknown.is_some_and(|why| *why != Unknown::SyntaxError || has_run())
    }
}

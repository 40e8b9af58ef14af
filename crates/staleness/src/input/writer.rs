//! The rules about one cell that writes a name which another one uses.

use names::{Repeat, is_configuration};

use super::{Finding, Made, Used, is_cut};
use crate::book::Book;
use crate::effective::Write;
use crate::evidence::verb;
use crate::facts::{CellState, StaleState};

impl Book<'_> {
    /// What is wrong with one writer, if it is worse than `limit`.
    pub(super) fn writer(
        &self,
        used: Used<'_>,
        (writer, write): (usize, Write),
        made: Option<Made>,
        above: &[CellState],
        limit: StaleState,
    ) -> Option<Finding> {
        let exactly = |state: StaleState, clause: &dyn Fn() -> String| {
            let does = || verb(self.now[writer].writes.get(used.name).copied().unwrap_or(write));
            let worded =
                || used.finding(state, &format!("{} {} and {}", self.cell(writer), does(), clause()));
            (state < limit).then(worded)
        };
        let finding = |state, clause: &dyn Fn() -> String| {
            // A call of a method may have left the object as it was, so that its order alone proves nothing.
            exactly(if write.is_weak() { StaleState::MayHaveChanged } else { state }, clause)
        };
        let cell = &self.facts.cells[writer];
        if above[writer].state == StaleState::OutputsFromElsewhere {
            // The file is an older one again: what the name has is what our later run gave it.
            let later = self.present_run(writer).filter(|run| run.source != cell.source);
            let later =
                later.filter(|run| run.order < used.order && cell.execution_count < run.execution_count);
            if let Some(run) = later {
                let clause = || format!("has another source than in its {}", self.at(run));
                return exactly(StaleState::InputChanged, &clause);
            }
            // Somebody else ran it. The counts tell in which order, if it was in this kernel.
            let count =
                cell.execution_count.filter(|count| used.execution_count.is_some_and(|own| own < *count))?;
            return finding(StaleState::OutOfOrder, &|| format!("has run after it, as In[{count}]"));
        }
        let Some(run) = self.present_run(writer) else {
            return finding(StaleState::OutOfOrder, &|| "has not run in this kernel".to_owned());
        };
        let at = || self.at(run);
        // By its first run: if that was earlier, the cell had its input, and only a rerun is in question.
        if run.first > used.order {
            return finding(StaleState::OutOfOrder, &|| format!("ran after it ({})", at()));
        }
        if let Some(made) = made.filter(|made| made.loses(run, write, used)) {
            return finding(StaleState::OutOfOrder, &|| {
                format!("has not done so since {} ran", self.cell(made.definer))
            });
        }
        // A copy inherits the run of its original, but `n += 1` was done once, and a fresh run does it twice.
        if run.order == used.order && self.adds_to(writer, write, used.name) {
            return finding(StaleState::OutOfOrder, &|| {
                format!("ran only once, and this copy counts as the same run ({})", at())
            });
        }
        // `k = 3` is 3 whenever it ran, whatever else in its cell was edited since.
        if write.binds() && self.is_fixed(writer, used.name) {
            return None;
        }
        let state = match above[writer].state {
            // So is each name that it writes.
            StaleState::UpToDate => StaleState::UpToDate,
            state => above[writer].writes.get(used.name).map_or(state, |written| written.state),
        };
        if run.source != cell.source && state == StaleState::Edited {
            // Also for a weak writer: the new source may do anything to the object.
            return exactly(StaleState::InputChanged, &|| format!("was edited after its {}", at()));
        }
        if run.order > used.order {
            let clause = || format!("was rerun ({})", at());
            match self.rerun(writer, used.name, used.order) {
                Rerun::SameValue => {}
                // Also for a weak writer: `model.fit(x)` of another `x` gives another model.
                Rerun::NewInput => return exactly(StaleState::InputChanged, &clause),
                Rerun::Unknown => return finding(StaleState::InputChanged, &clause),
            }
        }
        if is_cut(run, used.name) {
            return finding(StaleState::InputChanged, &|| format!("has failed ({})", at()));
        }
        match state {
            state if state.is_stale() => {
                exactly(StaleState::InputChanged, &|| format!("is stale: {}", state.name()))
            }
            StaleState::MayHaveChanged => {
                exactly(StaleState::MayHaveChanged, &|| "may have changed itself".to_owned())
            }
            _ => None,
        }
    }

    /// Whether a cell that writes a name gives it another value, if it runs twice.
    fn adds_to(&self, writer: usize, write: Write, name: &str) -> bool {
        write != Write::MayDefine && self.now[writer].repeats.get(name) != Some(&Repeat::Same)
    }

    /// What the reruns of a cell since `order` mean for the value of a name.
    fn rerun(&self, writer: usize, name: &str, order: u64) -> Rerun {
        let (Some(run), Some(ran)) = (self.run(writer), self.ran(writer)) else { return Rerun::Unknown };
        let Some((seen, seen_at, saw)) = self.ran_before(writer, order) else { return Rerun::Unknown };
        let (Some(flow), Some(before)) = (ran.flows.get(name), saw.flows.get(name)) else {
            // At least one of the two sources does not make the name, so that the values cannot be the same.
            return Rerun::NewInput;
        };
        let between = (seen_at, run.order);
        // What else has written the name itself is judged by `overwritten`.
        let is_new = |input: &str| input != name && self.is_written_between(input, writer, between);
        if flow.code != before.code || flow.inputs.iter().any(|input| is_new(input)) {
            return Rerun::NewInput;
        }
        // It ran again for something else that is in the cell.
        let is_for_others = seen.source != run.source
            || ran.uses.keys().any(|used| self.is_written_between(used, writer, between));
        let changes = |input: &&str| {
            ran.writes.contains_key(input) && ran.repeats.get(input).is_none_or(|it| *it != Repeat::Same)
        };
        let is_same = !flow.varies && !flow.inputs.iter().any(changes);
        // A module stays the one that it is; the settings of the cell are made again.
        let is_again = is_configuration(name) || run.names.imports.contains(name) && flow.inputs.is_empty();
        // Otherwise, somebody ran it again for a reason that names do not show, such as a changed file.
        if (is_for_others || is_again) && is_same { Rerun::SameValue } else { Rerun::Unknown }
    }
}

/// What the reruns of a cell mean for a name.
enum Rerun {
    /// The cell ran again for something else.
    SameValue,
    NewInput,
    Unknown,
}

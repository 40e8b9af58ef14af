//! The rules about one name that a cell uses.

use names::{Name, is_builtin};

use crate::book::{Book, Event};
use crate::effective::Write;
use crate::evidence::{uses, verb};
use crate::facts::{CellState, Input, State, Writer};

/// Something that is wrong with an input.
pub(crate) struct Finding {
    pub(crate) state: State,
    pub(crate) evidence: String,
}

/// A name that a cell uses in a run in the present kernel.
#[derive(Clone, Copy)]
pub(crate) struct Used<'u> {
    pub(crate) position: usize,
    /// The run's number.
    pub(crate) order: u64,
    pub(crate) execution_count: Option<u64>,
    pub(crate) name: &'u Name,
    pub(crate) through: Option<&'u Name>,
}

impl Used<'_> {
    fn finding(&self, state: State, clause: &str) -> Finding {
        Finding { state, evidence: format!("{}: {clause}", uses(self.name, self.through)) }
    }
}

impl Book<'_> {
    /// What is wrong with a used name. `above` has the states of the cells above.
    pub(crate) fn findings(&self, used: Used<'_>, above: &[CellState]) -> Vec<Finding> {
        let (writers, definer) = self.writers_above(used.name, used.position);
        let mut findings: Vec<Finding> =
            writers.iter().filter_map(|writer| self.writer(used, *writer, above)).collect();
        findings.extend(match definer {
            Some(definer) => self.overwritten(used, definer, writers),
            None => self.without_definer(used),
        });
        findings
    }

    /// What a cell depends on, if it runs next.
    pub(crate) fn inputs(&self, position: usize) -> Vec<Input> {
        let uses = self.now[position].uses.iter();
        let input = |(name, through): (&Name, &Option<Name>)| {
            let through = through.as_ref();
            let used = Used { position, order: u64::MAX, execution_count: None, name, through };
            let (writers, definer) = self.writers_above(name, position);
            let overwritten = definer.and_then(|definer| self.overwritten(used, definer, writers));
            let strong = writers.iter().filter(|(_, write)| !write.is_weak());
            Input {
                name: name.clone(),
                writers: strong.map(|(writer, _)| self.writer_of(*writer, name)).collect(),
                is_overwritten: overwritten.is_some_and(|finding| finding.state.is_stale()),
            }
        };
        uses.map(input).filter(|input| !input.writers.is_empty()).collect()
    }

    fn writer_of(&self, position: usize, name: &str) -> Writer {
        Writer {
            position,
            is_changing: !self.is_fixed(position, name),
            has_failed: self.run(position).is_some_and(|run| run.has_failed),
        }
    }

    /// What is wrong with one writer.
    fn writer(
        &self,
        used: Used<'_>,
        (writer, write): (usize, Write),
        above: &[CellState],
    ) -> Option<Finding> {
        let finding = |state, clause: &str| {
            let state = if write.is_weak() { State::MayHaveChanged } else { state };
            Some(used.finding(state, &format!("{} {} and {clause}", self.cell(writer), verb(write))))
        };
        let cell = &self.facts.cells[writer];
        if above[writer].state == State::OutputsFromElsewhere {
            // Somebody else ran it. The counts tell in which order, if it was in this kernel.
            let count =
                cell.execution_count.filter(|count| used.execution_count.is_some_and(|own| own < *count))?;
            return finding(State::OutOfOrder, &format!("has run after it, as In[{count}]"));
        }
        let Some(run) = self.run(writer).filter(|run| self.is_present(run)) else {
            return finding(State::OutOfOrder, "has not run in this kernel");
        };
        let at = self.at(run);
        if run.first > used.order {
            return finding(State::OutOfOrder, &format!("ran after it ({at})"));
        }
        if write == Write::Defines && self.is_fixed(writer, used.name) {
            return None;
        }
        if run.source != cell.source {
            return finding(State::InputChanged, &format!("was edited since its {at}"));
        }
        if run.order > used.order {
            return finding(State::InputChanged, &format!("was rerun ({at})"));
        }
        if run.has_failed {
            return finding(State::InputChanged, &format!("has failed ({at})"));
        }
        match above[writer].state {
            state if state.is_stale() => finding(State::InputChanged, &format!("is stale: {}", state.name())),
            State::MayHaveChanged => finding(State::MayHaveChanged, "may have changed itself"),
            _ => None,
        }
    }

    /// What wrote the name after its writers had, and before the cell ran.
    fn overwritten(&self, used: Used<'_>, definer: usize, writers: &[(usize, Write)]) -> Option<Finding> {
        let defined = self.run(definer).filter(|run| self.is_present(run))?;
        let defined_at = defined.last_before(used.order)?;
        let is_writer = |event: &Event<'_>| {
            event.position.is_some_and(|position| writers.iter().any(|(writer, _)| *writer == position))
        };
        let fixed = defined.names.fixed.get(used.name);
        let is_same = |event: &Event<'_>| fixed.is_some() && event.run.names.fixed.get(used.name) == fixed;
        let others = self
            .earlier_writes(used)
            .filter(|(event, order)| *order > defined_at && !is_writer(event) && !is_same(event));
        let (event, _) = others.max_by_key(|(event, order)| (!event.write.is_weak(), *order))?;
        if event.write.is_weak() {
            let clause = format!("{} {} and ran before it", self.source_of(event), verb(event.write));
            return Some(used.finding(State::MayHaveChanged, &clause));
        }
        let from = self.source_of(event);
        let clause = format!("{from} wrote it after {} and before this ran", self.cell(definer));
        Some(used.finding(State::OutOfOrder, &clause))
    }

    /// Where a name comes from that no cell above defines.
    fn without_definer(&self, used: Used<'_>) -> Option<Finding> {
        let others = self.writers(used.name);
        let below =
            others.iter().find(|(position, write)| *position > used.position && *write == Write::Defines);
        let written = self
            .earlier_writes(used)
            .filter(|(event, _)| event.write == Write::Defines)
            .max_by_key(|(_, order)| *order);
        match (written, below) {
            (Some((event, ..)), Some((below, _))) => {
                let from = self.source_of(event);
                let clause = format!("it came from {from}, and only {} defines it, below", self.cell(*below));
                Some(used.finding(State::OutOfOrder, &clause))
            }
            (Some((event, ..)), None) => {
                let clause = format!("it came from {}, and no cell defines it", self.source_of(event));
                self.gone(used, &clause)
            }
            (None, Some(_)) => None,
            (None, None) => self.never_written(used),
        }
    }

    /// A name that nothing wrote in this kernel before the cell ran.
    fn never_written(&self, used: Used<'_>) -> Option<Finding> {
        if is_builtin(used.name) {
            return None;
        }
        let id = &self.facts.cells[used.position].id;
        let defined = self.facts.runs.iter().find(|run| {
            (run.is_superseded || run.cell.as_ref() != Some(id))
                && run.names.effects.defines.contains(used.name)
        });
        if let Some(run) = defined {
            let clause = format!("it was last defined by code that is gone ({})", self.at(run));
            return self.gone(used, &clause);
        }
        // A cell of which nothing is known may define it.
        let is_later = |position: &usize| {
            self.now[*position].unknown.is_some()
                && self.run(*position).is_none_or(|run| {
                    !self.is_present(run)
                        || run.order > used.order
                        || run.source != self.facts.cells[*position].source
                })
        };
        let unknown = (0..used.position).rev().find(is_later)?;
        let why = self.now[unknown].unknown.as_ref()?;
        let clause =
            format!("{} ({why}) may define it and has not run since, or ran later", self.cell(unknown));
        Some(used.finding(State::MayHaveChanged, &clause))
    }

    /// A name that no other cell defines any longer, unless one does of which nothing is known.
    fn gone(&self, used: Used<'_>, clause: &str) -> Option<Finding> {
        let is_known = self.now.iter().all(|effective| effective.unknown.is_none());
        is_known.then(|| used.finding(State::UndefinedName, clause))
    }

    /// What other code wrote to the name in this kernel before the cell ran, and when.
    fn earlier_writes(&self, used: Used<'_>) -> impl Iterator<Item = (&Event<'_>, u64)> {
        self.events(used.name).iter().filter_map(move |event| {
            // What the cell itself did counts if it defined the name by another source: running it again does not undo that.
            let is_own = event.position == Some(used.position);
            let is_same = event.run.source == self.facts.cells[used.position].source;
            if is_own && (is_same || event.write != Write::Defines) {
                return None;
            }
            Some((event, event.run.last_before(used.order)?))
        })
    }
}

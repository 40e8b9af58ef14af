//! The rules about one name that a cell uses.

use std::collections::BTreeMap;

use names::{Repeat, is_builtin, is_configuration, is_history, is_shared};

use crate::book::{Book, Event};
use crate::effective::Write;
use crate::evidence::{uses, verb};
use crate::facts::{CellState, Input, Run, State, Writer};

/// Something that is wrong with an input.
pub(crate) struct Finding {
    pub(crate) state: State,
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
    fn finding(&self, state: State, clause: &str) -> Finding {
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
            let limit = worst.as_ref().map_or(State::UpToDate, |worst: &Finding| worst.state);
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
                self.kept(used, definer)
                    .or_else(|| self.of_earlier_class(used))
                    .or_else(|| self.left_over(used, writers)),
            ],
            None if used.is_own => [const { None }; 3],
            None if is_shared(used.name) => [self.misconfigured(used, writers), None, None],
            None => {
                let is_missing = !is_builtin(used.name);
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
            let used = Used { position, order: u64::MAX, execution_count: None, name, through, is_own };
            let (writers, definer) = self.writers_above(name, position);
            let is_stale = |finding: Finding| finding.state.is_stale();
            let is_overwritten = definer.is_some_and(|definer| {
                let is_module = self.is_module(definer, name);
                self.overwritten(used, definer, writers).is_some_and(is_stale)
                    || !is_module && self.repeated(used, definer, writers).is_some()
                    || self.kept(used, definer).is_some()
            }) || self.misconfigured(used, writers).is_some_and(is_stale);
            let made = definer.and_then(|definer| self.made(used, definer));
            let writers =
                writers.iter().map(|(writer, write)| self.writer_of(*writer, *write, used, made)).collect();
            let keys = effective.keys.get(name).map(|keys| &keys.inputs);
            let keeps = effective.keeps.get(name).into_iter().chain(keys).flatten();
            let keeps = keeps.map(|it| (*it).to_owned()).collect();
            let made_with = self.made_with(used, &definitions);
            Input { name: name.to_owned(), writers, is_overwritten, keeps, made_with }
        };
        let inputs = effective.uses.iter().map(|(name, through)| input(name, *through));
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
        let run = self.run(definer).filter(|run| self.is_present(run))?;
        let is_made = match &run.assigned {
            Some(assigned) => assigned.contains(used.name),
            None => !run.has_failed,
        };
        let order = run.last_before(used.order).filter(|_| is_made && !self.is_module(definer, used.name))?;
        Some(Made { definer, order })
    }

    /// What is wrong with one writer, if it is worse than `limit`.
    fn writer(
        &self,
        used: Used<'_>,
        (writer, write): (usize, Write),
        made: Option<Made>,
        above: &[CellState],
        limit: State,
    ) -> Option<Finding> {
        let exactly = |state: State, clause: &dyn Fn() -> String| {
            let does = || verb(self.now[writer].writes.get(used.name).copied().unwrap_or(write));
            let worded =
                || used.finding(state, &format!("{} {} and {}", self.cell(writer), does(), clause()));
            (state < limit).then(worded)
        };
        let finding = |state, clause: &dyn Fn() -> String| {
            exactly(if write.is_weak() { State::MayHaveChanged } else { state }, clause)
        };
        let cell = &self.facts.cells[writer];
        if above[writer].state == State::OutputsFromElsewhere {
            // The file is an older one again: what the name has is what our later run gave it.
            let later = self.run(writer).filter(|run| self.is_present(run) && run.source != cell.source);
            let later =
                later.filter(|run| run.order < used.order && cell.execution_count < run.execution_count);
            if let Some(run) = later {
                let clause = || format!("has another source than in its {}", self.at(run));
                return exactly(State::InputChanged, &clause);
            }
            // Somebody else ran it. The counts tell in which order, if it was in this kernel.
            let count =
                cell.execution_count.filter(|count| used.execution_count.is_some_and(|own| own < *count))?;
            return finding(State::OutOfOrder, &|| format!("has run after it, as In[{count}]"));
        }
        let Some(run) = self.run(writer).filter(|run| self.is_present(run)) else {
            return finding(State::OutOfOrder, &|| "has not run in this kernel".to_owned());
        };
        let at = || self.at(run);
        if run.first > used.order {
            return finding(State::OutOfOrder, &|| format!("ran after it ({})", at()));
        }
        if let Some(made) = made.filter(|made| made.loses(run, write, used)) {
            return finding(State::OutOfOrder, &|| {
                format!("has not done so since {} ran", self.cell(made.definer))
            });
        }
        if run.order == used.order && self.adds_to(writer, write, used.name) {
            return finding(State::OutOfOrder, &|| {
                format!("has run only once, together with this copy of it ({})", at())
            });
        }
        if write.binds() && self.is_fixed(writer, used.name) {
            return None;
        }
        let state = match above[writer].state {
            // So is each name that it writes.
            State::UpToDate => State::UpToDate,
            state => above[writer].writes.get(used.name).map_or(state, |written| written.state),
        };
        if run.source != cell.source && state == State::Edited {
            return exactly(State::InputChanged, &|| format!("was edited since its {}", at()));
        }
        if run.order > used.order {
            let clause = || format!("was rerun ({})", at());
            match self.rerun(writer, used.name, used.order) {
                Rerun::SameValue => {}
                Rerun::NewInput => return exactly(State::InputChanged, &clause),
                Rerun::Unknown => return finding(State::InputChanged, &clause),
            }
        }
        if is_cut(run, used.name) {
            return finding(State::InputChanged, &|| format!("has failed ({})", at()));
        }
        match state {
            state if state.is_stale() => {
                exactly(State::InputChanged, &|| format!("is stale: {}", state.name()))
            }
            State::MayHaveChanged => exactly(State::MayHaveChanged, &|| "may have changed itself".to_owned()),
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
            return Rerun::NewInput;
        };
        let between = (seen_at, run.order);
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
        if (is_for_others || is_again) && is_same { Rerun::SameValue } else { Rerun::Unknown }
    }

    /// When a cell last ran before another one used what it defines, with any source.
    fn defined_at(&self, definer: usize, run: &Run, used: Used<'_>) -> Option<u64> {
        let earlier = || self.ran_before(definer, used.order).map(|(_, order, _)| order);
        run.last_before(used.order).or_else(earlier)
    }

    /// What wrote the name after its writers had, and before the cell ran.
    fn overwritten(&self, used: Used<'_>, definer: usize, writers: &[(usize, Write)]) -> Option<Finding> {
        let defined = self.run(definer).filter(|run| self.is_present(run))?;
        // What failed before it defined the name has left it as it was.
        let is_defined = !defined.has_failed || defined.has_assigned(used.name);
        let defined_at = if is_defined { self.defined_at(definer, defined, used)? } else { 0 };
        let is_writer = |event: &Event<'_>| event.position.is_some_and(|position| has(writers, position));
        let fixed = defined.names.fixed.get(used.name);
        let is_same = |event: &Event<'_>| fixed.is_some() && event.run.names.fixed.get(used.name) == fixed;
        let others = self
            .earlier_writes(used)
            .filter(|(event, order)| *order > defined_at && !is_writer(event) && !is_same(event));
        // What an edit has removed is not done again.
        let is_module = self.is_module(definer, used.name);
        let is_removed = |event: &Event<'_>| {
            !is_module
                && event
                    .position
                    .is_some_and(|position| self.facts.cells[position].source != event.run.source)
        };
        let is_weak = |event: &Event<'_>| event.write.is_weak() && !is_removed(event);
        let (event, _) = others.max_by_key(|(event, order)| (!is_weak(event), *order))?;
        if is_weak(event) {
            let clause = format!("{} {} and ran before it", self.source_of(event), verb(event.write));
            return Some(used.finding(State::MayHaveChanged, &clause));
        }
        let from = self.source_of(event);
        let clause = format!("{from} wrote it after {} and before this ran", self.cell(definer));
        Some(used.finding(State::OutOfOrder, &clause))
    }

    /// Whether the cell itself, or a cell that changes the object, has done so more often than a run of the notebook does.
    fn repeated(&self, used: Used<'_>, definer: usize, writers: &[(usize, Write)]) -> Option<Finding> {
        let defined = self.run(definer).filter(|run| self.is_present(run))?;
        let defined_at = self.defined_at(definer, defined, used)?;
        let is_writer = |position: usize| position != definer && has(writers, position);
        // Of the others, none has: this is asked of each user of a random state, which has hundreds of writers.
        let is_rewritten = self.is_rewritten(used.name);
        // For each cell, how often it has done so, and whether that is seen.
        let mut changes = BTreeMap::<usize, (usize, bool)>::new();
        for event in self.events(used.name) {
            let Some(position) = event.position else { continue };
            let is_own = position == used.position;
            if !(is_own || is_rewritten && is_writer(position)) {
                continue;
            }
            let times =
                event.run.orders().filter(|order| (defined_at + 1..used.order).contains(order)).count();
            // What another source did is not done again.
            let counts = times > 0
                && (is_own || !event.write.binds())
                && is_lasting(event, used, is_own, defined_at, self);
            let known = changes.entry(position).or_insert((usize::from(is_own), false));
            *known = (known.0 + times, known.1 | counts);
        }
        let (position, _) = changes.into_iter().find(|(_, (times, counts))| *times > 1 && *counts)?;
        let who = if position == used.position { "it".to_owned() } else { self.cell(position) };
        let clause = format!("{who} has changed it more than once since {} ran", self.cell(definer));
        Some(used.finding(State::OutOfOrder, &clause))
    }

    /// Whether the part that an event changed may not be the part that its cell changes now.
    fn has_other_keys(&self, event: &Event<'_>, used: Used<'_>, defined_at: u64, position: usize) -> bool {
        let Some(keys) = self.now[position].keys.get(used.name) else { return false };
        let is_edited = event.run.source != self.facts.cells[position].source;
        let since = event.run.orders().find(|order| *order > defined_at).unwrap_or(event.run.order);
        let is_new = |key: &&str| self.is_written_between(key, position, (since, used.order));
        keys.is_local && is_edited || keys.inputs.iter().any(is_new)
    }

    /// Cells that may define the name have run again with other values, and have not defined it: it is that of an earlier run. The memory
    /// does not show an assignment of the same object, so that this is not sure.
    fn left_over(&self, used: Used<'_>, writers: &[(usize, Write)]) -> Option<Finding> {
        let mut last = None;
        for (writer, _) in writers.iter().filter(|(_, write)| write.binds()) {
            let run = self.run(*writer).filter(|run| self.is_present(run) && !run.has_failed)?;
            let is_left = run.assigned.is_some()
                && !run.has_assigned(used.name)
                && self.now[*writer].writes.get(used.name) == Some(&Write::MayDefine)
                && run.source == self.facts.cells[*writer].source
                && run.order < used.order;
            let before = run.earlier.last().filter(|_| is_left)?;
            let inputs = &self.now[*writer].flows.get(used.name)?.inputs;
            let between = (*before, run.order);
            let is_new = |input: &&str| *input != used.name && self.is_assigned_between(input, between);
            inputs.iter().find(|input| is_new(input))?;
            last = Some((writer, run));
        }
        let (writer, run) = last?;
        let clause = format!("{} may define it and did not ({})", self.cell(*writer), self.at(run));
        Some(used.finding(State::MayHaveChanged, &clause))
    }

    /// Whether a run has given a name another object between two others, as far as the memory shows it.
    fn is_assigned_between(&self, name: &str, (from, to): (u64, u64)) -> bool {
        self.events(name).iter().any(|event| {
            event.run.last_before(to).is_some_and(|order| order > from)
                && (event.run.assigned.is_none() || event.run.has_assigned(name))
        })
    }

    /// Where a name comes from that no cell above defines.
    fn without_definer(&self, used: Used<'_>) -> Option<Finding> {
        let others = self.writers(used.name);
        let below = others.iter().find(|(position, write)| *position > used.position && write.binds());
        let written = self
            .earlier_writes(used)
            .filter(|(event, _)| event.write.binds())
            .max_by_key(|(_, order)| *order);
        match (written, below) {
            (Some((event, ..)), Some((below, _))) => {
                let from = self.source_of(event);
                let clause = format!("it came from {from}, and only {} defines it, below", self.cell(*below));
                Some(used.finding(State::OutOfOrder, &clause))
            }
            (Some((event, order)), None) if is_builtin(used.name) && !is_history(used.name) => {
                // It is there in each kernel, but hidden in this one, unless the name was deleted since.
                let is_deleted = self
                    .earlier_writes(used)
                    .any(|(other, at)| at > order && other.run.names.effects.deletes.contains(used.name));
                let from = self.source_of(event);
                let clause = format!("{from} defines it until the kernel restarts, and ran before it");
                (!is_deleted).then(|| used.finding(State::MayHaveChanged, &clause))
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
        if is_history(used.name) {
            return Some(
                used.finding(State::NothingKnown, "it has what ran before it, which nobody follows"),
            );
        }
        if is_builtin(used.name) {
            return None;
        }
        let id = &self.facts.cells[used.position].id;
        let is_gone = |run: &&&Run| run.is_superseded || run.cell.as_ref() != Some(id);
        let defined = self.defining(used.name).iter().find(is_gone);
        if let Some(run) = defined {
            let clause = format!("it was last defined by code that is gone ({})", self.at(run));
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
        let unknown = above.rev().find(is_later)?;
        let why = self.now[unknown].unknown?;
        let clause =
            format!("{} ({why}) may define it and has not run since, or ran later", self.cell(unknown));
        Some(used.finding(State::MayHaveChanged, &clause))
    }

    /// A name that no other cell defines any longer, unless one above may do so of which nothing is known.
    fn gone(&self, used: Used<'_>, clause: &str) -> Option<Finding> {
        let may_define = |position: &usize| {
            let names = &self.facts.cells[*position].names;
            *position < used.position && (names.binds_anything || names.possible.contains(used.name))
        };
        let is_defined = self.unknown().iter().any(may_define);
        (!is_defined).then(|| used.finding(State::UndefinedName, clause))
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
        !write.binds() && run.last_before(used.order).is_some_and(|order| order < self.order)
    }
}

/// Whether a cell is among writers.
fn has(writers: &[(usize, Write)], position: usize) -> bool {
    writers.binary_search_by_key(&position, |(writer, _)| *writer).is_ok()
}

/// What the reruns of a cell mean for a name.
enum Rerun {
    /// The cell ran again for something else.
    SameValue,
    NewInput,
    Unknown,
}

/// Whether a writer ended before it could define or change the name as it does in a fresh run: it was stopped, or the name is still that
/// of an earlier run which did not fail. A fresh run fails in the same place, so that what it left is what a fresh run leaves.
fn is_cut(run: &Run, name: &str) -> bool {
    run.has_failed && !run.has_assigned(name) && (run.is_interrupted || run.has_succeeded)
}

/// Whether what an event did to an object is still there after its cell has run again.
fn is_lasting(event: &Event<'_>, used: Used<'_>, is_own: bool, defined_at: u64, book: &Book<'_>) -> bool {
    if event.run.has_failed && event.run.assigned.is_some() && !event.run.has_assigned(used.name) {
        return false;
    }
    match event.repeat {
        Repeat::Differs => true,
        // A cell that binds the name that it uses makes the value from the last one.
        _ if event.write.binds() => is_own,
        // The next run begins with it again, to be sure.
        Repeat::Unknown => is_own && used.is_next(),
        Repeat::Same => {
            let parts =
                |names: &names::Names| names.effects.parts.get(used.name).cloned().unwrap_or_default();
            let now = event.position.map(|position| parts(&book.facts.cells[position].names));
            // What the cell did with another source is part of what it changes now.
            let is_used =
                |position: usize| book.now[position].repeats.get(used.name) == Some(&Repeat::Differs);
            now.is_some_and(|now| parts(&event.run.names).iter().any(|part| !now.contains(part)))
                || is_own && event.position.is_some_and(is_used)
                || event
                    .position
                    .is_some_and(|position| book.has_other_keys(event, used, defined_at, position))
        }
    }
}

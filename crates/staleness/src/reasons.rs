//! The reason why a name has another value than in a run of the whole notebook, in words.

use std::collections::BTreeSet;
use std::time::SystemTime;

use names::{is_configuration, is_file, is_handle, is_history, is_predefined, is_shared};

use crate::facts::{CellState, Obstacle, Run, StaleState};
use crate::modules::modules_of;
use crate::replay::{Replay, is_cut};
use crate::rules::{Finding, Used, finding};
use crate::value::{Caller, Difference, Kind, NOBODY, Value, Write, Writer};

impl<'a> Replay<'a> {
    /// The worst reason for a value that differs. `above` has the states of the cells above.
    pub(crate) fn reason(&self, used: &Used<'_, 'a>, above: &[CellState]) -> Option<Finding> {
        if let Some(finding) = self.left_over(used) {
            return Some(finding);
        }
        let Some(gets) = used.gets.filter(|gets| gets.is_defined() || is_shared(used.name)) else {
            return self.without_definer(used);
        };
        let path = gets.module.filter(|module| used.got.is_some_and(|got| got.module == Some(module)));
        if let Some(finding) = path.and_then(|path| self.edited_module(used.name, used.through, path)) {
            return Some(finding);
        }
        // The first one from the definition on that is worst.
        let (mut worst, mut least) = (None, StaleState::NothingKnown);
        for writer in gets.writers.iter() {
            if let Some(wrong) = self.wrong(used, writer, above).filter(|wrong| wrong.state() <= least) {
                least = wrong.state();
                worst = Some((writer, wrong));
            }
        }
        let foreign = if least > StaleState::OutOfOrder { self.foreign(used, gets) } else { None };
        Some(
            foreign
                .or_else(|| Some(self.said(used, &worst?)))
                .unwrap_or_else(|| self.wrong_in_kernel(used, gets)),
        )
    }

    /// It was imported from a file that has another content now, or had another one then.
    pub(crate) fn edited_module(&self, used: &str, through: Option<&str>, path: &str) -> Option<Finding> {
        let is_other = |(name, digest): &(&str, u64)| self.fresh_modules.get(name) != Some(digest);
        let edited = modules_of(path, &self.loaded).find(is_other);
        let (name, _) = edited.or_else(|| modules_of(path, &self.loaded).next())?;
        let file = self.facts.runs.iter().rev().find_map(|run| Some(&run.loaded.get(name)?.file))?;
        let clause = match edited {
            Some(_) => format!(
                "{file} was edited after Python had loaded it; a restart or importlib.reload({name}) loads it again"
            ),
            None => format!("{file} was loaded again since"),
        };
        let obstacle = edited.filter(|_| !self.reloads).map(|_| Obstacle::LoadedModule);
        Some(Finding { obstacle, ..finding(StaleState::InputChanged, used, through, &clause) })
    }

    /// A branch was not taken again, and the name has the value of an earlier run: a fresh one may fail, or use the one above.
    fn left_over(&self, used: &Used<'_, 'a>) -> Option<Finding> {
        let writer = used.got?.writers.iter().find(|writer| writer.write.binds())?;
        let (position, order) = (writer.caller.position()?, self.present_run(used.position)?.order);
        let run = self.present_run(position).filter(|run| run.order > writer.order && run.order < order)?;
        let is_left = !run.has_failed
            && run.assigned.is_some()
            && !run.has_assigned(used.name)
            && self.now[position].writes.get(used.name) == Some(&Write::MayDefine);
        let clause = format!("{} may define it, but did not ({})", self.cell(position), self.at(run));
        is_left.then(|| finding(StaleState::MayHaveChanged, used.name, used.through, &clause))
    }

    /// The fault of one of the cells that write the name in a run of the whole notebook.
    fn wrong(&self, used: &Used<'_, 'a>, writer: Writer, above: &[CellState]) -> Option<Wrong> {
        let position = writer.caller.position()?;
        let user = self.present_run(used.position)?;
        let state = above.get(position).map(|state| state.state)?;
        let Some(run) = self.present_run(position) else { return Some(Wrong::HasNotRun) };
        if state == StaleState::OutputsFromElsewhere {
            let count = self.facts.cells[position].execution_count?;
            if run.source != self.facts.cells[position].source {
                return Some(Wrong::OtherSource);
            }
            return (Some(count) > user.execution_count).then_some(Wrong::RanElsewhere(count));
        }
        if run.first > user.order {
            return Some(Wrong::RanAfter);
        }
        if state == StaleState::Edited {
            return Some(Wrong::Edited);
        }
        if run.order > user.order {
            return Some(Wrong::Rerun);
        }
        if is_cut(run) && !run.has_assigned(used.name) {
            return Some(Wrong::Failed);
        }
        state.is_stale().then_some(Wrong::IsStale(state))
    }

    fn said(&self, used: &Used<'_, 'a>, (writer, wrong): &(Writer, Wrong)) -> Finding {
        let position = writer.caller.position().unwrap_or_default();
        let at = || self.present_run(position).map(|run| self.at(run)).unwrap_or_default();
        let clause = match wrong {
            Wrong::HasNotRun => "has not run in this kernel".to_owned(),
            Wrong::OtherSource => format!("has another source than in its {}", at()),
            Wrong::RanElsewhere(count) => format!("has run after it, as In[{count}]"),
            Wrong::RanAfter => format!("ran after it ({})", at()),
            Wrong::Edited => format!("was edited after its {}", at()),
            Wrong::Rerun => format!("was rerun ({})", at()),
            Wrong::Failed => format!("has failed ({})", at()),
            Wrong::IsStale(state) => format!("is stale: {}", state.name()),
        };
        let clause = format!("{} {} and {clause}", self.cell(position), verb(used.name, writer.write));
        finding(wrong.state(), used.name, used.through, &clause)
    }

    fn definer(&self, gets: &Value<'a>) -> String {
        let definer = gets.writers.iter().last().and_then(|writer| writer.caller.position());
        definer.map_or_else(String::new, |definer| self.cell(definer))
    }

    /// Something else had written the name last.
    fn foreign(&self, used: &Used<'_, 'a>, gets: &Value<'a>) -> Option<Finding> {
        let got = used.got?;
        let callers: BTreeSet<Caller> = gets.writers.iter().map(|writer| writer.caller).collect();
        let is_expected = |writer: &Writer| {
            let cell = writer.position.map(Caller::Cell);
            writer.position == Some(used.position)
                || callers.contains(&writer.caller)
                || cell.is_some_and(|cell| callers.contains(&cell))
        };
        let other = got.writers.iter().find(|writer| !writer.write.is_weak() && !is_expected(writer))?;
        Some(self.overwritten(used, other, gets))
    }

    fn overwritten(&self, used: &Used<'_, 'a>, other: Writer, gets: &Value<'a>) -> Finding {
        let (source, definer) = (self.source_of(other), self.definer(gets));
        let does = if is_configuration(used.name) { "changed" } else { "wrote" };
        let clause = format!("{source} {does} it after {definer} and before this ran");
        finding(StaleState::OutOfOrder, used.name, used.through, &clause)
    }

    /// The kernel's value, where all cells that write the name have run in time.
    fn wrong_in_kernel(&self, used: &Used<'_, 'a>, gets: &Value<'a>) -> Finding {
        let say = |clause: &str| finding(StaleState::OutOfOrder, used.name, used.through, clause);
        let writers: Vec<Writer> = gets.writers.iter().collect();
        let definer = self.definer(gets);
        let Some(got) = used.got else {
            return say(&format!("{definer} has not defined it before this ran"));
        };
        if got.keeps_others(gets, NOBODY) {
            return say("it keeps results that it has made of other values");
        }
        let had: Vec<Writer> = got.writers.iter().collect();
        let is_own = |writer: &Writer| writer.position == Some(used.position);
        let is_replaced = |writer: &Writer| writer.write.binds() && writer.caller.position().is_none();
        let other = had.iter().find(|writer| {
            (!is_own(writer) || is_replaced(writer)) && !writers.iter().any(|it| it.caller == writer.caller)
        });
        if let Some(other) = other {
            return self.overwritten(used, *other, gets);
        }
        let mut seen = BTreeSet::new();
        let twice = had.iter().find(|writer| !seen.insert(writer.caller) || is_own(writer));
        if let Some(twice) = twice {
            let who = match twice.caller {
                _ if is_own(twice) => "it".to_owned(),
                Caller::Cell(position) => self.cell(position),
                Caller::Past(_) => self.source_of(*twice),
            };
            return say(&format!("{who} has changed it more than once since {definer} ran"));
        }
        // The same cells wrote it, in another order.
        let lost = writers.iter().find(|writer| !had.iter().any(|other| other.caller == writer.caller));
        let first = lost.or(writers.first()).map(|writer| self.source_of(*writer)).unwrap_or_default();
        say(&format!("{first} has not done so since {definer} ran"))
    }

    /// A method was called that may have changed the value.
    pub(crate) fn doubt(&self, used: &Used<'_, 'a>, difference: Difference) -> Finding {
        let order = self.present_run(used.position).map_or(0, |run| run.order);
        let empty = Value::default();
        let (got, gets) = (used.got.unwrap_or(&empty), used.gets.unwrap_or(&empty));
        let calling: Vec<Writer> = gets.writers.iter().filter(|writer| writer.write.is_weak()).collect();
        let is_other = |it: &Writer| !gets.writers.iter().any(|writer| it.caller == writer.caller);
        let does = |writer: Writer| verb(used.name, writer.write);
        let clause = if let Some(writer) = calling.iter().find(|writer| writer.order > order) {
            let cell = writer.position.map(|at| self.cell(at)).unwrap_or_default();
            let at = writer.run.map(|run| self.at(&self.facts.runs[run])).unwrap_or_default();
            format!("{cell} {} and was rerun ({at})", does(*writer))
        } else if let Some(writer) = calling.iter().find(|writer| !got.has_call_of(writer.caller)) {
            format!("{} {} and has not run before it", self.source_of(*writer), does(*writer))
        } else if let Some(writer) = got.writers.iter().find(is_other) {
            let is_call = writer.write.is_weak() && !self.is_module(used.name, used.position);
            let does = if is_call { does(writer) } else { "changes it until the kernel restarts," };
            format!("{} {does} and ran before it", self.source_of(writer))
        } else {
            "it may have changed since".to_owned()
        };
        let finding = finding(StaleState::MayHaveChanged, used.name, used.through, &clause);
        Finding { is_without_effect: difference == Difference::Fills, ..finding }
    }

    /// A cell above may have given the name another value than it did.
    pub(crate) fn unsure(&self, used: &Used<'_, 'a>, unsure: &[BTreeSet<&'a str>]) -> Option<Finding> {
        let writers = used.gets?.writers.iter();
        let mut positions = writers.filter_map(|writer| Some((writer.caller.position()?, writer.write)));
        let is_unsure =
            |(position, _): &(usize, Write)| unsure.get(*position).is_some_and(|it| it.contains(used.name));
        let (position, write) = positions.find(is_unsure)?;
        let clause =
            format!("{} {} and may have changed itself", self.cell(position), verb(used.name, write));
        Some(finding(StaleState::MayHaveChanged, used.name, used.through, &clause))
    }

    /// The origin of a name that no cell above defines.
    fn without_definer(&self, used: &Used<'_, 'a>) -> Option<Finding> {
        let say = |state, clause: &str| Some(finding(state, used.name, used.through, clause));
        let all = self.definers.get(used.name).map(Vec::as_slice).unwrap_or_default();
        let below = all.iter().find(|definer| **definer > used.position);
        let writer = used.got.and_then(|got| got.writers.iter().find(|writer| writer.write.binds()));
        let source =
            writer.map_or_else(|| "code that is not known".to_owned(), |writer| self.source_of(writer));
        match below {
            // Not `undefined name`: the notebook defines it, but too late for a run from top to bottom.
            Some(below) => {
                let below = self.cell(*below);
                say(
                    StaleState::OutOfOrder,
                    &format!("it came from {source}, and only {below} defines it, below"),
                )
            }
            None if is_predefined(used.name) && !is_history(used.name) => say(
                StaleState::MayHaveChanged,
                &format!("{source} defines it until the kernel restarts, and ran before it"),
            ),
            None if self.may_be_defined(used) => None,
            None => say(StaleState::UndefinedName, &format!("it came from {source}, and no cell defines it")),
        }
    }

    /// A name that nothing wrote in this kernel before the cell ran, and nothing writes in a run of the whole notebook.
    pub(crate) fn never_written(&self, used: &Used<'_, 'a>) -> Option<Finding> {
        if is_history(used.name) {
            let clause = "its value depends on earlier runs, which are not tracked";
            return Some(finding(StaleState::NothingKnown, used.name, used.through, clause));
        }
        if is_predefined(used.name) || self.now[used.position].own.contains(used.name) {
            return None;
        }
        let elsewhere = self.definers.get(used.name).into_iter().flatten();
        if { elsewhere }.any(|at| *at > used.position) {
            // As far as is known, the cell has found as little as a fresh run does.
            return None;
        }
        let id = &self.facts.cells[used.position].id;
        let is_gone = |run: &&&Run| run.is_superseded || run.cell.as_ref() != Some(id);
        let defining = self.defining.get(used.name).into_iter().flatten();
        if let Some(run) = { defining }.find(is_gone) {
            let clause = format!("the code that last defined it no longer exists ({})", self.at(run));
            return (!self.may_be_defined(used))
                .then(|| finding(StaleState::UndefinedName, used.name, used.through, &clause));
        }
        let order = self.present_run(used.position)?.order;
        // A cell of which nothing is known may define it.
        let is_later = |position: &usize| {
            self.run(*position).is_none_or(|run| {
                !self.is_present(run) || run.order > order || run.source != self.facts.cells[*position].source
            })
        };
        // From the nearest one up, as for a name that is known: the last to bind it decides.
        let mut all = (0..used.position).rev().filter(|at| self.may_bind_anything(*at));
        let unknown = all.find(|at| is_later(at) || self.is_unsure(*at))?;
        let why = self.now[unknown].unknown?;
        let but = if is_later(&unknown) {
            "but has not run since, or ran too late"
        } else {
            "and may have changed itself"
        };
        let clause = format!("{} ({why}) may define it, {but}", self.cell(unknown));
        Some(finding(StaleState::MayHaveChanged, used.name, used.through, &clause))
    }

    /// Whether a cell that may use any name found another value of one than in a run of the whole notebook.
    pub(crate) fn is_unsure(&self, position: usize) -> bool {
        self.last[position].as_ref().is_some_and(|last| last.all != self.fresh[position].all)
    }

    /// Whether a cell above may define a name of which nothing is known.
    pub(crate) fn may_be_defined(&self, used: &Used<'_, 'a>) -> bool {
        let may_define = |position: usize| {
            let names = &self.facts.cells[position].names;
            names.binds_anything || names.possible.contains(used.name)
        };
        (0..used.position).any(|position| self.may_bind_anything(position) && may_define(position))
    }

    /// Tells of cells that nothing else is wrong with, but that show something else than in a run of the whole notebook.
    pub(crate) fn judge_displays(&self, states: &mut [CellState]) {
        for position in 0..states.len() {
            if states[position].state <= StaleState::MayHaveChanged || self.present_run(position).is_none() {
                continue;
            }
            let evidence =
                self.displays(position).into_iter().find_map(|name| self.updated(name, position, states));
            if let Some(evidence) = evidence {
                (states[position].state, states[position].evidence) = (StaleState::MayHaveChanged, evidence);
            }
        }
    }

    /// The names that stand for displays of a cell, which it shows or updates.
    fn displays(&self, position: usize) -> Vec<&'a str> {
        let is_display = |name: &str| {
            let definer = self.definer_above(name, position + 1);
            let maker = definer.and_then(|at| self.facts.cells[at].names.made_by.get(name));
            names::is_display(name) || maker.is_some_and(|maker| is_handle(maker))
        };
        self.now[position].writes.keys().copied().filter(|name| is_display(name)).collect()
    }

    fn updated(&self, name: &str, position: usize, states: &[CellState]) -> Option<String> {
        let (has, gets) = (self.kernel.get(name)?, self.end.get(name)?);
        let is_own =
            |value: &Value<'a>| value.writers.iter().any(|writer| writer.caller == Caller::Cell(position));
        if !is_own(gets) || has.difference(gets, NOBODY, Kind::Object, &|_| None) != Difference::Differs {
            return None;
        }
        let stale = gets.writers.iter().filter_map(|writer| writer.caller.position());
        let stale = { stale }.find(|at| *at != position && states[*at].state.is_stale());
        if let Some(stale) = stale {
            let state = states[stale].state.name();
            return Some(format!("shows {name}: {} updates it and is stale: {state}", self.cell(stale)));
        }
        let last = has.writers.iter().next()?;
        Some(format!("shows {name}: {} updated it afterwards", self.source_of(last)))
    }

    /// `run 14:02`
    pub(crate) fn at(&self, run: &Run) -> String {
        format!("run {}", (self.facts.clock)(SystemTime::UNIX_EPOCH + run.ended_at))
    }

    /// `cell 3`
    pub(crate) fn cell(&self, position: usize) -> String {
        // Positions count code cells only; agents know the index in the notebook.
        format!("cell {}", self.facts.cells[position].index)
    }

    /// The origin of a change, and its time: `cell 3 (run 14:02)`.
    pub(crate) fn source_of(&self, writer: Writer) -> String {
        let run = writer.run.map(|index| &self.facts.runs[index]);
        let what = match (writer.caller, run) {
            (Caller::Cell(position), _) => self.cell(position),
            (Caller::Past(index), Some(run)) => match (self.positions[index], &run.cell) {
                // The cell no longer has the code that has changed the name.
                (Some(position), _) if run.is_superseded => {
                    format!("an earlier source of {}", self.cell(position))
                }
                (Some(position), _) => self.cell(position),
                // It has no index that the reader could look up.
                (None, Some(_)) => "a deleted cell".to_owned(),
                (None, None) => "code outside the cells".to_owned(),
            },
            (Caller::Past(_), None) => "code outside the cells".to_owned(),
        };
        match run {
            Some(run) => format!("{what} ({})", self.at(run)),
            None => what,
        }
    }
}

/// The fault of a cell that writes a name which another cell uses.
#[derive(Debug, Clone, Copy)]
enum Wrong {
    HasNotRun,
    /// Another program has run it, and its source is another one than in its last run here.
    OtherSource,
    /// Another program has run it after its user, with this count.
    RanElsewhere(u64),
    RanAfter,
    Edited,
    Rerun,
    Failed,
    IsStale(StaleState),
}

impl Wrong {
    fn state(self) -> StaleState {
        match self {
            Self::HasNotRun | Self::RanElsewhere(_) | Self::RanAfter => StaleState::OutOfOrder,
            Self::OtherSource | Self::Edited | Self::Rerun | Self::Failed | Self::IsStale(_) => {
                StaleState::InputChanged
            }
        }
    }
}

/// The effect of a cell on a name, in a sentence.
fn verb(name: &str, write: Write) -> &'static str {
    match write {
        _ if is_file(name) => "writes it",
        Write::Fills => "calls it, which may have effects later",
        Write::Passes => "passes it to a function that changes it",
        Write::Calls => "calls a method of it",
        Write::Changes => "changes it",
        Write::MayDefine => "may define it",
        Write::Defines => "defines it",
    }
}

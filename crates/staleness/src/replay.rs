//! The versions of all values: those that the kernel has had, as its runs followed one another, and those that a run of the whole notebook
//! from top to bottom gives. A cell whose last run got the same versions as it would get there is up to date.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use foldhash::fast::FixedState;
use names::{
    INTERACTIVITY, Name, Names, Repeat, Unknown, attribute, is_configuration, is_file, is_predefined, patched,
};
use notebook::CellId;

use crate::definers::{Definers, From};
use crate::effective::{Effective, Write};
use crate::facts::{Cell, Facts, Run};
use crate::identity::{Comparable, made_with};
use crate::modules::{self, Loaded, content, is_module};
use crate::value::{Caller, Change, Difference, Kept, Kind, NOBODY, Own, Value, Writer, hash};

pub(crate) type Env<'a> = HashMap<&'a str, Rc<Value<'a>>, FixedState>;

/// What a run has got and done.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trace<'a> {
    /// For each used name, its value.
    pub(crate) got: Vec<Option<Rc<Value<'a>>>>,
    /// For each written name, the change.
    pub(crate) changes: Vec<Change>,
    /// For each written name, the parts that it sets.
    pub(crate) parts: BTreeMap<&'a str, Vec<u64>>,
    /// Stands for all names, if the cell may use any.
    pub(crate) all: u64,
    /// The functions that keep results of other values than there are, each with a name that it uses.
    pub(crate) outdated: Vec<(&'a str, &'a str)>,
    /// Stands for the modules that it has imported.
    pub(crate) imported: u64,
}

pub(crate) struct Replay<'a> {
    pub(crate) facts: Facts<'a>,
    /// For each cell, its last run, as an index.
    runs: Vec<Option<usize>>,
    /// For each run, where its cell is.
    pub(crate) positions: Vec<Option<usize>>,
    /// For each cell, what its source does now.
    pub(crate) now: Vec<Rc<Effective<'a>>>,
    /// For each cell, what its last run in the present kernel got and did.
    pub(crate) last: Vec<Option<Trace<'a>>>,
    /// For each cell, what it gets and does in a run of the whole notebook.
    pub(crate) fresh: Vec<Trace<'a>>,
    /// The modules that the kernel has loaded, and those that a fresh one loads.
    pub(crate) loaded: Loaded<'a>,
    pub(crate) fresh_modules: Loaded<'a>,
    /// Whether a cell loads modules again.
    pub(crate) reloads: bool,
    /// The values in the kernel, and at the end of a run of the whole notebook.
    pub(crate) kernel: Env<'a>,
    pub(crate) end: Env<'a>,
    pub(crate) comparable: Comparable<'a>,
    /// For each name, the runs that define it, in any kernel.
    pub(crate) defining: HashMap<&'a str, Vec<&'a Run>>,
    /// For each name, the cells that define it now.
    pub(crate) definers: HashMap<&'a str, Vec<usize>>,
}

/// One execution of code.
struct Execution<'x, 'a> {
    /// The modules that are loaded when it ends.
    loaded: &'x Loaded<'a>,
    effective: &'x Effective<'a>,
    names: &'a Names,
    caller: Caller,
    run: Option<usize>,
    order: u64,
    identity: u64,
    /// Stands for what is another value each time.
    token: u64,
    /// The run that the kernel has done, or an earlier one that was like it.
    past: Option<&'x Run>,
    /// The end of the run, if it is known.
    ended: Option<&'x Run>,
    /// The names that have other values than in the run that is known.
    differing: &'x BTreeSet<&'a str>,
    /// The end of the last run, if a run of the whole notebook ends otherwise.
    cut: Option<&'x Run>,
}

impl<'a> Execution<'_, 'a> {
    /// What a name is imported as, or from.
    fn module(&self, name: &str) -> Option<&'a str> {
        let star = match &self.names.effects.unknown {
            Some(Unknown::StarImport { module }) => Some(module.as_str()),
            _ => None,
        };
        self.names.imports.get(name).map(String::as_str).or(star)
    }
}

impl<'a> Replay<'a> {
    pub(crate) fn new(facts: Facts<'a>) -> Self {
        let positions = positions(facts);
        let mut runs = vec![None; facts.cells.len()];
        for (index, position) in positions.iter().enumerate() {
            if let Some(position) = position.filter(|_| !facts.runs[index].is_superseded) {
                runs[position] = Some(index);
            }
        }
        let definers = Definers::new(facts);
        let sources = Sources::new(facts, &definers);
        let now: Vec<_> = (0..facts.cells.len())
            .map(|position| {
                let run = runs[position].map(|index| &facts.runs[index]);
                Rc::new(sources.of_cell(position, run))
            })
            .collect();
        let mut replay = Self {
            facts,
            runs,
            positions,
            now,
            last: vec![None; facts.cells.len()],
            fresh: Vec::new(),
            loaded: Loaded::new(),
            reloads: facts.cells.iter().any(|cell| modules::reloads(&cell.names)),
            fresh_modules: Loaded::new(),
            kernel: Env::default(),
            end: Env::default(),
            comparable: Comparable::new(facts),
            defining: HashMap::new(),
            definers: HashMap::new(),
        };
        for run in facts.runs {
            for name in &run.names.effects.defines {
                replay.defining.entry(name).or_default().push(run);
            }
        }
        for (position, effective) in replay.now.iter().enumerate() {
            for (name, _) in effective.writes.iter().filter(|(_, write)| write.binds()) {
                replay.definers.entry(name).or_default().push(position);
            }
        }
        replay.run_past(&sources);
        replay.fresh_modules = modules::fresh(facts, &replay.loaded);
        let (fresh, end) = replay.run_all(&BTreeSet::new());
        (replay.fresh, replay.end) = (fresh, end);
        replay
    }

    /// Follows the runs in the present kernel.
    fn run_past(&mut self, sources: &Sources<'_, 'a>) {
        let facts = self.facts;
        let mut all = Vec::new();
        let present = facts.runs.iter().enumerate().filter(|(_, run)| self.is_present(run));
        for (index, run) in present {
            let position = self.positions[index];
            let same = position.filter(|position| facts.cells[*position].source == run.source);
            let did = match same {
                Some(position) => Rc::clone(&self.now[position]),
                None => Rc::new(sources.of_run(run, position)),
            };
            let caller = same.map_or(Caller::Past(index), Caller::Cell);
            all.extend(run.orders().map(|order| (order, Some(index), caller, did.clone())));
        }
        all.extend(self.elsewhere());
        all.sort_by_key(|(order, ..)| *order);
        let mut env = Env::default();
        let orders: Vec<u64> = all.iter().map(|(order, ..)| *order).collect();
        let mut before = Env::default();
        let mut loaded = Loaded::new();
        for (number, (order, index, caller, did)) in all.into_iter().enumerate() {
            let run = index.map(|index| &facts.runs[index]);
            // A copy of a cell has the run of its original, which was one.
            let is_copy = number.checked_sub(1).is_some_and(|last| orders[last] == order);
            if !is_copy && orders.get(number + 1) == Some(&order) {
                before = env.clone();
            }
            let mut copied = Env::default();
            let env = if is_copy {
                // What adds to an object was done once.
                copied.clone_from(&env);
                let is_once = |(name, write): &(&&'a str, &Write)| {
                    let adds = did.repeats.get(*name) == Some(&Repeat::Differs);
                    adds || write.is_weak() || **write == Write::Defines && did.uses.contains_key(*name)
                };
                for (name, _) in did.writes.iter().filter(is_once) {
                    match before.get(name) {
                        Some(value) => drop(copied.insert(name, value.clone())),
                        None => drop(copied.remove(name)),
                    }
                }
                &mut copied
            } else {
                &mut env
            };
            let position = caller.position().unwrap_or_default();
            if let Some(run) = run.filter(|run| !run.loaded.is_empty()) {
                modules::add(&mut loaded, run);
                modules::load(env, &loaded);
            }
            let execution = Execution {
                loaded: &loaded,
                effective: &did,
                names: run.map_or_else(|| &*facts.cells[position].names, |run| &run.names),
                caller,
                run: index,
                order,
                identity: order,
                token: if run.is_some() { order } else { self.elsewhere_token(position) },
                // Only of the last one is the end known.
                past: run,
                ended: run.filter(|run| order == run.order),
                differing: &BTreeSet::new(),
                cut: None,
            };
            let trace = self.execute(env, &execution, None);
            let position = index.and_then(|index| self.positions[index]);
            let is_last =
                |position: &usize| self.runs[*position] == index && run.is_some_and(|run| run.order == order);
            if let Some(position) = position.filter(is_last) {
                self.last[position] = Some(trace);
            }
        }
        (self.kernel, self.loaded) = (env, loaded);
    }

    /// The runs of cells in other programs: the counts that they show tell when these were.
    fn elsewhere(&self) -> Vec<(u64, Option<usize>, Caller, Rc<Effective<'a>>)> {
        let present: Vec<&Run> = self.facts.runs.iter().filter(|run| self.is_present(run)).collect();
        let run = |position: usize| {
            let count =
                self.facts.cells[position].execution_count.filter(|_| self.is_from_elsewhere(position))?;
            let later = present.iter().filter(|run| run.execution_count.is_some_and(|other| other > count));
            let order = later.map(|run| run.order - 1).min().unwrap_or(u64::MAX - 1);
            Some((order, None, Caller::Cell(position), self.now[position].clone()))
        };
        if present.is_empty() { Vec::new() } else { (0..self.facts.cells.len()).filter_map(run).collect() }
    }

    fn elsewhere_token(&self, position: usize) -> u64 {
        hash(&("elsewhere", self.facts.cells[position].execution_count))
    }

    /// Runs all cells in a fresh kernel. A cell that gets what its last run got does what that did, unless it is one of `again`.
    pub(crate) fn run_all(&self, again: &BTreeSet<usize>) -> (Vec<Trace<'a>>, Env<'a>) {
        // A fresh kernel finds the files that were written.
        let files = self.kernel.iter().filter(|(name, _)| is_file(name));
        let mut env: Env<'a> = files.map(|(name, value)| (*name, value.clone())).collect();
        let mut traces = Vec::with_capacity(self.facts.cells.len());
        for position in 0..self.facts.cells.len() {
            let is_again = again.contains(&position);
            traces.push(self.run_next(&mut env, position, is_again));
        }
        (traces, env)
    }

    /// Runs a cell with these values.
    pub(crate) fn run_next(&self, env: &mut Env<'a>, position: usize, is_again: bool) -> Trace<'a> {
        let (cell, effective) = (&self.facts.cells[position], &self.now[position]);
        if cell.is_blank {
            return Trace::default();
        }
        let run = self.runs[position].map(|index| (index, &self.facts.runs[index]));
        let present = run.filter(|(_, run)| self.is_present(run));
        let differing: BTreeSet<&'a str> = match &self.last[position] {
            Some(last) if !is_again => {
                let uses = effective.uses.keys().zip(&last.got);
                let differs = uses.filter(|(name, got)| {
                    let gets = env.get(*name);
                    self.difference(position, name, got.as_deref(), gets.map(|it| &**it), last)
                        == Difference::Differs
                });
                differs.map(|(name, _)| *name).collect()
            }
            _ => BTreeSet::new(),
        };
        let is_elsewhere = self.is_from_elsewhere(position);
        let same = present.filter(|(_, run)| run.source == cell.source && !is_elsewhere && !is_again);
        let imported = self.last[position].as_ref().map(|last| last.imported);
        let is_imported = imported == Some(modules::contents(&cell.names, &self.fresh_modules));
        let is_repeated = same.is_some_and(|(_, run)| differing.is_empty() && is_imported && !is_cut(run));
        let token = match present {
            _ if is_elsewhere && !is_again => self.elsewhere_token(position),
            Some((_, run)) if !is_again => run.order,
            _ => hash(&("again", position)),
        };
        let execution = Execution {
            loaded: &self.fresh_modules,
            effective,
            names: &cell.names,
            caller: Caller::Cell(position),
            run: present.map(|(index, _)| index),
            order: present.map_or(0, |(_, run)| run.order),
            identity: if is_again { token } else { present.map_or(0, |(_, run)| run.order) },
            token,
            past: None,
            ended: None,
            differing: &differing,
            cut: same.map(|(_, run)| run).filter(|run| is_cut(run)),
        };
        let done = self.last[position].as_ref().filter(|_| is_repeated).map(|last| &*last.changes);
        self.execute(env, &execution, done)
    }

    /// The functions that a cell calls keep what they use from their first call on. Returns those that keep something else.
    pub(crate) fn keep(env: &mut Env<'a>, effective: &Effective<'a>) -> Vec<(&'a str, &'a str)> {
        let mut outdated = Vec::new();
        for (function, uses) in &effective.caches {
            let used = uses.iter().filter_map(|name| Some((*name, env.get(name)?.version(NOBODY))));
            let used: Kept<'a> = Rc::new(used.collect());
            let Some(value) = env.get_mut(function) else { continue };
            match &value.kept {
                Some(kept) if *kept != used => {
                    let other = used.iter().find(|(name, version)| kept.get(*name) != Some(*version));
                    outdated.extend(other.map(|(name, _)| (*function, *name)));
                }
                Some(_) => {}
                None => Rc::make_mut(value).kept = Some(used),
            }
        }
        outdated
    }

    fn execute(&self, env: &mut Env<'a>, it: &Execution<'_, 'a>, done: Option<&[Change]>) -> Trace<'a> {
        let outdated = Self::keep(env, it.effective);
        let got = it.effective.uses.keys().map(|name| env.get(name).cloned()).collect();
        let parts = parts(env, it);
        let all = if it.effective.unknown.is_some() { digest(env) } else { 0 };
        let writes = it.effective.writes.iter();
        let changes: Vec<Change> = match done {
            Some(done) => done.to_vec(),
            None => writes.map(|(name, write)| change(env, it, name, *write, &parts)).collect(),
        };
        let values: Vec<_> = it
            .effective
            .writes
            .iter()
            .zip(&changes)
            .map(|((name, write), change)| {
                let Execution { caller, run, order, identity, .. } = *it;
                let position = run.map_or(caller.position(), |run| self.positions[run]);
                let writer = Writer { caller, position, run, order, identity, write: *write };
                let before = env.get(name).map(|value| &**value);
                let value = Value::after(before, change, writer).map(|mut value| {
                    if write.binds() && *change != Change::Nothing {
                        value.module = it.module(name);
                    }
                    if write.binds() && *change != Change::Nothing {
                        let inputs = it.effective.flows[name].inputs.iter().filter(|input| *input != name);
                        let inputs = inputs.filter_map(|input| Some((*input, env.get(input)?.identity)));
                        value.made_of = Rc::new(inputs.collect());
                    }
                    if *change != Change::Nothing && !self.comparable.is_empty() {
                        let made = made_with(&self.comparable, env, it.effective, it.names, name);
                        value.made_with.extend(made);
                    }
                    value
                });
                (*name, value)
            })
            .collect();
        for (name, value) in values {
            match value {
                Some(value) => drop(env.insert(name, Rc::new(value))),
                None => drop(env.remove(name)),
            }
        }
        let imported = modules::contents(it.names, it.loaded);
        Trace { got, changes, parts, all, outdated, imported }
    }

    /// How the value of a used name that the last run of a cell got compares with another one.
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
        let parts = last.parts.get(name).unwrap_or(&none);
        let own = Own { caller: Caller::Cell(position), parts, replaces: false, calls: true };
        let nothing = Value::default();
        let edited = |caller: Caller| self.edited(caller, position);
        // What no cell defines is not the same in a fresh kernel in any case.
        let is_there = kind == Kind::Setting || names::is_shared(name);
        let is_defined =
            |value: Option<&Value<'a>>| value.is_some_and(|value| value.is_defined() || is_there);
        if !is_defined(got) && !is_defined(gets) {
            return Difference::Same;
        }
        let (got, gets) = (got.unwrap_or(&nothing), gets.unwrap_or(&nothing));
        got.difference(gets, own, kind, &edited)
    }

    /// If past code is what a cell other than this one ran before it was edited, whether it has run since.
    pub(crate) fn edited(&self, caller: Caller, by_others_than: usize) -> Option<bool> {
        let Caller::Past(run) = caller else { return None };
        let position = self.positions.get(run).copied().flatten();
        position.filter(|position| *position != by_others_than).map(|_| self.facts.runs[run].is_superseded)
    }

    pub(crate) fn is_module(&self, name: &str, position: usize) -> bool {
        let all = self.definers.get(name).map(Vec::as_slice).unwrap_or_default();
        let above = all.partition_point(|definer| *definer < position).checked_sub(1);
        above.is_some_and(|at| self.facts.cells[all[at]].names.imports.contains_key(name))
    }

    /// Whether a cell shows the number of a run that is not its last one here.
    pub(crate) fn is_from_elsewhere(&self, position: usize) -> bool {
        let (cell, run) = (&self.facts.cells[position], self.run(position));
        match (cell.execution_count, run) {
            (Some(shown), Some(run)) => run.execution_count.is_some_and(|ours| ours != shown),
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

/// Whether a run ended in another way than a run of the whole notebook does there: it was stopped, or an earlier one did not fail.
pub(crate) fn is_cut(run: &Run) -> bool {
    run.has_failed && (run.is_interrupted || run.has_succeeded)
}

/// What a run changes of a name.
fn change<'a>(
    env: &Env<'a>,
    it: &Execution<'_, 'a>,
    name: &'a str,
    write: Write,
    parts: &BTreeMap<&'a str, Vec<u64>>,
) -> Change {
    let is_possible = write == Write::MayDefine;
    let write = match it.ended {
        Some(run) => in_fact(run, name, write),
        None => Some(write),
    };
    if it.names.effects.deletes.contains(name) && write.is_some_and(|write| !write.binds()) {
        return Change::Delete;
    }
    let flow = &it.effective.flows[name];
    let none = Vec::new();
    // Without a name that it needs, a statement fails before it makes anything, and so do those below it.
    let is_missing = |input: &str| {
        let is_needed = it.names.effects.needs.contains(input) && !is_predefined(input);
        is_needed && !env.get(input).is_some_and(|value| value.is_defined())
    };
    let may_have_failed = match it.ended {
        Some(run) => run.has_failed,
        None => it.past.is_some_and(|run| !run.has_succeeded),
    };
    if may_have_failed && flow.inputs.iter().any(|input| is_missing(input)) {
        return Change::Nothing;
    }
    let is_spoilt = flow.inputs.iter().any(|input| it.differing.contains(*input))
        || it.differing.iter().any(|name| is_missing(name))
        || it.cut.is_some_and(|run| !run.has_assigned(name));
    let binds = write.is_none_or(Write::binds);
    let reads_own = binds && (!is_possible || it.effective.uses.contains_key(name));
    // What the cell binds itself before is no input, nor what a lambda uses that it binds below.
    let is_used = |input: &str| it.effective.uses.contains_key(input);
    let inputs = flow.inputs.iter().filter(|input| if **input == name { reads_own } else { is_used(input) });
    let inputs = inputs.map(|input| {
        let own =
            Own { caller: it.caller, parts: parts.get(input).unwrap_or(&none), replaces: false, calls: true };
        (*input, env.get(input).map(|value| value.version(own)))
    });
    let inputs: Vec<_> = inputs.collect();
    let is_unsure = write == Some(Write::Changes)
        && it.effective.repeats.get(name).is_none_or(|it| *it == Repeat::Unknown);
    // Calls that change nothing for sure have their order.
    let is_weak = write.is_some_and(Write::is_weak);
    let token = (flow.varies && !is_weak || is_unsure).then_some(it.token);
    let content = it.module(name).map_or(0, |path| content(path, it.loaded));
    let version = match it.names.imports.get(name) {
        Some(path) if is_module(path, it.loaded) => hash(&(Some(path.as_str()), content)),
        _ => hash(&(flow.code, name, inputs, token, content, is_spoilt.then_some(it.caller))),
    };
    if let Some(state) = it.past.and_then(|run| run.random_states.get(name)) {
        return Change::Define(hash(state));
    }
    let Some(write) = write else {
        // The same object again, which the memory does not show.
        let is_again = is_possible && env.get(name).is_some_and(|value| value.is_of(version));
        return if is_again { Change::Define(version) } else { Change::Nothing };
    };
    match write {
        Write::Defines if it.names.imports.contains_key(name) => Change::Import(version),
        Write::Defines => Change::Define(version),
        Write::MayDefine => Change::MayDefine(version),
        Write::Changes => match parts.get(name) {
            Some(parts) => Change::Set(parts.clone(), version),
            None => Change::Add(version),
        },
        Write::Fills => Change::Fill(version),
        Write::Calls | Write::Passes => match parts.get(name) {
            Some(parts) => Change::Set(parts.clone(), version),
            None => Change::Call(version, it.order),
        },
    }
}

/// The parts that code sets, so that doing it again is no other change.
fn parts<'a>(env: &Env<'a>, it: &Execution<'_, 'a>) -> BTreeMap<&'a str, Vec<u64>> {
    let mut all = BTreeMap::new();
    for (name, write) in &it.effective.writes {
        let repeat = it.effective.repeats.get(name).copied().unwrap_or(Repeat::Unknown);
        let named = it.names.effects.parts.get(*name).filter(|parts| !parts.is_empty());
        // What changes a module counts as a call, but sets the same parts.
        let is_set = *write == Write::Changes || *write == Write::Calls && named.is_some();
        if !is_set || repeat == Repeat::Differs {
            continue;
        }
        let keys = it.effective.keys.get(name).into_iter().flat_map(|keys| &keys.inputs);
        let own = Own { caller: it.caller, parts: &[], replaces: false, calls: true };
        let keys: Vec<_> = keys.map(|key| env.get(key).map(|value| value.version(own))).collect();
        let parts = match named {
            Some(parts) => parts.iter().map(|part| hash(&(part, &keys))).collect(),
            None if is_configuration(name) => vec![hash(&"")],
            None => vec![hash(&it.effective.flows[name].code)],
        };
        all.insert(*name, parts);
    }
    all
}

fn digest(env: &Env<'_>) -> u64 {
    env.iter().fold(0, |all, (name, value)| all ^ hash(&(name, value.version(NOBODY))))
}

/// How a run has written a name, by what is known of its end. `None` if it has not.
fn in_fact(run: &Run, name: &str, write: Write) -> Option<Write> {
    if run.has_assigned(name) {
        return Some(if write == Write::MayDefine { Write::Defines } else { write });
    }
    match write {
        // It may have ended before.
        Write::Defines if run.has_failed && run.assigned.is_some() => None,
        Write::Defines if run.has_failed => Some(Write::MayDefine),
        Write::MayDefine if run.assigned.is_some() => None,
        _ => Some(write),
    }
}

/// What cells and runs do, together with the functions of the notebook.
struct Sources<'d, 'a> {
    facts: Facts<'a>,
    definers: &'d Definers<'a>,
    patches: Vec<(&'a str, u32)>,
    is_interactive: bool,
}

impl<'d, 'a> Sources<'d, 'a> {
    fn new(facts: Facts<'a>, definers: &'d Definers<'a>) -> Self {
        let mut all =
            facts.cells.iter().map(|cell| &cell.names).chain(facts.runs.iter().map(|run| &run.names));
        let is_interactive = all.any(|names| names.sets(INTERACTIVITY));
        Self { facts, definers, patches: patches(facts), is_interactive }
    }

    fn of(
        &self,
        (names, source): (&'a Names, u64),
        position: usize,
        random: &'a BTreeMap<Name, syntax::RandomUse>,
        assigned: Vec<&'a Name>,
    ) -> Effective<'a> {
        let is_defined = |name: &str| self.definers.positions.contains_key(name);
        let effective = Effective::of(names, source, &From { definers: self.definers, position });
        let effective = effective.with_assigned(assigned, source, &is_defined).with_random(random);
        effective.with_patched(names, &self.patches)
    }

    fn of_cell(&self, position: usize, run: Option<&'a Run>) -> Effective<'a> {
        let cell = &self.facts.cells[position];
        let around = From { definers: self.definers, position };
        let assigned = run.map(|run| still_assigned(cell, run, &around)).unwrap_or_default();
        let effective = self.of((&cell.names, cell.source), position, &cell.random, assigned);
        let shows = cell.names.has_inner_expressions && self.is_interactive;
        effective.with_shown(if shows { &[INTERACTIVITY] } else { &[] }).with_shown(&cell.shows)
    }

    fn of_run(&self, run: &'a Run, position: Option<usize>) -> Effective<'a> {
        let position = position.unwrap_or(self.facts.cells.len());
        self.of((&run.names, run.source), position, &run.random, assigned(run).collect())
    }
}

/// The attributes that cells set of classes of libraries.
fn patches(facts: Facts<'_>) -> Vec<(&str, u32)> {
    let changes = facts.cells.iter().flat_map(|cell| &cell.names.effects.changes);
    let patches = changes.filter_map(|name| Some((name.as_str(), attribute(patched(name)?))));
    patches.collect::<BTreeSet<_>>().into_iter().collect()
}

/// For each run, where its cell is.
fn positions(facts: Facts<'_>) -> Vec<Option<usize>> {
    let cells = facts.cells.iter().enumerate();
    let known: HashMap<&CellId, usize> = cells.map(|(position, cell)| (&cell.id, position)).collect();
    facts.runs.iter().map(|run| known.get(run.cell.as_ref()?).copied()).collect()
}

/// What the memory of the kernel shows that a run has assigned.
fn assigned(run: &Run) -> impl Iterator<Item = &Name> {
    run.assigned.as_deref().into_iter().flatten()
}

/// The same, as far as a cell still does it that was perhaps edited since. What its names have shown, they show now, too. What they have
/// not shown, it does as long as it uses the name.
fn still_assigned<'a>(cell: &'a Cell, run: &'a Run, around: &From<'_, 'a>) -> Vec<&'a Name> {
    if run.source == cell.source || run.assigned.is_none() {
        return assigned(run).collect();
    }
    let [before, now] = [(&run.names, run.source), (&cell.names, cell.source)]
        .map(|(names, source)| Effective::of(names, source, around));
    let is_used = |name: &str| now.uses.contains_key(name) || now.unknown.is_some();
    let is_still = |name: &&Name| {
        now.writes.contains_key(name.as_str())
            || (!before.writes.contains_key(name.as_str()) && is_used(name))
    };
    assigned(run).filter(is_still).collect()
}

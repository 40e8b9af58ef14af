//! The versions of all values: those that the kernel has had, as its runs followed one another, and those that a run of the whole notebook
//! from top to bottom gives. A cell whose last run got the same versions as it would get there is up to date.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use foldhash::fast::FixedState;
use names::{Names, Repeat, Unknown, is_file};
use notebook::CellId;

use crate::definers::Definers;
use crate::effective::Effective;
use crate::facts::{Facts, Run};
use crate::identity::Comparable;
use crate::modules::{self, Loaded};
use crate::value::{Caller, Change, Difference, NOBODY, Value, Write, Writer, hash};

mod change;
mod compare;
mod sources;

use change::{change, parts};
use sources::Sources;

pub(crate) type Env<'a> = HashMap<&'a str, Rc<Value<'a>>, FixedState>;

/// The inputs and changes of one execution.
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
    /// Stands for the modules that it has imported.
    pub(crate) imported: u64,
    /// For each name that it has given an equal value again, the token of that.
    tokens: BTreeMap<&'a str, u64>,
    /// The names whose objects it has changed once more, though its code does not let that expect.
    again: BTreeSet<&'a str>,
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
    /// Stands for what is another value each time, but for these names.
    token: u64,
    tokens: BTreeMap<&'a str, u64>,
    /// The run that the kernel has done, or an earlier one that was like it.
    past: Option<&'x Run>,
    /// The last run of the same code in this kernel.
    same: Option<&'x Run>,
    /// The end of the run, if it is known.
    ended: Option<&'x Run>,
    /// The names that have other values than in the run that is known.
    differing: &'x BTreeSet<&'a str>,
    /// The end of the last run, if a run of the whole notebook ends otherwise.
    cut: Option<&'x Run>,
}

impl<'a> Execution<'_, 'a> {
    /// The change of a value that the kernel has seen where a cell runs again, in place of the one that its code lets expect.
    fn in_fact(&self, name: &str, before: Option<&Value<'_>>, expected: &Change, writer: Writer) -> Change {
        let written = before.filter(|value| !writer.write.binds() && value.is_written_by(self.caller));
        let (Some(run), Some(value)) = (self.past, written) else { return expected.clone() };
        let version = || hash(&(self.effective.flows[name].code, "again", self.order));
        if run.is_equal(name, self.order) {
            return Change::Nothing;
        }
        let Some(changed) = run.changed.as_ref().filter(|_| self.ended.is_some()) else {
            return expected.clone();
        };
        if !changed.contains(name) {
            return match *expected {
                // Whether it has changed the object once more, nothing shows.
                Change::Call(version, order) if value.module.is_none() => {
                    Change::Call(version, hash(&(order, "again")))
                }
                Change::CallChanging(version, order) => {
                    Change::CallChanging(version, hash(&(order, "again")))
                }
                _ => expected.clone(),
            };
        }
        let is_sure = self.effective.repeats.get(name).is_some_and(|it| *it != Repeat::Unknown);
        let differs = || Value::after(before, expected, writer).is_some_and(|it| it.state() != value.state());
        let is_expected = match expected {
            Change::Add(_) => true,
            Change::Set(..) => is_sure && differs(),
            _ => differs(),
        };
        if is_expected { expected.clone() } else { Change::Add(version()) }
    }

    /// The module that a name is, or is imported from.
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
                // A change that adds to an object was made once.
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
                tokens: run.map(|run| equal_tokens(env, run, &did, caller, order)).unwrap_or_default(),
                // Only of the last one is the end known.
                past: run,
                same: run,
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
            tokens: match &self.last[position] {
                Some(last) if present.is_some() && !is_again => last.tokens.clone(),
                _ => BTreeMap::new(),
            },
            past: None,
            same: present.map(|(_, run)| run),
            ended: None,
            differing: &differing,
            cut: same.map(|(_, run)| run).filter(|run| is_cut(run)),
        };
        let done = self.last[position].as_ref().filter(|_| is_repeated).map(|last| &*last.changes);
        self.execute(env, &execution, done)
    }

    fn execute(&self, env: &mut Env<'a>, it: &Execution<'_, 'a>, done: Option<&[Change]>) -> Trace<'a> {
        let got = it.effective.uses.keys().map(|name| env.get(name).cloned()).collect();
        let parts = parts(env, it);
        let all = if it.effective.unknown.is_some() { digest(env) } else { 0 };
        let writes = it.effective.writes.iter();
        let changes: Vec<Change> = match done {
            Some(done) => done.to_vec(),
            None => writes.map(|(name, write)| change(env, it, name, *write, &parts)).collect(),
        };
        let mut again = BTreeSet::new();
        let values: Vec<_> = it
            .effective
            .writes
            .iter()
            .zip(&changes)
            .map(|((name, write), change)| {
                let Execution { caller, run, order, identity, .. } = *it;
                let position = run.map_or(caller.position(), |run| self.positions[run]);
                let token = it.tokens.get(name).copied().unwrap_or(it.token);
                let writer = Writer { caller, position, run, order, identity, token, write: *write };
                let before = env.get(name).map(|value| &**value);
                let seen = it.in_fact(name, before, change, writer);
                if matches!(seen, Change::Add(_)) && seen != *change {
                    again.insert(*name);
                }
                let change = &seen;
                let value = Value::after(before, change, writer).map(|mut value| {
                    if *change != Change::Nothing && write.binds() {
                        value.module = it.module(name);
                        value.made_of = Rc::new(self.comparable.made_of(env, it.effective, name));
                    } else if *change != Change::Nothing && !self.comparable.is_empty() {
                        let mut made_of = self.comparable.made_of(env, it.effective, name);
                        made_of.retain(|of, _| self.comparable.0.contains(of));
                        Rc::make_mut(&mut value.made_of).extend(made_of);
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
        Trace { got, changes, parts, all, imported, tokens: it.tokens.clone(), again }
    }
}

/// The tokens of the values that a run has made again.
fn equal_tokens<'a>(
    env: &Env<'a>,
    run: &Run,
    did: &Effective<'a>,
    caller: Caller,
    order: u64,
) -> BTreeMap<&'a str, u64> {
    let equal = did.writes.iter().filter(|(name, write)| write.binds() && run.is_equal(name, order));
    equal.filter_map(|(name, _)| Some((*name, env.get(name)?.token_of(caller)?))).collect()
}

/// Whether a run ended in another way than a run of the whole notebook does there: it was stopped, or an earlier one did not fail.
pub(crate) fn is_cut(run: &Run) -> bool {
    run.has_failed && (run.is_interrupted || run.has_succeeded)
}

fn digest(env: &Env<'_>) -> u64 {
    env.iter().fold(0, |all, (name, value)| all ^ hash(&(name, value.version(NOBODY))))
}

/// For each run, where its cell is.
fn positions(facts: Facts<'_>) -> Vec<Option<usize>> {
    let cells = facts.cells.iter().enumerate();
    let positions: HashMap<&CellId, usize> = cells.map(|(position, cell)| (&cell.id, position)).collect();
    facts.runs.iter().map(|run| positions.get(run.cell.as_ref()?).copied()).collect()
}

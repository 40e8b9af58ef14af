//! The facts, arranged so that the rules find them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use names::{INTERACTIVITY, Name, Names, Repeat, Unknown, attribute, patched};
use notebook::CellId;

use crate::definers::{Definers, From};
use crate::effective::{Effective, Write};
use crate::facts::{Cell, Facts, Run};

pub(crate) struct Book<'a> {
    pub(crate) facts: Facts<'a>,
    /// For each cell, its run, as an index.
    runs: Vec<Option<usize>>,
    /// For each run, where its cell is.
    positions: Vec<Option<usize>>,
    /// For each cell, what its source does now.
    pub(crate) now: Vec<Rc<Effective<'a>>>,
    /// For each run, what it did.
    did: Vec<Option<Rc<Effective<'a>>>>,
    /// For each cell, its runs in the present instance, with any source.
    runs_of: Vec<Vec<usize>>,
    /// For each name, the cells that write it now, in order.
    writers: HashMap<&'a str, Vec<(usize, Write)>>,
    /// For each name, what wrote it in the present instance.
    events: HashMap<&'a str, Vec<Event<'a>>>,
    /// The names that a cell has written more than once.
    rewritten: HashSet<&'a str>,
    /// For each name, the runs that define it, in any instance.
    defining: HashMap<&'a str, Vec<&'a Run>>,
    /// The classes and functions that objects may be compared with.
    pub(crate) comparable: BTreeSet<&'a str>,
    /// The cells of whose names not all can be known.
    unknown: Vec<usize>,
}

/// Something that wrote a name in the present kernel.
#[derive(Clone, Copy)]
pub(crate) struct Event<'a> {
    pub(crate) run: &'a Run,
    /// Where its cell is; `None` if it has none, or it was deleted.
    pub(crate) position: Option<usize>,
    pub(crate) write: Write,
    /// What doing the same again does to the object.
    pub(crate) repeat: Repeat,
}

impl<'a> Book<'a> {
    pub(crate) fn new(facts: Facts<'a>) -> Self {
        let positions = positions(facts);
        let mut runs = vec![None; facts.cells.len()];
        for (index, position) in positions.iter().enumerate() {
            if let Some(position) = position.filter(|_| !facts.runs[index].is_superseded) {
                runs[position] = Some(index);
            }
        }
        let definers = Definers::new(facts);
        let around = |position| From { definers: &definers, position };
        let is_defined = |name: &str| definers.positions.contains_key(name);
        let patches = patches(facts);
        let mut known =
            facts.cells.iter().map(|cell| &cell.names).chain(facts.runs.iter().map(|run| &run.names));
        let is_interactive = known.any(|names| names.sets(INTERACTIVITY));
        let effective = |names: &'a Names, source, position, random, assigned: Vec<&'a Name>| {
            let effective = Effective::of(names, source, &around(position));
            let effective = effective.with_assigned(assigned, source, &is_defined).with_random(random);
            effective.with_patched(names, &patches)
        };
        let cells = facts.cells.iter().enumerate();
        let now: Vec<_> = cells
            .map(|(position, cell)| {
                let run = runs[position].map(|index| &facts.runs[index]);
                let assigned = run.map(|run| still_assigned(cell, run, &around(position)));
                let assigned = assigned.unwrap_or_default();
                let known = effective(&cell.names, cell.source, position, &cell.random, assigned);
                let shows = cell.names.has_inner_expressions && is_interactive;
                let known = known.with_shown(if shows { &[INTERACTIVITY] } else { &[] });
                Rc::new(known.with_shown(&cell.shows))
            })
            .collect();
        let mut book = Self {
            facts,
            runs,
            positions: Vec::new(),
            now,
            did: vec![None; facts.runs.len()],
            runs_of: vec![Vec::new(); facts.cells.len()],
            writers: HashMap::new(),
            events: HashMap::new(),
            rewritten: HashSet::new(),
            defining: HashMap::new(),
            comparable: comparable(facts),
            unknown: Vec::new(),
        };
        for run in facts.runs {
            for name in &run.names.effects.defines {
                book.defining.entry(name).or_default().push(run);
            }
        }
        book.unknown = (0..facts.cells.len()).filter(|at| book.may_bind_anything(*at)).collect();
        let is_present = |run: &Run| Some(run.instance) == facts.instance;
        for (index, run) in facts.runs.iter().enumerate().filter(|(_, run)| is_present(run)) {
            let position = positions[index];
            let same = position.filter(|position| facts.cells[*position].source == run.source);
            let did = if let Some(position) = same {
                Rc::clone(&book.now[position])
            } else {
                let position = position.unwrap_or(facts.cells.len());
                Rc::new(effective(&run.names, run.source, position, &run.random, assigned(run).collect()))
            };
            book.add_run(index, position, did);
        }
        book.positions = positions;
        book.rewritten =
            book.events.iter().filter(|(_, events)| is_rewritten(events)).map(|(name, _)| *name).collect();
        book.add_writers();
        book
    }

    /// Adds what a run in the present instance did.
    fn add_run(&mut self, index: usize, position: Option<usize>, did: Rc<Effective<'a>>) {
        let run = &self.facts.runs[index];
        for (name, write) in &did.writes {
            if let Some(write) = in_fact(run, name, *write) {
                let repeat = did.repeats.get(name).copied().unwrap_or(Repeat::Unknown);
                self.events.entry(*name).or_default().push(Event { run, position, write, repeat });
            }
        }
        if let Some(position) = position {
            self.runs_of[position].push(index);
        }
        self.did[index] = Some(did);
    }

    /// Adds what each cell would write in a run of the whole notebook.
    fn add_writers(&mut self) {
        for position in 0..self.facts.cells.len() {
            let ran = self.present_run(position);
            let ran = ran.filter(|run| run.source == self.facts.cells[position].source);
            for (name, write) in &self.now[position].writes {
                let write = match ran {
                    // A later run may still do what this one has not done.
                    Some(run) => in_fact(run, name, *write).unwrap_or_else(|| may(*write)),
                    None => *write,
                };
                self.writers.entry(*name).or_default().push((position, write));
            }
        }
    }

    pub(crate) fn run(&self, position: usize) -> Option<&'a Run> {
        self.runs[position].map(|index| &self.facts.runs[index])
    }

    /// The run of a cell in the kernel as it is now.
    pub(crate) fn present_run(&self, position: usize) -> Option<&'a Run> {
        self.run(position).filter(|run| self.is_present(run))
    }

    /// The runs in the present instance that use a name, and where their cells are.
    pub(crate) fn using<'n>(&'n self, name: &'n str) -> impl Iterator<Item = (&'a Run, Option<usize>)> + 'n {
        let runs = self.did.iter().zip(self.facts.runs).zip(&self.positions);
        let uses = move |did: &Option<Rc<Effective<'_>>>| {
            did.as_ref().is_some_and(|did| did.uses.contains_key(name))
        };
        runs.filter(move |((did, _), _)| uses(did)).map(|((_, run), position)| (run, *position))
    }

    /// Whether a cell may do what its names do not show. What is no Python fails before it does anything, unless the kernel could run it.
    fn may_bind_anything(&self, position: usize) -> bool {
        let has_run = || {
            let run = self.run(position).filter(|run| run.source == self.facts.cells[position].source);
            run.is_some_and(|run| !run.has_failed)
        };
        self.now[position].unknown.is_some_and(|why| *why != Unknown::SyntaxError || has_run())
    }

    /// What a cell did in its last run in the present instance.
    pub(crate) fn ran(&self, position: usize) -> Option<&Effective<'a>> {
        self.runs[position].and_then(|index| self.did[index].as_deref())
    }

    /// The run of a cell that was the last before `order`, its number then, and what it did.
    pub(crate) fn ran_before(&self, position: usize, order: u64) -> Option<(&'a Run, u64, &Effective<'a>)> {
        let runs = self.runs_of[position].iter().filter_map(|index| {
            let run = &self.facts.runs[*index];
            Some((run, run.last_before(order)?, self.did[*index].as_deref()?))
        });
        runs.max_by_key(|(_, order, _)| *order)
    }

    /// Whether a run was in the kernel as it is now.
    pub(crate) fn is_present(&self, run: &Run) -> bool {
        self.facts.instance == Some(run.instance)
    }

    /// What wrote a name in the present instance.
    pub(crate) fn events(&self, name: &str) -> &[Event<'a>] {
        self.events.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The runs that define a name, in any instance.
    pub(crate) fn defining(&self, name: &str) -> &[&'a Run] {
        self.defining.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The cells of whose names not all can be known, in order.
    pub(crate) fn unknown(&self) -> &[usize] {
        &self.unknown
    }

    /// Whether any cell has written a name more than once.
    pub(crate) fn is_rewritten(&self, name: &str) -> bool {
        self.rewritten.contains(name)
    }

    /// Whether another cell or code wrote the name between two runs.
    pub(crate) fn is_written_between(
        &self,
        name: &str,
        by_others_than: usize,
        (from, to): (u64, u64),
    ) -> bool {
        self.events(name).iter().any(|event| {
            event.position != Some(by_others_than)
                && event.run.last_before(to).is_some_and(|order| order > from)
                && !self.is_as_before(event, name, from)
        })
    }

    /// Whether an event defines the name with the value that its cell gave it before `order`, too.
    fn is_as_before(&self, event: &Event<'_>, name: &str, order: u64) -> bool {
        let fixed = event.run.names.fixed.get(name);
        let before = event.position.and_then(|position| self.ran_before(position, order + 1));
        fixed.is_some() && before.is_some_and(|(run, ..)| run.names.fixed.get(name) == fixed)
    }

    /// The cells that write a name now, in order.
    pub(crate) fn writers(&self, name: &str) -> &[(usize, Write)] {
        self.writers.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The writers of a name that a cell uses, and the one that defines it.
    pub(crate) fn writers_above(&self, name: &str, position: usize) -> (&[(usize, Write)], Option<usize>) {
        let all = self.writers(name);
        let above = &all[..all.partition_point(|(writer, _)| *writer < position)];
        let definer = above.iter().rposition(|(_, write)| *write == Write::Defines);
        let first = definer.or_else(|| above.iter().position(|(_, write)| write.binds()));
        (&above[definer.unwrap_or(0)..], first.map(|index| above[index].0))
    }

    /// Whether a cell defines a name with the same value each time, and did so when it ran.
    pub(crate) fn is_fixed(&self, position: usize, name: &str) -> bool {
        let now = self.facts.cells[position].names.fixed.get(name);
        now.is_some() && self.run(position).is_some_and(|run| run.names.fixed.get(name) == now)
    }
}

/// The classes of a notebook, and its functions that are items of other objects.
fn comparable(facts: Facts<'_>) -> BTreeSet<&str> {
    let names = || facts.cells.iter().map(|cell| &*cell.names);
    let held = names().flat_map(|names| {
        // What a function gives is none of it.
        let is_meant = |name: &Name, held: &Name| names.made_by.get(name) != Some(held);
        let held = names.holds.iter().flat_map(|(name, held)| held.iter().map(move |held| (name, held)));
        held.filter(move |(name, held)| is_meant(name, held)).map(|(_, held)| held.as_str())
    });
    let held: BTreeSet<&str> = held.collect();
    let functions = names().flat_map(|names| names.functions.keys().map(String::as_str));
    let functions = functions.filter(|name| held.contains(name));
    functions.chain(names().flat_map(Names::classes)).collect()
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

fn is_rewritten(events: &[Event<'_>]) -> bool {
    let mut known = HashSet::new();
    events.iter().any(|event| event.run.orders().nth(1).is_some() || !known.insert(event.position))
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

/// What may be so, where it surely is so if nothing fails.
fn may(write: Write) -> Write {
    if write == Write::Defines { Write::MayDefine } else { write }
}

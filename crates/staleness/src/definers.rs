//! What other cells say about a name, as seen from a cell.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use names::{Effects, FIGURE, Name, Names, ObjectUse, PATTERN};
use notebook::CellId;

use crate::effective::{Surroundings, Write};
use crate::facts::{Facts, Run};

/// The notebook as seen from one cell.
pub(crate) struct From<'b, 'a> {
    pub(crate) definers: &'b Definers<'a>,
    pub(crate) position: usize,
}

impl<'a> Surroundings<'a> for From<'_, 'a> {
    fn function(&self, name: &str) -> Option<&'a Effects> {
        self.definers.function(name, self.position)
    }

    fn aliases(&self, name: &str) -> Vec<&'a str> {
        self.definers.aliases(name, self.position)
    }

    fn is_import(&self, name: &str) -> bool {
        self.definers.definer(name, self.position).is_some_and(|names| names.imports.contains_key(name))
    }

    fn siblings(&self, name: &str) -> Vec<&'a str> {
        let path = self.definers.definer(name, self.position).and_then(|names| names.imports.get(name));
        let all = path.and_then(|path| self.definers.imported.get(package(path)));
        all.into_iter().flatten().copied().filter(|other| *other != name).collect()
    }

    fn late(&self, name: &str) -> BTreeSet<&'a str> {
        self.definers.late(name, self.position)
    }

    fn maker(&self, name: &str) -> Option<&'a str> {
        self.definers.definer(name, self.position)?.made_by.get(name).map(String::as_str)
    }

    fn is_changed_by(&self, name: &str, how: ObjectUse, is_own: bool) -> bool {
        self.definers.is_changed_by(name, how, self.position + usize::from(is_own))
    }

    fn has_streams(&self) -> bool {
        self.definers.has_streams
    }

    fn loop_write(&self, name: &str) -> Option<Write> {
        let names = self.definers.definer(name, self.position)?;
        if names.streams.contains(name) {
            return Some(Write::Changes);
        }
        let maker = names.made_by.get(name)?;
        let maker = names.functions.get(maker).or_else(|| self.function(maker))?;
        let is_held = |held: &Name| {
            self.definers.definer(held, self.position).is_some_and(|names| names.streams.contains(held))
        };
        let is_stream = maker.yields
            || names.given_streams.contains(name)
            || names.holds.get(name).is_some_and(|all| all.iter().any(is_held));
        is_stream.then_some(if maker.is_class { Write::Calls } else { Write::Changes })
    }
}

/// Code that a cell puts into an object.
#[derive(Clone, Copy)]
enum Code<'a> {
    Lambdas(&'a Effects),
    Function(&'a str),
}

/// The cells by the names that they themselves define.
pub(crate) struct Definers<'a> {
    facts: Facts<'a>,
    pub(crate) positions: HashMap<&'a str, Vec<usize>>,
    /// The cells by the names that they themselves write.
    written: HashMap<&'a str, Vec<usize>>,
    /// What code has written that is gone.
    gone: HashSet<&'a str>,
    /// The names that share an object with another one somewhere.
    aliased: BTreeSet<&'a str>,
    /// The code that cells put into the objects of names.
    added: HashMap<&'a str, Vec<(usize, Code<'a>)>>,
    /// The names that are imported from each package.
    imported: HashMap<&'a str, BTreeSet<&'a str>>,
    /// Whether a cell makes an object that gives each of its items once.
    has_streams: bool,
}

impl<'a> Definers<'a> {
    pub(crate) fn new(facts: Facts<'a>) -> Self {
        let mut positions = HashMap::<_, Vec<_>>::new();
        for (position, cell) in facts.cells.iter().enumerate() {
            for name in &cell.names.effects.defines {
                positions.entry(name.as_str()).or_default().push(position);
            }
        }
        let mut written = HashMap::<_, Vec<_>>::new();
        for (position, cell) in facts.cells.iter().enumerate() {
            for name in writes(&cell.names.effects) {
                written.entry(name).or_default().push(position);
            }
        }
        let sources: HashMap<&CellId, u64> = facts.cells.iter().map(|cell| (&cell.id, cell.source)).collect();
        let is_gone = |run: &&Run| run.cell.as_ref().and_then(|id| sources.get(id)) != Some(&run.source);
        let gone = facts.runs.iter().filter(is_gone).flat_map(|run| writes(&run.names.effects)).collect();
        let aliased = facts.cells.iter().flat_map(|cell| &cell.names.aliases);
        let aliased = aliased.flat_map(|(alias, name)| [alias.as_str(), name.as_str()]).collect();
        let mut imported = HashMap::<_, BTreeSet<_>>::new();
        for (name, path) in facts.cells.iter().flat_map(|cell| &cell.names.imports) {
            imported.entry(package(path)).or_default().insert(name.as_str());
        }
        let has_streams = facts.cells.iter().any(|cell| {
            let names = &cell.names;
            !names.streams.is_empty()
                || !names.given_streams.is_empty()
                || names.functions.values().any(|function| function.yields)
        });
        let mut definers =
            Self { facts, positions, written, gone, aliased, added: HashMap::new(), imported, has_streams };
        definers.add_captured();
        definers
    }

    fn add_captured(&mut self) {
        let mut all = Vec::new();
        for (at, cell) in self.facts.cells.iter().enumerate() {
            for (name, added) in &cell.names.added {
                all.push((name.as_str(), at, Code::Lambdas(&added.code)));
                all.extend(
                    added.functions.iter().map(|function| (name.as_str(), at, Code::Function(function))),
                );
            }
            for (decorator, functions) in &cell.names.registered {
                let objects = self.capturing(decorator, at);
                for function in functions {
                    all.extend(objects.iter().map(|name| (*name, at, Code::Function(function))));
                }
            }
        }
        for (name, at, code) in all {
            self.added.entry(name).or_default().push((at, code));
        }
    }

    /// The objects that a decorator of a cell changes.
    fn capturing(&self, decorator: &'a Name, at: usize) -> Vec<&'a str> {
        if let Some(function) = self.function_at(decorator, at).filter(|function| !function.is_class) {
            return function.changes.iter().map(String::as_str).collect();
        }
        let is_object =
            self.definer(decorator, at).is_some_and(|names| !names.imports.contains_key(decorator));
        if is_object { vec![decorator] } else { Vec::new() }
    }

    /// The other names of an object as seen from this position.
    fn aliases(&self, name: &str, position: usize) -> Vec<&'a str> {
        if !self.aliased.contains(name) {
            return Vec::new();
        }
        let object = self.object(name, position);
        let is_alias = |other: &&'a str| *other != name && self.object(other, position) == object;
        self.aliased.iter().copied().filter(is_alias).collect()
    }

    /// What stands for the object of a name: the cell that made it, and the name that it has there. After `df = load()`, `a = df` and
    /// `df = df.head()` in cells 0, 1 and 2, `a` is (0, `df`) and `df` is (2, `df`).
    fn object<'n>(&self, name: &'n str, position: usize) -> (Option<usize>, &'n str)
    where
        'a: 'n,
    {
        let all = self.positions.get(name).map(Vec::as_slice).unwrap_or_default();
        let Some(above) = all.partition_point(|definer| *definer < position).checked_sub(1) else {
            return (None, name);
        };
        let names = &self.facts.cells[all[above]].names;
        match names.aliases.get(name) {
            Some(original) if names.effects.defines.contains(original) => (Some(all[above]), original),
            Some(original) => self.object(original, all[above]),
            None => (Some(all[above]), name),
        }
    }

    /// What a function does as seen from this position, also after `name = function`.
    fn function(&self, name: &str, position: usize) -> Option<&'a Effects> {
        let definer = self.definer_at(name, position)?;
        let names = &self.facts.cells[definer].names;
        names.functions.get(name).or_else(|| {
            let original = names.aliases.get(name)?;
            // A circle of aliases has none above.
            let above = || (definer < position).then(|| self.function(original, definer)).flatten();
            names.functions.get(original).or_else(above)
        })
    }

    /// See [`Surroundings::late`]. What was written before the object was made counts where it was made.
    fn late(&self, name: &str, position: usize) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        let Some(maker) = self.definer_above(name, position) else { return found };
        let is_between = |name: &str, changed: bool| {
            let defined = self.positions.get(name).map(Vec::as_slice).unwrap_or_default();
            let written = self.written.get(name).map(Vec::as_slice).unwrap_or_default();
            // What is written below the user counts if that runs once more.
            let is_defined = defined.first().is_some_and(|at| *at <= maker);
            self.gone.contains(name)
                || written[written.partition_point(|at| *at <= maker)..]
                    .iter()
                    .take_while(|at| **at < position || is_defined)
                    .any(|at| *at != position && (!changed || !defined.contains(at)))
        };
        let (mut objects, mut known) = (vec![(name, maker)], BTreeSet::new());
        while let Some((name, at)) = objects.pop() {
            self.find_added(name, at..position, &mut found);
            let names = &self.facts.cells[at].names;
            let maker = names.made_by.get(name).map(|maker| self.function_at(maker, at));
            let gives_code = maker.is_none_or(|maker| maker.is_some_and(|effects| effects.gives_code));
            let held = names.holds.get(name).filter(|_| gives_code && known.insert((name, at)));
            for held in held.into_iter().flatten() {
                if let Some(function) = self.function_at(held, at) {
                    if function.gives_code && is_between(held, true) {
                        found.insert(held.as_str());
                    }
                    self.add_late(function, at, &|name| is_between(name, false), &mut found);
                }
                let own = names.effects.defines.contains(held).then_some(at);
                objects.extend(own.or_else(|| self.definer_above(held, at)).map(|at| (held.as_str(), at)));
            }
        }
        found
    }

    /// What code uses that these cells put into the object of a name.
    fn find_added(&self, name: &str, cells: Range<usize>, found: &mut BTreeSet<&'a str>) {
        let added = self.added.get(name).into_iter().flatten();
        for (at, code) in added.filter(|(at, _)| cells.contains(at)) {
            let code = match code {
                Code::Lambdas(effects) => Some(*effects),
                Code::Function(function) => self.function_at(function, *at),
            };
            if let Some(code) = code {
                self.add_late(code, *at, &|_| true, found);
            }
        }
    }

    /// What a function uses, and those that it calls, as seen from the cell at `at`.
    fn add_late(
        &self,
        function: &'a Effects,
        at: usize,
        is_meant: &dyn Fn(&str) -> bool,
        found: &mut BTreeSet<&'a str>,
    ) {
        let (mut functions, mut known) = (vec![function], BTreeSet::new());
        while let Some(function) = functions.pop() {
            found.extend(function.uses.iter().map(String::as_str).filter(|name| is_meant(name)));
            let called = function.reads.iter().filter(|name| known.insert(name.as_str()));
            functions.extend(called.filter_map(|name| self.function_at(name, at)));
        }
    }

    /// See [`Surroundings::is_changed_by`].
    fn is_changed_by(&self, name: &str, how: ObjectUse, position: usize) -> bool {
        let may_change = matches!(how, ObjectUse::Method(_));
        let (Some(at), name) = self.object(name, position) else { return may_change };
        let Some(maker) = self.facts.cells[at].names.made_by.get(name) else { return may_change };
        match how {
            _ if maker == PATTERN => false,
            ObjectUse::Draw => maker == FIGURE,
            ObjectUse::Method(method) | ObjectUse::Reading(method) => {
                self.method(maker, at, method).unwrap_or(may_change)
            }
        }
    }

    /// Whether a method of a class of the notebook, or of its bases, changes its object.
    fn method(&self, class: &'a str, at: usize, method: u32) -> Option<bool> {
        let (mut classes, mut known) = (vec![(class, at)], BTreeSet::new());
        while let Some((class, at)) = classes.pop().filter(|class| known.insert(*class)) {
            let own = self.facts.cells[at].names.functions.contains_key(class).then_some(at);
            let Some(at) = own.or_else(|| self.definer_above(class, at)) else { continue };
            let names = &self.facts.cells[at].names;
            let changes = names.functions.get(class).and_then(|class| class.methods.get(&method));
            if changes.is_some() {
                return changes.copied();
            }
            let bases = names.holds.get(class).into_iter().flatten();
            classes.extend(bases.map(|base| (base.as_str(), at)));
        }
        None
    }

    /// What a function does as seen from within this cell.
    fn function_at(&self, name: &str, at: usize) -> Option<&'a Effects> {
        self.facts.cells[at].names.functions.get(name).or_else(|| self.function(name, at))
    }

    /// The nearest cell above that defines a name.
    fn definer_above(&self, name: &str, position: usize) -> Option<usize> {
        let all = self.positions.get(name)?;
        all[..all.partition_point(|definer| *definer < position)].last().copied()
    }

    /// The names of the cell that defines a name as seen from this position: the nearest above, else the first below.
    fn definer(&self, name: &str, position: usize) -> Option<&'a Names> {
        self.definer_at(name, position).map(|definer| &*self.facts.cells[definer].names)
    }

    fn definer_at(&self, name: &str, position: usize) -> Option<usize> {
        let all = self.positions.get(name)?;
        let above = all.partition_point(|definer| *definer < position);
        above.checked_sub(1).map_or_else(|| all.first(), |index| all.get(index)).copied()
    }
}

/// `decimal` of `decimal.Decimal`.
fn package(path: &str) -> &str {
    path.split('.').next().unwrap_or_default()
}

/// What code itself defines, changes or deletes.
fn writes(effects: &Effects) -> impl Iterator<Item = &str> {
    effects.defines.iter().chain(&effects.changes).chain(&effects.deletes).map(String::as_str)
}

//! A name as seen from a cell, by what other cells say.

use std::collections::{BTreeSet, HashMap};

use names::{Effects, FIGURE, Name, Names, ObjectUse, PATTERN, STREAM};

use crate::facts::Facts;
use crate::value::Write;

/// The cells by the names that they themselves define.
pub(crate) struct Definers<'a> {
    facts: Facts<'a>,
    pub(crate) positions: HashMap<&'a str, Vec<usize>>,
    /// The names that share an object with another one somewhere.
    aliased: BTreeSet<&'a str>,
    /// The names with which cells make objects, or which they put into them, by the names of the objects.
    held: HashMap<&'a str, Vec<(usize, &'a Name)>>,
    /// The names that are imported from each package.
    imported: HashMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Definers<'a> {
    pub(crate) fn new(facts: Facts<'a>) -> Self {
        let mut positions = HashMap::<_, Vec<_>>::new();
        for (position, cell) in facts.cells.iter().enumerate() {
            for name in &cell.names.effects.defines {
                positions.entry(name.as_str()).or_default().push(position);
            }
        }
        let aliased = facts.cells.iter().flat_map(|cell| &cell.names.aliases);
        let aliased = aliased.flat_map(|(alias, name)| [alias.as_str(), name.as_str()]).collect();
        let mut imported = HashMap::<_, BTreeSet<_>>::new();
        for (name, path) in facts.cells.iter().flat_map(|cell| &cell.names.imports) {
            imported.entry(package(path)).or_default().insert(name.as_str());
        }
        let mut definers = Self { facts, positions, aliased, held: HashMap::new(), imported };
        for (at, cell) in facts.cells.iter().enumerate() {
            let names = &*cell.names;
            let registered = names.registered.iter().flat_map(|(by, all)| {
                definers.from(at).changed_by_decorator(by).into_iter().map(move |name| (name, all))
            });
            let holds = names.holds.iter().map(|(name, all)| (name.as_str(), all));
            for (name, all) in holds.chain(registered).collect::<Vec<_>>() {
                definers.held.entry(name).or_default().extend(all.iter().map(|held| (at, held)));
            }
        }
        definers
    }

    pub(crate) fn from(&self, position: usize) -> From<'_, 'a> {
        From { definers: self, position }
    }
}

/// The notebook as seen from one cell.
#[derive(Clone, Copy)]
pub(crate) struct From<'b, 'a> {
    definers: &'b Definers<'a>,
    position: usize,
}

impl<'b, 'a> From<'b, 'a> {
    fn at(self, position: usize) -> Self {
        Self { position, ..self }
    }

    fn cell(self, position: usize) -> &'a Names {
        &self.definers.facts.cells[position].names
    }

    /// The cells that define a name, and how many of them stand above.
    fn definers_of(self, name: &str) -> (&'b [usize], usize) {
        let all = self.definers.positions.get(name).map(Vec::as_slice).unwrap_or_default();
        (all, all.partition_point(|definer| *definer < self.position))
    }

    /// The nearest cell above that defines a name.
    fn definer_above(self, name: &str) -> Option<usize> {
        let (all, above) = self.definers_of(name);
        all[..above].last().copied()
    }

    /// The cell that defines a name as seen from this one: the nearest above, else the first below.
    fn definer_at(self, name: &str) -> Option<usize> {
        let (all, above) = self.definers_of(name);
        all.get(above.saturating_sub(1)).copied()
    }

    fn definer(self, name: &str) -> Option<&'a Names> {
        self.definer_at(name).map(|definer| self.cell(definer))
    }

    /// The effects of a function of another cell, also after `name = function`.
    pub(crate) fn function(self, name: &str) -> Option<&'a Effects> {
        let definer = self.definer_at(name)?;
        let names = self.cell(definer);
        names.functions.get(name).or_else(|| {
            let original = names.aliases.get(name)?;
            // A circle of aliases has none above.
            let above = || (definer < self.position).then(|| self.at(definer).function(original)).flatten();
            names.functions.get(original).or_else(above)
        })
    }

    /// The effects of a function as seen from within this cell.
    fn own_function(self, name: &str) -> Option<&'a Effects> {
        self.cell(self.position).functions.get(name).or_else(|| self.function(name))
    }

    /// Whether it is the name of a module.
    pub(crate) fn is_import(self, name: &str) -> bool {
        self.definer(name).is_some_and(|names| names.imports.contains_key(name))
    }

    /// The other names that are imported from the same package, which may share its settings.
    pub(crate) fn siblings(self, name: &str) -> Vec<&'a str> {
        let path = self.definer(name).and_then(|names| names.imports.get(name));
        let all = path.and_then(|path| self.definers.imported.get(package(path)));
        all.into_iter().flatten().copied().filter(|other| *other != name).collect()
    }

    /// The function or class whose call has made the object of a name.
    pub(crate) fn maker(self, name: &str) -> Option<&'a str> {
        self.definer(name)?.made_by.get(name).map(String::as_str)
    }

    /// The change that a loop makes to the object of a name: a stream moves on.
    pub(crate) fn loop_write(self, name: &str) -> Option<Write> {
        let names = self.definer(name)?;
        if names.streams.contains(name) {
            return Some(Write::Changes);
        }
        let maker = names.made_by.get(name)?;
        let maker = names.functions.get(maker).or_else(|| self.function(maker))?;
        let is_stream = |held: &Name| {
            held == STREAM || self.definer(held).is_some_and(|names| names.streams.contains(held))
        };
        let is_stream = maker.yields || names.holds.get(name).is_some_and(|all| all.iter().any(is_stream));
        is_stream.then_some(if maker.is_class { Write::Calls } else { Write::Changes })
    }

    /// The objects that a decorator of this cell changes.
    fn changed_by_decorator(self, decorator: &'a Name) -> Vec<&'a str> {
        if let Some(function) = self.own_function(decorator).filter(|function| !function.is_class) {
            return function.changed().map(String::as_str).collect();
        }
        let is_object = self.definer(decorator).is_some_and(|names| !names.imports.contains_key(decorator));
        if is_object { vec![decorator] } else { Vec::new() }
    }

    /// Other names for the object of a name.
    pub(crate) fn aliases(self, name: &str) -> Vec<&'a str> {
        if !self.definers.aliased.contains(name) {
            return Vec::new();
        }
        let object = self.object(name);
        let is_alias = |other: &&'a str| *other != name && self.object(other) == object;
        self.definers.aliased.iter().copied().filter(is_alias).collect()
    }

    /// The identity of the object of a name: the cell that made it, and the name that it has there. After `df = load()`, `a = df` and
    /// `df = df.head()` in cells 0, 1 and 2, `a` is (0, `df`) and `df` is (2, `df`).
    fn object<'n>(self, name: &'n str) -> (Option<usize>, &'n str)
    where
        'a: 'n,
    {
        let Some(above) = self.definer_above(name) else { return (None, name) };
        let names = self.cell(above);
        match names.aliases.get(name) {
            Some(original) if names.effects.defines.contains(original) => (Some(above), original),
            Some(original) => self.at(above).object(original),
            None => (Some(above), name),
        }
    }

    /// The names that the object of a name uses when it is used.
    pub(crate) fn late(self, name: &'a str) -> BTreeSet<&'a str> {
        let mut used = BTreeSet::new();
        let mut objects: Vec<_> = self.definer_above(name).map(|maker| (name, maker)).into_iter().collect();
        let mut done = BTreeSet::new();
        while let Some((name, maker)) = objects.pop() {
            if !done.insert((name, maker)) {
                continue;
            }
            // A result of a function is none of its code, unless it gives some.
            let function = self.cell(maker).made_by.get(name).map(|it| self.at(maker).own_function(it));
            let gives_code = function.is_none_or(|function| function.is_some_and(|it| it.gives_code));
            let held = self.definers.held.get(name).into_iter().flatten();
            let held =
                held.filter(|(at, _)| (maker..self.position).contains(at) && (gives_code || *at != maker));
            for (at, held) in held {
                let function = self.at(*at).own_function(held);
                used.extend(function.filter(|it| it.gives_code).map(|_| held.as_str()));
                self.at(*at).add_late(function, &mut used);
                objects.extend(self.at(at + 1).definer_above(held).map(|maker| (held.as_str(), maker)));
            }
        }
        used
    }

    /// Adds what a function of this cell uses, and those that it calls.
    fn add_late(self, function: Option<&'a Effects>, used: &mut BTreeSet<&'a str>) {
        let (mut functions, mut done) = (Vec::from_iter(function), BTreeSet::new());
        while let Some(function) = functions.pop() {
            used.extend(function.uses.iter().map(String::as_str));
            let called = function.reads.iter().filter(|name| done.insert(name.as_str()));
            functions.extend(called.filter_map(|name| self.own_function(name)));
        }
    }

    /// Whether a use of the object of a name may change it. The cell may have defined the name itself.
    pub(crate) fn is_changed_by(self, name: &str, how: ObjectUse, is_own: bool) -> bool {
        let may_change = matches!(how, ObjectUse::Method(_));
        let (Some(at), name) = self.at(self.position + usize::from(is_own)).object(name) else {
            return may_change;
        };
        let Some(maker) = self.cell(at).made_by.get(name) else { return may_change };
        match how {
            _ if maker == PATTERN => false,
            ObjectUse::Draw => maker == FIGURE,
            ObjectUse::Take => false,
            ObjectUse::Method(method) | ObjectUse::Reading(method) => {
                self.at(at).method(maker, method).unwrap_or(may_change)
            }
        }
    }

    /// Whether a method of a class of the notebook, or of its bases, changes its object.
    fn method(self, class: &'a str, method: u32) -> Option<bool> {
        let (mut classes, mut done) = (vec![(class, self.position)], BTreeSet::new());
        while let Some((class, at)) = classes.pop().filter(|class| done.insert(*class)) {
            let Some(at) = self.at(at + 1).definer_above(class) else { continue };
            let names = self.cell(at);
            let changes = names.functions.get(class).and_then(|class| class.methods.get(&method));
            if changes.is_some() {
                return changes.copied();
            }
            let bases = names.holds.get(class).into_iter().flatten();
            classes.extend(bases.map(|base| (base.as_str(), at)));
        }
        None
    }
}

/// `decimal` of `decimal.Decimal`.
fn package(path: &str) -> &str {
    path.split('.').next().unwrap_or_default()
}

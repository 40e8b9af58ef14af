//! The names of a cell.

use std::collections::BTreeMap;

use syntax::{Name, NameSet, SmallSet, Unknown, magics};

use crate::makers::is_class_maker;

/// The words of a longer text that cannot be read are not kept, in bytes.
const MAX_WORDS: usize = 16 * 1024;

/// The names of a cell of Python, with the magics of `IPython`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// The effects of running the cell.
    pub effects: Effects,
    /// The same for each of its statements, in order.
    pub steps: Vec<Step>,
    /// The effects of calling the functions and classes that it defines.
    pub functions: BTreeMap<Name, Effects>,
    /// Further names for the objects of others, as `a` after `a = df`.
    pub aliases: BTreeMap<Name, Name>,
    /// The names that it imports, with what they import: `pkg.part.f` for `f` after `from pkg.part import f`.
    pub imports: BTreeMap<Name, String>,
    /// Definitions that give the same value each time they run: imports, and functions without decorators and defaults.
    /// The number stands for their text.
    pub fixed: BTreeMap<Name, u64>,
    /// The names that it binds to objects which give each item once, such as files, iterators and generators of random numbers, or to
    /// objects that got one: `reader = Reader(open(p))`.
    pub streams: NameSet,
    /// The names that it binds to what a function gives, with the function's name. See [`Effects::yields`].
    pub made_by: BTreeMap<Name, Name>,
    /// Code that may run when the objects of names are used: `M` and `f` after `m = M(f)`, `m` after `ms = [m]`, `f` after `fs.append(f)`, the
    /// bases of a class. Lambdas stand in [`functions`](Self::functions) under the name of the object that they go into.
    pub holds: BTreeMap<Name, NameSet>,
    /// The functions and classes that decorators get, which may keep them: `@on("a")`.
    pub registered: BTreeMap<Name, NameSet>,
    /// The attributes that it reads, also in its functions, as numbers: see [`attribute`](crate::attribute).
    pub attributes: SmallSet<u32>,
    /// Whether expressions stand above its last statement, which `IPython` may show.
    pub has_inner_expressions: bool,
    /// Words of what could not be read. Any of them may be a name that it binds.
    pub possible: NameSet,
    /// Whether it may bind any name at all, as `from m import *`, `exec()` and `%run` do.
    pub binds_anything: bool,
}

/// A statement of a cell that is in no other one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// Its effects, as if it were a cell.
    pub effects: Effects,
    /// The number stands for its text.
    pub code: u64,
}

/// The effect of changing an object once more, compared with changing it once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repeat {
    /// It is the same: `df["a"] = 1`.
    Same,
    #[default]
    Unknown,
    /// It is something else: `xs.append(1)`, `df["a"] = df["a"] * 2`.
    Differs,
}

/// The effect of code on an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Whether it surely changes it, by an assignment to a part of it or an augmented one. Else a method of a part of it was called, or a
    /// function of a library got it, that may change it.
    pub is_sure: bool,
    /// Whether the name may have another object now instead: `n += 1`.
    pub augments: bool,
    /// The effect of doing it once more.
    pub repeat: Repeat,
    /// The parts that assignments replace: `["x"]`, `.x`.
    pub parts: SmallSet<String>,
    /// The names that choose these parts: `k` of `d[k] = 1`. If one has another value, the part of before stays.
    pub keys: NameSet,
}

impl Change {
    pub(crate) fn sure(repeat: Repeat) -> Self {
        Self { is_sure: true, repeat, ..Self::default() }
    }

    pub(crate) fn unsure() -> Self {
        Self { repeat: Repeat::Same, ..Self::default() }
    }

    pub(crate) fn part(mut self, part: impl Into<String>) -> Self {
        self.parts.insert(part.into());
        self
    }

    /// Adds a later change of the same object.
    fn then(&mut self, later: &Self) {
        // `n += 1` may leave the object of before untouched, but not together with a change of the object itself.
        self.augments = match (self.is_sure, later.is_sure) {
            (true, true) => self.augments && later.augments,
            (true, false) => self.augments,
            (false, _) => later.augments,
        };
        self.is_sure |= later.is_sure;
        // The worst decides: `xs.clear()` repeats well, `xs.append(1)` behind it does not.
        self.repeat = self.repeat.max(later.repeat);
        self.parts.extend(later.parts.iter().cloned());
        self.keys.extend(later.keys.iter().cloned());
    }
}

/// The effect of running code on the names of its module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent facts")]
pub struct Effects {
    /// Read before the code itself binds them.
    pub uses: NameSet,
    /// Of these, the ones without which it fails: not those in a `try` that handles the error, in annotations and in commands.
    pub needs: NameSet,
    /// Read, whether or not the code itself has bound them. A name that is only put into another object is not.
    pub reads: NameSet,
    pub defines: NameSet,
    /// Of these, the ones that a branch, a loop or an error may leave as they were.
    pub may_define: NameSet,
    /// The ones that count as bound in the code below: not those of a branch that may not be taken.
    pub(crate) binds: NameSet,
    pub deletes: NameSet,
    pub changes: BTreeMap<Name, Change>,
    /// Used in a way that may change them, by what they are.
    pub object_uses: SmallSet<(Name, ObjectUse)>,
    /// It calls something that may give another result each time, such as a clock.
    pub varies: bool,
    /// Of a function: it is a generator, so that what it gives is a stream. Of a class: its objects are streams, or may hold one.
    pub yields: bool,
    /// Of a function: it keeps what it gave, or the names that it used, as with `@cache` and `@jit`.
    pub caches: bool,
    /// Of a class, or of a function that gives a function: what it uses counts when what it gave is used.
    pub gives_code: bool,
    pub is_class: bool,
    /// Of a class: for each method, whether it changes its object. The numbers stand for names: see [`attribute`](crate::attribute).
    pub methods: BTreeMap<u32, bool>,
    /// The names whose objects are passed to functions.
    pub passes: SmallSet<Passed>,
    /// Of a function: its positional parameters, and those whose objects it changes, or calls methods of that may do so.
    pub parameters: Vec<Name>,
    pub changed_parameters: NameSet,
    /// Of a function: the parameters that it passes on.
    pub passed_parameters: SmallSet<Passed>,
    /// The reason why the sets may not be complete.
    pub unknown: Option<Unknown>,
}

/// A use of an object of which its class says whether it changes it. Numbers stand for the names of methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectUse {
    /// Its object gives the next of its items, if it is a stream.
    Take,
    /// `left.plot(x)`, which draws on axes and only reads from data.
    Draw,
    /// `m.advance()`, which may change it, if its class does not say.
    Method(u32),
    /// `m.mean()`, which only reads, if its class does not say; also `tick()`, `with tracker:` and `a >> b`.
    Reading(u32),
}

/// A name that is an argument of a call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Passed {
    pub name: Name,
    pub function: Name,
    pub argument: Argument,
}

/// For which parameter an argument is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Argument {
    Position(usize),
    Keyword(Name),
}

impl Effects {
    /// Adds what a later statement does.
    pub(crate) fn then(&mut self, step: &Self) {
        // A name that the code has bound itself is its own object: to use or change that is nothing to other cells.
        let outside = |name: &&Name| !self.binds.contains(*name);
        self.needs.extend(step.needs.iter().filter(|name| !self.defines.contains(*name)).cloned());
        self.uses.extend(step.uses.iter().filter(outside).cloned());
        self.object_uses.extend(step.object_uses.iter().filter(|(name, _)| outside(&name)).cloned());
        self.passes.extend(step.passes.iter().filter(|passed| outside(&&passed.name)).cloned());
        for (name, change) in step.changes.iter().filter(|(name, _)| !self.binds.contains(*name)) {
            self.changes
                .entry(name.clone())
                .and_modify(|before| before.then(change))
                .or_insert_with(|| change.clone());
        }
        self.reads.extend(step.reads.iter().cloned());
        // Before the definitions: a step that deletes a name and defines it again only has it among these.
        for name in &step.deletes {
            self.defines.remove(name);
            self.may_define.remove(name);
            self.binds.remove(name);
            self.deletes.insert(name.clone());
        }
        for name in &step.defines {
            if !step.may_define.contains(name) {
                self.may_define.remove(name);
            } else if !self.defines.contains(name) {
                self.may_define.insert(name.clone());
            }
            self.deletes.remove(name);
            self.defines.insert(name.clone());
        }
        self.binds.extend(step.binds.iter().cloned());
        self.varies |= step.varies;
        // The first reason is the one that a reader finds when reading from the top.
        if self.unknown.is_none() {
            self.unknown.clone_from(&step.unknown);
        }
    }

    pub(crate) fn change(&mut self, name: &str, change: Change) {
        match self.changes.get_mut(name) {
            Some(before) => before.then(&change),
            None => drop(self.changes.insert(name.to_owned(), change)),
        }
    }

    /// The names whose objects it surely changes.
    pub fn changed(&self) -> impl Iterator<Item = &Name> {
        self.changes.iter().filter(|(_, change)| change.is_sure).map(|(name, _)| name)
    }

    /// The names of which it calls methods that may change their objects.
    pub fn called(&self) -> impl Iterator<Item = &Name> {
        let methods = self.object_uses.iter().filter(|(_, how)| matches!(how, ObjectUse::Method(_)));
        let calls = self.changes.iter().filter(|(_, change)| !change.is_sure).map(|(name, _)| name);
        calls.chain(methods.map(|(name, _)| name))
    }

    /// The names that it reads or puts into other objects.
    pub fn mentioned(&self) -> impl Iterator<Item = &Name> {
        self.reads.iter().chain(&self.uses)
    }

    /// The parameter of a function with these effects that gets an argument.
    pub fn parameter<'n>(&'n self, argument: &'n Argument) -> Option<&'n Name> {
        match argument {
            Argument::Position(position) => self.parameters.get(*position),
            Argument::Keyword(name) => Some(name),
        }
    }
}

impl Names {
    /// A cell of which nothing is known.
    pub fn unknown(why: Unknown) -> Self {
        let binds_anything = why.binds_anything();
        let effects = Effects { unknown: Some(why), ..Effects::default() };
        Self { effects, binds_anything, ..Self::default() }
    }

    /// Notes that text which cannot be read may bind names.
    pub(crate) fn may_bind(&mut self, text: &str) {
        if text.len() > MAX_WORDS {
            self.binds_anything = true;
        } else {
            self.possible.extend(magics::words(text).map(ToOwned::to_owned));
        }
    }

    /// The classes that it defines: each time, they are other ones.
    pub fn classes(&self) -> impl Iterator<Item = &str> {
        // `Point = namedtuple("Point", "x y")` makes a class, too.
        let by_statement =
            self.functions.iter().filter(|(_, effects)| effects.is_class).map(|(name, _)| name);
        let by_call = self.made_by.iter().filter(|(_, maker)| is_class_maker(maker)).map(|(name, _)| name);
        by_statement.chain(by_call).map(String::as_str)
    }

    /// Whether the cell, or a function of it, sets a part of these options.
    pub fn sets(&self, options: &str) -> bool {
        self.functions.values().chain([&self.effects]).any(|effects| effects.changes.contains_key(options))
    }

    /// Whether running the cell does nothing with names, which holds for one without code.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

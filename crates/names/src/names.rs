//! The names of a cell.

use std::collections::BTreeMap;

use syntax::{Name, NameSet, SmallSet, Unknown, magics};

use crate::makers::is_class_maker;

/// The words of a longer text that cannot be read are not kept, in bytes.
const MAX_WORDS: usize = 16 * 1024;

/// The names of a cell of Python, with the magics of `IPython`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// What the cell does when it runs.
    pub effects: Effects,
    /// The same for each of its statements, in order.
    pub steps: Vec<Step>,
    /// What the functions and classes that it defines do when they are called.
    pub functions: BTreeMap<Name, Effects>,
    /// Further names for the objects of others, as `a` after `a = df`.
    pub aliases: BTreeMap<Name, Name>,
    /// The names that it imports, with what they import: `pkg.part.f` for `f` after `from pkg.part import f`.
    pub imports: BTreeMap<Name, String>,
    /// Definitions that give the same value each time they run: imports, and functions without decorators and defaults.
    /// The number stands for their text.
    pub fixed: BTreeMap<Name, u64>,
    /// The names that it binds to objects which give each item once, such as files, iterators and generators of random numbers.
    pub streams: NameSet,
    /// The names that it binds to what a function gives, with the function's name. See [`Effects::yields`].
    pub made_by: BTreeMap<Name, Name>,
    /// Of these, the ones whose function got a new stream: `reader = Reader(open(p))`.
    pub given_streams: NameSet,
    /// What goes into the objects of names and may run when these are used: `M` and `f` after `m = M(f)`, `m` after `ms = [m]`, and the
    /// bases of a class.
    pub holds: BTreeMap<Name, NameSet>,
    /// What goes into the objects of names that the cell changes, and may run when these are used: `f` after `fs.append(f)`.
    pub added: BTreeMap<Name, Added>,
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

/// Code that goes into an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Added {
    /// What its lambdas use.
    pub code: Effects,
    /// Names that are functions, if they are any.
    pub functions: NameSet,
}

/// What changing an object once more does, compared with changing it once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repeat {
    /// It is the same: `df["a"] = 1`.
    Same,
    #[default]
    Unknown,
    /// It is something else: `xs.append(1)`, `df["a"] = df["a"] * 2`.
    Differs,
}

/// What running code does with the names of its module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent facts")]
pub struct Effects {
    /// Read before the code itself binds them.
    pub uses: NameSet,
    /// Of these, the ones without which it fails: not those in a `try` that handles the error, in annotations and in commands.
    pub needs: NameSet,
    /// Read, whether or not the code itself has bound them. A name that is only put into another object is not.
    pub reads: NameSet,
    /// Of the used names, the ones whose objects give the next of their items, if they are streams.
    pub takes: NameSet,
    pub defines: NameSet,
    /// Of these, the ones that a branch, a loop or an error may leave as they were.
    pub may_define: NameSet,
    /// The ones that count as bound in the code below: not those of a branch that may not be taken.
    pub(crate) binds: NameSet,
    pub deletes: NameSet,
    /// Changed by an assignment to a part of their object, or an augmented one.
    pub changes: NameSet,
    /// Of these, the ones that may have another object now instead: `n += 1`.
    pub augments: NameSet,
    /// A method of a part of them was called, or a function of a library got them, that may change their object.
    pub calls: NameSet,
    /// Used in a way that may change them, by what they are.
    pub object_uses: SmallSet<(Name, ObjectUse)>,
    /// What changing them once more does; see `changes`.
    pub repeats: BTreeMap<Name, Repeat>,
    /// The parts of them that assignments replace: `["x"]`, `.x`.
    pub parts: BTreeMap<Name, SmallSet<String>>,
    /// The names that choose these parts: `k` of `d[k] = 1`. With another value, the part of before stays.
    pub keys: BTreeMap<Name, NameSet>,
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
    /// Why the sets may not be complete.
    pub unknown: Option<Unknown>,
}

/// A use of an object of which its class says whether it changes it. Numbers stand for the names of methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectUse {
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
        // What the code has bound itself is its own object: to use or change that is nothing to other cells.
        let outside = |name: &&Name| !self.binds.contains(*name);
        self.needs.extend(step.needs.iter().filter(|name| !self.defines.contains(*name)).cloned());
        self.uses.extend(step.uses.iter().filter(outside).cloned());
        self.takes.extend(step.takes.iter().filter(outside).cloned());
        self.calls.extend(step.calls.iter().filter(outside).cloned());
        self.object_uses.extend(step.object_uses.iter().filter(|(name, _)| outside(&name)).cloned());
        self.passes.extend(step.passes.iter().filter(|passed| outside(&&passed.name)).cloned());
        for name in step.changes.iter().filter(outside) {
            // `n += 1` may leave the object of before untouched, but not together with a change of the object itself.
            let is_first = self.changes.insert(name.clone());
            if !step.augments.contains(name) {
                self.augments.remove(name);
            } else if is_first {
                self.augments.insert(name.clone());
            }
        }
        for (name, repeat) in step.repeats.iter().filter(|(name, _)| outside(name)) {
            // The worst decides: `xs.clear()` repeats well, `xs.append(1)` behind it does not.
            let known = self.repeats.entry(name.clone()).or_insert(*repeat);
            *known = (*known).max(*repeat);
        }
        for (name, parts) in step.parts.iter().filter(|(name, _)| outside(name)) {
            self.parts.entry(name.clone()).or_default().extend(parts.iter().cloned());
        }
        for (name, keys) in step.keys.iter().filter(|(name, _)| outside(name)) {
            self.keys.entry(name.clone()).or_default().extend(keys.iter().cloned());
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

    /// The names of which it calls methods that may change their objects.
    pub fn called(&self) -> impl Iterator<Item = &Name> {
        let methods = self.object_uses.iter().filter(|(_, how)| matches!(how, ObjectUse::Method(_)));
        self.calls.iter().chain(methods.map(|(name, _)| name))
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

    pub fn is_class(&self, name: &str) -> bool {
        self.functions.get(name).is_some_and(|effects| effects.is_class)
            || self.made_by.get(name).is_some_and(|maker| is_class_maker(maker))
    }

    /// Whether the cell, or a function of it, sets a part of these options.
    pub fn sets(&self, options: &str) -> bool {
        self.functions.values().chain([&self.effects]).any(|effects| effects.changes.contains(options))
    }

    /// Whether running the cell does nothing with names, which holds for one without code.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

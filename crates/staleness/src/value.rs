//! Versions of the values of names: each stands for the code that made the value, and for the versions that this code got. Two values with
//! the same version are the same value, as far as the sources and the kernel tell.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, Hash, Hasher as _};
use std::rc::Rc;

use foldhash::fast::{FixedState, FoldHasher};

use names::{is_configuration, is_file};

/// The value of a name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Value<'a> {
    /// The version of its definition.
    base: u64,
    /// The changes since that add to it, in their order.
    chain: u64,
    /// The definitions that may have taken its place, in their order.
    maybe: Vec<(Option<usize>, u64)>,
    /// The parts that were set: by the cell at which position, and their versions.
    parts: BTreeMap<u64, (Option<usize>, u64)>,
    /// Calls of its methods which may have changed it, by the cell: their version, and the run.
    calls: BTreeMap<Caller, (u64, u64)>,
    /// Of these, the ones that have changed it.
    changed_by: BTreeSet<Caller>,
    /// Calls of a function that keeps its results, and their versions. What they have kept is what another call would make, if it is made
    /// of the same values.
    filled: BTreeMap<Caller, u64>,
    /// Stand for the values that these results were made of.
    kept: BTreeSet<u64>,
    /// The module that it is, or was imported from.
    pub(crate) module: Option<&'a str>,
    pub(crate) writers: Writers,
    /// The run that has defined it.
    pub(crate) identity: u64,
    /// The objects that it was made of, and the classes of these: the runs that had defined them.
    pub(crate) made_of: Rc<BTreeMap<&'a str, u64>>,
}

/// A cell by its position; code that is in no cell any longer, or was in none, by its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Caller {
    Cell(usize),
    Past(usize),
}

impl Caller {
    pub(crate) fn position(self) -> Option<usize> {
        match self {
            Self::Cell(position) => Some(position),
            Self::Past(_) => None,
        }
    }
}

/// Code that has written a name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writer {
    pub(crate) caller: Caller,
    /// The cell that had this code.
    pub(crate) position: Option<usize>,
    /// The run, as an index, and its number. In a run of the whole notebook, the last run of the cell, if there is one.
    pub(crate) run: Option<usize>,
    pub(crate) order: u64,
    /// Stands for the objects that it makes.
    pub(crate) identity: u64,
    /// Stands for what is another value each time.
    pub(crate) token: u64,
    pub(crate) write: Write,
}

/// The code that has written a name, the last first. Shared, because a random state has hundreds, and each cell sees some.
#[derive(Debug, Clone, Default)]
pub(crate) struct Writers(Option<Rc<(Writer, u64, Writers)>>);

impl Writers {
    /// Adds one, and the version that it has left.
    fn push(&mut self, writer: Writer, version: u64) {
        self.0 = Some(Rc::new((writer, version, self.clone())));
    }

    /// Those after the one that has left this version, the last first; all, if none has.
    pub(crate) fn after(&self, version: u64) -> Vec<Writer> {
        let mut after = Vec::new();
        let mut next = self;
        while let Some(node) = &next.0 {
            if node.1 == version {
                return after;
            }
            after.push(node.0);
            next = &node.2;
        }
        after
    }

    /// The last first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Writer> + '_ {
        let mut next = self;
        std::iter::from_fn(move || {
            let (writer, _, rest) = &**next.0.as_ref()?;
            next = rest;
            Some(*writer)
        })
    }
}

impl Drop for Writers {
    fn drop(&mut self) {
        // Not by recursion: the list may be long.
        let mut next = self.0.take();
        while let Some(Ok((_, _, mut rest))) = next.map(Rc::try_unwrap) {
            next = rest.0.take();
        }
    }
}

/// A change of the value of a name by a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Define(u64),
    /// The same module, with all that was set in it.
    Import(u64),
    MayDefine(u64),
    Delete,
    Add(u64),
    /// Sets parts.
    Set(Vec<u64>, u64),
    /// Calls a method, in the run of this number.
    Call(u64, u64),
    /// The same, and the kernel has seen that this changes the object.
    CallChanging(u64, u64),
    /// Calls a function that keeps its results, which are made of these values.
    Fill(u64, Option<u64>),
    Nothing,
}

/// A cell's own changes of a value that it uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Own<'o> {
    pub(crate) caller: Caller,
    /// The parts that it sets.
    pub(crate) parts: &'o [u64],
    /// Whether these do not matter, whoever has set them.
    pub(crate) replaces: bool,
    pub(crate) calls: bool,
}

/// The ways in which code writes a name; a later one says more about the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Write {
    /// It calls a function that keeps its results.
    Fills,
    /// It passes the object to a function of the notebook that changes its argument, as far as names tell.
    Passes,
    /// It calls a method of the object.
    Calls,
    /// It changes the object, or deletes the name.
    Changes,
    /// A branch of it, or a function that it may call, defines the name.
    MayDefine,
    Defines,
}

impl Write {
    /// Whether the object may be as it was.
    pub(crate) fn is_weak(self) -> bool {
        self <= Self::Calls
    }

    /// Whether the name may have another object now.
    pub(crate) fn binds(self) -> bool {
        self >= Self::MayDefine
    }
}

/// The lifetime of a name's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    /// Options, which stay as they were set, and modules. Setting further parts leaves the others as they are.
    Setting,
    /// A file may be there from an earlier kernel.
    File,
}

impl Kind {
    pub(crate) fn of(name: &str, is_module: bool) -> Self {
        match name {
            _ if is_module || is_configuration(name) => Self::Setting,
            _ if is_file(name) => Self::File,
            _ => Self::Object,
        }
    }
}

/// The comparison of the value that a run got with another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Difference {
    Same,
    /// It keeps more results, or fewer: it gives the same, but does less or more for it.
    Fills,
    /// A method was called that may have changed it.
    MayDiffer,
    Differs,
}

impl Value<'_> {
    /// The version, as code of `own` uses it: without what it changes itself, and what cells below have called.
    pub(crate) fn version(&self, own: Own<'_>) -> u64 {
        let position = own.caller.position().unwrap_or(usize::MAX);
        let calls =
            self.calls.range(..Caller::Cell(position)).map(|(caller, (version, _))| (caller, version));
        let parts = self
            .parts
            .iter()
            .filter(|(part, (by, _))| *by != own.caller.position() || !own.parts.contains(part));
        let parts = parts.map(|(part, (_, version))| (part, version));
        let mut all = hasher();
        (self.base, self.chain, &self.maybe).hash(&mut all);
        parts.for_each(|part| part.hash(&mut all));
        calls.for_each(|call| call.hash(&mut all));
        all.finish()
    }

    /// Stands for all of the value.
    pub(crate) fn state(&self) -> u64 {
        let calls: Vec<_> = self.calls.iter().map(|(caller, (version, _))| (caller, version)).collect();
        hash(&(self.base, self.chain, &self.maybe, &self.parts, calls, &self.kept))
    }

    /// The module of this name was loaded again.
    pub(crate) fn reload(&mut self, content: u64) {
        self.base = hash(&(self.module, content));
    }

    pub(crate) fn is_defined(&self) -> bool {
        self.base != 0 || !self.maybe.is_empty()
    }

    /// Compares what a run has got with what it gets in a run of the whole notebook.
    /// `edited` says of past code whether the cell that ran it has other code now, and whether that has run.
    pub(crate) fn difference(
        &self,
        fresh: &Self,
        own: Own<'_>,
        kind: Kind,
        edited: &dyn Fn(Caller) -> Option<bool>,
    ) -> Difference {
        let key = |value: &Self| (value.base, value.chain, value.maybe.clone());
        // A part that the cell itself has set before, it sets again.
        let is_own = |part: &u64| {
            own.parts.contains(part)
                && (own.replaces || self.parts.get(part).is_some_and(|(by, _)| *by == own.caller.position()))
        };
        let parts = |value: &Self| -> BTreeMap<u64, u64> {
            let parts = value.parts.iter().filter(|(part, _)| !is_own(part));
            parts.map(|(part, (_, version))| (*part, *version)).collect()
        };
        let (had, gets) = (parts(self), parts(fresh));
        let is_left = || match kind {
            Kind::Object => false,
            Kind::Setting => gets.iter().all(|(part, version)| had.get(part) == Some(version)),
            Kind::File => gets.iter().all(|(part, version)| had.get(part).is_none_or(|had| had == version)),
        };
        let is_other = key(self) != key(fresh) || self.keeps_others(fresh, own);
        if is_other || had != gets && !is_left() {
            return Difference::Differs;
        }
        let is_meant = |caller: &Caller| !own.calls || *caller != own.caller;
        let mut calls = fresh.calls.iter().filter(|(caller, _)| is_meant(caller));
        let called = |(caller, (version, _)): (&Caller, &(u64, u64))| {
            self.calls.get(caller).is_some_and(|(seen, _)| seen != version)
        };
        // A setting stays until a restart.
        let is_undone =
            |caller: &Caller| edited(*caller).is_some_and(|has_run| kind != Kind::Setting || !has_run);
        let is_undone = || self.calls.keys().any(is_undone);
        let changed_by =
            |value: &Self| -> Vec<Caller> { value.changed_by.iter().copied().filter(is_meant).collect() };
        if calls.any(called) || is_undone() || changed_by(self) != changed_by(fresh) {
            return Difference::Differs;
        }
        let orders = |value: &Self| -> Vec<(Caller, u64)> {
            let calls = value.calls.iter().filter(|(caller, _)| is_meant(caller));
            calls.map(|(caller, (_, order))| (*caller, *order)).collect()
        };
        let filled = |value: &Self| -> Vec<(Caller, u64)> {
            let filled = value.filled.iter().filter(|(caller, _)| **caller != own.caller);
            filled.map(|(caller, version)| (*caller, *version)).collect()
        };
        if had != gets || orders(self) != orders(fresh) {
            Difference::MayDiffer
        } else if filled(self) != filled(fresh) {
            Difference::Fills
        } else {
            Difference::Same
        }
    }

    /// Whether it keeps results of other values than `fresh` does.
    pub(crate) fn keeps_others(&self, fresh: &Self, own: Own<'_>) -> bool {
        self.kept.iter().any(|kept| !fresh.kept.contains(kept) && !own.parts.contains(kept))
    }

    /// The value after a change.
    pub(crate) fn after(before: Option<&Self>, change: &Change, writer: Writer) -> Option<Self> {
        let mut value = before.cloned().unwrap_or_default();
        match change {
            Change::Nothing => return before.cloned(),
            Change::Delete => value = Self::default(),
            Change::Define(version) => {
                let identity = writer.identity;
                value = Self { base: *version, identity, ..Self::default() };
            }
            Change::Import(version) => {
                (value.base, value.identity) = (*version, writer.identity);
                value.maybe.clear();
                value.writers = Writers::default();
            }
            // Without another value, it is this one or none.
            Change::MayDefine(version) if !value.is_defined() || value.is_only_of(writer.position) => {
                value = Self { base: *version, identity: writer.identity, ..Self::default() };
            }
            Change::MayDefine(version) => {
                value.maybe.pop_if(|(position, _)| *position == writer.position);
                value.maybe.push((writer.position, *version));
                value.identity = writer.identity;
            }
            Change::Add(version) => value.chain = hash(&(value.chain, version)),
            Change::Set(parts, version) => {
                value.parts.extend(parts.iter().map(|part| (*part, (writer.position, *version))));
            }
            Change::Fill(version, kept) => {
                value.filled.insert(writer.caller, *version);
                value.kept.extend(*kept);
            }
            Change::Call(version, order) => drop(value.calls.insert(writer.caller, (*version, *order))),
            Change::CallChanging(version, order) => {
                value.calls.insert(writer.caller, (*version, *order));
                value.changed_by.insert(writer.caller);
            }
        }
        let state = value.state();
        value.writers.push(writer, state);
        Some(value)
    }

    /// Whether all definitions are of the cell at this position, so that another run of it replaces them.
    fn is_only_of(&self, position: Option<usize>) -> bool {
        let mut definers = self.writers.iter().filter(|writer| writer.write.binds());
        self.maybe.is_empty() && position.is_some() && definers.all(|writer| writer.position == position)
    }

    /// Whether the definition of this version is all that it has.
    pub(crate) fn is_of(&self, version: u64) -> bool {
        self.base == version && self.maybe.is_empty()
    }

    pub(crate) fn has_definition_of(&self, other: &Self) -> bool {
        (self.base, &self.maybe) == (other.base, &other.maybe)
    }

    pub(crate) fn has_call_of(&self, caller: Caller) -> bool {
        self.calls.contains_key(&caller)
    }

    /// Whether the object has been changed by this code since it was made.
    pub(crate) fn is_written_by(&self, caller: Caller) -> bool {
        self.calls.contains_key(&caller) || self.writers.iter().any(|writer| writer.caller == caller)
    }

    /// The token of the value, if nothing but a definition by this code has made it.
    pub(crate) fn token_of(&self, caller: Caller) -> Option<u64> {
        let last = self.writers.iter().next()?;
        (last.caller == caller && last.write.binds()).then_some(last.token)
    }
}

pub(crate) const NOBODY: Own<'_> =
    Own { caller: Caller::Past(usize::MAX), parts: &[], replaces: false, calls: false };

/// Hashes what a version stands for: the same in one process.
pub(crate) fn hasher() -> FoldHasher<'static> {
    FixedState::default().build_hasher()
}

pub(crate) fn hash(of: &impl Hash) -> u64 {
    let mut hash = hasher();
    of.hash(&mut hash);
    // 0 is the version of nothing.
    hash.finish().max(1)
}

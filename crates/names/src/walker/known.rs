//! What is known of names, as far as the walk has come: which code has bound them, and what they are made of.

use std::collections::{BTreeMap, BTreeSet};

use syntax::Name;

/// The names that code binds, as far as the walk has come.
#[derive(Debug, Default)]
pub(super) struct Branch {
    /// It binds them whenever it runs.
    pub(super) surely: BTreeSet<Name>,
    /// They count as bound in what follows: also what a loop binds, which hardly ever runs not once.
    pub(super) likely: BTreeSet<Name>,
}

/// An object by its name, and a part of it, if that is known.
pub(super) type Part = (Name, Option<String>);

/// What is known of names, as far as the walk has come.
#[derive(Debug, Default, Clone)]
pub(super) struct Derived {
    pub(super) parts: BTreeMap<Name, BTreeSet<Part>>,
    pub(super) items: BTreeMap<Name, Name>,
}

impl Derived {
    pub(super) fn forget(&mut self, name: &str) {
        self.parts.remove(name);
        self.items.remove(name);
    }

    /// The parts that the value of a name is made of.
    pub(super) fn of(&self, name: &str) -> impl Iterator<Item = &Part> {
        self.parts.get(name).into_iter().flatten()
    }

    /// The object that a name is an item of; the name itself if it is none.
    pub(super) fn whole<'n>(&'n self, name: &'n str) -> &'n str {
        self.items.get(name).map_or(name, String::as_str)
    }
}

/// A name that code uses which runs later, perhaps after the cell itself has bound it.
pub(super) struct Pending {
    pub(super) name: Name,
    /// The number of the statement.
    pub(super) step: usize,
    pub(super) is_needed: bool,
    /// Whether nothing above it in the cell binds the name.
    pub(super) is_outside: bool,
}

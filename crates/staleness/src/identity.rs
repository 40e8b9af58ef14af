//! Objects that were made with a class are none of the class once its cell has run again: `isinstance` and `is` say so, and so do dictionaries
//! that have functions as keys. That matters to cells that use both.

use std::collections::{BTreeMap, BTreeSet};

use names::Names;

use crate::effective::Effective;
use crate::facts::Facts;
use crate::replay::Env;

/// Modules that look a class up by its name to store its objects.
const STORING: [&str; 7] =
    ["pickle", "cloudpickle", "dill", "joblib", "shelve", "multiprocessing", "ProcessPoolExecutor"];

/// The classes of a notebook, and its functions that are items of other objects.
pub(crate) struct Comparable<'a>(pub(crate) BTreeSet<&'a str>);

impl<'a> Comparable<'a> {
    pub(crate) fn new(facts: Facts<'a>) -> Self {
        let names = || facts.cells.iter().map(|cell| &*cell.names);
        let held = names().flat_map(|names| {
            let held = names.holds.iter().flat_map(|(name, held)| held.iter().map(move |held| (name, held)));
            // The result of a function is none of it.
            held.filter(|(name, held)| name != held && names.made_by.get(*name) != Some(*held))
                .map(|(_, held)| held)
        });
        let held: BTreeSet<&str> = held.map(String::as_str).collect();
        let functions = names().flat_map(|names| names.functions.keys().map(String::as_str));
        Self(names().flat_map(Names::classes).chain(functions.filter(|name| held.contains(name))).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The classes and functions that a cell may compare objects with.
    pub(crate) fn used_by(
        &self,
        effective: &Effective<'a>,
        names: &Names,
        is_code: impl Fn(&str) -> bool,
    ) -> Vec<&'a str> {
        let uses = &effective.uses;
        let is_stored =
            STORING.iter().any(|name| uses.contains_key(name) || names.imports.contains_key(*name));
        // A name that an object uses of its own is no matter of comparing it.
        let is_meant = |name: &str| uses.get(name).is_some_and(|through| through.is_none_or(&is_code));
        self.0.iter().copied().filter(|name| is_stored || is_meant(name)).collect()
    }

    /// The objects that the new value of a name is made of, and the runs that had defined these; of what they are made of, the classes and
    /// functions.
    pub(crate) fn made_of(
        &self,
        env: &Env<'a>,
        effective: &Effective<'a>,
        name: &str,
    ) -> BTreeMap<&'a str, u64> {
        let mut all = BTreeMap::new();
        let inputs = effective.flows[name].inputs.iter().filter(|input| **input != name);
        for (input, value) in inputs.filter_map(|input| Some((*input, env.get(input)?))) {
            // The origins of a class or a function are no part of its objects.
            let of_class =
                value.made_of.iter().filter(|(of, _)| self.0.contains(*of) && !self.0.contains(input));
            for (of, identity) in of_class.chain([(&input, &value.identity)]) {
                let oldest = all.entry(*of).or_insert(*identity);
                *oldest = (*oldest).min(*identity);
            }
        }
        all
    }
}

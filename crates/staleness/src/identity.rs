//! Objects that were made with a class are none of the class once its cell has run again: `isinstance` and `is` say so, and so do dictionaries
//! that have functions as keys. That matters to cells that use both.

use std::collections::{BTreeMap, BTreeSet};

use names::{Name, Names};

use crate::effective::Effective;
use crate::facts::Facts;
use crate::replay::Env;

/// What looks a class up by its name to store its objects.
const STORING: [&str; 7] =
    ["pickle", "cloudpickle", "dill", "joblib", "shelve", "multiprocessing", "ProcessPoolExecutor"];

/// The classes of a notebook, and its functions that are items of other objects.
pub(crate) struct Comparable<'a> {
    classes: BTreeSet<&'a str>,
    functions: BTreeSet<&'a str>,
}

impl<'a> Comparable<'a> {
    pub(crate) fn new(facts: Facts<'a>) -> Self {
        let names = || facts.cells.iter().map(|cell| &*cell.names);
        let held = names().flat_map(|names| {
            // What a function gives is none of it.
            let is_meant = |name: &Name, held: &Name| names.made_by.get(name) != Some(held);
            let held = names.holds.iter().flat_map(|(name, held)| held.iter().map(move |held| (name, held)));
            held.filter(move |(name, held)| is_meant(name, held)).map(|(_, held)| held.as_str())
        });
        let held: BTreeSet<&str> = held.collect();
        let functions = names().flat_map(|names| names.functions.keys().map(String::as_str));
        let functions = functions.filter(|name| held.contains(name)).collect();
        Self { classes: names().flat_map(Names::classes).collect(), functions }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.classes.is_empty() && self.functions.is_empty()
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
        // What an object uses of its own is no matter of comparing it.
        let is_meant = |name: &str| match uses.get(name) {
            Some(through) => through.is_none_or(&is_code),
            None => false,
        };
        let all = self.classes.iter().chain(&self.functions);
        all.copied().filter(|name| is_stored || is_meant(name)).collect()
    }
}

/// The classes and functions that the new value of a name is made with, and the runs that had defined them.
pub(crate) fn made_with<'a>(
    comparable: &Comparable<'a>,
    env: &Env<'a>,
    effective: &Effective<'a>,
    names: &Names,
    name: &str,
) -> BTreeMap<&'a str, u64> {
    let mut all = BTreeMap::new();
    for input in &effective.flows[name].inputs {
        let Some(value) = env.get(input).filter(|_| *input != name) else { continue };
        let is_held = || {
            names.holds.get(name).is_some_and(|held| held.contains(*input))
                && names.made_by.get(name).is_none_or(|maker| maker != input)
        };
        if comparable.classes.contains(input) || comparable.functions.contains(input) && is_held() {
            all.insert(*input, value.identity);
        } else {
            all.extend(value.made_with.iter().map(|(of, identity)| (*of, *identity)));
        }
    }
    all
}

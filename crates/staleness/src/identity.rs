//! Objects that were made with a class are none of the class once its cell has run again: `isinstance` and `is` say so, and so do dictionaries
//! that have functions as keys. That matters to cells that use both.

use std::collections::BTreeSet;

use crate::book::Book;
use crate::facts::{MadeWith, StaleState};
use crate::input::{Finding, Used};

/// So many values are looked through for one that was made with a class.
const MAX_VALUES: usize = 64;

/// What looks a class up by its name to store its objects.
const STORING: [&str; 7] =
    ["pickle", "cloudpickle", "dill", "joblib", "shelve", "multiprocessing", "ProcessPoolExecutor"];

/// A class or a function, and the cell that defines it.
type Definition<'a> = (&'a str, usize);

impl<'a> Book<'a> {
    /// The classes and functions of other cells that a cell may compare objects with.
    pub(crate) fn definitions(&self, position: usize) -> Vec<Definition<'a>> {
        if self.comparable.is_empty() {
            return Vec::new();
        }
        let uses = &self.now[position].uses;
        let imports = &self.facts.cells[position].names.imports;
        let is_stored = STORING.iter().any(|name| uses.contains_key(name) || imports.contains(*name));
        // What an object uses of its own is no matter of comparing it.
        let is_meant = |name: &str| match uses.get(name) {
            Some(through) => through.is_none_or(|through| self.is_code(through, position)),
            None => false,
        };
        let used = self.comparable.iter().filter(|name| is_stored || is_meant(name));
        used.filter_map(|name| Some((*name, self.writers_above(name, position).1?))).collect()
    }

    /// Whether a name is one of a function, also of the cell itself.
    fn is_code(&self, name: &str, position: usize) -> bool {
        let definer = self.writers_above(name, position + 1).1;
        definer.is_some_and(|definer| self.facts.cells[definer].names.functions.contains_key(name))
    }

    /// Which of the classes and functions that a cell uses the object of another used name was made with.
    pub(crate) fn made_with(&self, used: Used<'_>, definitions: &[Definition<'a>]) -> Vec<MadeWith> {
        let others = definitions.iter().filter(|(of, _)| *of != used.name);
        let made_with = others.filter_map(|definition| {
            let mut search = Search {
                book: self,
                definition: *definition,
                seen: BTreeSet::new(),
                makers: BTreeSet::new(),
            };
            search.value(used.name, used.position);
            let makers = search.makers;
            let is_outdated = makers.iter().any(|maker| self.is_outdated(*maker, definition.1, used.order));
            (!makers.is_empty()).then(|| MadeWith {
                of: definition.0.to_owned(),
                definer: definition.1,
                makers,
                is_outdated,
            })
        });
        made_with.collect()
    }

    /// Whether a cell ran last before the cell that defines a class did.
    fn is_outdated(&self, maker: usize, definer: usize, until: u64) -> bool {
        let last = |position| self.present_run(position).and_then(|run| run.last_before(until));
        last(maker).zip(last(definer)).is_some_and(|(made, defined)| made < defined)
    }

    /// What was made with a class of before, in a cell that uses the class, too.
    pub(crate) fn of_earlier_class(&self, used: Used<'_>) -> Option<Finding> {
        let is_remade =
            |(_, definer): &Definition<'_>| self.run(*definer).is_some_and(|run| run.first != run.order);
        let mut definitions = self.definitions(used.position);
        definitions.retain(is_remade);
        let made_with =
            self.made_with(used, &definitions).into_iter().find(|made_with| made_with.is_outdated)?;
        let of = made_with.of;
        let clause = format!("it was created with {of} before {of} was redefined");
        Some(used.finding(StaleState::OutOfOrder, &clause))
    }
}

/// The search for the cells that make a value with a class.
struct Search<'b, 'a> {
    book: &'b Book<'a>,
    definition: Definition<'a>,
    seen: BTreeSet<usize>,
    makers: BTreeSet<usize>,
}

impl Search<'_, '_> {
    /// Whether the value of a name in a cell is made with it.
    fn value(&mut self, name: &str, position: usize) -> bool {
        let (of, definer) = self.definition;
        let mut is_any = false;
        for (writer, _) in self.book.writers_above(name, position).0 {
            let is_searched = *writer > definer && self.seen.len() < MAX_VALUES && self.seen.insert(*writer);
            let Some(flow) = self.book.now[*writer].flows.get(name).filter(|_| is_searched) else {
                is_any |= self.makers.contains(writer);
                continue;
            };
            let mut is_made = flow.inputs.contains(of) && self.is_made(name, *writer);
            for input in flow.inputs.iter().filter(|input| **input != name && **input != of) {
                is_made |= self.value(input, *writer);
            }
            if is_made {
                self.makers.insert(*writer);
            }
            is_any |= is_made;
        }
        is_any
    }

    /// Whether a cell that uses the class makes the value with it. What a function gives is not made with it in this sense, but what has the
    /// function itself.
    fn is_made(&self, name: &str, writer: usize) -> bool {
        let (of, definer) = self.definition;
        let names = &self.book.facts.cells[writer].names;
        let has_function = || {
            names.holds.get(name).is_some_and(|held| held.contains(of))
                && names.made_by.get(name).is_none_or(|maker| maker != of)
        };
        let is_class = self.book.facts.cells[definer].names.is_class(of);
        self.book.writers_above(of, writer).1 == Some(definer) && (is_class || has_function())
    }
}

//! The configuration of matplotlib and the like, and of modules: cells set parts of it, and what a cell shows depends on all. Nothing
//! but a restart takes a part back.

use std::collections::BTreeMap;

use names::{Names, is_configuration};

use crate::book::{Book, Event};
use crate::effective::Write;
use crate::facts::StaleState;
use crate::input::{Finding, Used};

impl Book<'_> {
    /// Whether a cell binds a name to a module.
    pub(crate) fn is_module(&self, definer: usize, name: &str) -> bool {
        self.facts.cells[definer].names.imports.contains(name)
    }

    /// A part that something else has set last than in a run of the whole notebook. If a cell above sets it as well, running that again
    /// makes it right.
    pub(crate) fn misconfigured(&self, used: Used<'_>, writers: &[(usize, Write)]) -> Option<Finding> {
        let name = used.name;
        if !is_configuration(name) && !writers.first().is_some_and(|(first, _)| self.is_module(*first, name))
        {
            return None;
        }
        let mut last = BTreeMap::<&str, (u64, &Event<'_>)>::new();
        for event in self.events(name).iter().filter(|event| !event.write.binds()) {
            let Some(order) = event.run.last_before(used.order) else { continue };
            for part in parts(&event.run.names, name) {
                let known = last.entry(part).or_insert((order, event));
                if known.0 < order {
                    *known = (order, event);
                }
            }
        }
        let names = |position: usize| &self.facts.cells[position].names;
        let sets = |position: usize, part: &str| parts(names(position), name).any(|own| own == part);
        // What the cell itself sets, it sets again.
        if self.now[used.position].writes.contains_key(name) {
            last.retain(|part, _| !sets(used.position, part));
        }
        let found = last.into_iter().filter_map(|(part, (_, event))| {
            let setter = writers.iter().rev().find(|(writer, _)| sets(*writer, part));
            match setter {
                Some((setter, _)) if event.position == Some(*setter) => None,
                Some((setter, _)) => Some((StaleState::OutOfOrder, event, Some(*setter))),
                None => Some((StaleState::MayHaveChanged, event, None)),
            }
        });
        let (state, event, setter) = found.min_by_key(|(state, ..)| *state)?;
        let source = self.source_of(event);
        let clause = match setter {
            Some(setter) => format!("{source} changed it after {} and before this ran", self.cell(setter)),
            None => format!("{source} changes it until the kernel restarts, and ran before it"),
        };
        Some(used.finding(state, &clause))
    }
}

/// The parts that a cell sets itself; one without a name, if functions do.
fn parts<'n>(names: &'n Names, name: &str) -> impl Iterator<Item = &'n str> {
    let own = names.effects.parts.get(name);
    let of_functions = own.is_none().then_some("");
    own.into_iter().flatten().map(String::as_str).chain(of_functions)
}

//! The configuration of matplotlib: cells set parts of it, and what a cell draws depends on all. Nothing but a restart takes a part back.

use std::collections::BTreeMap;

use names::{CONFIGURATION, Names};

use crate::book::{Book, Event};
use crate::effective::Write;
use crate::evidence::{uses, verb};
use crate::facts::State;
use crate::input::{Finding, Used};

impl Book<'_> {
    /// A part that something else has set last than in a run of the whole notebook. If a cell above sets it as well, running that again
    /// makes it right.
    pub(crate) fn misconfigured(&self, used: Used<'_>, writers: &[(usize, Write)]) -> Option<Finding> {
        if used.name != CONFIGURATION {
            return None;
        }
        let mut last = BTreeMap::<&str, (u64, &Event<'_>)>::new();
        for event in self.events(CONFIGURATION) {
            let Some(order) = event.run.last_before(used.order) else { continue };
            for part in parts(&event.run.names) {
                let known = last.entry(part).or_insert((order, event));
                if known.0 < order {
                    *known = (order, event);
                }
            }
        }
        let names = |position: usize| &self.facts.cells[position].names;
        let sets = |position: usize, part: &str| parts(names(position)).any(|own| own == part);
        // What the cell itself sets, it sets again.
        if self.now[used.position].writes.contains_key(CONFIGURATION) {
            last.retain(|part, _| !sets(used.position, part));
        }
        let found = last.into_iter().filter_map(|(part, (_, event))| {
            let setter = writers.iter().rev().find(|(writer, _)| sets(*writer, part));
            match setter {
                Some((setter, _)) if event.position == Some(*setter) => None,
                Some((setter, _)) => Some((State::OutOfOrder, event, Some(*setter))),
                None => Some((State::MayHaveChanged, event, None)),
            }
        });
        let (state, event, setter) = found.min_by_key(|(state, ..)| *state)?;
        let source = self.source_of(event);
        let clause = match setter {
            Some(setter) => format!("{source} changed it after {} and before this ran", self.cell(setter)),
            None => format!("{source} {} until the kernel restarts, and ran before it", verb(event.write)),
        };
        let evidence = format!("{}: {clause}", uses(used.name, used.through));
        Some(Finding { state, evidence, is_missing: false })
    }
}

/// The parts that a cell sets itself; one without a name, if functions do.
fn parts(names: &Names) -> impl Iterator<Item = &str> {
    let own = names.effects.parts.get(CONFIGURATION);
    let of_functions = own.is_none().then_some("");
    own.into_iter().flatten().map(String::as_str).chain(of_functions)
}

/// Whether code sets a part, or has a function that does.
pub(crate) fn is_set_by(names: &Names) -> bool {
    let functions = names.functions.values();
    functions.chain([&names.effects]).any(|effects| effects.changes.contains(CONFIGURATION))
}

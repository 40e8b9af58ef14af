//! The origins of the values of names. Each statement is expanded as if it were a cell, so that this imports what it is a part of.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash as _, Hasher as _};

use names::Names;

use crate::definers::From;
use crate::value::{Write, hash, hasher};

use super::Effective;

/// The origins of the value of a name when the cell ends.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flow<'n> {
    /// The names of other cells.
    pub(crate) inputs: BTreeSet<&'n str>,
    /// Stands for the code that makes it.
    pub(crate) code: u64,
    /// It may be another value each time, of the same input.
    pub(crate) varies: bool,
}

/// Follows the values of names through the statements of a cell.
pub(super) fn flows<'n>(names: &'n Names, around: From<'_, 'n>) -> BTreeMap<&'n str, Flow<'n>> {
    let mut flows = BTreeMap::<&'n str, Flow<'n>>::new();
    // By statement: after `a = f(x); b = g(y)`, a change of `y` does not affect the users of `a`.
    for step in &names.steps {
        let mut done = Effective::default();
        done.expand(names, &step.effects, around, &|_| false);
        let mut made = Flow { varies: done.varies, ..Flow::default() };
        let mut hash = hasher();
        step.code.hash(&mut hash);
        // `uses` lacks what the statement binds before it reads it, but the value is made of that, too.
        for name in done.uses.keys().copied().chain(step.effects.reads.iter().map(String::as_str)) {
            match flows.get(name) {
                Some(flow) => {
                    made.inputs.extend(flow.inputs.iter().copied());
                    // In `a = 1; b = a + 1`, an edit of the first statement changes `b`, though its own statement stays.
                    flow.code.hash(&mut hash);
                    made.varies |= flow.varies;
                }
                None => drop(made.inputs.insert(name)),
            }
        }
        made.code = hash.finish();
        let shared = |name: &'n str| names.aliases.get(name).map_or(name, String::as_str);
        let others: Vec<&'n str> = flows
            .keys()
            .copied()
            .filter(|other| !done.writes.contains_key(other))
            .filter(|other| {
                // After `b = a`, a change of `b` changes `a`, but another object for `b` leaves `a` as it is.
                let mut objects = done.writes.iter().filter(|(_, write)| !write.binds());
                objects.any(|(name, _)| shared(name) == shared(other))
            })
            .collect();
        done.writes.extend(others.into_iter().map(|other| (other, Write::Changes)));
        for (name, write) in done.writes {
            let before = flows.remove(name);
            // A name that is not surely defined may have its value from before.
            let flow = match before {
                _ if write == Write::Defines => made.clone(),
                Some(before) => Flow {
                    inputs: before.inputs.union(&made.inputs).copied().collect(),
                    code: both(before.code, made.code),
                    varies: before.varies || made.varies,
                },
                None => {
                    let mut flow = made.clone();
                    // `df["x"] = 1` without `df = …` in the cell: the rest of the object comes from other cells.
                    flow.inputs.insert(name);
                    flow
                }
            };
            flows.insert(name, flow);
        }
    }
    flows
}

pub(super) fn both(one: u64, other: u64) -> u64 {
    hash(&(one, other))
}

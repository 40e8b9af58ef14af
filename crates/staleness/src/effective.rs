//! The effects of a cell together with the functions that it calls.

use std::collections::{BTreeMap, BTreeSet};

use names::{Effects, Name, NameSet, Names, Repeat, Unknown, is_counting, is_handle};
use syntax::RandomUse;

use crate::definers::From;
use crate::value::Write;

pub(crate) use self::flow::Flow;
use self::flow::{both, flows};

mod expand;
mod flow;

#[derive(Debug, Default)]
pub(crate) struct Effective<'n> {
    /// The names that it uses, with the function through which it does so.
    pub(crate) uses: BTreeMap<&'n str, Option<&'n str>>,
    /// Of these, what it may have bound itself before.
    pub(crate) own: BTreeSet<&'n str>,
    pub(crate) writes: BTreeMap<&'n str, Write>,
    /// The effect of changing the objects of names once more.
    pub(crate) repeats: BTreeMap<&'n str, Repeat>,
    /// The names of other cells that choose the parts which it changes, as `k` does in `d[k] = 1`. Of functions that keep their results, what
    /// they use.
    pub(crate) keys: BTreeMap<&'n str, BTreeSet<&'n str>>,
    /// The origins of the values of the written names.
    pub(crate) flows: BTreeMap<&'n str, Flow<'n>>,
    /// The names whose objects the kernel has seen changed by a call.
    pub(crate) seen: BTreeSet<&'n str>,
    /// It calls something that may give another result each time.
    varies: bool,
    pub(crate) unknown: Option<&'n Unknown>,
}

impl<'n> Effective<'n> {
    /// `source` stands for the whole source of the cell.
    pub(crate) fn of(names: &'n Names, source: u64, around: From<'_, 'n>) -> Self {
        let is_own = |name: &str| names.effects.defines.contains(name);
        let mut effective = Self::default();
        effective.expand(names, &names.effects, around, &is_own);
        let Effects { needs, defines, .. } = &names.effects;
        let uses =
            effective.uses.iter().filter(|(name, through)| through.is_none() && !needs.contains(**name));
        effective.own = uses.map(|(name, _)| *name).filter(|name| defines.contains(*name)).collect();
        effective.flows = flows(names, around);
        // The import is the cell's own, but others import from the package, too.
        let is_set = |name: &&Name| {
            names.steps.iter().any(|step| step.effects.changed().any(|changed| changed == *name))
        };
        for module in names.imports.keys().filter(is_set) {
            effective.write_siblings(module, around);
        }
        for (name, change) in names.effects.changes.iter().filter(|(_, change)| !change.parts.is_empty()) {
            effective.choose(name, &change.keys, around);
        }
        // Without statements, all is one.
        for name in effective.writes.keys().copied() {
            effective.flows.entry(name).or_insert_with(|| Flow {
                inputs: effective.uses.keys().copied().collect(),
                code: source,
                varies: true,
            });
        }
        effective
    }

    /// A part of the object that these names choose is changed.
    fn choose(&mut self, name: &'n str, keys: &'n NameSet, around: From<'_, 'n>) {
        let maker = around.maker(name);
        if maker.is_some_and(is_handle) {
            // An update replaces all that is shown.
            return;
        }
        let mut chosen = BTreeSet::new();
        for key in keys {
            match self.flows.get(key.as_str()) {
                Some(flow) => {
                    chosen.extend(&flow.inputs);
                    if flow.varies {
                        // With a key that varies, as in `k = time(); d[k] = 1`, each run may add another entry.
                        self.repeats.insert(name, Repeat::Differs);
                    }
                }
                None => drop(chosen.insert(key.as_str())),
            }
        }
        chosen.remove(name);
        // `Counter.update` adds to what `dict.update` would replace.
        if maker.is_some_and(is_counting) {
            self.repeat(name, Repeat::Differs);
        }
        for alias in around.aliases(name) {
            self.keys.insert(alias, chosen.clone());
        }
        self.keys.insert(name, chosen);
    }

    /// Adds what the cell does with random states. Each is like an object that draws change.
    pub(crate) fn with_random(mut self, random: &'n BTreeMap<Name, RandomUse>) -> Self {
        for (state, it) in random {
            let mut inputs = BTreeSet::new();
            // A seed alone does not depend on earlier draws.
            if it.draws {
                self.uses.insert(state, None);
                inputs.insert(state.as_str());
            }
            // Any statement may draw in a hidden way, so that each name may be made of it.
            for flow in self.flows.values_mut().filter(|flow| flow.varies || it.is_hidden) {
                flow.code = both(flow.code, it.code);
                flow.inputs.extend(inputs.iter().copied());
            }
            if !it.changes {
                continue;
            }
            let mut code = it.code;
            for name in &it.inputs {
                match self.flows.get(name.as_str()) {
                    // `n = 3` above `for i in range(n)`
                    Some(flow) => {
                        inputs.extend(&flow.inputs);
                        code = both(code, flow.code);
                    }
                    None if self.uses.contains_key(name.as_str()) => drop(inputs.insert(name)),
                    None => {}
                }
            }
            self.flows.insert(state, Flow { inputs, code, varies: false });
            self.write(state, if it.seeds { Write::Defines } else { Write::Changes });
            self.repeat(state, Repeat::Differs);
        }
        self
    }

    /// Adds what the kernel's memory shows and names do not: the cell has changed the objects of these names, or code that is not
    /// known has bound them, if no cell that is known does.
    pub(crate) fn with_assigned(
        mut self,
        assigned: Vec<&'n Name>,
        source: u64,
        is_defined: &dyn Fn(&str) -> bool,
    ) -> Self {
        for name in assigned {
            if let Some(write) = self.writes.get_mut(name.as_str()) {
                // `model.fit(x)` leaves open whether it changes `model`; the memory shows that it did.
                if write.is_weak() {
                    *write = Write::Calls;
                    self.seen.insert(name);
                }
                continue;
            }
            // `from m import *` binds names that no source shows; a name defined elsewhere or used here was changed.
            let is_bound =
                self.unknown.is_some() && !is_defined(name) && !self.uses.contains_key(name.as_str());
            self.write(name, if is_bound { Write::Defines } else { Write::Calls });
            self.seen.extend((!is_bound).then_some(name.as_str()));
            let mut inputs: BTreeSet<&'n str> = self.uses.keys().copied().collect();
            if !is_bound {
                // A changed object still depends on what it was before.
                inputs.insert(name);
            }
            // No source shows how the value came about, so that it may be another one next time.
            self.flows.insert(name, Flow { inputs, code: source, varies: true });
        }
        self
    }

    /// Adds that the cell reads attributes which cells set of classes of libraries.
    pub(crate) fn with_patched(mut self, names: &Names, patches: &[(&'n str, u32)]) -> Self {
        let read = patches.iter().filter(|(_, attribute)| names.attributes.contains(attribute));
        for (patch, _) in read {
            self.uses.entry(patch).or_insert(None);
            for flow in self.flows.values_mut() {
                // Attributes are known for the cell only, so that any of its statements may read this one.
                flow.inputs.insert(patch);
            }
        }
        self
    }

    fn write(&mut self, name: &'n str, write: Write) {
        let worst = self.writes.entry(name).or_insert(write);
        // In `df = load(); df.sort()`, the definition decides: nothing of an earlier object is left.
        *worst = (*worst).max(write);
    }

    fn repeat(&mut self, name: &'n str, repeat: Repeat) {
        let worst = self.repeats.entry(name).or_insert(repeat);
        // One statement that adds is enough to make another object: `d["a"] = 1; d["b"] += 1`.
        *worst = (*worst).max(repeat);
    }
}

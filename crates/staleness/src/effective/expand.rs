//! The effects of a cell's code, together with the functions that it calls.

use std::collections::{BTreeMap, BTreeSet};

use names::{Effects, Name, Names, ObjectUse, Passed, Repeat};

use crate::definers::From;
use crate::value::Write;

use super::Effective;

impl<'n> Effective<'n> {
    /// Adds code of the cell, and the functions that it calls.
    pub(super) fn expand(
        &mut self,
        names: &'n Names,
        effects: &'n Effects,
        around: From<'_, 'n>,
        is_own: &dyn Fn(&str) -> bool,
    ) {
        self.add(effects, None, &|_| false);
        let is_defined = |name: &str| names.effects.defines.contains(name);
        let mut called: Vec<&'n Name> = effects.reads.iter().collect();
        let mut done = BTreeSet::new();
        let mut running = vec![effects];
        let mut changing: BTreeMap<&'n Name, &'n Effects> = BTreeMap::new();
        let mut late = Vec::new();
        while let Some(name) = called.pop() {
            if !is_defined(name) {
                late.extend(around.late(name).into_iter().map(|used| (used, name.as_str())));
            }
            let elsewhere = |name: &str| around.function(name).filter(|_| !is_defined(name));
            // `h = g`
            let of_alias = || {
                let original = names.aliases.get(name)?;
                names.functions.get(original).or_else(|| elsewhere(original))
            };
            let function = names.functions.get(name).or_else(|| elsewhere(name)).or_else(of_alias);
            let Some(function) = function.filter(|_| done.insert(name)) else { continue };
            self.add(function, Some(name), is_own);
            called.extend(&function.reads);
            running.push(function);
            changing.insert(name, function);
        }
        for (used, through) in late {
            self.uses.entry(used).or_insert(Some(through));
        }
        let mut objects = BTreeSet::new();
        for (index, effects) in running.into_iter().enumerate() {
            // The cell itself, which is the first, changes what it defines only before that.
            let is_elsewhere = |name: &Name| index == 0 || !is_own(name);
            let passes = effects.passes.iter().filter(|it| is_changed(it, &changing, &mut BTreeSet::new()));
            let passes = passes.map(|passed| (&passed.name, Write::Passes));
            let changes = effects.changes.iter().filter(|(_, change)| !change.augments);
            let changes = changes
                .map(|(name, change)| (name, if change.is_sure { Write::Changes } else { Write::Calls }));
            objects.extend(passes.chain(changes).filter(|(name, _)| is_elsewhere(name)));
            for (name, how) in effects.object_uses.iter().filter(|(name, _)| is_elsewhere(name)) {
                if *how != ObjectUse::Take {
                    objects.extend(
                        around.is_changed_by(name, *how, is_defined(name)).then_some((name, Write::Calls)),
                    );
                } else if let Some(write) = around.loop_write(name) {
                    self.write(name, write);
                    self.repeat(name, Repeat::Differs);
                }
            }
        }
        for (name, write) in objects {
            self.write(name, write);
            let repeat = self.repeats.get(name.as_str()).copied();
            for alias in around.aliases(name).into_iter().filter(|alias| !is_own(alias)) {
                if let Some(repeat) = repeat {
                    self.repeat(alias, repeat);
                }
                self.write(alias, write);
            }
        }
        for (name, _) in
            changing.iter().filter(|(name, it)| it.caches && !names.functions.contains_key(**name))
        {
            self.keys.insert(name, all_uses(name, &changing));
            self.write(name, Write::Fills);
        }
        self.weaken_modules(effects, &|name| {
            names.imports.contains_key(name) || (!is_defined(name) && around.is_import(name))
        });
        let modules =
            self.writes.iter().filter(|(name, write)| **write == Write::Calls && around.is_import(name));
        let modules: Vec<_> = modules.map(|(name, _)| *name).collect();
        for module in modules {
            self.write_siblings(module, around);
        }
    }

    /// A setting of a package counts for all that is imported from it.
    pub(super) fn write_siblings(&mut self, module: &str, around: From<'_, 'n>) {
        for name in around.siblings(module) {
            self.writes.entry(name).or_insert(Write::Calls);
        }
    }

    fn add(&mut self, effects: &'n Effects, through: Option<&'n Name>, is_own: &dyn Fn(&str) -> bool) {
        for name in effects.uses.iter().filter(|name| !is_own(name)) {
            self.uses.entry(name).or_insert_with(|| through.map(String::as_str));
        }
        let augments = effects.changes.iter().filter(|(_, change)| change.augments).map(|(name, _)| name);
        for name in augments.chain(&effects.deletes).filter(|name| !is_own(name)) {
            self.write(name, Write::Changes);
        }
        for name in &effects.defines {
            let is_sure = !effects.may_define.contains(name);
            self.write(name, if is_sure { Write::Defines } else { Write::MayDefine });
        }
        for (name, change) in effects.changes.iter().filter(|(_, change)| change.is_sure) {
            self.repeat(name, change.repeat);
        }
        self.varies |= effects.varies;
        if self.unknown.is_none() {
            self.unknown = effects.unknown.as_ref();
        }
    }

    /// A module is hardly ever an input: its functions are called, and its settings are of little effect.
    fn weaken_modules(&mut self, effects: &Effects, is_import: &dyn Fn(&str) -> bool) {
        self.writes.retain(|name, write| match write {
            Write::Fills | Write::Passes | Write::Calls => {
                let is_weak = is_import(name);
                if is_weak {
                    *write = Write::Fills;
                }
                // Something that looks like a setting may change what others of its functions do.
                !is_weak || effects.changes.get(*name).is_some_and(|change| !change.parts.is_empty())
            }
            Write::Changes => {
                if is_import(name) {
                    *write = Write::Calls;
                }
                true
            }
            Write::MayDefine | Write::Defines => true,
        });
    }
}

/// The names that a function uses, and the functions that it calls.
fn all_uses<'n>(name: &'n Name, functions: &BTreeMap<&'n Name, &'n Effects>) -> BTreeSet<&'n str> {
    let (mut uses, mut done, mut called) = (BTreeSet::new(), BTreeSet::new(), vec![name]);
    while let Some(name) = called.pop() {
        if let Some(function) = functions.get(name).filter(|_| done.insert(name)) {
            uses.extend(function.uses.iter().map(String::as_str));
            called.extend(&function.reads);
        }
    }
    uses.remove(name.as_str());
    uses
}

/// Whether the function that gets a name's object may change it, or pass it to one that does.
fn is_changed<'n>(
    passed: &'n Passed,
    functions: &BTreeMap<&Name, &'n Effects>,
    done: &mut BTreeSet<&'n Passed>,
) -> bool {
    let Some(function) = functions.get(&passed.function).filter(|_| done.insert(passed)) else {
        return false;
    };
    function.parameter(&passed.argument).is_some_and(|parameter| {
        let mut further = function.passed_parameters.iter().filter(|further| further.name == *parameter);
        function.changed_parameters.contains(parameter)
            || further.any(|further| is_changed(further, functions, done))
    })
}

//! What a cell does together with the functions that it calls.

use std::collections::{BTreeMap, BTreeSet};

use names::{Effects, Name, Names, Passed, Unknown};

#[derive(Debug, Default)]
pub(crate) struct Effective {
    /// What it uses, with the function through which it does so.
    pub(crate) uses: BTreeMap<Name, Option<Name>>,
    pub(crate) writes: BTreeMap<Name, Write>,
    pub(crate) unknown: Option<Unknown>,
}

/// How code writes a name; a later one says more about the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Write {
    /// It passes the object to a function of the notebook that changes its argument, as far as names tell.
    Passes,
    /// It calls a method of the object.
    Calls,
    /// It changes the object, or deletes the name.
    Changes,
    Defines,
}

impl Write {
    /// Whether the object may be as it was.
    pub(crate) fn is_weak(self) -> bool {
        self <= Self::Calls
    }
}

impl Effective {
    /// `functions` finds what a function of another cell does, `aliases` other names for the object of a name, and `is_import`
    /// whether a name is that of a module.
    pub(crate) fn of<'n>(
        names: &'n Names,
        functions: impl Fn(&str) -> Option<&'n Effects>,
        aliases: impl Fn(&str) -> Vec<Name>,
        is_import: impl Fn(&str) -> bool,
    ) -> Self {
        let mut effective = Self::default();
        effective.add(&names.effects, None, &|_| false);
        let is_own = |name: &str| names.effects.defines.contains(name);
        let mut called: Vec<&Name> = names.effects.reads.iter().collect();
        let mut known = BTreeSet::new();
        let mut running = vec![&names.effects];
        let mut changing: BTreeMap<&Name, &Effects> = BTreeMap::new();
        while let Some(name) = called.pop() {
            let function = names.functions.get(name).or_else(|| functions(name).filter(|_| !is_own(name)));
            let Some(function) = function.filter(|_| known.insert(name)) else { continue };
            effective.add(function, Some(name), &is_own);
            called.extend(&function.reads);
            running.push(function);
            changing.insert(name, function);
        }
        let mut objects = BTreeSet::new();
        for effects in running {
            // What the cell defines itself, it changes only before that.
            let is_elsewhere = |name: &Name| std::ptr::eq(effects, &raw const names.effects) || !is_own(name);
            let passes = effects.passes.iter().filter(|it| is_changed(it, &changing, &mut BTreeSet::new()));
            let passes = passes.map(|passed| (&passed.name, Write::Passes));
            let calls = effects.calls.iter().map(|name| (name, Write::Calls));
            let changes = effects.changes.difference(&effects.augments).map(|name| (name, Write::Changes));
            objects.extend(passes.chain(calls).chain(changes).filter(|(name, _)| is_elsewhere(name)));
        }
        for (name, write) in objects {
            effective.write(name.clone(), write);
            for alias in aliases(name).into_iter().filter(|alias| !is_own(alias)) {
                effective.write(alias, write);
            }
        }
        effective.weaken_modules(&is_import);
        effective
    }

    fn add(&mut self, effects: &Effects, through: Option<&Name>, is_own: &dyn Fn(&str) -> bool) {
        for name in effects.uses.iter().filter(|name| !is_own(name)) {
            self.uses.entry(name.clone()).or_insert_with(|| through.cloned());
        }
        for (names, write) in [
            (&effects.augments, Write::Changes),
            (&effects.deletes, Write::Changes),
            (&effects.defines, Write::Defines),
        ] {
            for name in names.iter().filter(|name| write == Write::Defines || !is_own(name)) {
                self.write(name.clone(), write);
            }
        }
        if self.unknown.is_none() {
            self.unknown.clone_from(&effects.unknown);
        }
    }

    fn write(&mut self, name: Name, write: Write) {
        let known = self.writes.entry(name).or_insert(write);
        *known = (*known).max(write);
    }

    /// A module is hardly ever an input: its functions are called, and its settings are of little effect.
    fn weaken_modules(&mut self, is_import: &dyn Fn(&str) -> bool) {
        self.writes.retain(|name, write| match write {
            Write::Passes | Write::Calls => !is_import(name),
            Write::Changes => {
                if is_import(name) {
                    *write = Write::Calls;
                }
                true
            }
            Write::Defines => true,
        });
    }
}

/// Whether the function that gets a name's object may change it, or pass it to one that does.
fn is_changed<'n>(
    passed: &'n Passed,
    functions: &BTreeMap<&Name, &'n Effects>,
    known: &mut BTreeSet<&'n Passed>,
) -> bool {
    let Some(function) = functions.get(&passed.function).filter(|_| known.insert(passed)) else {
        return false;
    };
    function.parameter(&passed.argument).is_some_and(|parameter| {
        let mut further = function.passed_parameters.iter().filter(|further| further.name == *parameter);
        function.changed_parameters.contains(parameter)
            || further.any(|further| is_changed(further, functions, known))
    })
}

//! The meaning of a cell's names: which are read from outside, which it binds or deletes, and what is forgotten of a name when
//! it gets another object.

use syntax::Resolved;

use super::Walker;
use super::aliases::forget_alias;
use syntax::hash;

/// Built-in names of Python 2. Code under a condition may be for it.
const OF_PYTHON_2: [&str; 8] =
    ["xrange", "unicode", "raw_input", "basestring", "long", "unichr", "reduce", "file"];

impl Walker {
    /// Whether the name is one of the cell, and not one that the cell itself has bound already.
    pub(super) fn is_from_outside(&self, name: &str) -> bool {
        self.scopes.resolve(name) == Resolved::Module && (self.functions > 0 || !self.is_bound(name))
    }

    /// Whether the cell has bound the name of the module before.
    pub(super) fn has_defined(&self, name: &str) -> bool {
        self.step.defines.contains(name) || self.names.effects.defines.contains(name)
    }

    pub(super) fn read(&mut self, name: &str) {
        self.hand_on(name);
        if self.scopes.resolve(name) == Resolved::Module {
            self.effects().reads.insert(name.to_owned());
        }
    }

    /// The object of a name goes into another one. If it is a function, it is not called here.
    pub(super) fn hand_on(&mut self, name: &str) {
        if self.scopes.resolve(name) == Resolved::Module && self.is_from_outside(name) {
            self.effects().uses.insert(name.to_owned());
            self.take(name);
            let is_old = self.branches.len() > 1 && OF_PYTHON_2.contains(&name);
            if self.tolerant == 0 && !is_old && (self.functions > 0 || !self.step.defines.contains(name)) {
                self.effects().needs.insert(name.to_owned());
            }
        }
    }

    pub(super) fn bind(&mut self, name: &str) {
        self.derived.forget(name);
        if self.scopes.bind(name) == Resolved::Module {
            self.define(name);
        } else {
            forget_alias(&mut self.local_aliases, name);
        }
    }

    /// Binds a name of the module.
    pub(super) fn define(&mut self, name: &str) {
        self.effects().deletes.remove(name);
        self.effects().defines.insert(name.to_owned());
        if self.functions == 0 {
            if let Some(branch) = self.branches.last_mut() {
                branch.surely.insert(name.to_owned());
                branch.likely.insert(name.to_owned());
            }
            self.forget(name);
        } else {
            // Nobody knows whether it is called where it is read.
            self.deferred.may_define.insert(name.to_owned());
            // The function may be called under another name.
            self.names.possible.insert(name.to_owned());
        }
    }

    pub(super) fn forget(&mut self, name: &str) {
        forget_alias(&mut self.names.aliases, name);
        self.names.functions.remove(name);
        self.names.imports.remove(name);
        self.names.fixed.remove(name);
        self.names.streams.remove(name);
        self.names.made_by.remove(name);
        self.names.holds.remove(name);
    }

    pub(super) fn delete(&mut self, name: &str) {
        if self.scopes.resolve(name) != Resolved::Module {
            return;
        }
        if self.is_from_outside(name) {
            self.read(name);
        }
        self.effects().defines.remove(name);
        self.effects().deletes.insert(name.to_owned());
        if self.functions == 0 {
            for branch in &mut self.branches {
                branch.surely.remove(name);
                branch.likely.remove(name);
            }
            self.forget(name);
        }
    }

    /// Remembers that the definition of a name always gives the same value, unless it `is_chosen` among several.
    pub(super) fn fix(&mut self, name: &str, text: &str, is_chosen: bool) {
        if self.definitions == 0 && self.scopes.are_empty() && !is_chosen {
            self.names.fixed.insert(name.to_owned(), hash(text));
        }
    }

    /// `path` is that of what is imported, and `text` stands for the import.
    pub(super) fn import(&mut self, name: &str, path: String, text: &str) {
        self.bind(name);
        if self.scopes.are_empty() {
            self.names.imports.insert(name.to_owned(), path);
        }
        // The import of a `try` that succeeds depends on what is installed.
        self.fix(name, text, self.conditions > 0);
    }
}

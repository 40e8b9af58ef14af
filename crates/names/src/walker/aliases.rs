//! Names of the same object: what is done to it under one of them, is done to it under all.

use std::collections::BTreeMap;

use syntax::{Name, Resolved};

use super::Walker;

impl Walker {
    /// `name = other`
    pub(super) fn alias(&mut self, name: &str, other: &str) {
        let other = self.original(other);
        let is_same_scope = self.functions > 0 || self.scopes.resolve(&other) == Resolved::Module;
        if name != other
            && is_same_scope
            && let Some(aliases) = self.aliases_of(name)
        {
            aliases.insert(name.to_owned(), other);
        }
    }

    /// The name that a name of the same object was assigned from.
    pub(super) fn original(&mut self, name: &str) -> Name {
        self.aliases_of(name)
            .and_then(|aliases| aliases.get(name).cloned())
            .unwrap_or_else(|| name.to_owned())
    }

    /// The name of the object that is changed if an object with this name is: itself, or the one that it is an item of.
    pub(super) fn whole(&mut self, name: &str) -> Name {
        let original = self.original(name);
        self.derived.whole(&original).to_owned()
    }

    /// Where the alias that a name may be is kept. What a function does with names of the module is not followed.
    pub(super) fn aliases_of(&mut self, name: &str) -> Option<&mut BTreeMap<Name, Name>> {
        match (self.scopes.resolve(name), self.functions) {
            (Resolved::Module, 0) => Some(&mut self.names.aliases),
            (Resolved::Local, 1..) => Some(&mut self.local_aliases),
            _ => None,
        }
    }
}

/// A name gets another object.
pub(super) fn forget_alias(aliases: &mut BTreeMap<Name, Name>, name: &str) {
    aliases.retain(|alias, original| alias != name && original != name);
}

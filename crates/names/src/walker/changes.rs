//! Changes of objects that a cell gets from outside, or as arguments of its functions.

use ruff_python_ast::Expr;
use syntax::{Resolved, is_builtin};

use super::Walker;
use super::aliases::forget_alias;
use super::expressions::root;
use crate::names::Repeat;

impl Walker {
    /// The object behind an expression like `a.b[c]` is changed; `changed` stands for the part of it that is another one then, if it is known.
    pub(super) fn change_part(&mut self, part: &Expr, repeat: Repeat, changed: Option<String>) {
        if self.configures_part(part) || self.sets_option(part) {
            return;
        }
        let Some(alias) = root(part).or_else(|| root_of_giver(part)) else { return };
        let name = self.whole(alias);
        let changed = changed.unwrap_or_default();
        if name != alias {
            self.change_name(alias, repeat, &changed);
        }
        self.change_name(&name, repeat, &changed);
        self.change_parameter(&name);
    }

    pub(super) fn change_name(&mut self, name: &str, repeat: Repeat, part: &str) {
        if self.is_from_outside(name) {
            let effects = self.effects();
            effects.augments.remove(name);
            effects.changes.insert(name.to_owned());
            effects.parts.entry(name.to_owned()).or_default().insert(part.to_owned());
            self.repeats(name, repeat);
        }
    }

    /// What changing the object once more does.
    pub(super) fn repeats(&mut self, name: &str, repeat: Repeat) {
        let known = self.effects().repeats.entry(name.to_owned()).or_insert(repeat);
        *known = (*known).max(repeat);
    }

    /// `name += …` changes the object, or gives the name another one.
    pub(super) fn augment(&mut self, name: &str) {
        if self.is_from_outside(name) {
            if self.effects().changes.insert(name.to_owned()) {
                self.effects().augments.insert(name.to_owned());
            }
            self.repeats(name, Repeat::Differs);
        }
        self.change_parameter(name);
        if let Some(aliases) = self.aliases_of(name) {
            forget_alias(aliases, name);
        }
    }

    pub(super) fn change_parameter(&mut self, name: &str) {
        if self.is_parameter(name) {
            self.deferred.changed_parameters.insert(name.to_owned());
        }
    }

    pub(super) fn is_parameter(&self, name: &str) -> bool {
        self.parameters.contains(name) && self.scopes.resolve(name) == Resolved::Local
    }
}

/// `decimal` of `decimal.getcontext().prec`: a part of what a function gives is set.
fn root_of_giver(part: &Expr) -> Option<&str> {
    match part {
        Expr::Attribute(attribute) => root_of_giver(&attribute.value),
        Expr::Subscript(subscript) => root_of_giver(&subscript.value),
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(function) => root(&function.value),
            Expr::Name(getter) if call.arguments.is_empty() && !is_builtin(&getter.id) => Some(&getter.id),
            _ => None,
        },
        _ => None,
    }
}

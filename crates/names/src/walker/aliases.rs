//! Names of the same object: what is done to it under one of them, is done to it under all. All names of a figure of matplotlib and its
//! axes count as names of the figure.

use std::collections::BTreeMap;

use ruff_python_ast::{Expr, ExprCall};
use syntax::{Name, Resolved};

use super::Walker;
use super::expressions::{elements, last, root, targets};
use crate::makers::FIGURE;
use crate::methods::has_word;
use crate::names::Change;

/// Functions that give a figure and its axes.
const MAKING: &str = "subplots subplot_mosaic";
/// Methods and attributes of a figure, or of its axes, that give axes, or the figure, of the same figure.
const GIVING: &str = "add_subplot add_axes add_gridspec gca subplots subplot_mosaic twinx twiny inset_axes get_figure \
    flatten ravel axes figure fig flat";

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

    /// The aliases that a name may be one of. What a function does with names of the module is not followed.
    pub(super) fn aliases_of(&mut self, name: &str) -> Option<&mut BTreeMap<Name, Name>> {
        match (self.scopes.resolve(name), self.functions) {
            (Resolved::Module, 0) => Some(&mut self.names.aliases),
            (Resolved::Local, 1..) => Some(&mut self.local_aliases),
            _ => None,
        }
    }

    /// After the target got this value: `fig, (left, right) = plt.subplots(1, 2)`, `ax = fig.add_subplot()`.
    pub(super) fn share_figure(&mut self, target: &Expr, value: &Expr) {
        let figure = match (value, elements(target)) {
            (Expr::Call(call), Some([Expr::Name(figure), _])) if has_word(MAKING, last(call)) => {
                if self.functions == 0 {
                    self.names.made_by.insert(figure.id.to_string(), FIGURE.to_owned());
                }
                Some(figure.id.as_str())
            }
            (Expr::Name(all), Some(_)) => Some(all.id.as_str()).filter(|all| is_drawn_on(all)),
            _ => of_same_figure(value),
        };
        for name in figure.into_iter().flat_map(|_| targets(target)) {
            self.alias(name, figure.unwrap_or_default());
        }
    }

    /// `df.plot(ax=ax)` draws on `ax`.
    pub(super) fn draws_on_arguments(&mut self, call: &ExprCall) {
        for keyword in ["ax", "axes", "cax"].iter().filter_map(|name| call.arguments.find_keyword(name)) {
            let Some(name) = root(&keyword.value).map(|name| self.whole(name)) else { continue };
            self.change_parameter(&name);
            self.change_name(&name, Change::unsure());
        }
    }
}

/// A name gets another object.
pub(super) fn forget_alias(aliases: &mut BTreeMap<Name, Name>, name: &str) {
    aliases.retain(|alias, original| alias != name && original != name);
}

/// Whether an object is, by its name, one of matplotlib.
pub(super) fn is_drawn_on(name: &str) -> bool {
    name.starts_with("ax") || name.starts_with("fig")
}

/// The name of a figure, or of axes, whose figure an expression gives, or axes of it.
fn of_same_figure(value: &Expr) -> Option<&str> {
    match value {
        Expr::Call(call) => {
            // `plt.gca()` gives those of a figure that has no name.
            let method = call.func.as_attribute_expr().filter(|method| has_word(GIVING, &method.attr))?;
            root(&method.value).filter(|root| !matches!(*root, "plt" | "pyplot" | "np"))
        }
        Expr::Subscript(part) => root(&part.value).filter(|root| is_drawn_on(root)),
        Expr::Attribute(attribute) if has_word(GIVING, &attribute.attr) => root(&attribute.value),
        _ => None,
    }
}

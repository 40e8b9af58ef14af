//! The methods of a class of the notebook that change their object, by their bodies.
//!
//! A method is a function that changes its first parameter, or calls another method of its class that does.

use std::collections::BTreeMap;

use ruff_python_ast::{Decorator, ExprAttribute, StmtClassDef, StmtFunctionDef};
use syntax::tree::path_of;
use syntax::{Name, NameSet};

use super::Walker;
use crate::methods::{has_word, only_reads};
use crate::shared::attribute;

/// Stands for each method that Python calls for an operator.
pub(super) const OPERATOR: &str = "an operator";
/// Decorators that leave the effect of a method as it is.
const PLAIN_DECORATORS: [&str; 6] =
    ["property", "staticmethod", "classmethod", "abstractmethod", "override", "cached_property"];

/// A method of the outermost class around the walk.
#[derive(Default)]
pub(super) struct Method {
    name: Name,
    /// The name of its object.
    object: Name,
    changes: bool,
    /// The methods that it calls of its object.
    called: NameSet,
}

impl Walker {
    /// Walks through a method of the outermost class.
    pub(super) fn method(&mut self, function: &StmtFunctionDef, walk: impl FnOnce(&mut Self)) {
        let first = function.parameters.iter_non_variadic_params().next();
        let object = first.map(|it| it.parameter.name.to_string()).unwrap_or_default();
        let is_plain = |decorator: &Decorator| {
            path_of(&decorator.expression).last().is_some_and(|name| PLAIN_DECORATORS.contains(name))
        };
        let changes = !function.decorator_list.iter().all(is_plain);
        self.parameters.insert(object.clone());
        self.methods.push(Method { name: function.name.to_string(), object, changes, ..Method::default() });
        walk(self);
        self.leave_parameters();
        if let Some(method) = self.methods.last_mut() {
            method.changes |= self.deferred.changed_parameters.contains(&method.object);
            self.deferred.changed_parameters.remove(&method.object);
        }
    }

    /// Records a call of another method of the same object. Tells whether the call is one.
    pub(super) fn is_own_method(&mut self, called: &ExprAttribute) -> bool {
        let Some(method) = self.methods.last_mut() else { return false };
        if called.value.as_call_expr().is_some_and(|call| path_of(&call.func) == ["super"]) {
            method.changes |= !only_reads(&called.attr);
        }
        let is_own = called.value.as_name_expr().is_some_and(|object| object.id.as_str() == method.object);
        if is_own {
            method.called.insert(called.attr.to_string());
        }
        is_own
    }

    /// After the outermost class.
    pub(super) fn follow_methods(&mut self, class: &StmtClassDef) {
        let methods = std::mem::take(&mut self.methods);
        let Some(effects) = self.names.functions.get_mut(class.name.as_str()) else { return };
        let mut changing = BTreeMap::<&str, bool>::new();
        let mut callers = BTreeMap::<&str, Vec<&str>>::new();
        for method in &methods {
            *changing.entry(&method.name).or_default() |= method.changes;
            for called in &method.called {
                callers.entry(called).or_default().push(&method.name);
            }
        }
        // The body of a base's method is not here, but its name says whether it only reads.
        let of_base = callers.keys().filter(|name| !changing.contains_key(*name) && !only_reads(name));
        let mut open: Vec<&str> = of_base.copied().collect();
        open.extend(changing.iter().filter(|(_, changes)| **changes).map(|(name, _)| *name));
        while let Some(name) = open.pop() {
            for caller in callers.remove(name).into_iter().flatten() {
                if !changing.insert(caller, true).unwrap_or_default() {
                    open.push(caller);
                }
            }
        }
        effects.yields |= changing.contains_key("__next__");
        for (name, changes) in changing {
            if let Some(name) = counted_as(name) {
                *effects.methods.entry(attribute(name)).or_default() |= changes;
            }
        }
    }
}

/// The name by which a use of an object refers to a method, if any use does.
fn counted_as(method: &str) -> Option<&str> {
    const OPERATORS: &str = "lshift rshift or and xor add sub mul matmul truediv floordiv mod pow";
    let Some(name) = method.strip_prefix("__").and_then(|name| name.strip_suffix("__")) else {
        return Some(method);
    };
    let is_operator = |name: &str| has_word(OPERATORS, name);
    match name {
        "call" | "enter" | "exit" => Some(method),
        _ if is_operator(name) || name.strip_prefix('r').is_some_and(is_operator) => Some(OPERATOR),
        _ => None,
    }
}

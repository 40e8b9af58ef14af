//! What the methods of a class of the notebook do to their object, by their bodies.
//!
//! `body` walks through one method, and knows the class from here. `attributes` says where the object has its parts from.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::{Decorator, Stmt, StmtClassDef};
use syntax::tree::path_of;

use super::Walker;
use crate::names::MethodEffect;
use crate::shared::attribute;
use attributes::Attributes;
pub(super) use attributes::{Contents, MODULES};
use body::Body;

mod attributes;
mod body;

/// What all methods count as that Python calls for operators.
pub(super) const OPERATOR: &str = "an operator";
/// Decorators that leave what a method does as it is.
const PLAIN_DECORATORS: [&str; 6] =
    ["property", "staticmethod", "classmethod", "abstractmethod", "override", "cached_property"];

impl Walker {
    /// After a class of the cell has been defined.
    pub(super) fn follow_methods(&mut self, class: &StmtClassDef) {
        let attributes = Attributes::of(class);
        let own: BTreeSet<&str> = methods(class).map(|method| method.name.as_str()).collect();
        let (mut effects, mut callers) = (BTreeMap::new(), BTreeMap::<&str, Vec<&str>>::new());
        for method in methods(class) {
            let name = method.name.as_str();
            let mut body = Body::of(method, class, &own, &attributes);
            body.effect.changes |= !method.decorator_list.iter().all(is_plain);
            effects.insert(name, body.effect);
            for called in body.called {
                callers.entry(called).or_default().push(name);
            }
        }
        // Each method is looked into once, however many call it: a class may have thousands.
        let mut open: Vec<&str> = own.iter().copied().collect();
        while let Some(name) = open.pop() {
            let Some(effect) = effects.get(name).cloned() else { continue };
            for caller in callers.get(name).into_iter().flatten() {
                let known = effects.entry(caller).or_default();
                let before = known.clone();
                known.add(&effect);
                if *known != before {
                    open.push(caller);
                }
            }
        }
        let gives_stream = effects.get("__iter__").is_some_and(|effect| effect.changes);
        let given = attributes.given.iter().cloned().map(|given| (class.name.to_string(), given));
        self.names.contents.extend(given);
        let Some(of_class) = self.names.functions.get_mut(class.name.as_str()) else { return };
        of_class.yields |= gives_stream || own.contains("__next__");
        for (name, effect) in effects {
            if let Some(method) = counted_as(name) {
                of_class.methods.entry(attribute(method)).or_default().add(&effect);
            }
        }
    }
}

impl MethodEffect {
    fn add(&mut self, other: &Self) {
        self.changes |= other.changes;
        self.drains |= other.drains;
        self.asks.extend(other.asks.iter().copied());
    }
}

/// The methods of a class. What sets a property has the name of what reads it.
fn methods(class: &StmtClassDef) -> impl Iterator<Item = &ruff_python_ast::StmtFunctionDef> {
    let is_setter = |decorator: &Decorator| {
        path_of(&decorator.expression).last().is_some_and(|name| matches!(*name, "setter" | "deleter"))
    };
    let methods = class.body.iter().filter_map(Stmt::as_function_def_stmt);
    methods.filter(move |method| !method.decorator_list.iter().any(is_setter))
}

fn is_plain(decorator: &Decorator) -> bool {
    path_of(&decorator.expression).last().is_some_and(|name| PLAIN_DECORATORS.contains(name))
}

/// The name under which uses of an object find a method, if there are such uses.
fn counted_as(method: &str) -> Option<&str> {
    const OPERATORS: &str = "lshift rshift or and xor add sub mul matmul truediv floordiv mod pow";
    let Some(name) = method.strip_prefix("__").and_then(|name| name.strip_suffix("__")) else {
        return Some(method).filter(|method| !method.starts_with("__"));
    };
    let is_operator = |name: &str| OPERATORS.split(' ').any(|operator| operator == name);
    match name {
        "call" | "enter" | "exit" => Some(method),
        _ if is_operator(name) || name.strip_prefix('r').is_some_and(is_operator) => Some(OPERATOR),
        _ => None,
    }
}

//! What the methods of a class of the notebook do to their object, by their bodies.
//!
//! `changing` walks through one method, and knows the class from here.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::Visitor;
use ruff_python_ast::{Decorator, Stmt, StmtClassDef, StmtFunctionDef};
use syntax::tree::path_of;

use super::sources::Attributes;
use crate::names::Repeat;
use changing::Changing;

mod changing;
mod using_up;

/// Decorators that leave what a method does as it is.
const PLAIN_DECORATORS: [&str; 6] =
    ["property", "staticmethod", "classmethod", "abstractmethod", "override", "cached_property"];

pub(super) struct OwnMethods<'a> {
    class: &'a str,
    pub(super) methods: BTreeMap<&'a str, &'a StmtFunctionDef>,
    pub(super) attributes: Attributes<'a>,
}

/// What a method does to its object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MethodMutation {
    /// What it surely does if it is called once more.
    pub(super) sure: Option<Repeat>,
    /// It calls something that may change the object.
    is_possible: bool,
    /// It may use up what the object was given.
    pub(super) drains: bool,
    /// The methods that it calls of parts, and that only read in libraries.
    pub(super) asks: BTreeSet<u32>,
}

impl MethodMutation {
    /// Whether it may change the object.
    pub(super) fn is_any(&self) -> bool {
        self.sure.is_some() || self.is_possible
    }

    fn and(&self, other: &Self) -> Self {
        Self {
            sure: self.sure.max(other.sure),
            is_possible: self.is_possible || other.is_possible,
            drains: self.drains || other.drains,
            asks: self.asks.union(&other.asks).copied().collect(),
        }
    }
}

impl<'a> OwnMethods<'a> {
    pub(super) fn of(class: &'a StmtClassDef) -> Self {
        // What sets a property has the name of what reads it.
        let is_setter = |decorator: &Decorator| {
            path_of(&decorator.expression).last().is_some_and(|name| matches!(*name, "setter" | "deleter"))
        };
        let methods = class.body.iter().filter_map(Stmt::as_function_def_stmt);
        let methods = methods.filter(|method| !method.decorator_list.iter().any(is_setter));
        let methods = methods.map(|method| (method.name.as_str(), method)).collect();
        Self { class: &class.name, methods, attributes: Attributes::of(class) }
    }

    /// What each method does to its first `count` parameters, together with the methods that it calls.
    pub(super) fn changes(&self, count: usize) -> BTreeMap<&'a str, MethodMutation> {
        let (mut changes, mut callers) = (BTreeMap::new(), BTreeMap::<&str, Vec<&str>>::new());
        for (name, method) in &self.methods {
            let found = self.look_into(method, count);
            changes.insert(*name, found.change);
            for called in found.called {
                callers.entry(called).or_default().push(name);
            }
        }
        // Each method is looked into once, however many call it: a class may have thousands.
        let mut open: Vec<&str> = self.methods.keys().copied().collect();
        while let Some(name) = open.pop() {
            let Some(change) =
                changes.get(name).cloned().filter(|change| *change != MethodMutation::default())
            else {
                continue;
            };
            for caller in callers.get(name).into_iter().flatten() {
                let known = changes.entry(caller).or_default();
                let both = known.and(&change);
                if *known != both {
                    *known = both;
                    open.push(caller);
                }
            }
        }
        changes
    }

    fn look_into(&self, method: &'a StmtFunctionDef, count: usize) -> Changing<'a, '_> {
        let parameters = method.parameters.iter_non_variadic_params().take(count);
        let whole: BTreeSet<&str> = parameters.map(|it| it.parameter.name.as_str()).collect();
        let is_plain = method.decorator_list.iter().all(is_plain);
        let mut found = Changing {
            own: self,
            objects: whole.iter().copied().chain([self.class]).collect(),
            whole,
            holding: BTreeSet::new(),
            called: BTreeSet::new(),
            discarded: None,
            sources: BTreeMap::new(),
            change: MethodMutation { is_possible: !is_plain, ..MethodMutation::default() },
        };
        found.visit_body(&method.body);
        found
    }
}

fn is_plain(decorator: &Decorator) -> bool {
    path_of(&decorator.expression).last().is_some_and(|name| PLAIN_DECORATORS.contains(name))
}

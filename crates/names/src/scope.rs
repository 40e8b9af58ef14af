//! Python's scopes, from the outermost inwards.

use std::collections::BTreeSet;

use crate::locals::Locals;
use crate::names::Name;

/// The scopes between the module, which is none of them, and the code that the walk is in.
#[derive(Default)]
pub(crate) struct Scopes(Vec<Scope>);

pub(crate) struct Scope {
    pub(crate) kind: Kind,
    pub(crate) bound: BTreeSet<Name>,
    pub(crate) globals: BTreeSet<Name>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All local names are known from the beginning.
    Function,
    /// Its names are invisible in the functions and comprehensions within.
    Class,
    Comprehension,
    TypeParams,
    /// `except … as name`
    Handler,
}

/// Whose name it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resolved {
    /// The cell's, or that of another cell.
    Module,
    Local,
}

impl Scope {
    pub(crate) fn of(kind: Kind) -> Self {
        Self { kind, bound: BTreeSet::new(), globals: BTreeSet::new() }
    }

    pub(crate) fn function(locals: Locals) -> Self {
        Self { kind: Kind::Function, bound: locals.bound, globals: locals.globals }
    }
}

impl Scopes {
    pub(crate) fn push(&mut self, scope: Scope) {
        self.0.push(scope);
    }

    pub(crate) fn pop(&mut self) {
        self.0.pop();
    }

    pub(crate) fn are_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn resolve(&self, name: &str) -> Resolved {
        if self.owner(name).is_some() { Resolved::Local } else { Resolved::Module }
    }

    /// The kind of the scope whose name it is; `None` if it is the module's.
    pub(crate) fn owner(&self, name: &str) -> Option<Kind> {
        // Whether a scope lies in between that hides the names of a class.
        let mut is_nested = false;
        for scope in self.0.iter().rev() {
            if scope.globals.contains(name) {
                return None;
            }
            if scope.bound.contains(name) && !(scope.kind == Kind::Class && is_nested) {
                return Some(scope.kind);
            }
            is_nested |= matches!(scope.kind, Kind::Function | Kind::Comprehension);
        }
        None
    }

    /// Whether a name of the module would be a local one if it were called `new`. A `global` statement would name that, too.
    pub(crate) fn captures(&self, name: &str, new: &str) -> bool {
        let reached = self.0.iter().rposition(|scope| scope.globals.contains(name)).unwrap_or(0);
        let mut is_nested = false;
        self.0[reached..].iter().rev().any(|scope| {
            let is_local = scope.bound.contains(new) && !(scope.kind == Kind::Class && is_nested);
            is_nested |= matches!(scope.kind, Kind::Function | Kind::Comprehension);
            is_local
        })
    }

    /// Binds a name in the innermost scope that can have it.
    pub(crate) fn bind(&mut self, name: &str) -> Resolved {
        self.bind_in(name, |kind| !matches!(kind, Kind::TypeParams | Kind::Handler))
    }

    /// The same for `:=`.
    pub(crate) fn bind_outside_comprehensions(&mut self, name: &str) -> Resolved {
        self.bind_in(name, |kind| matches!(kind, Kind::Function | Kind::Class))
    }

    fn bind_in(&mut self, name: &str, can_bind: impl Fn(Kind) -> bool) -> Resolved {
        let Some(scope) = self.0.iter_mut().rev().find(|scope| can_bind(scope.kind)) else {
            return Resolved::Module;
        };
        if scope.globals.contains(name) {
            return Resolved::Module;
        }
        scope.bound.insert(name.to_owned());
        Resolved::Local
    }

    pub(crate) fn declare_global(&mut self, names: impl Iterator<Item = Name>) {
        if let Some(scope) = self.0.last_mut() {
            scope.globals.extend(names);
        }
    }
}

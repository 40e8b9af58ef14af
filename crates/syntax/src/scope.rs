//! Python's scopes, from the outermost inwards.

use std::collections::BTreeSet;

use crate::Name;
use crate::locals::Locals;

/// The scopes between the module, which is none of them, and the code that the walk is in.
#[derive(Default)]
pub struct Scopes(Vec<Scope>);

pub struct Scope {
    pub kind: ScopeKind,
    pub bound: BTreeSet<Name>,
    pub globals: BTreeSet<Name>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeKind {
    /// All local names are known from the start.
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
pub enum Resolved {
    /// The cell's, or that of another cell.
    Module,
    Local,
}

impl Scope {
    pub fn of(kind: ScopeKind) -> Self {
        Self { kind, bound: BTreeSet::new(), globals: BTreeSet::new() }
    }

    pub fn function(locals: Locals) -> Self {
        Self { kind: ScopeKind::Function, bound: locals.bound, globals: locals.globals }
    }
}

impl Scopes {
    pub fn push(&mut self, scope: Scope) {
        self.0.push(scope);
    }

    pub fn pop(&mut self) {
        self.0.pop();
    }

    pub fn are_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn resolve(&self, name: &str) -> Resolved {
        if is_local(&self.0, name) { Resolved::Local } else { Resolved::Module }
    }

    /// Whether a name of the module would be a local one if it were called `new`. A `global` statement would name that, too.
    pub fn captures(&self, name: &str, new: &str) -> bool {
        let reached = self.0.iter().rposition(|scope| scope.globals.contains(name)).unwrap_or(0);
        is_local(&self.0[reached..], new)
    }

    /// Binds a name in the innermost scope that can have it.
    pub fn bind(&mut self, name: &str) -> Resolved {
        self.bind_in(name, |kind| !matches!(kind, ScopeKind::TypeParams | ScopeKind::Handler))
    }

    /// The same for `:=`.
    pub fn bind_outside_comprehensions(&mut self, name: &str) -> Resolved {
        self.bind_in(name, |kind| matches!(kind, ScopeKind::Function | ScopeKind::Class))
    }

    fn bind_in(&mut self, name: &str, can_bind: impl Fn(ScopeKind) -> bool) -> Resolved {
        let Some(scope) = self.0.iter_mut().rev().find(|scope| can_bind(scope.kind)) else {
            return Resolved::Module;
        };
        if scope.globals.contains(name) {
            return Resolved::Module;
        }
        scope.bound.insert(name.to_owned());
        Resolved::Local
    }

    pub fn declare_global(&mut self, names: impl Iterator<Item = Name>) {
        if let Some(scope) = self.0.last_mut() {
            scope.globals.extend(names);
        }
    }
}

fn is_local(scopes: &[Scope], name: &str) -> bool {
    // Whether a scope lies in between that hides the names of a class.
    let mut is_nested = false;
    for scope in scopes.iter().rev() {
        if scope.globals.contains(name) {
            return false;
        }
        if scope.bound.contains(name) && !(scope.kind == ScopeKind::Class && is_nested) {
            return true;
        }
        is_nested |= matches!(scope.kind, ScopeKind::Function | ScopeKind::Comprehension);
    }
    false
}

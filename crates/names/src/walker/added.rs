//! Lambdas and functions that go into an object, and run when something uses it: `handlers["a"] = lambda x: x + k`, `fs.append(f)`, `@on("a")`.

use ruff_python_ast::visitor::Visitor;
use ruff_python_ast::{Decorator, Expr, ExprCall};
use syntax::{Locals, Name, Resolved};

use super::Walker;
use super::expressions::{items_of, root, values};
use super::known::Pending;
use crate::methods::{When, mutation_by};

/// Lambdas and functions in a value.
#[derive(Default)]
struct Captured<'a> {
    code: Vec<&'a Expr>,
    functions: Vec<Name>,
}

impl<'a> Captured<'a> {
    fn add(&mut self, value: &'a Expr) {
        match value {
            Expr::Lambda(_) => self.code.push(value),
            Expr::Name(name) => self.functions.push(name.id.to_string()),
            _ => items_of(value).into_iter().for_each(|item| self.add(item)),
        }
    }
}

impl Walker {
    /// Visits a value whose lambdas run later.
    pub(super) fn visit_captured(&mut self, value: &Expr) {
        match value {
            Expr::Lambda(_) => {
                self.captured += 1;
                self.visit_expr(value);
                self.captured -= 1;
            }
            Expr::List(_) | Expr::Tuple(_) | Expr::Set(_) => {
                for item in items_of(value) {
                    self.visit_captured(item);
                }
            }
            Expr::Dict(dict) => {
                for item in &dict.items {
                    item.key.iter().for_each(|key| self.visit_expr(key));
                    self.visit_captured(&item.value);
                }
            }
            _ => self.visit_expr(value),
        }
    }

    /// Visits a value that becomes an item of an object. If it is a function, it is not called here.
    pub(super) fn visit_added(&mut self, value: &Expr) {
        match value {
            Expr::Name(name) => self.hand_on(&name.id),
            _ => self.visit_captured(value),
        }
    }

    /// Visits a call that puts its arguments into an object and only does this, if it is one: it runs no code that is there already.
    pub(super) fn visit_capturing_call(&mut self, call: &ExprCall, is_discarded: bool) -> bool {
        let Some(method) = call.func.as_attribute_expr() else { return false };
        let is_capturing = mutation_by(&method.attr).is_some_and(|change| change.when != When::InPlace);
        if !is_capturing {
            return false;
        }
        match &*method.value {
            Expr::Name(object) if is_discarded => self.hand_on(&object.id),
            _ => self.visit_expr(&call.func),
        }
        // Others go through their arguments, which may be generators.
        let is_one =
            matches!(method.attr.as_str(), "append" | "appendleft" | "add" | "insert" | "setdefault");
        for value in values(call) {
            if is_one { self.visit_added(value) } else { self.visit_captured(value) }
        }
        true
    }

    /// After a call that may put its arguments into an object.
    pub(super) fn capture_arguments(&mut self, call: &ExprCall) {
        if let Some(method) = call.func.as_attribute_expr()
            && mutation_by(&method.attr).is_some_and(|change| change.when != When::InPlace)
        {
            self.capture_in(&method.value, values(call));
        }
    }

    /// After a part of an object was set to this value.
    pub(super) fn capture_part(&mut self, part: &Expr, value: &Expr) {
        if part.is_subscript_expr() || part.is_attribute_expr() {
            self.capture_in(part, std::iter::once(value));
        }
    }

    fn capture_in<'e>(&mut self, object: &Expr, values: impl Iterator<Item = &'e Expr>) {
        let Some(name) = root(object).map(|root| self.whole(root)) else { return };
        // What is in a lambda is found with it.
        if self.captured > 0 || self.scopes.resolve(&name) != Resolved::Module {
            return;
        }
        let mut captured = Captured::default();
        values.for_each(|value| captured.add(value));
        captured.functions.retain(|function| self.scopes.resolve(function) == Resolved::Module);
        if captured.code.is_empty() && captured.functions.is_empty() {
            return;
        }
        let outer = std::mem::take(&mut self.deferred);
        self.captured += 1;
        for code in captured.code {
            self.called_later(Locals::default(), |walker| walker.visit_expr(code));
        }
        self.captured -= 1;
        let effects = std::mem::replace(&mut self.deferred, outer);
        let added = self.names.added.entry(name).or_default();
        added.code.uses.extend(effects.uses.iter().cloned());
        added.code.reads.extend(effects.reads.iter().cloned());
        added.functions.extend(captured.functions);
    }

    /// What decorators do with the function or class is not known, but some keep it.
    pub(super) fn capture_decorated(&mut self, decorators: &[Decorator], name: &str) {
        if self.definitions > 0 || !self.scopes.are_empty() {
            return;
        }
        for decorator in decorators {
            let expression = &decorator.expression;
            let function = expression.as_call_expr().map_or(expression, |call| &*call.func);
            if let Some(by) = root(function) {
                self.names.registered.entry(by.to_owned()).or_default().insert(name.to_owned());
            }
        }
    }

    /// A name is used by code that runs later. Whether that is a use of the cell is known at its end.
    pub(super) fn use_later(&mut self, name: &str) -> bool {
        let is_later = self.captured > 0 && self.functions == 0;
        if is_later {
            self.pending.push(Pending {
                name: name.to_owned(),
                step: self.names.steps.len(),
                is_needed: self.tolerant == 0,
                is_outside: !self.names.effects.binds.contains(name),
            });
        }
        is_later
    }

    /// The cell has not bound these names.
    pub(super) fn use_pending(&mut self) {
        for Pending { name, step, is_needed, is_outside } in std::mem::take(&mut self.pending) {
            let steps = self.names.steps.get_mut(step).map(|step| &mut step.effects);
            let whole = Some(&mut self.names.effects).filter(|_| is_outside);
            for effects in steps.into_iter().chain(whole) {
                effects.uses.insert(name.clone());
                if is_needed {
                    effects.needs.insert(name.clone());
                }
            }
        }
    }
}

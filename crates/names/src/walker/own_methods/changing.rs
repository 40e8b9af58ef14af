//! The walk through a method, for what it changes of its object or of parts of it.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{
    Arguments, CmpOp, Comprehension, Expr, ExprAttribute, ExprCall, ExprContext, ExprSubscript, Stmt,
    WithItem,
};
use syntax::is_builtin;

use super::super::arguments::first_written;
use super::super::calls::is_generator;
use super::super::expressions::root;
use super::super::reading::{is_in_place, is_reading};
use super::super::sources::Source;
use super::{MethodMutation, OwnMethods};
use crate::methods::mutation_by;
use crate::names::Repeat;
use crate::shared::attribute;

/// Functions of Python that change their first argument.
const CHANGING: [&str; 3] = ["next", "setattr", "delattr"];
/// Functions of Python through which code reaches an object by names that are not in the source.
const REACHING: [&str; 4] = ["super", "getattr", "exec", "eval"];
/// What is changed where a part of it is set: `a` of `a.b` and of `a[0]`.
fn owner(part: &Expr) -> Option<&Expr> {
    match part {
        Expr::Attribute(part) => Some(&part.value),
        Expr::Subscript(part) => Some(&part.value),
        _ => None,
    }
}

/// Looks for what changes objects, or parts of them.
pub(super) struct Changing<'a, 'm> {
    pub(super) own: &'m OwnMethods<'a>,
    /// The names of the objects.
    pub(super) whole: BTreeSet<&'a str>,
    /// The names of the objects and of parts of them.
    pub(super) objects: BTreeSet<&'a str>,
    /// The names of other objects whose items are parts.
    pub(super) holding: BTreeSet<&'a str>,
    /// Where names of parts have their values from.
    pub(super) sources: BTreeMap<&'a str, Source>,
    /// The methods of the class that are called or handed on.
    pub(super) called: BTreeSet<&'a str>,
    /// The expression whose result is not used.
    pub(super) discarded: Option<&'a Expr>,
    pub(super) change: MethodMutation,
}

impl<'a> Changing<'a, '_> {
    fn changes(&mut self, part: &Expr, repeat: Repeat) {
        if self.is_part(part) {
            self.change.sure = self.change.sure.max(Some(repeat));
        }
    }

    /// Whether an expression gives an object, or a part of one: `self`, `self.a["x"]`, `self.parts.get(key)`.
    pub(super) fn is_part(&self, value: &Expr) -> bool {
        match value {
            Expr::Call(call) => match &*call.func {
                Expr::Attribute(method) => {
                    let gives_part = matches!(method.attr.as_str(), "get" | "setdefault" | "pop")
                        || self.own.methods.contains_key(method.attr.as_str());
                    gives_part && self.is_part(&method.value)
                }
                Expr::Name(function) if function.id.as_str() == "type" => {
                    call.arguments.args.iter().any(|object| self.is_part(object))
                }
                Expr::Name(function) if matches!(function.id.as_str(), "max" | "min" | "next") => {
                    call.arguments.args.iter().any(|objects| self.has_parts(objects))
                }
                _ => root(value).is_some_and(|root| self.objects.contains(root)),
            },
            Expr::Attribute(part) => self.is_part(&part.value),
            Expr::Subscript(part) => self.is_part(&part.value) || self.holds(&part.value),
            Expr::Name(name) => self.objects.contains(name.id.as_str()),
            Expr::If(choice) => self.is_part(&choice.body) || self.is_part(&choice.orelse),
            Expr::BoolOp(operation) => operation.values.iter().any(|value| self.is_part(value)),
            Expr::Tuple(tuple) => tuple.elts.iter().any(|item| self.is_part(item)),
            Expr::Named(named) => self.is_part(&named.value),
            Expr::Starred(starred) => self.is_part(&starred.value),
            _ => false,
        }
    }

    /// Whether an expression gives the items of an object: `self.parts.items()`, `zip(self.a, self.b)`.
    fn has_parts(&self, value: &Expr) -> bool {
        let Expr::Call(call) = value else { return self.is_part(value) || self.holds(value) };
        match &*call.func {
            Expr::Name(function) => {
                function.id.as_str() != "range" && call.arguments.args.iter().any(|it| self.has_parts(it))
            }
            Expr::Attribute(method) => self.is_part(&method.value),
            _ => false,
        }
    }

    /// Whether an object is another one whose items are parts of an object: `[self.a, self.b]`.
    fn holds(&self, value: &Expr) -> bool {
        let is_chosen = |item: &Expr, generators: &[Comprehension]| {
            let name = item.as_name_expr().map(|name| name.id.as_str());
            name.is_some()
                && generators.iter().any(|generator| {
                    let target = generator.target.as_name_expr().map(|target| target.id.as_str());
                    target == name && self.has_parts(&generator.iter)
                })
        };
        match value {
            Expr::Name(name) => self.holding.contains(name.id.as_str()),
            Expr::List(list) => list.elts.iter().any(|item| self.is_part(item)),
            Expr::Tuple(tuple) => tuple.elts.iter().any(|item| self.is_part(item)),
            Expr::Set(set) => set.elts.iter().any(|item| self.is_part(item)),
            Expr::Dict(dict) => dict.items.iter().any(|item| self.is_part(&item.value)),
            Expr::ListComp(list) => is_chosen(&list.elt, &list.generators),
            Expr::SetComp(set) => is_chosen(&set.elt, &set.generators),
            Expr::Generator(generator) => is_chosen(&generator.elt, &generator.generators),
            Expr::Call(call) => {
                let is_copy = call.func.as_name_expr().is_some_and(|function| {
                    matches!(
                        function.id.as_str(),
                        "list" | "tuple" | "set" | "dict" | "sorted" | "reversed" | "zip" | "enumerate"
                    )
                });
                is_copy && self.has_parts(value)
            }
            _ => false,
        }
    }

    /// Another method of the class is called by what the code does with a whole object.
    pub(super) fn calls_of_whole(&mut self, value: &Expr, methods: &[&'a str]) {
        if value.as_name_expr().is_some_and(|name| self.whole.contains(name.id.as_str())) {
            self.called.extend(methods);
        }
    }

    fn name_part(&mut self, target: &'a Expr) {
        match target {
            Expr::Name(name) => drop(self.objects.insert(&name.id)),
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|target| self.name_part(target)),
            Expr::List(list) => list.elts.iter().for_each(|target| self.name_part(target)),
            Expr::Starred(starred) => self.name_part(&starred.value),
            _ => {}
        }
    }

    fn name_parts(&mut self, target: &'a Expr, iterable: &Expr) {
        if self.has_parts(iterable) {
            self.name_part(target);
        }
    }

    fn call(&mut self, call: &'a ExprCall, is_discarded: bool) {
        if let Some((argument, repeat)) = first_written(call) {
            self.changes(argument, repeat);
        }
        if let Some(out) = call.arguments.find_keyword("out") {
            self.changes(&out.value, Repeat::Unknown);
        }
        // `map(self.items.append, xs)`
        let is_changing = |it: &Self, value: &Expr| {
            value
                .as_attribute_expr()
                .is_some_and(|part| mutation_by(&part.attr).is_some() && it.is_part(value))
        };
        self.change.is_possible |= self.passes(&call.arguments, is_changing);
        self.hands_on_arguments(call);
        match &*call.func {
            Expr::Name(function) => self.call_of_function(&function.id, call),
            Expr::Attribute(method) => self.call_of_method(method, call, is_discarded),
            _ => {}
        }
    }

    fn call_of_function(&mut self, function: &'a str, call: &ExprCall) {
        if CHANGING.contains(&function) {
            call.arguments.args.iter().take(1).for_each(|first| self.changes(first, Repeat::Differs));
        } else if function == self.own.class {
            // Another object is made.
        } else if self.objects.contains(function) {
            self.change.is_possible |= !self.own.methods.contains_key("__call__");
            self.called.insert("__call__");
        } else if REACHING.contains(&function) {
            self.change.is_possible = true;
        } else if matches!(function, "map" | "filter") {
            // `map(grow, self.items)`
            let calls = call.arguments.args.first().and_then(Expr::as_name_expr);
            let may_change =
                calls.is_some_and(|it| !is_builtin(&it.id) && !it.id.starts_with(char::is_uppercase));
            self.change.is_possible |= may_change && self.passes(&call.arguments, Self::has_parts);
        } else if function == "len" {
            call.arguments.args.iter().for_each(|object| self.calls_of_whole(object, &["__len__"]));
        } else if !is_builtin(function) {
            let is_class = function.starts_with(char::is_uppercase);
            let is_meant = |it: &Self, value: &Expr| match value {
                Expr::Name(name) if is_class => it.whole.contains(name.id.as_str()),
                _ if is_class => false,
                _ => it.is_part(value) || it.holds(value),
            };
            self.change.is_possible |= self.passes(&call.arguments, is_meant);
        }
    }

    fn call_of_method(&mut self, method: &'a ExprAttribute, call: &ExprCall, is_discarded: bool) {
        let name = method.attr.as_str();
        if self.is_own(method) {
            // It is followed where it is named.
        } else if let Some(change) = mutation_by(name) {
            self.changes(&method.value, change.again);
        } else if is_in_place(call) || !is_reading(call, method, is_discarded) {
            self.change.is_possible |= self.is_part(&method.value);
        } else if self.is_part(&method.value) {
            self.change.asks.insert(attribute(name));
        }
        // `random.shuffle(self.items)`, and `Base.advance(self)`, which libraries hardly ever get.
        let is_whole = |it: &Self, value: &Expr| {
            value.as_name_expr().is_some_and(|name| it.objects.contains(name.id.as_str()))
                || name == "shuffle" && it.is_part(value)
        };
        self.change.is_possible |= self.passes(&call.arguments, is_whole);
    }

    fn is_own(&self, method: &ExprAttribute) -> bool {
        self.own.methods.contains_key(method.attr.as_str()) && self.is_part(&method.value)
    }

    fn passes(&self, arguments: &Arguments, is_meant: impl Fn(&Self, &Expr) -> bool) -> bool {
        arguments.iter_source_order().any(|argument| is_meant(self, argument.value()))
    }
}

impl<'a> Visitor<'a> for Changing<'a, '_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::AugAssign(assign) if assign.target.is_name_expr() => {
                // `items = self.items; items += [1]`
                self.change.is_possible |= self.is_part(&assign.target);
            }
            Stmt::AugAssign(assign) => {
                if let Some(owner) = owner(&assign.target) {
                    self.changes(owner, Repeat::Differs);
                }
            }
            Stmt::Assign(assign) if self.is_part(&assign.value) => {
                let source = self.source(&assign.value);
                for target in &assign.targets {
                    self.name_part(target);
                    match target {
                        Expr::Name(name) => {
                            self.sources.extend(source.map(|source| (name.id.as_str(), source)));
                        }
                        Expr::Tuple(_) | Expr::List(_) => self.goes_through(&assign.value),
                        // `other.lines = self.lines`
                        _ => self.hands_on(&assign.value),
                    }
                }
            }
            Stmt::Assign(assign) if self.holds(&assign.value) => {
                let names = assign.targets.iter().filter_map(Expr::as_name_expr);
                self.holding.extend(names.map(|name| name.id.as_str()));
            }
            Stmt::AnnAssign(assign) if assign.value.as_ref().is_some_and(|value| self.is_part(value)) => {
                self.name_part(&assign.target);
            }
            Stmt::For(block) => {
                self.goes_through(&block.iter);
                self.name_parts(&block.target, &block.iter);
            }
            Stmt::Return(returned) => returned.value.iter().for_each(|value| self.hands_on(value)),
            Stmt::Expr(expression) => self.discarded = Some(&expression.value),
            _ => {}
        }
        visitor::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Attribute(ExprAttribute { ctx, .. }) | Expr::Subscript(ExprSubscript { ctx, .. })
                if *ctx != ExprContext::Load =>
            {
                if let Some(owner) = owner(expression) {
                    self.changes(owner, Repeat::Same);
                }
            }
            Expr::Subscript(part) => self.calls_of_whole(&part.value, &["__getitem__"]),
            Expr::Attribute(part) if self.is_own(part) => drop(self.called.insert(&part.attr)),
            Expr::Attribute(part) => {
                self.change.is_possible |=
                    self.own.attributes.source(&part.attr) == Source::Stream || is_generator(&part.attr);
            }
            Expr::YieldFrom(given) => self.goes_through(&given.value),
            Expr::Starred(starred) if starred.ctx.is_load() => self.goes_through(&starred.value),
            Expr::Compare(comparison) => {
                for (operator, value) in comparison.ops.iter().zip(&comparison.comparators) {
                    if matches!(operator, CmpOp::In | CmpOp::NotIn) {
                        self.goes_through(value);
                    }
                }
            }
            Expr::Named(named) if self.is_part(&named.value) => self.name_part(&named.target),
            Expr::Call(call) => {
                let is_discarded = self.discarded.is_some_and(|it| std::ptr::eq(it, expression));
                self.call(call, is_discarded);
            }
            _ => {}
        }
        visitor::walk_expr(self, expression);
    }

    fn visit_comprehension(&mut self, comprehension: &'a Comprehension) {
        self.goes_through(&comprehension.iter);
        self.name_parts(&comprehension.target, &comprehension.iter);
        visitor::walk_comprehension(self, comprehension);
    }

    fn visit_with_item(&mut self, item: &'a WithItem) {
        self.calls_of_whole(&item.context_expr, &["__enter__", "__exit__"]);
        if let Some(target) = item.optional_vars.as_deref().filter(|_| self.is_part(&item.context_expr)) {
            self.name_part(target);
        }
        visitor::walk_with_item(self, item);
    }
}

//! What the methods of a class of the notebook do to their object, by their bodies.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{
    Arguments, Comprehension, Decorator, Expr, ExprAttribute, ExprCall, ExprContext, ExprSubscript, Stmt,
    StmtClassDef, StmtFunctionDef, WithItem,
};

use super::arguments::first_written;
use super::calls::is_generator;
use super::reading::{is_in_place, is_reading};
use super::root;
use super::shared::path_of;
use super::streams::is_stream;
use crate::builtins::is_builtin;
use crate::methods::change_by;
use crate::names::Repeat;

/// Functions of Python that change their first argument.
const CHANGING: [&str; 3] = ["next", "setattr", "delattr"];
/// Functions of Python through which code reaches an object by names that are not in the source.
const REACHING: [&str; 4] = ["super", "getattr", "exec", "eval"];
/// Decorators that leave what a method does as it is.
const PLAIN_DECORATORS: [&str; 6] =
    ["property", "staticmethod", "classmethod", "abstractmethod", "override", "cached_property"];

pub(super) struct OwnMethods<'a> {
    class: &'a str,
    pub(super) methods: BTreeMap<&'a str, &'a StmtFunctionDef>,
    /// The attributes that a method sets to an object which gives each of its items once.
    streams: BTreeSet<&'a str>,
}

/// What a method does to its object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// What it surely does if it is called once more.
    pub(super) sure: Option<Repeat>,
    /// It calls something that may change the object.
    is_possible: bool,
}

impl Change {
    /// Whether it may change the object.
    pub(super) fn is_any(self) -> bool {
        self.sure.is_some() || self.is_possible
    }

    fn and(self, other: Self) -> Self {
        Self { sure: self.sure.max(other.sure), is_possible: self.is_possible || other.is_possible }
    }
}

impl<'a> OwnMethods<'a> {
    pub(super) fn of(class: &'a StmtClassDef) -> Self {
        let mut streams = StreamAttributes::default();
        streams.visit_body(&class.body);
        // What sets a property has the name of what reads it.
        let is_setter = |decorator: &Decorator| {
            path_of(&decorator.expression).last().is_some_and(|name| matches!(*name, "setter" | "deleter"))
        };
        let methods = class.body.iter().filter_map(Stmt::as_function_def_stmt);
        let methods = methods.filter(|method| !method.decorator_list.iter().any(is_setter));
        let methods = methods.map(|method| (method.name.as_str(), method)).collect();
        Self { class: &class.name, methods, streams: streams.0 }
    }

    /// What each method does to its first `count` parameters, together with the methods that it calls.
    pub(super) fn changes(&self, count: usize) -> BTreeMap<&'a str, Change> {
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
            let Some(change) = changes.get(name).copied().filter(|change| change.is_any()) else { continue };
            for caller in callers.get(name).into_iter().flatten() {
                let known = changes.entry(caller).or_default();
                let both = known.and(change);
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
        let is_plain = method.decorator_list.iter().all(is_plain);
        let mut found = Changing {
            own: self,
            objects: parameters.map(|it| it.parameter.name.as_str()).chain([self.class]).collect(),
            called: BTreeSet::new(),
            discarded: None,
            change: Change { sure: None, is_possible: !is_plain },
        };
        found.visit_body(&method.body);
        found
    }
}

fn is_plain(decorator: &Decorator) -> bool {
    path_of(&decorator.expression).last().is_some_and(|name| PLAIN_DECORATORS.contains(name))
}

/// Looks for what changes objects, or parts of them.
struct Changing<'a, 'm> {
    own: &'m OwnMethods<'a>,
    /// The names of the objects and of parts of them.
    objects: BTreeSet<&'a str>,
    /// The methods of the class that are called or handed on.
    called: BTreeSet<&'a str>,
    /// The expression whose result is not used.
    discarded: Option<&'a Expr>,
    change: Change,
}

impl<'a> Changing<'a, '_> {
    fn changes(&mut self, part: &Expr, repeat: Repeat) {
        if self.is_part(part) {
            self.change.sure = self.change.sure.max(Some(repeat));
        }
    }

    /// Whether an expression gives an object, or a part of one: `self`, `self.a["x"]`, `self.parts.get(key)`.
    fn is_part(&self, value: &Expr) -> bool {
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
                _ => root(value).is_some_and(|root| self.objects.contains(root)),
            },
            Expr::Attribute(part) => self.is_part(&part.value),
            Expr::Subscript(part) => self.is_part(&part.value),
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
        let Expr::Call(call) = value else { return self.is_part(value) };
        match &*call.func {
            Expr::Name(function) => {
                function.id.as_str() != "range" && call.arguments.args.iter().any(|it| self.has_parts(it))
            }
            Expr::Attribute(method) => self.is_part(&method.value),
            _ => false,
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
            value.as_attribute_expr().is_some_and(|part| change_by(&part.attr).is_some() && it.is_part(value))
        };
        self.change.is_possible |= self.passes(&call.arguments, is_changing);
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
        } else if !is_builtin(function) && !function.starts_with(char::is_uppercase) {
            self.change.is_possible |= self.passes(&call.arguments, Self::is_part);
        }
    }

    fn call_of_method(&mut self, method: &'a ExprAttribute, call: &ExprCall, is_discarded: bool) {
        let name = method.attr.as_str();
        if self.is_own(method) {
            // It is followed where it is named.
        } else if let Some(change) = change_by(name) {
            self.changes(&method.value, change.again);
        } else if is_in_place(call) || !is_reading(call, method, is_discarded) {
            self.change.is_possible |= self.is_part(&method.value);
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
            Stmt::AugAssign(assign) => self.changes(&assign.target, Repeat::Differs),
            Stmt::Assign(assign) if self.is_part(&assign.value) => {
                assign.targets.iter().for_each(|target| self.name_part(target));
            }
            Stmt::AnnAssign(assign) if assign.value.as_ref().is_some_and(|value| self.is_part(value)) => {
                self.name_part(&assign.target);
            }
            Stmt::For(block) => self.name_parts(&block.target, &block.iter),
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
                self.changes(expression, Repeat::Same);
            }
            Expr::Attribute(part) if self.is_own(part) => drop(self.called.insert(&part.attr)),
            Expr::Attribute(part) => {
                self.change.is_possible |=
                    self.own.streams.contains(part.attr.as_str()) || is_generator(&part.attr);
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
        self.name_parts(&comprehension.target, &comprehension.iter);
        visitor::walk_comprehension(self, comprehension);
    }

    fn visit_with_item(&mut self, item: &'a WithItem) {
        if let Some(target) = item.optional_vars.as_deref().filter(|_| self.is_part(&item.context_expr)) {
            self.name_part(target);
        }
        visitor::walk_with_item(self, item);
    }
}

/// The attributes of a class that are streams.
#[derive(Default)]
struct StreamAttributes<'a>(BTreeSet<&'a str>);

impl<'a> Visitor<'a> for StreamAttributes<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::Assign(assign) = statement
            && is_stream(&assign.value)
        {
            let attributes = assign.targets.iter().filter_map(Expr::as_attribute_expr);
            self.0.extend(attributes.map(|part| part.attr.as_str()));
        }
        visitor::walk_stmt(self, statement);
    }
}

//! The walk through a method, for what it changes of its object or of parts of it, and for what it may use up.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{
    Arguments, CmpOp, Comprehension, Expr, ExprAttribute, ExprCall, ExprContext, Stmt, StmtClassDef,
    StmtFunctionDef, WithItem,
};
use syntax::is_builtin;
use syntax::tree::path_of;

use super::super::arguments::first_written;
use super::super::calls::is_generator;
use super::super::expressions::items_of;
use super::super::reading::{is_in_place, is_reading};
use super::super::streams::only_looks;
use super::attributes::{Attributes, Source, is_class};
use super::counted_as;
use crate::methods::{has_word, mutation_by};
use crate::names::MethodEffect;
use crate::shared::attribute;

/// Functions of Python that change their first argument.
const CHANGING: &str = "next setattr delattr";
/// Functions of Python through which code reaches an object by names that are not in the source.
const REACHING: &str = "super getattr exec eval";
/// Functions of Python that give an item of their arguments.
const CHOOSING: &str = "max min next type vars";
/// Functions of Python that give another object with the items of their arguments.
const COPYING: &str = "list tuple set dict sorted reversed zip enumerate iter filter";
/// Functions of Python that use all items of their arguments, or give a stream that does.
const GOING_THROUGH: &str = "list tuple set frozenset dict sorted sum min max any all next iter zip map filter enumerate reversed \
    Counter deque OrderedDict chain islice bytes bytearray";
/// Functions of Python that do not use the items of their arguments.
const LOOKING: &str = "len isinstance issubclass type id repr print str int float range hasattr";
/// Modules whose functions take arrays.
const NUMERIC: &str = "np numpy jnp math plt sns torch F";

/// How an expression belongs to the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Belongs {
    /// It is the object itself, or a part of it.
    Part,
    /// It is another object whose items are parts.
    Holder,
}

pub(super) struct Body<'a, 'c> {
    class: &'a str,
    own: &'c BTreeSet<&'a str>,
    attributes: &'c Attributes<'a>,
    /// The names of whole objects of the class.
    whole: BTreeSet<&'a str>,
    names: BTreeMap<&'a str, Belongs>,
    /// The expression whose result is not used.
    discarded: Option<&'a Expr>,
    /// The methods of the class that are called or handed on.
    pub(super) called: BTreeSet<&'a str>,
    pub(super) effect: MethodEffect,
}

impl<'a, 'c> Body<'a, 'c> {
    pub(super) fn of(
        method: &'a StmtFunctionDef,
        class: &'a StmtClassDef,
        own: &'c BTreeSet<&'a str>,
        attributes: &'c Attributes<'a>,
    ) -> Self {
        // An operator may change either of its operands.
        let is_operator = counted_as(&method.name) == Some(super::OPERATOR);
        let parameters = method.parameters.iter_non_variadic_params();
        let whole: BTreeSet<&str> = parameters
            .take(if is_operator { usize::MAX } else { 1 })
            .map(|it| it.parameter.name.as_str())
            .collect();
        let names = whole.iter().chain([&class.name.as_str()]).map(|name| (*name, Belongs::Part)).collect();
        let mut body = Self {
            class: &class.name,
            own,
            attributes,
            whole,
            names,
            discarded: None,
            called: BTreeSet::new(),
            effect: MethodEffect::default(),
        };
        body.visit_body(&method.body);
        body
    }

    fn belongs(&self, value: &Expr) -> Option<Belongs> {
        match value {
            Expr::Name(name) => self.names.get(name.id.as_str()).copied(),
            Expr::Attribute(part) => self.belongs(&part.value),
            Expr::Subscript(part) => self.belongs(&part.value).map(|_| Belongs::Part),
            Expr::Named(named) => self.belongs(&named.value),
            Expr::Starred(starred) => self.belongs(&starred.value),
            Expr::If(choice) => self.nearest([&*choice.body, &*choice.orelse]),
            Expr::BoolOp(operation) => self.nearest(&operation.values),
            Expr::List(list) => self.holder(&list.elts),
            Expr::Tuple(tuple) => self.holder(&tuple.elts),
            Expr::Set(set) => self.holder(&set.elts),
            Expr::Dict(dict) => self.holder(dict.items.iter().map(|item| &item.value)),
            // Their targets have been visited.
            Expr::ListComp(list) => self.holder([&*list.elt]),
            Expr::SetComp(set) => self.holder([&*set.elt]),
            Expr::Generator(generator) => self.holder([&*generator.elt]),
            Expr::Call(call) => match &*call.func {
                Expr::Attribute(method) => {
                    let gives_part = matches!(method.attr.as_str(), "get" | "setdefault" | "pop")
                        || self.own.contains(method.attr.as_str());
                    self.belongs(&method.value).filter(|_| gives_part).map(|_| Belongs::Part)
                }
                Expr::Name(function) => {
                    let has_parts = || call.arguments.args.iter().any(|it| self.has_parts(it));
                    if has_word(CHOOSING, &function.id) {
                        has_parts().then_some(Belongs::Part)
                    } else {
                        (has_word(COPYING, &function.id) && has_parts()).then_some(Belongs::Holder)
                    }
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn nearest<'e>(&self, values: impl IntoIterator<Item = &'e Expr>) -> Option<Belongs> {
        values.into_iter().filter_map(|value| self.belongs(value)).min()
    }

    fn holder<'e>(&self, items: impl IntoIterator<Item = &'e Expr>) -> Option<Belongs> {
        self.nearest(items).map(|_| Belongs::Holder)
    }

    /// Whether the items of an object are parts: `self.parts.items()`, `zip(self.a, self.b)`.
    fn has_parts(&self, value: &Expr) -> bool {
        let of_method = value.as_call_expr().and_then(|call| call.func.as_attribute_expr());
        self.belongs(of_method.map_or(value, |method| &method.value)).is_some()
    }

    fn is_part(&self, value: &Expr) -> bool {
        self.belongs(value) == Some(Belongs::Part)
    }

    fn is_whole(&self, value: &Expr) -> bool {
        value.as_name_expr().is_some_and(|name| self.whole.contains(name.id.as_str()))
    }

    fn changes(&mut self, part: &Expr) {
        self.effect.changes |= self.is_part(part);
    }

    /// Another method of the class is called by what the code does with a whole object.
    fn calls_of_whole(&mut self, value: &Expr, methods: &[&'a str]) {
        if self.is_whole(value) {
            self.called.extend(methods);
        }
    }

    /// The names of a target stand for what belongs to the object in this way.
    fn bind(&mut self, target: &'a Expr, belongs: Belongs) {
        match target {
            Expr::Name(name) => {
                let known = self.names.entry(&name.id).or_insert(belongs);
                *known = (*known).min(belongs);
            }
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|target| self.bind(target, Belongs::Part)),
            Expr::List(list) => list.elts.iter().for_each(|target| self.bind(target, Belongs::Part)),
            Expr::Starred(starred) => self.bind(&starred.value, belongs),
            _ => {}
        }
    }

    fn bind_items(&mut self, target: &'a Expr, iterable: &'a Expr) {
        self.goes_through(iterable);
        if self.has_parts(iterable) {
            self.bind(target, Belongs::Part);
        }
    }

    /// Where a part has its value from that an expression gives.
    fn source(&self, value: &Expr) -> Source {
        let worst =
            |values: Vec<&Expr>| values.into_iter().map(|it| self.source(it)).max().unwrap_or_default();
        match value {
            Expr::Attribute(part) if self.is_part(&part.value) => self.attributes.source(&part.attr),
            Expr::Subscript(part) => self.source(&part.value).min(Source::Given),
            Expr::Name(_) if self.is_part(value) && !self.is_whole(value) => Source::Given,
            Expr::Starred(starred) => self.source(&starred.value),
            value => worst(items_of(value)),
        }
    }

    /// The items of an object are used, and used up if it is a stream.
    fn goes_through(&mut self, value: &'a Expr) {
        match self.source(value) {
            Source::Unknown | Source::Stream => self.effect.changes = true,
            Source::Given => self.effect.drains = true,
            Source::Container => self.calls_of_whole(value, &["__iter__", "__contains__"]),
        }
    }

    /// An object is handed to other code, which may use its items.
    fn hands_on(&mut self, value: &'a Expr) {
        self.effect.drains |= self.source(value) != Source::Container;
    }

    fn hands_on_arguments(&mut self, call: &'a ExprCall) {
        let goes_through = match &*call.func {
            Expr::Name(function) => has_word(GOING_THROUGH, &function.id),
            Expr::Attribute(method) => has_word("join extend fromkeys from_iterable", &method.attr),
            _ => false,
        };
        let is_looking = match &*path_of(&call.func) {
            [function] => has_word(LOOKING, function),
            [module, .., last] => has_word(NUMERIC, module) && *last != "fromiter",
            [] => false,
        };
        if is_looking || only_looks(call) {
            return;
        }
        for argument in call.arguments.iter_source_order() {
            if goes_through { self.goes_through(argument.value()) } else { self.hands_on(argument.value()) }
        }
    }

    fn call(&mut self, call: &'a ExprCall, is_discarded: bool) {
        if let Some((argument, _)) = first_written(call) {
            self.changes(argument);
        }
        if let Some(out) = call.arguments.find_keyword("out") {
            self.changes(&out.value);
        }
        // `map(self.items.append, xs)`
        let is_changing = |it: &Self, value: &Expr| {
            value
                .as_attribute_expr()
                .is_some_and(|part| mutation_by(&part.attr).is_some() && it.is_part(value))
        };
        self.effect.changes |= self.passes(&call.arguments, is_changing);
        self.hands_on_arguments(call);
        match &*call.func {
            Expr::Name(function) => self.call_of_function(&function.id, call),
            Expr::Attribute(method) => self.call_of_method(method, call, is_discarded),
            _ => {}
        }
    }

    fn call_of_function(&mut self, function: &'a str, call: &'a ExprCall) {
        if has_word(CHANGING, function) {
            call.arguments.args.iter().take(1).for_each(|first| self.changes(first));
        } else if function == self.class {
            // Another object is made.
        } else if self.names.contains_key(function) {
            self.effect.changes |= !self.own.contains("__call__");
            self.called.insert("__call__");
        } else if has_word(REACHING, function) {
            self.effect.changes = true;
        } else if matches!(function, "map" | "filter") {
            // `map(grow, self.items)`
            let calls = call.arguments.args.first().and_then(Expr::as_name_expr);
            let may_change = calls.is_some_and(|it| !is_builtin(&it.id) && !is_class(&it.id));
            self.effect.changes |= may_change && self.passes(&call.arguments, Self::has_parts);
        } else if function == "len" {
            call.arguments.args.iter().for_each(|object| self.calls_of_whole(object, &["__len__"]));
        } else if is_class(function) {
            self.effect.changes |= self.passes(&call.arguments, Self::is_whole);
        } else if !is_builtin(function) {
            self.effect.changes |= self.passes(&call.arguments, |it, value| it.belongs(value).is_some());
        }
    }

    fn call_of_method(&mut self, method: &'a ExprAttribute, call: &ExprCall, is_discarded: bool) {
        let name = method.attr.as_str();
        if self.is_own(method) {
            // It is followed where it is named.
        } else if mutation_by(name).is_some() || is_in_place(call) || !is_reading(call, method, is_discarded)
        {
            self.changes(&method.value);
        } else if self.is_part(&method.value) {
            self.effect.asks.insert(attribute(name));
        }
        // `random.shuffle(self.items)`, and `Base.advance(self)`, which libraries hardly ever get.
        let is_meant =
            |it: &Self, value: &Expr| it.is_part(value) && (value.is_name_expr() || name == "shuffle");
        self.effect.changes |= self.passes(&call.arguments, is_meant);
    }

    fn is_own(&self, method: &ExprAttribute) -> bool {
        self.own.contains(method.attr.as_str()) && self.is_part(&method.value)
    }

    fn passes(&self, arguments: &Arguments, is_meant: impl Fn(&Self, &Expr) -> bool) -> bool {
        arguments.iter_source_order().any(|argument| is_meant(self, argument.value()))
    }

    /// After a value has been visited.
    fn assign(&mut self, target: &'a Expr, value: &'a Expr) {
        match target {
            Expr::Tuple(_) | Expr::List(_) => self.bind_items(target, value),
            Expr::Name(_) => self.belongs(value).into_iter().for_each(|it| self.bind(target, it)),
            // `other.lines = self.lines`
            _ => self.hands_on(value),
        }
    }
}

impl<'a> Visitor<'a> for Body<'a, '_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::For(block) => {
                self.visit_expr(&block.iter);
                self.bind_items(&block.target, &block.iter);
                self.visit_expr(&block.target);
                self.visit_body(&block.body);
                return self.visit_body(&block.orelse);
            }
            Stmt::Return(returned) => returned.value.iter().for_each(|value| self.hands_on(value)),
            Stmt::Expr(expression) => self.discarded = Some(&expression.value),
            // `items = self.items; items += [1]`
            Stmt::AugAssign(assign) => self.changes(&assign.target),
            _ => {}
        }
        visitor::walk_stmt(self, statement);
        match statement {
            Stmt::Assign(assign) => {
                assign.targets.iter().for_each(|target| self.assign(target, &assign.value));
            }
            Stmt::AnnAssign(assign) => {
                assign.value.iter().for_each(|value| self.assign(&assign.target, value));
            }
            _ => {}
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Attribute(part) if part.ctx != ExprContext::Load => self.changes(&part.value),
            Expr::Subscript(part) if part.ctx != ExprContext::Load => self.changes(&part.value),
            Expr::Subscript(part) => self.calls_of_whole(&part.value, &["__getitem__"]),
            Expr::Attribute(part) if self.is_own(part) => drop(self.called.insert(&part.attr)),
            Expr::Attribute(part) => {
                self.effect.changes |=
                    self.attributes.source(&part.attr) == Source::Stream || is_generator(&part.attr);
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
            Expr::Named(named) => self.assign(&named.target, &named.value),
            Expr::Call(call) => {
                let is_discarded = self.discarded.is_some_and(|it| std::ptr::eq(it, expression));
                self.call(call, is_discarded);
            }
            _ => {}
        }
        visitor::walk_expr(self, expression);
    }

    fn visit_comprehension(&mut self, comprehension: &'a Comprehension) {
        self.visit_expr(&comprehension.iter);
        self.bind_items(&comprehension.target, &comprehension.iter);
        self.visit_expr(&comprehension.target);
        comprehension.ifs.iter().for_each(|test| self.visit_expr(test));
    }

    fn visit_with_item(&mut self, item: &'a WithItem) {
        self.calls_of_whole(&item.context_expr, &["__enter__", "__exit__"]);
        if let Some(target) = item.optional_vars.as_deref().filter(|_| self.is_part(&item.context_expr)) {
            self.bind(target, Belongs::Part);
        }
        visitor::walk_with_item(self, item);
    }
}

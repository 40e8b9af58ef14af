//! Which part of the walk a node is for. The two functions are long tables with one row for each kind of node; more functions would hide
//! that each kind has exactly one.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{
    ExceptHandler, Expr, ExprAttribute, ExprContext, ExprSubscript, Pattern, Stmt, WithItem,
};

use ruff_text_size::Ranged as _;
use syntax::tree::{captured, comprehension, imported, is_suppressing};
use syntax::{Locals, Resolved, Scope, ScopeKind, Unknown};

use super::Walker;
use super::repeats::of_assignment;
use super::streams::{is_automagic, looks, only_looks};
use super::wrappers::made_of;
use crate::names::Repeat;

impl Walker {
    fn assign(&mut self, targets: &[Expr], value: &Expr) {
        if let [Expr::Name(name)] = targets {
            if let Expr::Lambda(lambda) = value {
                return self.assigned_lambda(&name.id, lambda);
            }
            if let Some(made) = made_of(value) {
                return self.assigned_function(&name.id, &made);
            }
        }
        match targets {
            [target @ (Expr::Subscript(_) | Expr::Attribute(_))] if !self.is_patch(target) => {
                self.visit_added(value);
            }
            _ => self.visit_captured(value),
        }
        for target in targets {
            self.assign_part(target, value);
            self.capture_part(target, value);
            self.patch(target);
            self.unpack(target, value);
        }
        if !value.is_name_expr() {
            self.made(targets, value);
            if let [Expr::Name(name)] = targets {
                self.derive(&name.id, value);
            }
            self.hold(targets, value);
        }
        self.share_figure(targets, value);
    }

    /// Visits a target of an assignment.
    fn assign_part(&mut self, target: &Expr, value: &Expr) {
        self.repeat = of_assignment(target, Some(value), &self.derived);
        self.visit_expr(target);
        self.repeat = Repeat::Unknown;
        if let (Expr::Name(name), Expr::Name(other)) = (target, value) {
            self.alias(&name.id, &other.id);
        }
    }
}

/// The name of a class, by its look, of which an expression reads an attribute: `Model.layers` calls nothing.
fn class_of(expression: &Expr) -> Option<&str> {
    let attribute = expression.as_attribute_expr().filter(|attribute| attribute.ctx.is_load())?;
    let name = attribute.value.as_name_expr()?.id.as_str();
    name.starts_with(char::is_uppercase).then_some(name)
}

impl<'a> Visitor<'a> for Walker {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(function) => self.function(function),
            Stmt::ClassDef(class) => self.class(class),
            Stmt::Assign(assign) => self.assign(&assign.targets, &assign.value),
            Stmt::AugAssign(assign) => {
                self.repeat = Repeat::Differs;
                self.visit_expr(&assign.value);
                match &*assign.target {
                    Expr::Name(name) => {
                        self.read(&name.id);
                        self.augment(&name.id);
                    }
                    part => {
                        self.visit_expr(part);
                        self.change(part);
                    }
                }
            }
            // `x: int` alone binds nothing.
            Stmt::AnnAssign(assign) if assign.value.is_none() => self.visit_annotation(&assign.annotation),
            Stmt::TypeAlias(alias) => {
                self.with_type_params(alias.type_params.as_deref(), |walker| walker.visit_expr(&alias.value));
                self.visit_expr(&alias.name);
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    self.names.binds_anything |= binds_elsewhere(&alias.name);
                    let name = imported(alias);
                    let path = if alias.asname.is_some() { alias.name.as_str() } else { name };
                    self.import(name, path.to_owned(), &format!("import {}", alias.name));
                }
            }
            Stmt::ImportFrom(import) => {
                let module = ".".repeat(import.level as usize) + import.module.as_deref().unwrap_or_default();
                for alias in &import.names {
                    if alias.name.as_str() == "*" {
                        self.collect(Err(Unknown::StarImport { module: module.clone() }));
                    } else if module != "__future__" {
                        self.names.binds_anything |= binds_elsewhere(&module);
                        let path = format!("{}.{}", module.trim_start_matches('.'), alias.name);
                        self.import(imported(alias), path, &format!("from {module} import {}", alias.name));
                    }
                }
            }
            Stmt::Try(block) => self.walk_try(block, handles_name_errors(&block.handlers)),
            Stmt::If(block) if is_false(&block.test) => self.tolerant(|walker| walker.walk_if(block)),
            Stmt::If(block) => self.walk_if(block),
            Stmt::For(block) => self.walk_for(block),
            Stmt::While(block) => self.walk_while(&block.test, &block.body, &block.orelse),
            Stmt::Match(block) => self.walk_match(block),
            Stmt::With(block) if is_suppressing(block) => self.walk_suppressing(block),
            Stmt::Assert(assert) => {
                self.visit_expr(&assert.test);
                self.perhaps(assert.msg.as_deref());
            }
            // It is shown.
            Stmt::Expr(expression) if expression.value.is_name_expr() => {
                self.looking(|walker| walker.visit_expr(&expression.value));
            }
            _ if is_automagic(statement) => {
                self.tolerant(|walker| visitor::walk_stmt(walker, statement));
            }
            Stmt::Expr(expression) if expression.value.is_call_expr() => {
                self.is_discarded = true;
                self.visit_expr(&expression.value);
            }
            Stmt::Global(global) => {
                self.scopes.declare_global(global.names.iter().map(ToString::to_string));
            }
            Stmt::IpyEscapeCommand(escape) => self.escape(escape.kind, &escape.value),
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        self.reads_attribute(expression);
        match expression {
            Expr::Name(name) => match name.ctx {
                ExprContext::Store => self.bind(&name.id),
                ExprContext::Del => self.delete(&name.id),
                ExprContext::Load | ExprContext::Invalid => self.read(&name.id),
            },
            Expr::Attribute(_) if looks(expression) => {
                self.looking(|walker| visitor::walk_expr(walker, expression));
                if is_changed(expression) {
                    self.change(expression);
                }
            }
            Expr::Subscript(part) if part.value.is_name_expr() && is_changed(expression) => {
                // What is in the object already does not run.
                if let Expr::Name(object) = &*part.value {
                    self.hand_on(&object.id);
                }
                self.visit_expr(&part.slice);
                self.names.binds_anything |= reaches_namespace(expression);
                self.change(expression);
            }
            Expr::Attribute(_) | Expr::Subscript(_) => {
                match class_of(expression).filter(|_| self.callee != Some(expression.range())) {
                    Some(class) => self.hand_on(class),
                    None => visitor::walk_expr(self, expression),
                }
                self.reads_part(expression);
                self.reads_option(expression);
                self.reads_environment(expression);
                self.names.binds_anything |= reaches_namespace(expression);
                if is_changed(expression) {
                    self.change(expression);
                }
            }
            Expr::Named(named) => {
                self.visit_expr(&named.value);
                if let Expr::Name(name) = &*named.target
                    && self.scopes.bind_outside_comprehensions(&name.id) == Resolved::Module
                {
                    self.define(&name.id);
                }
            }
            Expr::Lambda(lambda) => {
                lambda.parameters.iter().for_each(|parameters| self.visit_parameters(parameters));
                let locals = Locals::of_lambda(lambda.parameters.as_deref(), &lambda.body);
                self.within(Scope::function(locals), |walker| walker.visit_expr(&lambda.body));
            }
            Expr::Call(call) => {
                let is_discarded = std::mem::take(&mut self.is_discarded);
                self.callee = Some(call.func.range());
                if only_looks(call) {
                    self.looking(|walker| visitor::walk_expr(walker, expression));
                } else if !self.visit_capturing_call(call, is_discarded) {
                    visitor::walk_expr(self, expression);
                }
                self.capture_arguments(call);
                self.rewind(call);
                self.call(call, is_discarded);
            }
            Expr::BinOp(operation) => {
                visitor::walk_expr(self, expression);
                self.operate(operation);
            }
            Expr::BoolOp(operation) => {
                let (first, rest) = operation.values.split_at(1);
                for value in first {
                    self.visit_expr(value);
                }
                self.perhaps(rest);
            }
            Expr::Compare(comparison) => {
                visitor::walk_expr(self, expression);
                if let (Expr::StringLiteral(text), [Expr::Call(call)]) =
                    (&*comparison.left, &*comparison.comparators)
                    && matches!(&*call.func, Expr::Name(function) if matches!(function.id.as_str(), "dir" | "globals" | "locals" | "vars"))
                {
                    // What is asked for in this way may be there.
                    self.names.possible.insert(text.value.to_str().to_owned());
                }
            }
            Expr::If(choice) => {
                self.visit_expr(&choice.test);
                self.perhaps([&*choice.body]);
                self.perhaps([&*choice.orelse]);
            }
            Expr::IpyEscapeCommand(escape) => self.escape(escape.kind, &escape.value),
            _ if let Some((generators, elements)) = comprehension(expression) => {
                self.comprehension(generators, &elements);
            }
            _ => visitor::walk_expr(self, expression),
        }
    }

    /// Not evaluated in Python 3.14 and after.
    fn visit_annotation(&mut self, annotation: &'a Expr) {
        self.tolerant(|walker| visitor::walk_annotation(walker, annotation));
    }

    fn visit_with_item(&mut self, item: &'a WithItem) {
        visitor::walk_with_item(self, item);
        self.enter(item);
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(inner) = handler;
        let Some(name) = &inner.name else { return visitor::walk_except_handler(self, handler) };
        inner.type_.iter().for_each(|class| self.visit_expr(class));
        // Python deletes the name after the handler.
        let scope = Scope { bound: BTreeSet::from([name.to_string()]), ..Scope::of(ScopeKind::Handler) };
        self.within(scope, |walker| walker.visit_body(&inner.body));
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        visitor::walk_pattern(self, pattern);
        if let Some(name) = captured(pattern) {
            self.bind(name);
        }
    }
}

fn is_changed(part: &Expr) -> bool {
    let (Expr::Attribute(ExprAttribute { ctx, .. }) | Expr::Subscript(ExprSubscript { ctx, .. })) = part
    else {
        return false;
    };
    matches!(ctx, ExprContext::Store | ExprContext::Del)
}

/// `get_ipython().user_ns` and `sys.modules["__main__"]`, through which code can bind any name.
fn reaches_namespace(part: &Expr) -> bool {
    match part {
        Expr::Attribute(part) => matches!(part.attr.as_str(), "user_ns" | "user_global_ns"),
        Expr::Subscript(part) => {
            matches!(&*part.slice, Expr::StringLiteral(text) if binds_elsewhere(text.value.to_str()))
        }
        _ => false,
    }
}

fn handles_name_errors(handlers: &[ExceptHandler]) -> bool {
    let is_error = |class: &Expr| matches!(class, Expr::Name(name) if matches!(name.id.as_str(), "NameError" | "Exception" | "BaseException"));
    handlers.iter().any(|ExceptHandler::ExceptHandler(handler)| match handler.type_.as_deref() {
        None => true,
        Some(Expr::Tuple(classes)) => classes.elts.iter().any(is_error),
        Some(class) => is_error(class),
    })
}

/// `if False:` and `if 0:`
fn is_false(test: &Expr) -> bool {
    match test {
        Expr::BooleanLiteral(literal) => !literal.value,
        Expr::NumberLiteral(literal) => literal.value == ruff_python_ast::Number::Int(0_u8.into()),
        _ => false,
    }
}

/// Modules through which code can bind names of the notebook.
fn binds_elsewhere(module: &str) -> bool {
    matches!(module, "__main__" | "builtins" | "__builtin__")
}

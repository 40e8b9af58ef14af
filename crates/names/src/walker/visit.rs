//! The part of the walk for each kind of node. The two functions are long tables with one row for each kind of node; more functions would hide
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
use super::expressions::{elements, last};
use super::streams::{is_automagic, is_stream};
use crate::names::Repeat;

impl Walker {
    fn assign(&mut self, targets: &[Expr], value: &Expr) {
        if let [Expr::Name(name)] = targets {
            if let Expr::Lambda(lambda) = value {
                return self.assigned_lambda(&name.id, lambda);
            }
            if self.assign_wrapper(&name.id, value) {
                return;
            }
        }
        match targets {
            [Expr::Name(name)] if self.is_global(&name.id) => self.visit_held(value),
            [part] if self.is_item(part) => {
                let is_held = self.holder(part).is_some();
                self.visit_part(value, is_held);
            }
            _ => self.visit_expr(value),
        }
        for target in targets {
            self.repeat = self.repeat_of(target, value);
            self.visit_expr(target);
            self.repeat = Repeat::Unknown;
            if self.is_item(target)
                && let Some(holder) = self.holder(target)
            {
                self.hold(&holder, value);
            }
            self.patch(target);
            self.assigned(target, value);
        }
    }

    /// A target has got a value.
    fn assigned(&mut self, target: &Expr, value: &Expr) {
        self.share_figure(target, value);
        self.opens_file(target, value);
        match (target, value) {
            (Expr::Name(name), Expr::Name(other)) => return self.alias(&name.id, &other.id),
            (Expr::Name(name), _) => {
                self.derive(&name.id, value);
                if self.is_global(&name.id) {
                    self.hold(&name.id, value);
                }
            }
            _ => {}
        }
        self.made(target, value);
        let Some(targets) = elements(target) else { return };
        match (value, elements(value)) {
            // A change of an item changes the whole.
            (Expr::Name(_), _) => self.derive_items(target, value),
            (Expr::If(choice), _) => {
                self.assigned(target, &choice.body);
                self.assigned(target, &choice.orelse);
            }
            (Expr::Call(call), _) if last(call) == "tee" => {
                for name in targets.iter().filter_map(Expr::as_name_expr) {
                    self.names.streams.extend(self.is_global(&name.id).then(|| name.id.to_string()));
                }
            }
            (_, Some(values)) if values.len() == targets.len() => {
                let others = targets.iter().zip(values).filter(|(_, value)| !value.is_name_expr());
                others.for_each(|(target, value)| self.assigned(target, value));
            }
            _ => {}
        }
    }

    /// Whether the code that the walk is in binds a name of the module, and runs as it stands.
    fn is_global(&self, name: &str) -> bool {
        self.functions == 0 && self.scopes.resolve(name) == Resolved::Module
    }

    /// Whether a target is a part of an object.
    fn is_item(&self, target: &Expr) -> bool {
        (target.is_subscript_expr() || target.is_attribute_expr()) && !self.is_patch(target)
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
            Stmt::Nonlocal(_) => self.gives_stream(true),
            Stmt::Return(returned) => {
                if returned.value.as_deref().is_some_and(is_stream) {
                    self.gives_stream(false);
                    self.gives_code();
                }
                visitor::walk_stmt(self, statement);
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
            Expr::Subscript(part) if part.value.is_name_expr() && is_changed(expression) => {
                // Code that is in the object already does not run.
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
                self.names.binds_anything |= reaches_namespace(expression);
                if is_changed(expression) {
                    self.change(expression);
                } else {
                    self.reads_setting(expression);
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
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                self.gives_stream(false);
                visitor::walk_expr(self, expression);
            }
            Expr::Lambda(lambda) => {
                self.gives_code();
                lambda.parameters.iter().for_each(|parameters| self.visit_parameters(parameters));
                let locals = Locals::of_lambda(lambda.parameters.as_deref(), &lambda.body);
                self.within(Scope::function(locals), |walker| walker.visit_expr(&lambda.body));
            }
            Expr::Call(call) => {
                let is_discarded = std::mem::take(&mut self.is_discarded);
                self.callee = Some(call.func.range());
                if !self.visit_putting(call, is_discarded) {
                    visitor::walk_expr(self, expression);
                }
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
                    // A name that is asked for in this way may be there.
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

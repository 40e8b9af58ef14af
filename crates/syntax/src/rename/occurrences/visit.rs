//! Which part of the search a node is for.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{ExceptHandler, Expr, ExprContext, Pattern, Stmt, StmtClassDef, StmtFunctionDef};

use super::{Finder, Locals, Role, Scope, ScopeKind};
use crate::tree::{captured, comprehension};
use crate::unknown::Unknown;

impl<'a> Visitor<'a> for Finder<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(function) => self.function(function),
            Stmt::ClassDef(class) => self.class(class),
            Stmt::TypeAlias(alias) => {
                self.with_type_params(alias.type_params.as_deref(), |finder| finder.visit_expr(&alias.value));
                self.visit_expr(&alias.name);
            }
            Stmt::Import(import) => import.names.iter().for_each(|alias| self.import(alias)),
            Stmt::ImportFrom(import) => {
                let module = import.module.as_deref().unwrap_or_default();
                for alias in &import.names {
                    if alias.name.as_str() == "*" {
                        let module = ".".repeat(import.level as usize) + module;
                        self.found.may_bind.get_or_insert(Unknown::StarImport { module });
                    } else if module != "__future__" {
                        self.import(alias);
                    }
                }
            }
            Stmt::Global(global) => {
                self.scopes.declare_global(global.names.iter().map(ToString::to_string));
                global.names.iter().for_each(|name| self.name(name, name.range, Role::Use));
            }
            Stmt::Nonlocal(nonlocal) => {
                nonlocal.names.iter().for_each(|name| self.name(name, name.range, Role::Use));
            }
            Stmt::IpyEscapeCommand(escape) => self.escape(escape.kind, &escape.value, escape.range),
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) => {
                let is_store = name.ctx == ExprContext::Store;
                if is_store {
                    self.scopes.bind(&name.id);
                }
                self.name(&name.id, name.range, if is_store { Role::Binding } else { Role::Use });
            }
            Expr::Named(named) => {
                self.visit_expr(&named.value);
                if let Expr::Name(name) = &*named.target {
                    self.scopes.bind_outside_comprehensions(&name.id);
                    self.name(&name.id, name.range, Role::Binding);
                }
            }
            Expr::Lambda(lambda) => {
                lambda.parameters.iter().for_each(|parameters| self.parameters(parameters));
                let locals = Locals::of_lambda(lambda.parameters.as_deref(), &lambda.body);
                self.within(Scope::function(locals), |finder| finder.visit_expr(&lambda.body));
            }
            Expr::IpyEscapeCommand(escape) => self.escape(escape.kind, &escape.value, escape.range),
            _ if let Some((generators, elements)) = comprehension(expression) => {
                self.comprehension(generators, &elements);
            }
            _ => visitor::walk_expr(self, expression),
        }
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(inner) = handler;
        inner.type_.iter().for_each(|class| self.visit_expr(class));
        if let Some(name) = &inner.name {
            self.binding(name);
        }
        self.visit_body(&inner.body);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        visitor::walk_pattern(self, pattern);
        if let Some(name) = captured(pattern) {
            self.binding(name);
        }
    }
}

impl Finder<'_> {
    fn function(&mut self, function: &StmtFunctionDef) {
        function.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
        self.binding(&function.name);
        self.with_type_params(function.type_params.as_deref(), |finder| {
            finder.parameters(&function.parameters);
            function.returns.iter().for_each(|returns| finder.visit_annotation(returns));
            let locals = Locals::of_function(&function.parameters, &function.body);
            finder.within(Scope::function(locals), |finder| finder.visit_body(&function.body));
        });
    }

    fn class(&mut self, class: &StmtClassDef) {
        class.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
        self.with_type_params(class.type_params.as_deref(), |finder| {
            class.arguments.iter().for_each(|arguments| finder.visit_arguments(arguments));
            finder.within(Scope::of(ScopeKind::Class), |finder| finder.visit_body(&class.body));
        });
        self.binding(&class.name);
    }
}

//! The local names of a function: whatever its body binds, wherever in the body that is.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Comprehension, ExceptHandler, Expr, ExprContext, Parameters, Pattern, Stmt};

use crate::Name;
use crate::tree::{captured, imported};

#[derive(Default)]
pub struct Locals {
    pub bound: BTreeSet<Name>,
    pub globals: BTreeSet<Name>,
}

impl Locals {
    pub fn of_function(parameters: &Parameters, body: &[Stmt]) -> Self {
        let mut locals = Self::of_body(body);
        parameters.into_iter().for_each(|parameter| locals.bind(parameter.name()));
        locals
    }

    pub fn of_lambda(parameters: Option<&Parameters>, body: &Expr) -> Self {
        let mut locals = Self::default();
        parameters.into_iter().flatten().for_each(|parameter| locals.bind(parameter.name()));
        locals.visit_expr(body);
        locals
    }

    /// The names of statements that are compiled as a function, as `%timeit` does.
    pub fn of_body(body: &[Stmt]) -> Self {
        let mut locals = Self::default();
        locals.visit_body(body);
        locals.bound.retain(|name| !locals.globals.contains(name));
        locals
    }

    fn bind(&mut self, name: &str) {
        self.bound.insert(name.to_owned());
    }
}

impl<'a> Visitor<'a> for Locals {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(function) => self.bind(&function.name),
            Stmt::ClassDef(class) => self.bind(&class.name),
            Stmt::Import(import) => import.names.iter().for_each(|alias| self.bind(imported(alias))),
            Stmt::ImportFrom(import) => import.names.iter().for_each(|alias| self.bind(imported(alias))),
            Stmt::Global(global) => self.globals.extend(global.names.iter().map(ToString::to_string)),
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) if name.ctx != ExprContext::Load => self.bind(&name.id),
            Expr::Lambda(_) => {}
            _ => visitor::walk_expr(self, expression),
        }
    }

    fn visit_comprehension(&mut self, comprehension: &'a Comprehension) {
        // Its targets are its own; `:=` inside binds outside.
        self.visit_expr(&comprehension.iter);
        comprehension.ifs.iter().for_each(|test| self.visit_expr(test));
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(inner) = handler;
        if let Some(name) = &inner.name {
            self.bind(name);
        }
        visitor::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        if let Some(name) = captured(pattern) {
            self.bind(name);
        }
        visitor::walk_pattern(self, pattern);
    }
}

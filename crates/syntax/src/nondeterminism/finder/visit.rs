//! Which part of the walk a node is for.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Comprehension, Expr, ExprContext, Stmt, StmtFunctionDef};

use super::{Cause, Finder, Locals};
use crate::tree::imported;

impl Finder {
    fn comprehension(&mut self, expression: &Expr, generators: &[Comprehension]) {
        let headers = generators.iter().flat_map(|it| [&it.iter].into_iter().chain(&it.ifs));
        self.repeatedly(headers, |finder| visitor::walk_expr(finder, expression));
    }
}

impl<'a> Visitor<'a> for Finder {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(StmtFunctionDef { decorator_list, name, parameters, body, .. }) => {
                decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                let locals = Locals::of_function(parameters, body);
                self.function(name, Some(parameters), locals, |finder| finder.visit_body(body));
            }
            Stmt::ClassDef(class) => {
                // Its methods belong to it.
                class.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                class.arguments.iter().for_each(|arguments| self.visit_arguments(arguments));
                let locals = Locals::of_body(&class.body);
                self.function(&class.name, None, locals, |finder| finder.visit_body(&class.body));
            }
            Stmt::Assign(assign) => match &*assign.targets {
                [Expr::Name(name)] => self.assign(&name.id, &assign.value),
                _ => visitor::walk_stmt(self, statement),
            },
            Stmt::AnnAssign(assign) => match (&*assign.target, &assign.value) {
                (Expr::Name(name), Some(value)) => self.assign(&name.id, value),
                _ => visitor::walk_stmt(self, statement),
            },
            Stmt::Import(import) => {
                for alias in &import.names {
                    let path = if alias.asname.is_some() { alias.name.as_str() } else { imported(alias) };
                    self.bind_path(imported(alias), path.to_owned());
                }
            }
            Stmt::ImportFrom(import) => {
                let module = import.module.as_deref().unwrap_or_default();
                for alias in &import.names {
                    if alias.name.as_str() == "*" {
                        let module = if module == "pylab" { "numpy.random" } else { module };
                        self.stars.push(module.to_owned());
                    } else if import.level == 0 {
                        self.bind_path(imported(alias), format!("{module}.{}", alias.name));
                    } else {
                        self.bind(imported(alias));
                    }
                }
            }
            Stmt::For(block) => {
                self.repeatedly([&*block.iter], |finder| visitor::walk_stmt(finder, statement));
            }
            Stmt::While(block) => {
                self.repeatedly([&*block.test], |finder| visitor::walk_stmt(finder, statement));
            }
            Stmt::If(block) => {
                self.repeatedly([&*block.test], |finder| visitor::walk_stmt(finder, statement));
            }
            Stmt::IpyEscapeCommand(escape) => self.escape(escape.kind, &escape.value),
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) if name.ctx == ExprContext::Load => {
                self.read(&name.id, &name.id);
                self.reference(expression);
            }
            Expr::Name(name) => self.bind(&name.id),
            Expr::Attribute(attribute) if attribute.ctx == ExprContext::Load => {
                if attribute.attr.as_str() == "__version__" {
                    self.found(Cause::System, self.code(expression));
                }
                self.reference(expression);
                self.visit_expr(&attribute.value);
            }
            Expr::Call(call) => self.call(call),
            Expr::Set(set) => {
                if !set.elts.iter().all(Expr::is_number_literal_expr) {
                    self.set("{…}");
                }
                visitor::walk_expr(self, expression);
            }
            Expr::ListComp(comprehension) => self.comprehension(expression, &comprehension.generators),
            Expr::Generator(comprehension) => self.comprehension(expression, &comprehension.generators),
            Expr::DictComp(comprehension) => self.comprehension(expression, &comprehension.generators),
            Expr::SetComp(comprehension) => {
                self.set("{…}");
                self.ordered(true, |finder| finder.comprehension(expression, &comprehension.generators));
            }
            // `x in {"a", "b"}`
            Expr::Compare(_) => self.ordered(true, |finder| visitor::walk_expr(finder, expression)),
            Expr::Lambda(lambda) => {
                lambda.parameters.iter().for_each(|parameters| self.visit_parameters(parameters));
                self.visit_expr(&lambda.body);
            }
            Expr::IpyEscapeCommand(escape) => self.escape(escape.kind, &escape.value),
            _ => visitor::walk_expr(self, expression),
        }
    }

    fn visit_annotation(&mut self, _: &'a Expr) {}
}

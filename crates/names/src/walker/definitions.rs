//! Functions, classes and comprehensions: code with names of its own. What a function does when it is called is kept under its name.

use ruff_python_ast::visitor::Visitor;
use ruff_python_ast::{
    Comprehension, Expr, ExprLambda, ParameterWithDefault, Parameters, StmtClassDef, StmtFunctionDef,
    TypeParams,
};
use syntax::{Locals, Scope, ScopeKind};

use super::Walker;
use crate::names::{Change, Repeat};

impl Walker {
    pub(super) fn function(&mut self, function: &StmtFunctionDef) {
        function.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
        function.decorator_list.iter().for_each(|decorator| self.registers(&decorator.expression));
        self.defining(&function.name, |walker| {
            walker.with_type_params(function.type_params.as_deref(), |walker| {
                walker.visit_parameters(&function.parameters);
                function.returns.iter().for_each(|returns| walker.visit_annotation(returns));
                let locals = Locals::of_function(&function.parameters, &function.body);
                let walk =
                    |walker: &mut Self| walker.called_later(locals, |it| it.visit_body(&function.body));
                match (walker.definitions, walker.functions) {
                    (1, _) => {
                        walker.enter_parameters(&function.parameters);
                        walk(walker);
                        walker.leave_parameters();
                    }
                    (2, 0) => walker.method(function, walk),
                    _ => walk(walker),
                }
            });
        });
        let has_defaults = |parameters: &Parameters| {
            parameters.iter_non_variadic_params().any(|parameter| parameter.default.is_some())
        };
        if function.decorator_list.is_empty() && !has_defaults(&function.parameters) {
            let text = self.text(function).to_owned();
            self.fix(&function.name, &text, self.branches.len() > 1);
        }
        self.follow_defaults(function);
        self.hold_decorated(&function.decorator_list, &function.name);
        self.cache_results(function);
    }

    /// `@show.register` adds to what `show` does.
    fn registers(&mut self, decorator: &Expr) {
        let function = decorator.as_call_expr().map_or(decorator, |call| &*call.func);
        if let Some(method) = function.as_attribute_expr().filter(|method| method.attr.as_str() == "register")
        {
            let code = self.text(decorator).to_owned();
            self.change_part(&method.value, Change::sure(Repeat::Same).part(code));
        }
    }

    pub(super) fn class(&mut self, class: &StmtClassDef) {
        class.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
        self.defining(&class.name, |walker| {
            walker.with_type_params(class.type_params.as_deref(), |walker| {
                class.arguments.iter().for_each(|arguments| walker.visit_arguments(arguments));
                walker.within(Scope::of(ScopeKind::Class), |walker| walker.visit_body(&class.body));
            });
        });
        self.hold_bases(class);
        self.hold_decorated(&class.decorator_list, &class.name);
        if self.definitions == 0 {
            self.patch_by_decorators(&class.decorator_list, &class.name);
            self.follow_methods(class);
        }
    }

    /// `name = lambda …`
    pub(super) fn assigned_lambda(&mut self, name: &str, lambda: &ExprLambda) {
        self.defining(name, |walker| {
            let is_outermost = walker.definitions == 1;
            if let Some(parameters) = &lambda.parameters {
                walker.visit_parameters(parameters);
                if is_outermost {
                    walker.enter_parameters(parameters);
                }
            }
            let locals = Locals::of_lambda(lambda.parameters.as_deref(), &lambda.body);
            walker.called_later(locals, |walker| walker.visit_expr(&lambda.body));
            if is_outermost {
                walker.leave_parameters();
            }
        });
    }

    /// The first iterable is evaluated outside.
    pub(super) fn comprehension(&mut self, generators: &[Comprehension], elements: &[&Expr]) {
        if let Some(first) = generators.first() {
            self.visit_expr(&first.iter);
        }
        let outer = self.derived.clone();
        self.within(Scope::of(ScopeKind::Comprehension), |walker| {
            for (index, generator) in generators.iter().enumerate() {
                if index > 0 {
                    walker.visit_expr(&generator.iter);
                }
                walker.visit_expr(&generator.target);
                walker.derive_items(&generator.target, &generator.iter);
                walker.repeatedly(generator.ifs.iter());
            }
            walker.repeatedly(elements.iter().copied());
        });
        self.derived = outer;
    }

    /// Walks through the definition of a function or class. Its effects when it is called are kept under its name.
    pub(super) fn defining(&mut self, name: &str, walk: impl FnOnce(&mut Self)) {
        self.gives_code();
        self.definitions += 1;
        walk(self);
        self.definitions -= 1;
        self.bind(name);
        if self.definitions == 0 {
            let effects = std::mem::take(&mut self.deferred);
            self.names.functions.insert(name.to_owned(), effects);
        }
    }

    /// Walks through the body of a function, which runs when it is called.
    pub(super) fn called_later(&mut self, locals: Locals, walk: impl FnOnce(&mut Self)) {
        self.functions += 1;
        let outer = std::mem::take(&mut self.derived);
        self.within(Scope::function(locals), walk);
        self.derived = outer;
        self.functions -= 1;
    }

    pub(super) fn enter_parameters(&mut self, parameters: &Parameters) {
        let name = |parameter: &ParameterWithDefault| parameter.parameter.name.to_string();
        self.deferred.parameters = parameters.posonlyargs.iter().chain(&parameters.args).map(name).collect();
        self.parameters = parameters.iter_non_variadic_params().map(name).collect();
    }

    pub(super) fn leave_parameters(&mut self) {
        self.parameters.clear();
        self.local_aliases.clear();
    }

    pub(super) fn with_type_params(&mut self, params: Option<&TypeParams>, walk: impl FnOnce(&mut Self)) {
        let Some(params) = params else { return walk(self) };
        let names = params.type_params.iter().map(|param| param.name().to_string()).collect();
        let scope = Scope { bound: names, ..Scope::of(ScopeKind::TypeParams) };
        self.within(scope, |walker| {
            walker.visit_type_params(params);
            walk(walker);
        });
    }
}

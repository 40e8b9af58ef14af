//! Functions that are made of others: by a decorator, a call, or as a method with a name of its own.

use ruff_python_ast::visitor::Visitor;
use ruff_python_ast::{Expr, ExprAttribute, ExprCall, ExprName, StmtFunctionDef};
use syntax::Locals;
use syntax::tree::path_of;

use super::Walker;
use super::repeats::of_named_method;
use crate::names::Repeat;

/// What gives a function that calls its argument.
const WRAPPING: [&str; 4] = ["partial", "vectorize", "frompyfunc", "vmap"];
/// Of the functions that these give, a later change of what they use does not count for all calls: results are kept, or values were
/// compiled in.
const CACHING: [&str; 8] = ["cache", "lru_cache", "cached", "memoize", "jit", "njit", "filter_jit", "pjit"];

/// A function with a name that is made of something else.
pub(super) enum Made<'a> {
    /// `add = xs.append`
    Method(&'a ExprAttribute),
    /// `f = cache(g)`, `f = lru_cache(9)(g)`
    Wrapper { call: &'a ExprCall, wrapped: &'a ExprName, caches: bool },
}

/// How a value is a function that is made of something else.
pub(super) fn made_of(value: &Expr) -> Option<Made<'_>> {
    match value {
        Expr::Attribute(method) => of_named_method(method).map(|_| Made::Method(method)),
        Expr::Call(call) => {
            let wrapped = call.arguments.args.first()?.as_name_expr()?;
            let caches = is_caching(&call.func);
            let is_wrapper = caches || path_of(&call.func).last().is_some_and(|last| WRAPPING.contains(last));
            is_wrapper.then_some(Made::Wrapper { call, wrapped, caches })
        }
        _ => None,
    }
}

/// Whether a decorator, or what is called like one, gives a function that keeps something.
fn is_caching(decorator: &Expr) -> bool {
    if let Expr::Call(call) = decorator {
        // `partial(jax.jit, static_argnums=0)`
        let first = call.arguments.args.first().filter(|first| !first.is_call_expr());
        is_caching(&call.func) || first.is_some_and(is_caching)
    } else {
        let path = path_of(decorator);
        path == ["tf", "function"] || path.last().is_some_and(|last| CACHING.contains(last))
    }
}

impl Walker {
    pub(super) fn assigned_function(&mut self, name: &str, made: &Made<'_>) {
        match made {
            Made::Method(method) => self.visit_expr(&method.value),
            Made::Wrapper { call, wrapped, .. } => {
                self.visit_expr(&call.func);
                self.hand_on(&wrapped.id);
                call.arguments.args.iter().skip(1).for_each(|argument| self.visit_expr(argument));
                call.arguments.keywords.iter().for_each(|keyword| self.visit_keyword(keyword));
            }
        }
        self.defining(name, |walker| {
            walker.called_later(Locals::default(), |walker| match made {
                Made::Method(method) => {
                    walker.visit_expr(&method.value);
                    let code = walker.text(*method).to_owned();
                    let repeat = of_named_method(method).unwrap_or(Repeat::Unknown);
                    walker.change_part(&method.value, repeat, Some(code));
                }
                Made::Wrapper { wrapped, caches, .. } => {
                    walker.read(&wrapped.id);
                    walker.deferred.caches |= caches;
                }
            });
        });
    }

    /// After a function has been defined.
    pub(super) fn cache_results(&mut self, function: &StmtFunctionDef) {
        let caches = function.decorator_list.iter().any(|decorator| is_caching(&decorator.expression));
        // What a function defines each time that it is called has kept nothing.
        if !caches || self.functions > 0 {
            return;
        }
        if self.definitions > 0 {
            self.deferred.caches = true;
        } else if let Some(effects) = self.names.functions.get_mut(function.name.as_str()) {
            effects.caches = true;
        }
    }
}

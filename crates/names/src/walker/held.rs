//! Code that runs when an object is used: what the object was made with, what it holds, and what was put into it. The names that this code
//! has are looked up then, and not where the object was made.

use ruff_python_ast::visitor::Visitor as _;
use ruff_python_ast::{Decorator, Expr, ExprCall, StmtClassDef, StmtFunctionDef};
use syntax::tree::path_of;
use syntax::{Locals, NameSet, Resolved, is_builtin};

use super::Walker;
use super::changes::of_named_method;
use super::expressions::{items_of, last, root, values};
use super::streams::is_stream;
use crate::makers::STREAM;
use crate::methods::{When, has_word, mutation_by};
use crate::names::Change;

/// Functions that give one which calls their argument.
const WRAPPING: &str = "partial vectorize frompyfunc vmap";
/// Of the functions that these give, a later change of what they use does not count for all calls: results are kept, or values were
/// compiled in.
const CACHING: &str = "cache lru_cache cached memoize jit njit filter_jit pjit";

impl Walker {
    /// Visits a value that goes into the object of a name. What runs later is left to [`hold`](Self::hold).
    pub(super) fn visit_held(&mut self, value: &Expr) {
        match value {
            Expr::Lambda(lambda) => lambda.parameters.iter().for_each(|it| self.visit_parameters(it)),
            Expr::List(_) | Expr::Tuple(_) | Expr::Set(_) => {
                for item in items_of(value) {
                    self.visit_held(item);
                }
            }
            Expr::Dict(dict) => {
                for item in &dict.items {
                    item.key.iter().for_each(|key| self.visit_expr(key));
                    self.visit_held(&item.value);
                }
            }
            _ => self.visit_expr(value),
        }
    }

    /// Visits a value that becomes a part of an object, which has a name of the module if it `is_held`. If the value is a function, it is not
    /// called here.
    pub(super) fn visit_part(&mut self, value: &Expr, is_held: bool) {
        match value {
            Expr::Name(name) => self.hand_on(&name.id),
            _ if is_held => self.visit_held(value),
            _ => self.visit_expr(value),
        }
    }

    /// Visits a call that puts its arguments into an object and only does this, if it is one: it runs no code that is there already.
    pub(super) fn visit_putting(&mut self, call: &ExprCall, is_discarded: bool) -> bool {
        let method = call.func.as_attribute_expr();
        let Some(method) = method.filter(|method| puts(&method.attr)) else { return false };
        match &*method.value {
            Expr::Name(object) if is_discarded => self.hand_on(&object.id),
            _ => self.visit_expr(&call.func),
        }
        // Others go through their arguments, which may be generators.
        let is_one = has_word("append appendleft add insert setdefault", &method.attr);
        let holder = self.holder(&method.value);
        for value in values(call) {
            match holder {
                _ if is_one => self.visit_part(value, holder.is_some()),
                Some(_) => self.visit_held(value),
                None => self.visit_expr(value),
            }
        }
        if let Some(holder) = holder {
            values(call).for_each(|value| self.hold(&holder, value));
        }
        true
    }

    /// The name of the module whose object holds what becomes a part of this.
    pub(super) fn holder(&mut self, part: &Expr) -> Option<String> {
        let name = root(part).map(|root| self.whole(root))?;
        (self.scopes.resolve(&name) == Resolved::Module).then_some(name)
    }

    /// A value, which has been visited, has gone into the object of a name.
    pub(super) fn hold(&mut self, name: &str, value: &Expr) {
        let mut held = Held::default();
        held.add(value);
        held.names.remove(name);
        if !held.code.is_empty() {
            let outer = std::mem::take(&mut self.deferred);
            for code in held.code {
                self.called_later(Locals::default(), |walker| walker.visit_expr(code));
            }
            let code = std::mem::replace(&mut self.deferred, outer);
            let function = self.names.functions.entry(name.to_owned()).or_default();
            function.uses.extend(code.uses.iter().cloned());
            function.reads.extend(code.reads.iter().cloned());
            function.needs.extend(code.needs.iter().cloned());
            held.names.insert(name.to_owned());
        }
        if !held.names.is_empty() {
            self.names.holds.entry(name.to_owned()).or_default().extend(held.names.iter().cloned());
        }
    }

    /// After a class has been defined.
    pub(super) fn hold_bases(&mut self, class: &StmtClassDef) {
        if self.functions > 0 || self.definitions > 0 {
            return;
        }
        if let Some(effects) = self.names.functions.get_mut(class.name.as_str()) {
            (effects.gives_code, effects.is_class) = (true, true);
        }
        let bases = class.arguments.iter().flat_map(|arguments| &arguments.args);
        let bases: NameSet = bases.filter_map(Expr::as_name_expr).map(|base| base.id.to_string()).collect();
        self.names.holds.insert(class.name.to_string(), bases);
    }

    /// Nobody knows what decorators do with the function or class, but some keep it.
    pub(super) fn hold_decorated(&mut self, decorators: &[Decorator], name: &str) {
        if self.definitions > 0 || !self.scopes.are_empty() {
            return;
        }
        for decorator in decorators {
            let expression = &decorator.expression;
            let function = expression.as_call_expr().map_or(expression, |call| &*call.func);
            if let Some(by) = root(function) {
                self.names.registered.entry(by.to_owned()).or_default().insert(name.to_owned());
            }
        }
    }

    /// A name gets a function that calls another one: `add = xs.append`, `f = partial(g, 1)`, `f = lru_cache(9)(g)`. Whether it does.
    pub(super) fn assign_wrapper(&mut self, name: &str, value: &Expr) -> bool {
        let (wrapped, caches) = match value {
            Expr::Attribute(method) if of_named_method(method).is_some() => (&*method.value, false),
            Expr::Call(call) => {
                let caches = is_caching(&call.func);
                let first = call.arguments.args.first().filter(|first| first.is_name_expr());
                let Some(first) = first.filter(|_| caches || has_word(WRAPPING, last(call))) else {
                    return false;
                };
                self.visit_expr(&call.func);
                values(call).for_each(|argument| self.visit_part(argument, true));
                (first, caches)
            }
            _ => return false,
        };
        if let Expr::Attribute(method) = value {
            self.visit_expr(&method.value);
        }
        self.defining(name, |walker| {
            walker.called_later(Locals::default(), |walker| {
                walker.visit_expr(wrapped);
                if let Some((method, repeat)) =
                    value.as_attribute_expr().and_then(|it| Some((it, of_named_method(it)?)))
                {
                    let code = walker.text(method).to_owned();
                    walker.change_part(&method.value, Change::sure(repeat).part(code));
                }
                walker.deferred.caches = caches;
            });
        });
        true
    }

    /// After a function has been defined.
    pub(super) fn cache_results(&mut self, function: &StmtFunctionDef) {
        let caches = function.decorator_list.iter().any(|decorator| is_caching(&decorator.expression));
        // A function that is defined at each call of another one has kept nothing.
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

/// Whether a method puts its arguments into its object.
fn puts(method: &str) -> bool {
    mutation_by(method).is_some_and(|change| change.when != When::InPlace)
}

/// Whether a decorator, or what is called like one, gives a function that keeps something.
fn is_caching(decorator: &Expr) -> bool {
    if let Expr::Call(call) = decorator {
        // `partial(jax.jit, static_argnums=0)`
        let first = call.arguments.args.first().filter(|first| !first.is_call_expr());
        is_caching(&call.func) || first.is_some_and(is_caching)
    } else {
        let path = path_of(decorator);
        path == ["tf", "function"] || path.last().is_some_and(|last| has_word(CACHING, last))
    }
}

/// The names and the code in a value that may be used later.
#[derive(Default)]
pub(super) struct Held<'a> {
    pub(super) names: NameSet,
    /// Lambdas and generators, which run later.
    pub(super) code: Vec<&'a Expr>,
}

impl<'a> Held<'a> {
    pub(super) fn add(&mut self, value: &'a Expr) {
        match value {
            Expr::Name(name) => drop(self.names.insert(name.id.to_string())),
            Expr::Lambda(_) => self.code.push(value),
            Expr::Generator(_) => {
                self.code.push(value);
                self.names.insert(STREAM.to_owned());
            }
            Expr::Call(_) if is_stream(value) => drop(self.names.insert(STREAM.to_owned())),
            Expr::ListComp(list) => self.add(&list.elt),
            Expr::DictComp(dict) => self.add(&dict.value),
            Expr::Call(call) => {
                let Expr::Name(function) = &*call.func else { return };
                if !is_builtin(&function.id) {
                    self.names.insert(function.id.to_string());
                    values(call).for_each(|argument| self.add(argument));
                }
            }
            Expr::Dict(dict) => {
                let keys = dict.items.iter().filter_map(|item| item.key.as_ref());
                keys.filter(|key| key.is_name_expr()).for_each(|key| self.add(key));
                dict.items.iter().for_each(|item| self.add(&item.value));
            }
            _ => items_of(value).into_iter().for_each(|item| self.add(item)),
        }
    }
}

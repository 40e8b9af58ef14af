//! Calls that may change an object, or do what cannot be known.

use ruff_python_ast::{Expr, ExprCall};

use super::{Resolved, Walker, root};
use crate::methods::only_reads;
use crate::names::Unknown;

impl Walker {
    /// After its parts have been visited.
    pub(super) fn call(&mut self, call: &ExprCall) {
        match &*call.func {
            Expr::Name(function) => self.call_of_function(&function.id, call),
            Expr::Attribute(method) if is_ipython(&method.value) && runs_code(&method.attr) => {
                self.note(Err(dynamic(&format!("get_ipython().{}", method.attr))));
            }
            Expr::Attribute(method) => {
                let name = root(&method.value).filter(|name| self.is_from_outside(name));
                let Some(name) = name.map(str::to_owned) else { return };
                if is_in_place(call) {
                    self.effects().changes.insert(name);
                } else if !only_reads(&method.attr) {
                    self.effects().calls.insert(name);
                }
            }
            _ => {}
        }
    }

    fn call_of_function(&mut self, name: &str, call: &ExprCall) {
        if self.scopes.resolve(name) != Resolved::Module || self.names.effects.defines.contains(name) {
            return;
        }
        let is_dynamic = match name {
            "exec" | "eval" | "globals" | "execfile" => true,
            // Of a function, these are its own.
            "locals" | "vars" => self.functions == 0 && call.arguments.args.is_empty(),
            _ => false,
        };
        if is_dynamic {
            self.note(Err(dynamic(name)));
        }
    }
}

fn dynamic(by: &str) -> Unknown {
    Unknown::DynamicCode { by: format!("{by}()") }
}

/// `get_ipython()`
fn is_ipython(value: &Expr) -> bool {
    let Expr::Call(call) = value else { return false };
    matches!(&*call.func, Expr::Name(function) if function.id.as_str() == "get_ipython")
}

fn runs_code(method: &str) -> bool {
    method.starts_with("run_")
        || matches!(method, "ex" | "ev" | "magic" | "push" | "reset" | "drop_by_id" | "safe_execfile")
}

/// `inplace=True`, as methods of pandas take it.
fn is_in_place(call: &ExprCall) -> bool {
    call.arguments.keywords.iter().any(|keyword| {
        keyword.arg.as_ref().is_some_and(|name| name.as_str() == "inplace")
            && matches!(&keyword.value, Expr::BooleanLiteral(literal) if literal.value)
    })
}

//! Questions to expressions and statements that need nothing else of the walk.

use ruff_python_ast::{Expr, ExprCall, Stmt};
use syntax::tree::path_of;

use crate::methods::mutation_by;

/// `a` of `a.b[c].d`.
pub(super) fn root(part: &Expr) -> Option<&str> {
    match part {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => root(&attribute.value),
        Expr::Subscript(subscript) => root(&subscript.value),
        // `vars(a)["b"]`
        Expr::Call(call) => match (&*call.func, &*call.arguments.args) {
            (Expr::Name(function), [object]) if function.id.as_str() == "vars" => root(object),
            _ => None,
        },
        _ => None,
    }
}

/// Whether `IPython` shows more of a cell than its last expression, if it is set to show all.
pub(super) fn has_inner_expressions(statements: &[Stmt]) -> bool {
    let inner = statements.split_last().map(|(_, inner)| inner).unwrap_or_default();
    inner.iter().any(|statement| {
        let Some(expression) = statement.as_expr_stmt() else { return false };
        match &*expression.value {
            Expr::Call(call) => !path_of(&call.func).last().is_some_and(|last| gives_nothing(last)),
            value => !value.is_none_literal_expr(),
        }
    })
}

fn gives_nothing(function: &str) -> bool {
    matches!(function, "print" | "display" | "show" | "seed" | "set_option" | "filterwarnings")
        || mutation_by(function).is_some()
}

/// The last name of what is called.
pub(super) fn last(call: &ExprCall) -> &str {
    match &*call.func {
        Expr::Name(name) => &name.id,
        Expr::Attribute(attribute) => &attribute.attr,
        _ => "",
    }
}

/// The arguments of a call.
pub(super) fn values(call: &ExprCall) -> impl Iterator<Item = &Expr> {
    call.arguments.args.iter().chain(call.arguments.keywords.iter().map(|keyword| &keyword.value))
}

/// The items of what is written as a container, and what a choice is made of.
pub(super) fn items_of(value: &Expr) -> Vec<&Expr> {
    match value {
        Expr::List(list) => list.elts.iter().collect(),
        Expr::Tuple(tuple) => tuple.elts.iter().collect(),
        Expr::Set(set) => set.elts.iter().collect(),
        Expr::Dict(dict) => dict.items.iter().map(|item| &item.value).collect(),
        Expr::BoolOp(operation) => operation.values.iter().collect(),
        Expr::If(choice) => vec![&choice.body, &choice.orelse],
        _ => Vec::new(),
    }
}

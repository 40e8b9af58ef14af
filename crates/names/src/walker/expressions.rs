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

/// The parts of a tuple or a list that is written as such.
pub(super) fn elements(expression: &Expr) -> Option<&[Expr]> {
    match expression {
        Expr::Tuple(tuple) => Some(&tuple.elts),
        Expr::List(list) => Some(&list.elts),
        _ => None,
    }
}

/// The names that a target binds.
pub(super) fn targets(target: &Expr) -> Vec<&str> {
    match target {
        Expr::Name(name) => vec![&name.id],
        _ => elements(target).into_iter().flatten().flat_map(targets).collect(),
    }
}

/// A constant as a text that is the same for equal ones.
pub(super) fn constant_text(expression: &Expr) -> Option<String> {
    let all = |items: &[Expr]| items.iter().map(constant_text).collect::<Option<Vec<_>>>();
    Some(match expression {
        Expr::UnaryOp(unary) => format!("{} {}", unary.op, constant_text(&unary.operand)?),
        Expr::Tuple(tuple) => all(&tuple.elts)?.join(","),
        Expr::List(list) => format!("[{}]", all(&list.elts)?.join(",")),
        Expr::Slice(slice) => {
            let bounds = [&slice.lower, &slice.upper, &slice.step];
            let bounds = bounds.map(|bound| bound.as_deref().map_or(Some(String::new()), constant_text));
            bounds.into_iter().collect::<Option<Vec<_>>>()?.join(":")
        }
        Expr::BooleanLiteral(literal) => literal.value.to_string(),
        Expr::NoneLiteral(_) => "None".to_owned(),
        Expr::EllipsisLiteral(_) => "...".to_owned(),
        _ => return key_of(expression),
    })
}

/// A text or a number.
pub(super) fn key_of(slice: &Expr) -> Option<String> {
    match slice {
        Expr::StringLiteral(text) => Some(text.value.to_str().to_owned()),
        Expr::NumberLiteral(number) => Some(format!("{:?}", number.value)),
        _ => None,
    }
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

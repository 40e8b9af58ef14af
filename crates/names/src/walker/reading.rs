//! Calls of methods that leave their object as it is, or change it in place, by the name of the method and by what else the call shows.

use ruff_python_ast::{Expr, ExprAttribute, ExprCall};

use super::expressions::root;
use crate::methods::only_reads;

/// Parts of pandas' and polars' objects that only give methods, which return something new: `s.str.extract("(a)")`.
const ACCESSORS: [&str; 7] = ["str", "dt", "cat", "struct", "plot", "hvplot", "style"];

/// Whether a call only reads from the object of its method, if nothing is sure.
pub(super) fn is_reading(call: &ExprCall, method: &ExprAttribute, is_discarded: bool) -> bool {
    match method.attr.as_str() {
        _ if is_accessor(&method.value) => true,
        // A text, a picture or an expression gives another one. A `Styler`, an array, a `deque` or a graph of igraph changes.
        "format" | "partition" | "resize" | "rotate" | "simplify" => !is_discarded,
        // A list and an array take no columns.
        "sort" => call.arguments.args.first().is_some_and(|first| {
            first.is_string_literal_expr() || first.is_list_expr() || first.is_call_expr()
        }),
        // A port or a camera gives no file.
        "open" => !is_discarded && !call.arguments.iter_source_order().any(|it| is_writing(it.value())),
        method => only_reads(method),
    }
}

/// `inplace=True`, as methods of pandas take it, and polars' `in_place=True`.
pub(super) fn is_in_place(call: &ExprCall) -> bool {
    call.arguments.keywords.iter().any(|keyword| {
        keyword.arg.as_ref().is_some_and(|name| matches!(name.as_str(), "inplace" | "in_place"))
            && matches!(&keyword.value, Expr::BooleanLiteral(literal) if literal.value)
    })
}

fn is_accessor(value: &Expr) -> bool {
    value.as_attribute_expr().is_some_and(|part| ACCESSORS.contains(&part.attr.as_str()))
}

/// Whether an argument is the mode of a file that is written: `"w"`, `"r+"`.
pub(super) fn is_writing(argument: &Expr) -> bool {
    let Some(mode) = argument.as_string_literal_expr() else { return false };
    let mode = mode.value.to_str();
    let is_mode = !mode.is_empty() && mode.chars().all(|letter| "rwaxbt+U".contains(letter));
    is_mode && mode.contains(['w', 'a', 'x', '+'])
}

/// Whether a call is of a method that is in place by the convention of `PyTorch`: `x.mul_(2)`.
pub(super) fn is_in_place_method(method: &ExprAttribute) -> bool {
    is_in_place_name(&method.attr) && root(&method.value).is_some_and(|root| !is_of_torch(root))
}

/// Whether a name is one that people give to `PyTorch` and its modules.
pub(super) fn is_of_torch(name: &str) -> bool {
    matches!(name, "torch" | "nn" | "init" | "F")
}

pub(super) fn is_in_place_name(name: &str) -> bool {
    name.len() > 1 && name.ends_with('_') && !name.ends_with("__") && !name.starts_with('_')
}

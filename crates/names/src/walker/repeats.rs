//! What changing an object once more does.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprAttribute, ExprCall};

use super::arguments::is_in_place_method;
use super::derived::Derived;
use super::root;
use crate::names::Repeat;

/// Methods whose result is of use only together with what they do to their object.
const TAKING: [&str; 4] = ["pop", "popitem", "popleft", "setdefault"];
/// Methods that change their object, if nothing is done with their result: types that only read with them give one.
const CHANGING: [&str; 16] = [
    "append",
    "appendleft",
    "extend",
    "extendleft",
    "insert",
    "remove",
    "reverse",
    "sort",
    "clear",
    "update",
    "add",
    "discard",
    "fill",
    "difference_update",
    "intersection_update",
    "symmetric_difference_update",
];
/// Of these, the ones that do the same each time.
const SAME: [&str; 14] = [
    "setdefault",
    "sort",
    "clear",
    "update",
    "add",
    "discard",
    "fill",
    "difference_update",
    "copy_",
    "fill_",
    "normal_",
    "requires_grad_",
    "uniform_",
    "zero_",
];
/// Functions and methods that give a value of their kind for such a value, too.
const IDEMPOTENT: [&str; 18] = [
    "to_datetime",
    "to_numeric",
    "to_timedelta",
    "astype",
    "fillna",
    "strip",
    "lower",
    "upper",
    "title",
    "round",
    "clip",
    "dropna",
    "int",
    "str",
    "float",
    "bool",
    "abs",
    "asarray",
];
/// Attributes through which a part of an object is taken by what stands in brackets behind them.
const INDEXERS: [&str; 6] = ["loc", "iloc", "at", "iat", "values", "flat"];

/// What a method does to its object, if that is sure.
pub(super) fn of_method(call: &ExprCall, method: &ExprAttribute, is_discarded: bool) -> Option<Repeat> {
    let is_in_place = is_in_place_method(method);
    let method = method.attr.as_str();
    let is_sure = TAKING.contains(&method) || (is_discarded && CHANGING.contains(&method)) || is_in_place;
    // polars' `df.sort("x")` gives another frame; `xs.sort()` takes nothing by position.
    if !is_sure || (method == "sort" && !call.arguments.args.is_empty()) {
        return None;
    }
    Some(if SAME.contains(&method) { Repeat::Same } else { Repeat::Differs })
}

/// What a method does to its object that has got a name of its own: `add = xs.append`. Each call may give it something else.
pub(super) fn of_named_method(method: &ExprAttribute) -> Option<Repeat> {
    let method = method.attr.as_str();
    let is_sure = TAKING.contains(&method) || CHANGING.contains(&method);
    is_sure.then(|| if SAME.contains(&method) { Repeat::Unknown } else { Repeat::Differs })
}

/// What calling a function that writes into `target` once more does, by what else it gets.
pub(super) fn of_other_arguments(call: &ExprCall, target: &Expr, derived: &Derived) -> Repeat {
    let Some(root) = root(target) else { return Repeat::Unknown };
    let mut loads = Loads::of(root, None, derived);
    call.arguments.args.iter().for_each(|argument| loads.visit_expr(argument));
    if let Expr::Attribute(method) = &*call.func {
        loads.visit_expr(&method.value);
    }
    if loads.has_all || loads.has_others { Repeat::Differs } else { Repeat::Same }
}

/// What assigning `value` to a part of an object once more does.
pub(super) fn of_assignment(part: &Expr, value: Option<&Expr>, derived: &Derived) -> Repeat {
    let Some(root) = root(part) else { return Repeat::Unknown };
    let key = part_of(part);
    let mut loads = Loads::of(root, key.as_deref(), derived);
    if let Some(value) = value {
        loads.visit_expr(value);
    }
    if let Expr::Subscript(subscript) = part {
        loads.visit_expr(&subscript.slice);
    }
    if loads.has_same {
        return if value.is_some_and(is_idempotent) { Repeat::Unknown } else { Repeat::Differs };
    }
    if loads.has_all || (loads.has_others && key.is_none()) { Repeat::Unknown } else { Repeat::Same }
}

/// Whether a value is the same if it is made of itself again.
pub(super) fn is_idempotent(value: &Expr) -> bool {
    function(value).is_some_and(|function| IDEMPOTENT.contains(&function))
}

/// The name of what is called last.
fn function(value: &Expr) -> Option<&str> {
    let Expr::Call(call) = value else { return None };
    match &*call.func {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => Some(&attribute.attr),
        _ => None,
    }
}

/// The part of an object that an expression begins with, if its name is known: `x` of `df["x"][0]` and of `df.x`.
pub(super) fn part_of(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Attribute(attribute) if attribute.value.is_name_expr() => {
            Some(attribute.attr.to_string()).filter(|name| !INDEXERS.contains(&name.as_str()))
        }
        Expr::Subscript(subscript) if subscript.value.is_name_expr() => key_of(&subscript.slice),
        Expr::Attribute(attribute) => part_of(&attribute.value),
        Expr::Subscript(subscript) => part_of(&subscript.value),
        _ => None,
    }
}

fn key_of(slice: &Expr) -> Option<String> {
    match slice {
        Expr::StringLiteral(text) => Some(text.value.to_str().to_owned()),
        Expr::NumberLiteral(number) => Some(format!("{:?}", number.value)),
        _ => None,
    }
}

/// The way to a part of an object, as far as it is fixed: `environ.A` of `os.environ["A"]`.
pub(super) fn place_of(part: &Expr) -> String {
    let (value, name) = match part {
        Expr::Attribute(attribute) => (&attribute.value, Some(attribute.attr.to_string())),
        Expr::Subscript(subscript) => (&subscript.value, key_of(&subscript.slice)),
        _ => return String::new(),
    };
    let (before, name) = (place_of(value), name.unwrap_or_default());
    if before.is_empty() || name.is_empty() { before + &name } else { format!("{before}.{name}") }
}

/// Which parts of an object an expression reads.
struct Loads<'a> {
    root: &'a str,
    key: Option<&'a str>,
    derived: &'a Derived,
    has_same: bool,
    has_others: bool,
    has_all: bool,
}

impl<'a> Visitor<'a> for Loads<'_> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        let is_root = |value: &Expr| matches!(value, Expr::Name(name) if name.id.as_str() == self.root);
        match expression {
            Expr::Name(_) if is_root(expression) => self.has_all = true,
            Expr::Name(name) => {
                let (derived, root) = (self.derived, self.root);
                for (_, part) in derived.of(&name.id).filter(|(of, _)| of == root) {
                    self.part(part.as_deref());
                }
            }
            Expr::Attribute(attribute) if is_root(&attribute.value) => {
                self.part(part_of(expression).as_deref());
            }
            Expr::Subscript(subscript) if is_root(&subscript.value) => {
                self.part(part_of(expression).as_deref());
                self.visit_expr(&subscript.slice);
            }
            _ => visitor::walk_expr(self, expression),
        }
    }
}

impl<'a> Loads<'a> {
    fn of(root: &'a str, key: Option<&'a str>, derived: &'a Derived) -> Self {
        Self { root, key, derived, has_same: false, has_others: false, has_all: false }
    }

    fn part(&mut self, part: Option<&str>) {
        match part {
            Some(part) if Some(part) == self.key => self.has_same = true,
            Some(_) => self.has_others = true,
            // `df.mean()` reads all of it.
            None => self.has_all = true,
        }
    }
}

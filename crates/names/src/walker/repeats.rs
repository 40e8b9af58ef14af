//! What changing an object once more does.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprAttribute, ExprCall};
use syntax::tree::names_in;

use super::Walker;
use super::expressions::{last, root};
use super::known::Derived;
use super::reading::is_in_place_method;
use crate::methods::{When, has_word, mutation_by};
use crate::names::Repeat;

/// Functions and methods that give a value of their kind for such a value, too.
const IDEMPOTENT: &str = "to_datetime to_numeric to_timedelta astype fillna strip lower upper title round clip dropna int str \
    float bool abs asarray";
/// Attributes through which a part of an object is taken by what stands in brackets behind them.
const INDEXERS: [&str; 6] = ["loc", "iloc", "at", "iat", "values", "flat"];

impl Walker {
    /// A part of an object is changed: `a.b[c]`.
    pub(super) fn change(&mut self, part: &Expr) {
        let keys = keys_of_part(part);
        let mut place = place_of(part);
        for key in &keys {
            place.push_str(&format!("[{}]", self.text(*key)));
        }
        self.change_part(part, self.repeat, Some(place));
        self.sets_environment(part);
        self.choose_parts(part, &keys);
    }

    /// What these keys name of the object behind an expression is changed.
    pub(super) fn choose_parts(&mut self, object: &Expr, keys: &[&Expr]) {
        let Some(alias) = root(object).filter(|_| !keys.is_empty()) else { return };
        let chosen = names_in(keys.iter().copied());
        for name in [alias.to_owned(), self.whole(alias)] {
            if !self.is_from_outside(&name) || !self.effects().changes.contains(&name) {
                continue;
            }
            if self.functions > 0 {
                // Each call may be about another part.
                self.repeats(&name, Repeat::Unknown);
            }
            self.effects().keys.entry(name).or_default().extend(chosen.iter().cloned());
        }
    }
}

/// What a method does to its object, if that is sure.
pub(super) fn of_method(call: &ExprCall, method: &ExprAttribute, is_discarded: bool) -> Option<Repeat> {
    let change = mutation_by(&method.attr);
    let is_sure = match change.map(|change| change.when) {
        Some(When::Always) => true,
        Some(When::IfDiscarded) => is_discarded,
        Some(When::InPlace) | None => is_in_place_method(method),
    };
    // polars' `df.sort("x")` gives another frame; `xs.sort()` takes nothing by position.
    if !is_sure || (method.attr.as_str() == "sort" && !call.arguments.args.is_empty()) {
        return None;
    }
    Some(change.map_or(Repeat::Differs, |change| change.again))
}

/// What a method does to its object with a name of its own: `add = xs.append`. Each call may give it something else.
pub(super) fn of_named_method(method: &ExprAttribute) -> Option<Repeat> {
    let change = mutation_by(&method.attr).filter(|change| change.when != When::InPlace)?;
    Some(if change.again == Repeat::Same { Repeat::Unknown } else { Repeat::Differs })
}

/// The arguments of a method that choose which parts of its object are another one then.
pub(super) fn keys_of_method<'c>(call: &'c ExprCall, method: &str) -> Vec<&'c Expr> {
    if !mutation_by(method).is_some_and(|change| change.is_by_key) {
        return Vec::new();
    }
    let of_argument = |argument: &'c Expr| match argument {
        Expr::Dict(dict) => dict.items.iter().map(|item| item.key.as_ref().unwrap_or(&item.value)).collect(),
        _ => vec![argument],
    };
    let unnamed = call.arguments.keywords.iter().filter(|keyword| keyword.arg.is_none());
    let unnamed = unnamed.map(|keyword| &keyword.value);
    let keys = call.arguments.args.iter().flat_map(of_argument).chain(unnamed);
    // Objects that count do so again also with a constant.
    keys.filter(|key| method == "update" || constant_text(key).is_none()).collect()
}

/// What stands in the brackets of a part of an object and may be something else the next time: `k` of `d["a"][k].x`.
pub(super) fn keys_of_part(part: &Expr) -> Vec<&Expr> {
    match part {
        Expr::Attribute(attribute) => keys_of_part(&attribute.value),
        Expr::Subscript(subscript) => {
            let mut keys = keys_of_part(&subscript.value);
            keys.extend(Some(&*subscript.slice).filter(|slice| constant_text(slice).is_none()));
            keys
        }
        _ => Vec::new(),
    }
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
    value.as_call_expr().is_some_and(|call| has_word(IDEMPOTENT, last(call)))
}

/// The part of an object that an expression starts with, if its name is known: `x` of `df["x"][0]` and of `df.x`.
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

/// A constant as a text that is the same for equal ones.
fn constant_text(expression: &Expr) -> Option<String> {
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
        Expr::Subscript(subscript) => (&subscript.value, constant_text(&subscript.slice)),
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

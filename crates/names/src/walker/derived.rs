//! The origins of a cell's names: the parts of other objects that their values come from, and the objects that they are the same as
//! or items of. To assign `x` to `df["a"]` after `x = df["a"] * 2` reads what it changes, and to change `d` in `for d in ds` changes `ds`.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::Expr;
use ruff_python_ast::visitor::{self, Visitor};
use syntax::Name;

use super::Walker;
use super::expressions::{elements, items_of, key_of, last, root, targets};
use crate::methods::has_word;

/// Of a value that is made of more parts, the others are not followed.
const MAX_PARTS: usize = 32;
/// Attributes through which a part of an object is taken by what stands in brackets behind them.
const INDEXERS: [&str; 6] = ["loc", "iloc", "at", "iat", "values", "flat"];
/// Functions and methods that give the items of their argument, or of their object.
const PASSING: &str = "reversed sorted list tqdm values flatten ravel get_axes parameters modules children";

/// An object by its name, and a part of it, if that is fixed.
type Part = (Name, Option<String>);

/// The origins of names, as far as the walk has come.
#[derive(Debug, Default, Clone)]
pub(super) struct Derived {
    parts: BTreeMap<Name, BTreeSet<Part>>,
    items: BTreeMap<Name, Name>,
}

impl Derived {
    pub(super) fn forget(&mut self, name: &str) {
        self.parts.remove(name);
        self.items.remove(name);
    }

    /// The object that a name is an item of; the name itself if it is none.
    pub(super) fn whole<'n>(&'n self, name: &'n str) -> &'n str {
        self.items.get(name).map_or(name, String::as_str)
    }

    /// The parts of objects that expressions read.
    pub(super) fn reads<'e>(&self, expressions: impl IntoIterator<Item = &'e Expr>) -> BTreeSet<Part> {
        let mut reads = Reads { derived: self, parts: BTreeSet::new() };
        expressions.into_iter().for_each(|expression| reads.visit_expr(expression));
        reads.parts
    }
}

impl Walker {
    /// A name gets a value, which has been visited.
    pub(super) fn derive(&mut self, name: &str, value: &Expr) {
        let parts = self.derived.reads([value]);
        self.derived.forget(name);
        self.derived.parts.insert(name.to_owned(), parts);
        if is_item(value) {
            self.derive_item(name, value);
        }
    }

    /// The target of a loop gets the items of this, one after the other.
    pub(super) fn derive_items(&mut self, target: &Expr, iterable: &Expr) {
        match iterable {
            Expr::Call(call) => {
                let all = &call.arguments.args;
                let object = || call.func.as_attribute_expr().map(|method| &*method.value);
                let Some(first) = all.first().or_else(object) else { return };
                match (last(call), elements(target)) {
                    ("zip", Some(targets)) => {
                        targets.iter().zip(all).for_each(|(target, all)| self.derive_items(target, all));
                    }
                    ("enumerate" | "items", Some([_, item])) => self.derive_items(item, first),
                    (function, _) if has_word(PASSING, function) => self.derive_items(target, first),
                    _ => {}
                }
            }
            Expr::Tuple(_) | Expr::List(_) | Expr::Dict(_) => {
                // Of several objects, such as axes of one figure, the first stands for all.
                let Some(first) = items_of(iterable).first().copied() else { return };
                match (elements(target), elements(first)) {
                    (Some(targets), Some(first)) => {
                        targets.iter().zip(first).for_each(|(target, of)| self.derive_all(target, of));
                    }
                    _ => self.derive_all(target, first),
                }
            }
            _ => self.derive_all(target, iterable),
        }
    }

    fn derive_all(&mut self, target: &Expr, all: &Expr) {
        let Some(root) = root(all) else { return };
        for name in targets(target) {
            self.derived.parts.insert(name.to_owned(), BTreeSet::from([(root.to_owned(), None)]));
            self.derive_item(name, all);
        }
    }

    fn derive_item(&mut self, name: &str, value: &Expr) {
        let Some(root) = root(value) else { return };
        let whole = self.whole(root);
        if whole != name {
            self.derived.items.insert(name.to_owned(), whole);
        }
    }
}

/// Whether an expression gives an object that is in another one, by a fixed name or place: `model.layers[0]`. With other things in
/// brackets, it may be a copy.
fn is_item(value: &Expr) -> bool {
    match value {
        Expr::Subscript(part) => {
            let is_fixed = part.slice.is_string_literal_expr() || part.slice.is_number_literal_expr();
            is_fixed && (part.value.is_name_expr() || is_item(&part.value))
        }
        Expr::Attribute(part) => part.value.is_name_expr() || is_item(&part.value),
        _ => false,
    }
}

/// The part of an object that an expression starts with, if its name is fixed: `x` of `df["x"][0]` and of `df.x`.
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

struct Reads<'d> {
    derived: &'d Derived,
    parts: BTreeSet<Part>,
}

impl<'a> Visitor<'a> for Reads<'_> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        match (expression, root(expression)) {
            // The number of items is hardly ever changed by assigning to them.
            (Expr::Call(call), _) if matches!(last(call), "len" | "range") => {}
            (_, Some(name)) if self.parts.len() < MAX_PARTS => {
                self.parts.extend(self.derived.parts.get(name).into_iter().flatten().cloned());
                self.parts.insert((name.to_owned(), part_of(expression)));
                if let Expr::Subscript(subscript) = expression {
                    self.visit_expr(&subscript.slice);
                }
            }
            _ => visitor::walk_expr(self, expression),
        }
    }
}

//! What the names of a cell are made of: the parts of other objects that their values come from, and the objects of which they are
//! items. To assign `x` to `df["a"]` after `x = df["a"] * 2` reads what it changes, and to change `d` in `for d in ds` changes `ds`.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprAttribute, ExprList, ExprTuple};

use super::Walker;
use super::expressions::{last, root};
use super::known::Part;
use super::repeats::{is_idempotent, part_of};

/// Of a value that is made of more parts, the others are not followed.
const MAX_PARTS: usize = 32;

impl Walker {
    /// A name gets a value, which has been visited.
    pub(super) fn derive(&mut self, name: &str, value: &Expr) {
        let mut parts = Parts { walker: self, found: BTreeSet::new(), is_whole: is_idempotent(value) };
        parts.visit_expr(value);
        let parts = parts.found;
        self.derived.forget(name);
        if !parts.is_empty() {
            self.derived.parts.insert(name.to_owned(), parts);
        }
        if is_item(value) {
            self.derive_item(name, value);
        }
    }

    /// The target of a loop gets the items of this, one after the other.
    pub(super) fn derive_items(&mut self, target: &Expr, iterable: &Expr) {
        let targets = target.as_tuple_expr().map(|targets| &targets.elts[..]);
        match (iterable, targets) {
            (Expr::Call(call), targets) => match (last(call), &*call.arguments.args, targets) {
                ("enumerate", [all, ..], Some([_, item])) => self.derive_items(item, all),
                ("zip", all, Some(items)) => {
                    items.iter().zip(all).for_each(|(item, all)| self.derive_items(item, all));
                }
                ("reversed" | "sorted" | "list" | "ravel" | "tqdm", [all, ..], _) => {
                    self.derive_items(target, all);
                }
                ("items", [], Some([_, item])) => match &*call.func {
                    Expr::Attribute(ExprAttribute { value, .. }) if value.is_dict_expr() => {
                        let first = value.as_dict_expr().and_then(|dict| dict.items.first());
                        if let Some(first) = first {
                            self.derive_items_of(item, &first.value);
                        }
                    }
                    items => self.derive_items_of(item, items),
                },
                (
                    "values" | "flatten" | "ravel" | "get_axes" | "parameters" | "modules" | "children",
                    [],
                    _,
                ) => {
                    self.derive_items_of(target, &call.func);
                }
                _ => {}
            },
            (Expr::Tuple(ExprTuple { elts, .. }) | Expr::List(ExprList { elts, .. }), targets) => {
                // Of several objects, such as axes of one figure, the first stands for all.
                match (elts.first(), targets) {
                    (Some(Expr::Tuple(first)), Some(targets)) => {
                        targets.iter().zip(&first.elts).for_each(|(it, of)| self.derive_items_of(it, of));
                    }
                    (Some(first), None) => self.derive_items_of(target, first),
                    _ => {}
                }
            }
            (_, targets) => {
                for target in targets.unwrap_or(std::slice::from_ref(target)) {
                    self.derive_items_of(target, iterable);
                }
            }
        }
    }

    fn derive_items_of(&mut self, target: &Expr, all: &Expr) {
        if let (Expr::Name(name), Some(root)) = (target, root(all)) {
            self.derived.parts.insert(name.id.to_string(), BTreeSet::from([(root.to_owned(), None)]));
            self.derive_item(&name.id, all);
        }
    }

    fn derive_item(&mut self, name: &str, value: &Expr) {
        let Some(root) = root(value) else { return };
        let original = self.original(root);
        let whole = self.derived.whole(&original).to_owned();
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

/// The parts of objects that an expression reads.
struct Parts<'w> {
    walker: &'w Walker,
    found: BTreeSet<Part>,
    /// Whether its value stays the same if it is made of itself again, so that it does not matter which part it was.
    is_whole: bool,
}

impl Parts<'_> {
    fn add(&mut self, name: &str, part: Option<String>) {
        match self.walker.derived.parts.get(name) {
            _ if self.found.len() >= MAX_PARTS => {}
            Some(parts) => self.found.extend(parts.iter().cloned()),
            None => drop(self.found.insert((name.to_owned(), part.filter(|_| !self.is_whole)))),
        }
    }
}

impl<'a> Visitor<'a> for Parts<'_> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) => self.add(&name.id, None),
            Expr::Attribute(_) | Expr::Subscript(_) if root(expression).is_some() => {
                self.add(root(expression).unwrap_or_default(), part_of(expression));
                if let Expr::Subscript(subscript) = expression {
                    self.visit_expr(&subscript.slice);
                }
            }
            // How many items there are is hardly ever changed by assigning to them.
            Expr::Call(call) if matches!(last(call), "len" | "range") => {}
            _ => visitor::walk_expr(self, expression),
        }
    }
}

//! Changes of objects that a cell gets from outside, or as arguments of its functions.

use ruff_python_ast::{Expr, ExprAttribute, ExprCall};
use syntax::tree::{names_in, path_of};
use syntax::{NameSet, Resolved, is_builtin};

use super::Walker;
use super::aliases::forget_alias;
use super::derived::part_of;
use super::expressions::{constant_text, last, root};
use super::reading::{is_in_place_method, is_in_place_name, is_of_torch};
use crate::methods::{When, has_word, mutation_by};
use crate::names::{Change, Repeat};

/// Functions and methods that give a value of their kind for such a value, too.
const IDEMPOTENT: &str = "to_datetime to_numeric to_timedelta astype fillna strip lower upper title round clip dropna int str \
    float bool abs asarray";
/// Functions that write into their first argument, and do the same each time.
const SETTING: &str = "copyto putmask put_along_axis fill_diagonal heapify setitem";
/// Functions that give their first argument another value each time.
const ADDING: &str = "heappush heappop heapreplace heappushpop insort insort_left insort_right";

impl Walker {
    /// A part of an object is changed: `a.b[c]`.
    pub(super) fn change(&mut self, part: &Expr) {
        let keys = keys_of_part(part);
        let mut place = place_of(part);
        for key in &keys {
            place.push_str(&format!("[{}]", self.text(*key)));
        }
        let keys = names_in(keys);
        self.change_part(part, Change { keys, ..Change::sure(self.repeat).part(place) });
    }

    /// The object behind an expression like `a.b[c]` is changed.
    pub(super) fn change_part(&mut self, part: &Expr, change: Change) {
        if self.sets_setting(part) {
            return;
        }
        let Some(alias) = root(part).or_else(|| root_of_giver(part)) else { return };
        let name = self.whole(alias);
        if name != alias {
            self.change_name(alias, change.clone());
        }
        self.change_name(&name, change);
        self.change_parameter(&name);
    }

    pub(super) fn change_name(&mut self, name: &str, mut change: Change) {
        if self.functions > 0 && !change.keys.is_empty() {
            // Each call may be about another part.
            change.repeat = change.repeat.max(Repeat::Unknown);
        }
        if self.is_from_outside(name) {
            self.effects().change(name, change);
        }
    }

    /// `name += …` changes the object, or gives the name another one.
    pub(super) fn augment(&mut self, name: &str) {
        self.change_name(name, Change { augments: true, ..Change::sure(Repeat::Differs) });
        self.change_parameter(name);
        if let Some(aliases) = self.aliases_of(name) {
            forget_alias(aliases, name);
        }
    }

    pub(super) fn change_parameter(&mut self, name: &str) {
        if self.is_parameter(name) {
            self.deferred.changed_parameters.insert(name.to_owned());
        }
    }

    pub(super) fn is_parameter(&self, name: &str) -> bool {
        self.parameters.contains(name) && self.scopes.resolve(name) == Resolved::Local
    }

    /// A call writes into its arguments, and says so by its name or a keyword: `np.copyto(a, b)`, `np.multiply(a, 2, out=a)`.
    pub(super) fn writes_into_arguments(&mut self, call: &ExprCall) {
        let change = |repeat| Change::sure(repeat).part(self.text(call));
        if let Some((argument, repeat)) = first_written(call) {
            let others = call.arguments.args.iter().skip(1);
            let keys = names_in(others.chain(call.arguments.keywords.iter().map(|keyword| &keyword.value)));
            self.change_part(argument, Change { keys, ..change(repeat) });
        }
        // Of a function of the notebook, its body decides.
        let out = call.arguments.find_keyword("out").filter(|_| call.func.is_attribute_expr());
        let targets = match out.map(|keyword| &keyword.value) {
            Some(Expr::Tuple(targets)) => &targets.elts,
            Some(target) => std::slice::from_ref(target),
            None => &[],
        };
        for target in targets {
            let object = call.func.as_attribute_expr().map(|method| &*method.value);
            let reads = self.derived.reads(call.arguments.args.iter().chain(object));
            let is_read = root(target).is_some_and(|root| reads.iter().any(|(name, _)| name == root));
            let repeat = if is_read { Repeat::Differs } else { Repeat::Same };
            self.change_part(target, Change::sure(repeat).part(self.text(call)));
        }
    }

    /// The effect of assigning `value` to a part of an object once more.
    pub(super) fn repeat_of(&self, part: &Expr, value: &Expr) -> Repeat {
        let Some(root) = root(part) else { return Repeat::Unknown };
        let key = part_of(part);
        let slice = part.as_subscript_expr().map(|part| &*part.slice);
        let reads = self.derived.reads([value].into_iter().chain(slice));
        let reads = reads.iter().filter(|(name, _)| name == root).map(|(_, part)| part);
        let repeats = reads.map(|part| match part {
            Some(_) if *part == key && !is_idempotent(value) => Repeat::Differs,
            Some(_) if *part != key && key.is_some() => Repeat::Same,
            _ => Repeat::Unknown,
        });
        repeats.max().unwrap_or(Repeat::Same)
    }
}

/// The first argument of a call of a function that writes into it.
fn first_written(call: &ExprCall) -> Option<(&Expr, Repeat)> {
    let path = path_of(&call.func);
    let (first, last) = (call.arguments.args.first()?, *path.last()?);
    let is_of_numpy = || matches!(path.first(), Some(&("np" | "numpy" | "jnp")));
    let repeat = match last {
        _ if has_word(SETTING, last) => Repeat::Same,
        _ if has_word(ADDING, last) => Repeat::Differs,
        "put" | "place" if is_of_numpy() => Repeat::Same,
        // `np.add.at(a, indices, 1)`
        "at" if is_of_numpy() => Repeat::Differs,
        // `nn.init.normal_(weight)`, `F.relu_(x)`
        _ if is_in_place_name(last) && is_of_torch(path.first()?) => {
            if path.contains(&"init") {
                Repeat::Same
            } else {
                Repeat::Differs
            }
        }
        _ => return None,
    };
    Some((first, repeat))
}

/// The effect of a method on its object, if that is sure.
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

/// The effect of a method with a name of its own on its object: `add = xs.append`. Each call may give it something else.
pub(super) fn of_named_method(method: &ExprAttribute) -> Option<Repeat> {
    let change = mutation_by(&method.attr).filter(|change| change.when != When::InPlace)?;
    Some(change.again.max(Repeat::Unknown))
}

/// The names that choose which parts of its object a method sets or takes away.
pub(super) fn keys_of_method(call: &ExprCall, method: &str) -> NameSet {
    if !mutation_by(method).is_some_and(|change| change.is_by_key) {
        return NameSet::default();
    }
    let unnamed = call.arguments.keywords.iter().filter(|keyword| keyword.arg.is_none());
    let arguments = call.arguments.args.iter().chain(unnamed.map(|keyword| &keyword.value));
    let keys = arguments.flat_map(|argument| match argument {
        Expr::Dict(dict) => dict.items.iter().map(|item| item.key.as_ref().unwrap_or(&item.value)).collect(),
        _ => vec![argument],
    });
    names_in(keys)
}

/// The keys in the brackets of a part of an object that may be something else the next time: `k` of `d["a"][k].x`.
fn keys_of_part(part: &Expr) -> Vec<&Expr> {
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

/// Whether a value is the same if it is made of itself again.
fn is_idempotent(value: &Expr) -> bool {
    value.as_call_expr().is_some_and(|call| has_word(IDEMPOTENT, last(call)))
}

/// The way to a part of an object, as far as it is fixed: `environ.A` of `os.environ["A"]`.
fn place_of(part: &Expr) -> String {
    let (value, name) = match part {
        Expr::Attribute(attribute) => (&attribute.value, Some(attribute.attr.to_string())),
        Expr::Subscript(subscript) => (&subscript.value, constant_text(&subscript.slice)),
        _ => return String::new(),
    };
    let (before, name) = (place_of(value), name.unwrap_or_default());
    if before.is_empty() || name.is_empty() { before + &name } else { format!("{before}.{name}") }
}

/// `decimal` of `decimal.getcontext().prec`: a part of what a function gives is set.
fn root_of_giver(part: &Expr) -> Option<&str> {
    match part {
        Expr::Attribute(attribute) => root_of_giver(&attribute.value),
        Expr::Subscript(subscript) => root_of_giver(&subscript.value),
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(function) => root(&function.value),
            Expr::Name(getter) if call.arguments.is_empty() && !is_builtin(&getter.id) => Some(&getter.id),
            _ => None,
        },
        _ => None,
    }
}

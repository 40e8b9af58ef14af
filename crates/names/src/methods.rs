//! Methods by name: those that only read, and what the others do to their object.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::names::Repeat;

/// Methods of the types that cells use most (of Python, pandas, polars, numpy, plots) that leave their object as it is. A name that
/// changes the object in another common library is not here: `search` (of a tuner), `to` and `float` (of a model), `extract` (of a tag).
static READING: LazyLock<HashSet<&str>> = LazyLock::new(|| words().collect());

fn words() -> impl Iterator<Item = &'static str> {
    include_str!("methods.txt").split_ascii_whitespace()
}

pub(crate) fn only_reads(method: &str) -> bool {
    // Called by Python itself to show or compare, or giving a value by their name.
    const PREFIXES: [&str; 8] = ["__", "get_", "is_", "has_", "to_", "as_", "predict", "summary"];
    // Of a queue, it takes the item away.
    const CHANGING: [&str; 8] = [
        "get_nowait",
        "get_next",
        "__setitem__",
        "__delitem__",
        "__setattr__",
        "__delattr__",
        "__next__",
        "__setstate__",
    ];
    let has_prefix = PREFIXES.iter().any(|prefix| method.starts_with(prefix));
    let is_augmented =
        method.starts_with("__i") && !matches!(method, "__iter__" | "__int__" | "__index__" | "__invert__");
    has_prefix && !is_augmented && !CHANGING.contains(&method) || READING.contains(method)
}

/// Whether a short list of words has this one.
pub(crate) fn has_word(words: &str, word: &str) -> bool {
    words.split(' ').any(|one| one == word)
}

/// The effect of a method on its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mutation {
    pub(crate) when: When,
    /// The effect of calling it once more.
    pub(crate) again: Repeat,
    /// It sets or takes away the items that its arguments name.
    pub(crate) is_by_key: bool,
}

/// When a method of this name changes its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Its result is of use only together with the change.
    Always,
    /// Types that only read with it give a result.
    IfDiscarded,
    /// If it is in place by the convention of `PyTorch`.
    InPlace,
}

pub(crate) fn mutation_by(method: &str) -> Option<Mutation> {
    let (when, again, is_by_key) = match method {
        "pop" | "popitem" | "popleft" => (When::Always, Repeat::Differs, false),
        "setdefault" => (When::Always, Repeat::Same, true),
        "update" | "add" | "discard" | "difference_update" => (When::IfDiscarded, Repeat::Same, true),
        "sort" | "clear" | "fill" => (When::IfDiscarded, Repeat::Same, false),
        "append"
        | "appendleft"
        | "extend"
        | "extendleft"
        | "insert"
        | "remove"
        | "reverse"
        | "intersection_update"
        | "symmetric_difference_update" => (When::IfDiscarded, Repeat::Differs, false),
        "copy_" | "fill_" | "normal_" | "requires_grad_" | "uniform_" | "zero_" => {
            (When::InPlace, Repeat::Same, false)
        }
        _ => return None,
    };
    Some(Mutation { when, again, is_by_key })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_method_is_listed_once() {
        let mut seen = BTreeSet::new();
        for method in words() {
            assert!(seen.insert(method), "{method} is listed twice");
            assert_eq!(mutation_by(method), None, "{method} is said to read and to change");
        }
    }
}

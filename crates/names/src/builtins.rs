//! The names that Python and `IPython` define.

use crate::walker::is_shared;

const BUILTINS: &str = include_str!("builtins.txt");

/// Whether a name is there in every kernel, though no cell defines it.
pub fn is_builtin(name: &str) -> bool {
    is_history(name) || is_shared(name) || BUILTINS.split_ascii_whitespace().any(|builtin| builtin == name)
}

/// Whether `IPython` keeps earlier inputs and outputs under the name: `_`, `__`, `_3`, `_i3`, `Out`, `In`.
pub fn is_history(name: &str) -> bool {
    let is_digits =
        |rest: &str| rest.trim_start_matches(['_', 'i']).bytes().all(|byte| byte.is_ascii_digit());
    matches!(name, "In" | "Out") || name.strip_prefix('_').is_some_and(is_digits)
}

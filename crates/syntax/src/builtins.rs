//! The names that Python and `IPython` define.

use std::collections::HashSet;
use std::sync::LazyLock;

static BUILTINS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("builtins.txt").split_ascii_whitespace().collect());

/// Whether a name is there in every kernel, though no cell defines it.
pub fn is_builtin(name: &str) -> bool {
    BUILTINS.contains(name) || is_history(name)
}

/// What stands for all variables, which `%whos` shows.
pub const VARIABLES: &str = "all variables";

/// Whether `IPython` keeps earlier inputs and outputs under the name: `_`, `__`, `_3`, `_i3`, `Out`, `In`. All variables count, too.
pub fn is_history(name: &str) -> bool {
    let is_digits =
        |rest: &str| rest.trim_start_matches(['_', 'i']).bytes().all(|byte| byte.is_ascii_digit());
    matches!(name, "In" | "Out" | VARIABLES) || name.strip_prefix('_').is_some_and(is_digits)
}

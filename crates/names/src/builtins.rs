//! The names that Python and `IPython` define.

const BUILTINS: &str = include_str!("builtins.txt");

/// Whether a name is there in every kernel, though no cell defines it.
pub fn is_builtin(name: &str) -> bool {
    // `_`, `__`, `_3`, `_i3` are earlier outputs and inputs.
    let is_history = name
        .strip_prefix('_')
        .is_some_and(|rest| rest.trim_start_matches(['_', 'i']).bytes().all(|byte| byte.is_ascii_digit()));
    is_history || BUILTINS.split_ascii_whitespace().any(|builtin| builtin == name)
}

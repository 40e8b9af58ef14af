//! The end of `docs/migration.md`: the settings of `jupyter-mcp-server` that are refused.

use std::fmt::Write as _;

use super::{cell, check};
use crate::args::refused;

#[test]
fn the_refused_settings_are_up_to_date() {
    let mut table = "\n| option | variable | |\n|---|---|---|\n".to_owned();
    for (option, variable, reason) in refused() {
        let option = if option.is_empty() { String::new() } else { format!("`--{option}`") };
        let _ = writeln!(table, "| {option} | `{variable}` | {} |", cell(reason));
    }
    check("migration.md", &table);
}

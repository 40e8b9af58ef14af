//! The end of `docs/migration.md`: the settings of `jupyter-mcp-server` that are refused.

use std::fmt::Write as _;

use super::{cell, check};
use crate::args::{SETTINGS, Setting};

#[test]
fn the_refused_settings_are_up_to_date() {
    let mut table = "\n| option | variable | |\n|---|---|---|\n".to_owned();
    for Setting(option, variable, _, reason) in SETTINGS {
        let is_of_original = !variable.starts_with("JUPYTER_MCP_");
        let option = if is_of_original { format!("`--{option}`") } else { String::new() };
        let _ = writeln!(table, "| {option} | `{variable}` | {} |", cell(reason));
    }
    check("migration.md", &table);
}

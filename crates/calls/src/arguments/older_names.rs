//! Older tool names that published prompts still use. They work, but are not listed.

use place::Error;

use crate::arguments::given::{Given, refused};

/// Older names, and the tools of today that serve them.
const OLDER_NAMES: &str = include_str!("older_names.txt");

fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    OLDER_NAMES.lines().filter_map(|line| line.split_once(' '))
}

/// All older names.
pub fn all() -> impl Iterator<Item = &'static str> {
    pairs().map(|(older, _)| older)
}

/// The name of today for an older one. Others are left alone.
pub fn translate(name: &str) -> Option<&'static str> {
    pairs().find(|(older, _)| *older == name).map(|(_, today)| today)
}

/// Translates the arguments of a call by an older name.
pub fn adapt(name: &str, arguments: &mut Given) -> Result<(), Error> {
    match name {
        "list_cells" => {
            arguments.set("response_format", "brief");
            arguments.set("limit", 0);
        }
        "read_cells" | "read_all_cells" => {
            arguments.set("response_format", "detailed");
            arguments.set("include_outputs", true);
            arguments.set("limit", 0);
        }
        "list_all_files" if !arguments.has("max_depth") => arguments.set("max_depth", 3),
        "execute_cell_simple_timeout" | "execute_cell_streaming" | "execute_cell_with_progress" => {
            arguments.rename("timeout_seconds", "timeout")?;
        }
        "append_markdown_cell" => {
            arguments.set("cell_index", -1);
            arguments.set("cell_type", "markdown");
        }
        "append_execute_code_cell" => arguments.set("cell_index", -1),
        "assign_kernel_to_notebook" if !arguments.has("kernel_id") => {
            return Err(refused("assign_kernel_to_notebook needs kernel_id."));
        }
        _ => {}
    }
    Ok(())
}

//! Older tool names that published prompts still use. They work, but are not listed.

use place::Error;

use crate::arguments::given::{Given, refused};

/// Older names, and the tools of today that serve them.
const OLDER_NAMES: [(&str, &str); 15] = [
    ("list_notebook", "list_notebooks"),
    ("list_cells", "read_notebook"),
    ("read_cells", "read_notebook"),
    ("read_all_cells", "read_notebook"),
    ("execute_ipython", "execute_code"),
    ("list_all_files", "list_files"),
    ("execute_cell_simple_timeout", "execute_cell"),
    ("execute_cell_streaming", "execute_cell"),
    ("execute_cell_with_progress", "execute_cell"),
    ("append_markdown_cell", "insert_cell"),
    ("append_execute_code_cell", "insert_execute_code_cell"),
    ("connect_notebook", "use_notebook"),
    ("switch_notebook", "use_notebook"),
    ("assign_kernel_to_notebook", "use_notebook"),
    ("disconnect_notebook", "unuse_notebook"),
];

/// All older names.
pub fn all() -> impl Iterator<Item = &'static str> {
    OLDER_NAMES.iter().map(|(older, _)| *older)
}

/// The name of today for an older one. Others are left alone.
pub fn translate(name: &str) -> Option<&'static str> {
    OLDER_NAMES.iter().find(|(older, _)| *older == name).map(|(_, today)| *today)
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

//! The notebook tools, one file each: what a model reads about a tool, who may call it, and what it does.
//!
//! A new tool is a file with a `TOOL`, its `mod` here, and its line in `TOOLS`.

mod add_packages;
mod answer_input;
mod change_cell;
mod checkpoint;
mod clear_cell_output;
mod connect_to_jupyter;
mod copy_file;
mod copy_notebook;
mod delete_cell;
mod edit_cell_source;
mod edit_cells;
mod execute_cell;
mod execute_code;
mod get_run;
mod history;
mod insert_cell;
mod insert_execute_code_cell;
mod inspect_variable;
mod interrupt_kernel;
mod list;
mod list_files;
mod list_kernels;
mod list_machines;
mod list_notebooks;
mod list_variables;
mod move_cell;
mod open_in_browser;
mod overwrite_cell_source;
mod read_cell;
mod read_notebook;
mod restart_notebook;
mod run_cells;
mod search_notebook;
mod start_machine;
mod stop_machine;
mod undo;
mod unuse_notebook;
mod use_notebook;
mod verify_notebook;

use calls::tool::Tool;

pub use list::{UnknownOffer, asked, find, list, offered};

/// The tools in the order in which they are listed.
static TOOLS: &[&Tool] = &[
    &list_files::TOOL,
    &list_notebooks::TOOL,
    &list_kernels::TOOL,
    &use_notebook::TOOL,
    &unuse_notebook::TOOL,
    &copy_notebook::TOOL,
    &copy_file::TOOL,
    &restart_notebook::TOOL,
    &read_notebook::TOOL,
    &search_notebook::TOOL,
    &read_cell::TOOL,
    &insert_cell::TOOL,
    &overwrite_cell_source::TOOL,
    &edit_cell_source::TOOL,
    &edit_cells::TOOL,
    &move_cell::TOOL,
    &change_cell::TOOL,
    &delete_cell::TOOL,
    &clear_cell_output::TOOL,
    &history::TOOL,
    &checkpoint::TOOL,
    &undo::TOOL,
    &execute_cell::TOOL,
    &insert_execute_code_cell::TOOL,
    &run_cells::TOOL,
    &verify_notebook::TOOL,
    &execute_code::TOOL,
    &get_run::TOOL,
    &list_variables::TOOL,
    &inspect_variable::TOOL,
    &interrupt_kernel::TOOL,
    &answer_input::TOOL,
    &add_packages::TOOL,
    &open_in_browser::TOOL,
    &connect_to_jupyter::TOOL,
    &list_machines::TOOL,
    &start_machine::TOOL,
    &stop_machine::TOOL,
];

#[cfg(test)]
mod tests;

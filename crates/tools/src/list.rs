//! The list of the tools.

use std::sync::{Arc, LazyLock};

use serde_json::value::to_raw_value;

use crate::{
    add_packages, answer_input, change_cell, checkpoint, clear_cell_output, connect_to_jupyter, copy_file,
    copy_notebook, delete_cell, edit_cell_source, edit_cells, execute_cell, execute_code, get_run, history,
    insert_cell, insert_execute_code_cell, inspect_variable, interrupt_kernel, list_files, list_kernels,
    list_machines, list_notebooks, list_variables, move_cell, open_in_browser, overwrite_cell_source,
    read_cell, read_notebook, restart_notebook, run_cells, search_notebook, start_machine, stop_machine,
    undo, unuse_notebook, use_notebook, verify_notebook,
};
use calls::arguments::older_names;
use calls::permissions::{Group, Offer};
use calls::tool::{Capabilities, Tool};

/// The tools in the order in which they are listed.
pub(crate) static TOOLS: &[&Tool] = &[
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

/// The tool of that name, by its name of today or an older one.
pub fn find(name: &str) -> Option<&'static Tool> {
    let today = older_names::translate(name).unwrap_or(name);
    TOOLS.iter().copied().find(|tool| tool.name == today)
}

/// A name in the operator's settings that is neither that of a group nor that of a tool.
#[derive(Debug, thiserror::Error)]
#[error("{name:?} is neither a group of tools ({}) nor a tool", groups.map(Group::name).join(", "))]
pub struct UnknownOffer {
    name: String,
    groups: &'static [Group; 5],
}

/// Reads the name of what the operator offers. Fails if it is neither a group nor a tool.
pub fn offered(name: &str) -> Result<Offer, UnknownOffer> {
    among(&Group::OWN, name)
}

/// Reads the name of what the person is asked about. Nobody is asked about all that only reads.
pub fn asked(name: &str) -> Result<Offer, UnknownOffer> {
    among(&Group::ASKED, name)
}

fn among(groups: &'static [Group; 5], name: &str) -> Result<Offer, UnknownOffer> {
    let name = name.trim();
    let group = groups.iter().copied().find(|group| group.name() == name).map(Offer::Group);
    let offer = group.or_else(|| find(name).map(|tool| Offer::Tool(tool.name)));
    offer.ok_or_else(|| UnknownOffer { name: name.to_owned(), groups })
}

/// The tools that a session with these capabilities has, with their definitions, in the order in which they are listed.
pub fn list(capabilities: Capabilities) -> impl Iterator<Item = (&'static Tool, &'static place::Tool)> {
    static LISTED: LazyLock<Vec<place::Tool>> =
        LazyLock::new(|| TOOLS.iter().map(|tool| listed(tool)).collect());
    TOOLS.iter().copied().zip(&*LISTED).filter(move |(tool, _)| tool.is_available(capabilities))
}

fn listed(tool: &Tool) -> place::Tool {
    // Serializing a `Value` cannot fail.
    let definition = to_raw_value(&tool.definition()).unwrap_or_default();
    place::Tool { name: tool.name.to_owned(), definition: Arc::from(definition) }
}

//! What several tools share: arguments, and how cells and runs are shown.

pub(super) mod answer;
pub(super) mod argument_names;
pub(super) mod arguments;
pub(super) mod cell_text;
pub(super) mod context;
mod failed_install;
pub(super) mod given;
pub(super) mod kernel_selector;
pub(super) mod leftovers;
pub(super) mod missing_package;
pub(super) mod older_names;
pub(super) mod parameters;
pub(super) mod preview;
pub(super) mod run_report;
pub(super) mod seen_outputs;
pub(super) mod waiting;
pub(super) mod whole_lines;

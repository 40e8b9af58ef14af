//! How cells, runs and failures are shown in replies.

use std::time::SystemTime;

pub(crate) mod cell_text;
mod failed_install;
pub(crate) mod leftovers;
pub(crate) mod missing_package;
pub(crate) mod run_report;
pub(crate) mod seen_outputs;
pub(crate) mod whole_lines;

/// Universal time, to the second.
pub(crate) fn time(time: SystemTime) -> String {
    chrono::DateTime::<chrono::Utc>::from(time).format("%Y-%m-%d %H:%M:%S").to_string()
}

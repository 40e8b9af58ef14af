//! How cells, runs and failures are shown in replies.

use std::time::SystemTime;

pub mod causes;
pub mod cell_text;
mod failed_install;
pub mod leftovers;
pub mod missing_package;
pub mod run_report;
pub mod seen_outputs;
pub(crate) mod stale_now;
pub mod whole_lines;

/// Universal time, to the second.
pub fn time(time: SystemTime) -> String {
    chrono::DateTime::<chrono::Utc>::from(time).format("%Y-%m-%d %H:%M:%S").to_string()
}

//! Runs: from the request of an agent over the kernel's queue to outputs in the notebook.

mod cell_tags;
mod error_hints;
mod journal;
mod kernel_queue;
mod memory_changes;
mod outputs;
mod run;
mod runner;
mod series;
mod session_order;
mod suffix;
mod view;

pub use cell_tags::{CellTags, InSeries};
pub(crate) use cell_tags::{RAISES, SKIP};
pub use journal::Journal;
pub use memory_changes::MemoryChanges;
pub use run::Run;
pub use runner::Runner;
pub(crate) use runner::no_kernel;
pub(crate) use session_order::{InLine, RunTarget, SessionOrder};
pub use suffix::RunSuffix;
pub use view::{RunCell, RunView};

//! Runs: from the request of an agent over the kernel's queue to outputs in the notebook.
//!
//! A [`Run`] lives in the [`Journal`], a `KernelQueue` orders the runs of a kernel, and the [`Runner`] owns the tasks. An
//! [`OpenNotebook`] is the document of a run with the kernel that runs it.

mod cell_tags;
mod changes;
mod error_hints;
mod journal;
mod kernel_queue;
mod kernel_use;
mod memory_changes;
mod open_notebook;
mod outputs;
mod run;
mod run_history;
mod runner;
mod series;
mod session_order;
mod slots;
mod suffix;
mod telemetry;
mod view;

pub use cell_tags::{CellTags, InSeries, RAISES, SKIP};
pub use changes::Changes;
pub use journal::Journal;
pub use memory_changes::MemoryChanges;
pub use open_notebook::{EndsKernel, OpenNotebook};
pub use outputs::change_by;
pub use run::Run;
pub use run_history::RunHistory;
pub use runner::{LineAsker, PendingRun, Runner, interrupt_kernel, no_kernel};
pub use session_order::{InLine, RunTarget, SessionOrder};
pub use slots::{Slot, Slots};
pub use suffix::run_suffix;
pub use telemetry::TRACED;
pub use view::{RunCell, RunView};

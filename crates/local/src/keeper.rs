//! Keepers: processes of this program that are the parent of one kernel each and outlive the server that started them.
//!
//! [`keep`] is the keeper itself; [`start`] starts one, [`folder`] finds those that run, and [`attach`] connects to one.

mod attach;
mod clients;
mod descriptors;
mod entries;
mod executor;
mod folder;
mod keep;
mod lifetime;
mod list;
mod log;
mod logged_runs;
mod private;
mod resident;
mod room;
mod start;
mod start_lock;
mod turns;
mod waiting_runs;

pub(crate) use attach::{Attached, Ungreeted, attach, greet};
pub use descriptors::close_inherited_descriptors;
pub use entries::{LogEntry, LogEntryKind};
pub(crate) use executor::{KeptExecutor, describe_others, kept_note};
pub(crate) use folder::{KeeperFolder, KernelFile, keepers, remove_abandoned};
pub(crate) use keep::KEEPER_DIED;
pub use lifetime::Lifetimes;
pub use list::{KeeperState, KeptKernel, StopError, kept_kernels};
pub(crate) use logged_runs::{LoggedRun, logged_run, logged_runs};
pub use private::unused_folders;
pub(crate) use resident::resident_bytes;
pub(crate) use room::make_room;
pub(crate) use start::{KeepSpec, StartError, StarterLife, start};
pub use start::{detach, keep_from_stdin};
pub(crate) use start_lock::StartLock;
pub(crate) use waiting_runs::{WaitingRuns, waiting_folders};

#[cfg(test)]
mod tests;

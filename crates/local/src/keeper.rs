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
mod resident;
mod room;
mod start;
mod turns;
mod unfinished;

pub(crate) use attach::{Attached, Ungreeted, attach, greet};
pub use descriptors::close_inherited_descriptors;
pub(crate) use entries::text_of_run;
pub use entries::{LogEntry, LogEntryKind};
pub(crate) use executor::{KeptExecutor, describe_others, kept_note};
pub(crate) use folder::{KeeperFolder, KernelRecord, StartLock, keepers, remove_abandoned};
pub use lifetime::Lifetimes;
pub use list::{KeptKernel, KeptState, StopError, kept_kernels};
pub(crate) use resident::resident_bytes;
pub(crate) use room::make_room;
pub(crate) use start::{KeepSpec, StartError, start};
pub use start::{detach, keep_from_stdin};
pub(crate) use unfinished::unfinished_cells;

#[cfg(test)]
mod tests;

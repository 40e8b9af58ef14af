//! Keepers: processes of this program that are the parent of one kernel each and outlive the server that started them. On systems
//! without Unix sockets this crate is empty.
//!
//! A keeper appends every message of its kernel to a log, and serves the log to clients over a private Unix socket:
//!
//! | client | keeper |
//! |---|---|
//! | [`ClientFrame::Hello`] with its version | [`KeeperFrame::Welcome`], or [`KeeperFrame::Refused`] |
//! | [`ClientFrame::Adopt`] | [`KeeperFrame::Adopted`]: the runs that have no owner now belong to this client |
//! | [`ClientFrame::Follow`] from an offset | [`KeeperFrame::Records`]: the log from there on, and everything that comes |
//! | [`ClientFrame::Announce`] about a run, then [`ClientFrame::Send`] | both appear in the log, before the kernel gets the message |
//! | [`ClientFrame::Store`] | the outputs of a run are in its cell; the next client must report it |
//! | [`ClientFrame::Acknowledge`] | that is done: later clients are only shown the run, as long as the log has room |
//!
//! A keeper reads the headers of messages and the `execution_state` of a `status`, no other content, and knows no notebooks.
//! Old keepers serve new clients: both ignore fields, frames and records that they do not know.
//!
//! | part | files |
//! |---|---|
//! | the keeper's process | `process` from its first line on, `event_loop`, `clients`, `turns`, `lifetime`, `log/files` |
//! | what starts its kernel, implemented elsewhere | `launcher` |
//! | a server that starts a keeper | `start`, `start_lock`, `capacity` |
//! | a server that finds and joins one | `folder`, `kernel_file`, `attach`, `connection`, `log/entries` |
//! | both | `protocol`, `private`, `state_folder` |
//! | what a person sees | `list`, `log/entries` |
#![cfg(unix)]

mod attach;
mod capacity;
mod clients;
mod connection;
mod descriptors;
mod event_loop;
mod folder;
mod kernel_file;
mod launcher;
mod lifetime;
mod list;
mod log;
mod private;
mod process;
mod protocol;
mod resident;
mod spec;
mod start;
mod start_lock;
mod state_folder;
mod turns;

pub use attach::{Attachment, attach};
pub use capacity::ensure_capacity;
pub use connection::{Connection, KeeperHandle, tell};
pub use descriptors::close_inherited_descriptors;
pub use event_loop::KEEPER_DIED;
pub use folder::{FolderLock, KeeperFolder, keepers, listen, remove_abandoned};
pub use kernel_file::{ChosenKernel, KernelFile};
pub use launcher::{KernelProcess, LaunchError, Launched, Launcher};
pub use lifetime::Lifetimes;
pub use list::{KeeperState, KeptKernel, StopError, kept_kernels};
pub use log::{LogEntry, LogEntryKind, LogFollower, logged_run, logged_runs};
pub use private::{is_own_process, unused_folders};
pub use process::{detach, run_from_stdin};
pub use protocol::{
    AdoptedRuns, ClientFrame, FramedRead, FramedWrite, Hello, KeeperFrame, KernelPhase, KernelStatus,
    VERSION, Welcome, framed,
};
pub use spec::KeeperSpec;
pub use start::{StartError, start};
pub use start_lock::StartLock;
pub use state_folder::StateFolder;

#[cfg(test)]
mod tests;

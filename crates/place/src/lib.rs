//! The traits of a place: what a Colab tab, a Jupyter server and a folder implement, and all that a session needs of them.
//!
//! A place knows no session and no runner, and what uses it names no place, so a place can be added without a change to the
//! tools. What is here beside the traits is the plain data of their signatures, and what places share to implement them.

mod client_habits;
mod connector;
mod document;
mod earlier_runs;
mod error;
mod executor;
mod file;
mod folder_copy;
mod ids;
mod kernel;
mod kernel_request;
mod leftovers;
mod machines;
mod memory;
mod near;
mod notebook_errors;
mod orphan;
mod place;
pub mod progress;
mod recorded_ids;
mod relay;
mod run_details;
mod run_state;
mod spawn;
mod stored_notebook;

use futures_util::future::BoxFuture;

pub use self::kernel::{
    Foreign, Keeping, Kernel, KernelChoice, KernelDescription, KernelState, KernelspecInfo,
};
pub use ::kernel::{Death, LossCause};
pub use ::notebook::RunId;
pub use ::operations::IdRecord;
pub use client_habits::{ADDED_BY_CLIENTS, is_left_out};
pub use connection::NextStep;
pub use connector::{Connected, Connector, Discovered, ServerSpec};
pub use document::{Applied, Document, Expected, Presence, SaveStatus};
pub use earlier_runs::{EarlierKernelRuns, EarlierRuns};
pub use error::{Error, ErrorKind, Fault};
pub use executor::{ClientExecutor, Execution, Executor, RunLogger};
pub use file::{Existing, FileContent, Files};
pub use folder_copy::FolderCopy;
pub use ids::{KernelId, NotebookPath, SessionId};
pub use kernel_request::{KernelRequest, KernelSelector};
pub use leftovers::{FoundRun, LeftoverKernel, LeftoverRun, Leftovers, sentence};
pub use machines::{
    Machine, MachineKind, MachineList, MachineOffer, MachineOrigin, Machines, StoppedMachine, WantedMachine,
};
pub use memory::{ask_memory, nothing_in_memory};
pub use near::{Near, is_same_text, nearest};
pub use orphan::Orphan;
pub use place::{FileEntry, FileKind, FoundNotebooks, Frontend, Mode, Place, SearchExtent, Showing};
pub use relay::{Answer, Call, Progress, Relay, Report, Tool};
pub use run_details::RunDetails;
pub use run_state::{RunState, SkipReason};
pub use spawn::{spawn, spawn_if_running};
pub use stored_notebook::{CachedVersion, Content, NotebookStore, Replaced, StoredNotebook};

/// What the methods of a place return that wait for it.
pub type Future<'a, T> = BoxFuture<'a, Result<T, Error>>;

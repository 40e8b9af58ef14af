//! What every place can do, and what all sessions of one server share: open notebooks, kernels, runs.
//!
//! A place (a Colab tab, a Jupyter server, a folder) implements the traits of this crate, and the MCP tools use only the
//! traits. Neither names the other, so a place can be added without a change to the tools.

mod actor;
mod assignments;
mod cell_states;
mod changes;
mod error;
mod executed_later;
mod executor;
mod file;
mod folder_copy;
mod idle;
mod ids;
mod kernel_request;
mod leftovers;
mod limits;
mod memory;
mod near;
mod next_step;
mod notebook_errors;
mod open_notebook;
mod open_notebooks;
pub mod packages;
mod place;
mod places;
pub mod progress;
mod recorder;
mod relay;
mod run_history;
mod runs;
mod session;
mod shown_paths;
mod stored_notebook;
mod telemetry;
pub mod verify;
mod workspace;

pub use assignments::Assignments;
pub use cell_states::{CellState, CellStates};
pub use changes::Changes;
pub use connection::{NextStep as ServerStep, Secret};
pub use error::{Error, ErrorKind, Fault};
pub use executed_later::executed_later;
pub use executor::{Code, Execution, Executor};
pub use file::{CopiedFile, Existing, FileContent};
pub use folder_copy::FolderCopy;
pub use ids::{KernelId, NotebookPath, RunId, SessionId};
pub use kernel::{LossCause, widget_text};
pub use kernel_request::{KernelRequest, KernelSelector};
pub use leftovers::{LeftoverKernel, LeftoverRun, Leftovers};
pub use limits::Limits;
pub use memory::{ask_memory, nothing_in_memory};
pub use near::{Near, nearest};
pub use next_step::NextStep;
pub use open_notebook::{EndsKernel, OpenNotebook};
pub use operations::{Operation, Since, summary};
pub use place::{
    Applied, Connected, Connector, Discovered, Document, Expected, FileEntry, FileKind, Foreign,
    FoundNotebooks, FoundRun, Frontend, Future, Keeping, Kernel, KernelChoice, KernelDescription,
    KernelState, KernelspecInfo, Mode, Place, Presence, SaveStatus, SearchExtent, ServerSpec,
};
pub use places::{ConnectScope, Located};
pub use relay::{Answer, Call, Progress, Relay, Report, Tool};
pub use runs::{
    CellTags, InSeries, Journal, MemoryChanges, Orphan, OrphanedExecution, Run, RunCell, RunDetails,
    RunState, RunSuffix, RunView, Runner,
};
pub use session::{CopiedNotebook, CopyPreview, FilePreview, PastOperation, Session, UndoTarget, Undone};
pub use staleness::State as StaleState;
pub use stored_notebook::{Content, Known, NotebookStore, Replaced, StoredNotebook};
pub use telemetry::TRACED;
pub use workspace::{Settings, Workspace};

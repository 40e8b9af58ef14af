//! What every place can do, and what all sessions of one server share: open notebooks, kernels, runs.
//!
//! A place (a Colab tab, a Jupyter server, a folder) implements the traits of this crate; the face towards
//! agents knows only the traits. Neither names the other, so a place can be added without touching the face.

mod changes;
mod error;
mod execute;
mod idle;
mod ids;
mod journal;
mod lane;
mod limits;
mod next_step;
mod notebook_errors;
mod open_notebook;
mod place;
mod places;
pub mod progress;
mod relay;
mod run;
mod run_state;
mod session;
mod stored_notebook;
mod token;
mod trace;
mod workspace;

pub use changes::Changes;
pub use error::{Error, ErrorKind, Fault};
pub use ids::{KernelId, RunId, SessionId};
pub use journal::Journal;
pub use limits::Limits;
pub use next_step::NextStep;
pub use open_notebook::{KernelSelector, OpenNotebook};
pub use place::{
    Applied, Connector, Document, Expected, FileEntry, FileKind, FoundNotebooks, Frontend, Future, Kernel,
    KernelChoice, KernelDescription, KernelRequest, KernelState, KernelspecInfo, Mode, Place, Presence,
    SaveStatus, SearchExtent, ServerSpec,
};
pub use places::ConnectScope;
pub use relay::{Answer, Call, Progress, Relay, Report, Tool};
pub use run::Run;
pub use run_state::{RunCell, RunState, RunView};
pub use session::Session;
pub use stored_notebook::{Content, Known, NotebookStore, Replaced, StoredNotebook};
pub use token::{NoRandomness, Token};
pub use trace::TRACED;
pub use workspace::{Settings, Workspace};

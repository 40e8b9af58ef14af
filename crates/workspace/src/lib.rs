//! What all sessions of one server share: open notebooks, kernels, runs. It uses places by their traits and names none.

mod actor;
mod assignments;
mod cell_states;
mod changes;
mod copied_file;
mod executed_later;
mod idle;
mod leftovers;
mod limits;
mod open_notebook;
mod open_notebooks;
mod places;
mod recorder;
mod run_history;
mod runs;
mod session;
mod shown_paths;
mod telemetry;
pub mod verify;
mod workspace;

pub use assignments::Assignments;
pub use cell_states::CellStates;
pub use changes::Changes;
pub use copied_file::CopiedFile;
pub use executed_later::executed_later;
pub use kernel::widget_text;
pub use limits::Limits;
pub use open_notebook::{EndsKernel, OpenNotebook};
pub use operations::{Operation, Since, summary};
pub use places::{ConnectScope, Located};
pub use runs::{CellTags, InSeries, Journal, MemoryChanges, Run, RunCell, RunSuffix, RunView, Runner};
pub use session::{CopiedNotebook, CopyPreview, FilePreview, PastOperation, Session, UndoTarget, Undone};
pub use staleness::State as StaleState;
pub use telemetry::TRACED;
pub use workspace::{Settings, Workspace};

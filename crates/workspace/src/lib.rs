//! The state that all sessions of one server share: open notebooks, kernels, runs. It uses places by their traits and names none.

mod assignments;
mod cell_states;
mod copied_file;
mod executed_later;
mod file_digests;
mod idle;
mod open_notebooks;
mod places;
mod session;
mod shown_paths;
mod workspace;

pub use assignments::Assignments;
pub use cell_states::CellStates;
pub use copied_file::CopiedFile;
pub use executed_later::executed_later;
pub use kernel::widget_text;
pub use operations::{
    Activity, BlobId, CellChange as OperationChange, CellState, Operation, OperationId, OperationKind,
    OutputsState, PERSON, RunAction, Since, UndoScope, outputs_digest, summary,
};
pub use places::{ConnectScope, Located, Places};
pub use session::{CopiedNotebook, CopyPreview, FilePreview, PastOperation, Session, UndoTarget, Undone};
pub use staleness::{CellState as StaleJudgement, Obstacle, Plan, StaleState};
pub use workspace::{Limits, Settings, Workspace};

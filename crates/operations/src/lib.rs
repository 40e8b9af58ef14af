//! The operations of a notebook: each change as it was made, so that it can be shown and undone.
//!
//! [`record`] describes a change by the states of its cells before and after; [`plan`] finds the edits that lead back, or says
//! which cells somebody else has changed since; [`live`] says what is left to be undone. These only compute.
//! [`OperationLog`] keeps the operations of one notebook in a folder, [`IdRecord`] the ids of its cells if its file has none, and
//! [`KernelRuns`] the last runs on one kernel.

mod blob;
mod calls;
mod describe;
mod id_record;
mod line_file;
mod live;
mod log;
mod operation;
mod others;
mod plan;
mod record;
mod runs;
#[cfg(test)]
mod testing;

pub use blob::{BlobId, Blobs};
pub use calls::{by_call, of_same_call};
pub use describe::{brief_diff_of, diff_of, summary};
pub use id_record::{IdRecord, IdRecords, LockedIds};
pub use live::{Since, live, since_creation};
pub use log::{Activities, Activity, LogError, OperationLog, SessionLock, prune};
pub use operation::{
    CellChange, CellState, Creation, MetadataChange, Operation, OperationId, OperationKind, OutputsState,
    PERSON, RunAction, UndoScope,
};
pub use others::changed_since;
pub use plan::{Conflict, Obstacle, Part, Plan, plan};
pub use record::{Recorded, compare, outputs_digest, record};
pub use runs::{KernelRun, KernelRuns, ReadPosition};

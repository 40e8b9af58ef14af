//! One operation, as a line of the log.
//!
//! `members` is the form on disk of [`OperationKind`].

use std::fmt;

use notebook::{CellId, RunId};
use serde::{Deserialize, Serialize};

use crate::BlobId;
use members::Members;

mod members;

/// Whom the record names for what a person did on the page or by a command.
pub const PERSON: &str = "person";

/// Which operation of a notebook, counted from 1. It is called `o41`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OperationId(u64);

impl OperationId {
    pub fn new(number: u64) -> Self {
        Self(number)
    }

    pub fn number(self) -> u64 {
        self.0
    }

    pub(crate) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "o{}", self.0)
    }
}

/// What an undo takes back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndoScope {
    pub operations: Vec<OperationId>,
    /// The cells, if only what they did to some cells.
    pub only: Option<Vec<CellId>>,
}

/// What an operation is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Members", into = "Members")]
pub enum OperationKind {
    /// An edit, or the outputs of these runs: of one in the log, of all runs of a call in the history.
    Change {
        runs: Vec<RunId>,
    },
    Undo(UndoScope),
    /// A name for this moment. It changes nothing.
    Checkpoint {
        name: String,
        /// The program made it by itself; otherwise somebody asked for it.
        is_automatic: bool,
    },
    /// It made the notebook. Whatever was recorded before is about an earlier one at the same path.
    Creation(Creation),
    /// What the person did to a run, which changed nothing here.
    OnRun {
        run: RunId,
        action: RunAction,
    },
}

impl Default for OperationKind {
    fn default() -> Self {
        Self::EDIT
    }
}

impl OperationKind {
    /// An edit.
    pub const EDIT: Self = Self::Change { runs: Vec::new() };
}

/// One change of a notebook, or what its history shows beside changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    pub id: OperationId,
    /// Milliseconds since 1970.
    pub time: u64,
    /// When its call arrived, in microseconds since 1970; 0 if it was recorded at once. A run is recorded at its end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub arrived: u64,
    /// What the agent calls itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The session that made it; empty if that was one call.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// What made the change: the name of a tool or a command.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tool: String,
    /// The call of a tool that it is a part of; empty if it is one by itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub call: String,
    #[serde(flatten)]
    pub kind: OperationKind,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<CellChange>,
    /// What it did to the notebook's own metadata.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metadata: Vec<MetadataChange>,
    /// What leads back to the state of widgets that the notebook kept before, if that changed with the outputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub widgets: Option<BlobId>,
}

/// What somebody did to a run, beside starting it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunAction {
    Interrupted,
    /// Sent it the line for which it waited.
    AnsweredInput,
    /// An action of a later version.
    #[serde(other)]
    Unknown,
}

/// How a notebook was made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Creation {
    /// The path of the notebook that it is a copy of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<String>,
}

/// What an operation did to one member of the notebook's metadata, such as `kernelspec`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetadataChange {
    pub name: String,
    /// As JSON; `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// As JSON; `None` if it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// What an operation did to one cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellChange {
    pub id: CellId,
    /// `None` if it was inserted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<CellState>,
    /// `None` if it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<CellState>,
    /// It was moved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moved: bool,
}

/// A cell before or after an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellState {
    pub index: usize,
    /// The id of the cell before it; `None` for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<CellId>,
    /// The id of the cell after it; `None` for the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<CellId>,
    pub revision: String,
    /// Type, source, metadata and attachments.
    pub content: BlobId,
    /// Only where the operation changed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<OutputsState>,
}

/// The outputs of a cell before or after an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputsState {
    /// Tells these outputs from others.
    pub digest: BlobId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_count: Option<u64>,
    /// How many there are.
    pub items: usize,
    /// The times of their run in the cell's metadata, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<String>,
    /// Whether they are stored: those that the operation destroyed, up to a limit.
    #[serde(rename = "kept", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_retained: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Operation {
    /// The order in which operations were requested, whenever they ended.
    pub fn arrival(&self) -> (u64, OperationId) {
        let recorded = self.time.saturating_mul(1000).saturating_add(999);
        (if self.arrived == 0 { recorded } else { self.arrived }, self.id)
    }

    /// What it is called: `o41`.
    pub fn name(&self) -> String {
        self.id.to_string()
    }

    pub fn is_undo(&self) -> bool {
        matches!(self.kind, OperationKind::Undo(_))
    }

    /// The checkpoint's name, if it is one.
    pub fn checkpoint(&self) -> Option<&str> {
        match &self.kind {
            OperationKind::Checkpoint { name, .. } => Some(name),
            _ => None,
        }
    }

    /// Whether it changed nothing that could be undone.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty() && self.metadata.is_empty()
    }
}

impl CellChange {
    /// The state that the operation left, or the last one of a deleted cell.
    pub fn state(&self) -> Option<&CellState> {
        self.after.as_ref().or(self.before.as_ref())
    }

    /// Whether type, source, metadata or attachments changed.
    pub(crate) fn changes_content(&self) -> bool {
        self.before.as_ref().map(|state| &state.content) != self.after.as_ref().map(|state| &state.content)
    }

    /// Whether the outputs or the execution count changed.
    pub(crate) fn changes_outputs(&self) -> bool {
        let outputs = |state: &Option<CellState>| {
            let outputs = state.as_ref()?.outputs.as_ref()?;
            Some((outputs.digest.clone(), outputs.execution_count))
        };
        outputs(&self.before) != outputs(&self.after)
    }
}

//! One operation, as a line of the log.

use std::fmt;

use notebook::{CellId, RunId};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::BlobId;

/// Whom the record names for what a person did on the page or by a command.
pub const PERSON: &str = "person";

/// The number of an operation of a notebook, counted from 1. It is called `o41`.
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

/// The subject of an undo.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoScope {
    #[serde(rename = "undoes")]
    pub operations: Vec<OperationId>,
    /// The cells, if only what they did to some cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<CellId>>,
}

/// The kind of an operation. In a log, each has members of its own beside those of all operations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OperationKind {
    /// A name for this moment. It changes nothing.
    Checkpoint {
        #[serde(rename = "checkpoint")]
        name: String,
        /// The program made it by itself; otherwise somebody asked for it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_automatic: bool,
    },
    /// It made the notebook. Whatever was recorded before is about an earlier one at the same path.
    Creation {
        created: Creation,
    },
    /// An action of the person on a run, which changed nothing here.
    OnRun {
        run: RunId,
        action: RunAction,
    },
    Undo(UndoScope),
    /// An edit, or the outputs of these runs: of one in the log, of all runs of a call in the history.
    Change {
        #[serde(
            rename = "run",
            default,
            skip_serializing_if = "Vec::is_empty",
            serialize_with = "write_first",
            deserialize_with = "read_first"
        )]
        runs: Vec<RunId>,
    },
}

fn write_first<S: Serializer>(runs: &[RunId], serializer: S) -> Result<S::Ok, S::Error> {
    runs.first().serialize(serializer)
}

fn read_first<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<RunId>, D::Error> {
    RunId::deserialize(deserializer).map(|run| vec![run])
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
    /// The agent's name for itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The session that made it; empty if that was one call.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// The author of the change beside the agent: the name of a tool or a command.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tool: String,
    /// The call of a tool that it is a part of; empty if it is one by itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub call: String,
    #[serde(flatten)]
    pub kind: OperationKind,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<CellChange>,
    /// The changes of the notebook's own metadata.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metadata: Vec<MetadataChange>,
    /// The way back to the state of widgets that the notebook kept before, if that changed with the outputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub widgets: Option<BlobId>,
}

/// An action on a run, beside starting it.
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

/// The origin of a notebook.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Creation {
    /// The path of the notebook that it is a copy of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<String>,
}

/// A change of one member of the notebook's metadata, such as `kernelspec`.
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

/// A change of one cell.
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
    /// The number of outputs.
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

    /// Its name: `o41`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Operation;

    /// Lines as version 0.1.0 wrote them, before kinds were values.
    const LINES: [&str; 8] = [
        r#"{"id":1,"time":17,"created":{}}"#,
        r#"{"id":2,"time":17,"agent":"a","created":{"copy_of":"b.ipynb"}}"#,
        r#"{"id":3,"time":17,"arrived":16999,"agent":"a","session":"s","tool":"execute_cell","call":"c","run":"r1","cells":[{"id":"x","before":{"index":1,"previous":"w","next":"y","revision":"abc","content":"00","outputs":{"digest":"01","items":2,"kept":true}},"after":{"index":1,"previous":"w","next":"y","revision":"abc","content":"00","outputs":{"digest":"02","execution_count":3,"items":0}}}],"widgets":"04"}"#,
        r#"{"id":4,"time":17,"checkpoint":"tidy"}"#,
        r#"{"id":5,"time":17,"checkpoint":"before","is_automatic":true}"#,
        r#"{"id":6,"time":17,"agent":"person","run":"r2","action":"answered_input"}"#,
        r#"{"id":7,"time":17,"undoes":[3,2],"cells":[{"id":"x","after":{"index":0,"revision":"d","content":"05"},"moved":true}],"metadata":[{"name":"kernelspec","before":"{}","after":"1"}]}"#,
        r#"{"id":8,"time":17,"undoes":[7],"only":["x"]}"#,
    ];

    #[test]
    fn lines_are_written_as_they_were_read() {
        for line in LINES {
            let operation: Operation = serde_json::from_str(line).unwrap();
            assert_eq!(serde_json::to_string(&operation).unwrap(), line);
        }
    }

    #[test]
    fn an_action_of_a_later_version_is_an_action() {
        let line = r#"{"id":6,"time":17,"run":"r2","action":"paused","colour":"green"}"#;
        let operation: Operation = serde_json::from_str(line).unwrap();
        assert_eq!(operation.kind, OperationKind::OnRun { run: "r2".into(), action: RunAction::Unknown });
    }
}

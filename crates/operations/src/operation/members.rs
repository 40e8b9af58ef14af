//! The kind of an operation as a log has it: each kind has members of its own beside those of all operations.

use notebook::{CellId, RunId};
use serde::{Deserialize, Serialize};

use super::{Creation, OperationId, OperationKind, RunAction, UndoScope};

#[derive(Default, Serialize, Deserialize)]
pub(super) struct Members {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checkpoint: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_automatic: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    action: Option<RunAction>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created: Option<Creation>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    undoes: Vec<OperationId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    only: Option<Vec<CellId>>,
}

impl From<Members> for OperationKind {
    fn from(members: Members) -> Self {
        match (members.checkpoint, members.created, members.action, members.run) {
            (Some(name), ..) => Self::Checkpoint { name, is_automatic: members.is_automatic },
            (_, Some(creation), ..) => Self::Creation(creation),
            (_, _, Some(action), Some(run)) => Self::OnRun { run, action },
            (.., run) if members.undoes.is_empty() => Self::Change { runs: run.into_iter().collect() },
            _ => Self::Undo(UndoScope { operations: members.undoes, only: members.only }),
        }
    }
}

impl From<OperationKind> for Members {
    fn from(kind: OperationKind) -> Self {
        let none = Self::default();
        match kind {
            OperationKind::Change { runs } => Self { run: runs.into_iter().next(), ..none },
            OperationKind::Undo(UndoScope { operations, only }) => Self { undoes: operations, only, ..none },
            OperationKind::Checkpoint { name, is_automatic } => {
                Self { checkpoint: Some(name), is_automatic, ..none }
            }
            OperationKind::Creation(creation) => Self { created: Some(creation), ..none },
            OperationKind::OnRun { run, action } => Self { run: Some(run), action: Some(action), ..none },
        }
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

//! The form of an operation in a log: one JSON object for all kinds, in which each kind has members of its own.

use notebook::{CellId, RunId};
use serde::{Deserialize, Serialize};

use super::{
    CellChange, Creation, MetadataChange, Operation, OperationId, OperationKind, RunAction, UndoScope,
};
use crate::BlobId;

#[derive(Default, Serialize, Deserialize)]
pub(super) struct Line {
    id: OperationId,
    time: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    arrived: u64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    agent: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    session: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    tool: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    call: String,
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cells: Vec<CellChange>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    metadata: Vec<MetadataChange>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    widgets: Option<BlobId>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl From<Line> for Operation {
    fn from(line: Line) -> Self {
        let Line { id, time, arrived, agent, session, tool, call, cells, metadata, widgets, .. } = line;
        let kind = match (line.checkpoint, line.created, line.action, line.run) {
            (Some(name), ..) => OperationKind::Checkpoint { name, is_automatic: line.is_automatic },
            (_, Some(creation), ..) => OperationKind::Creation(creation),
            (_, _, Some(action), Some(run)) => OperationKind::OnRun { run, action },
            (.., run) if line.undoes.is_empty() => OperationKind::Change { runs: run.into_iter().collect() },
            _ => OperationKind::Undo(UndoScope { operations: line.undoes, only: line.only }),
        };
        Self { id, time, arrived, agent, session, tool, call, kind, cells, metadata, widgets }
    }
}

impl From<Operation> for Line {
    fn from(operation: Operation) -> Self {
        let Operation { id, time, arrived, agent, session, tool, call, kind, cells, metadata, widgets } =
            operation;
        let mut line = Self {
            id,
            time,
            arrived,
            agent,
            session,
            tool,
            call,
            cells,
            metadata,
            widgets,
            ..Self::default()
        };
        match kind {
            OperationKind::Change { runs } => line.run = runs.into_iter().next(),
            OperationKind::Undo(UndoScope { operations, only }) => {
                (line.undoes, line.only) = (operations, only);
            }
            OperationKind::Checkpoint { name, is_automatic } => {
                (line.checkpoint, line.is_automatic) = (Some(name), is_automatic);
            }
            OperationKind::Creation(creation) => line.created = Some(creation),
            OperationKind::OnRun { run, action } => (line.run, line.action) = (Some(run), Some(action)),
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

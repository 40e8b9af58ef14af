//! The agents that work on notebooks, as far as the records tell: for people.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use notebook::CellId;

use super::{Header, LOG, operations, sessions};

/// The record of a notebook about one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    /// The identity of the notebook.
    pub notebook: String,
    /// The agent's name for itself.
    pub agent: String,
    /// Empty if each of its calls is a session.
    pub session: String,
    /// Its last tool.
    pub tool: String,
    /// The cell that it changed last.
    pub cell: Option<CellId>,
    /// Its first and its last operation, in milliseconds since 1970.
    pub first: u64,
    pub last: u64,
    /// Whether its session is connected now.
    pub is_connected: bool,
}

/// Reads the records of all notebooks, each again only after it has changed.
#[derive(Debug, Default)]
pub struct Activities {
    known: HashMap<PathBuf, (u64, Vec<Activity>)>,
}

impl Activities {
    /// The agents that have changed a notebook since then, or are connected, the one who changed something last first. `root` is the
    /// folder of all logs.
    pub fn read(&mut self, root: &Path, since: SystemTime) -> Vec<Activity> {
        let mut found = HashMap::new();
        for entry in fs::read_dir(root).into_iter().flatten().flatten() {
            let log = entry.path().join(LOG);
            let Ok(metadata) = fs::metadata(&log) else { continue };
            let known = self.known.remove(&log).filter(|(length, _)| *length == metadata.len());
            // A log that nobody has changed for a day is read only if it was read before.
            let is_old = metadata.modified().is_ok_and(|at| at < since);
            if let Some(known) = known.or_else(|| (!is_old).then(|| (metadata.len(), activities(&log)))) {
                found.insert(log, known);
            }
        }
        self.known = found;
        let since = since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let since = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let all = self.known.values().flat_map(|(_, activities)| activities);
        let connected = all.map(|activity| Activity {
            is_connected: sessions::is_connected(root, &activity.session),
            ..activity.clone()
        });
        let mut all: Vec<_> = connected.filter(|it| it.is_connected || it.last >= since).collect();
        all.sort_by_key(|activity| std::cmp::Reverse(activity.last));
        all
    }
}

fn activities(log: &Path) -> Vec<Activity> {
    let text = fs::read(log).unwrap_or_default();
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Ok(Header { notebook, .. }) = serde_json::from_slice::<Header>(first) else { return Vec::new() };
    let mut all: Vec<Activity> = Vec::new();
    for operation in operations(&text).filter(|operation| !operation.agent.is_empty()) {
        let is_it =
            |known: &&mut Activity| known.agent == operation.agent && known.session == operation.session;
        let cell = operation.cells.last().map(|change| change.id.clone());
        match all.iter_mut().find(is_it) {
            Some(known) => {
                (known.last, known.tool) = (operation.time, operation.tool);
                known.cell = cell.or(known.cell.take());
            }
            None => all.push(Activity {
                notebook: notebook.clone(),
                agent: operation.agent,
                session: operation.session,
                tool: operation.tool,
                cell,
                first: operation.time,
                last: operation.time,
                is_connected: false,
            }),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Blobs, CellChange, Operation, OperationLog, SessionLock};

    fn made(log: &OperationLog, agent: &str, session: &str, time: u64, cell: &str) {
        let change = CellChange { id: cell.into(), before: None, after: None, moved: false };
        let operation = Operation {
            agent: agent.to_owned(),
            session: session.to_owned(),
            time,
            tool: format!("tool at {time}"),
            cells: vec![change],
            ..Operation::default()
        };
        log.append(operation, &Blobs::default()).unwrap();
    }

    #[test]
    fn each_agent_is_where_it_changed_something_last() {
        let root = tempfile::tempdir().unwrap();
        let (a, b) = (OperationLog::new(root.path(), "a"), OperationLog::new(root.path(), "b"));
        let lock = SessionLock::default();
        let session = a.hold(&lock);
        made(&a, "claude", &session, 10_000, "x");
        made(&a, "claude", &session, 20_000, "y");
        made(&b, "codex", "", 90_000, "z");
        made(&b, "gone", "abc", 5_000, "z");
        let mut activities = Activities::default();
        let since = SystemTime::UNIX_EPOCH + Duration::from_secs(60);
        let mut read = || {
            let all = activities.read(root.path(), since);
            let shown = all.iter().map(|it| {
                let cell = it.cell.as_deref().unwrap_or_default();
                format!("{} {} {cell} {}-{} {}", it.agent, it.notebook, it.first, it.last, it.is_connected)
            });
            shown.collect::<Vec<_>>()
        };
        assert_eq!(read(), ["codex b z 90000-90000 false", "claude a y 10000-20000 true"]);
        made(&a, "claude", &session, 95_000, "x");
        assert_eq!(read(), ["claude a x 10000-95000 true", "codex b z 90000-90000 false"]);
        drop(lock);
        assert_eq!(read(), ["claude a x 10000-95000 false", "codex b z 90000-90000 false"]);
    }
}

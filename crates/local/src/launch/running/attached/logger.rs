//! What a keeper's log holds about the runs on its kernel, from which a later server knows what each of them was.

use std::sync::Arc;

use keeper::{ClientFrame, KeeperHandle, NoteData, OrphanedExecution as Orphaned};
use kernel::RunAnnouncement;
use kernel::log::Note;
use notebook::CellId;
use place::{ClientExecutor, NotebookPath, Orphan, OrphanedExecution, RunDetails, RunId, RunLogger};

use files::Root;

/// The log of a keeper.
pub(crate) struct KeeperLogger {
    pub(crate) keeper: KeeperHandle,
    pub(crate) root: Root,
    /// Whether this process only stores runs, of which the next server has to tell.
    pub(crate) only_stores: bool,
}

impl KeeperLogger {
    /// A run of an earlier server that this connection has adopted.
    pub(crate) fn orphan(&self, orphaned: Orphaned, executor: &Arc<ClientExecutor>) -> Orphan {
        let Orphaned { note, noted_at, is_stored, is_acknowledged, execution } = orphaned;
        let data: NoteData = serde_json::from_value(note.data).unwrap_or_default();
        let notebook = data.notebook.and_then(|path| self.root.relative(&path)).map(NotebookPath::new);
        let cell = data.cell.map(CellId::new);
        let NoteData { source, shown_before, .. } = data;
        let note = RunDetails { run: RunId::new(note.run), notebook, cell, source, shown_before };
        let execution =
            execution.map(|(id, events)| OrphanedExecution { execution: executor.execution(id), events });
        let (requested_at, executor) = (noted_at, executor.clone());
        Orphan { note, requested_at, is_stored, is_acknowledged, execution, executor }
    }
}

impl RunLogger for KeeperLogger {
    fn announcement(&self, run: &RunDetails) -> RunAnnouncement {
        RunAnnouncement { run: run.run.to_string(), data: data(&self.root, run) }
    }

    fn acknowledge(&self, run: &RunId) {
        let run = run.to_string();
        self.keeper.send(if self.only_stores {
            ClientFrame::Store { run }
        } else {
            ClientFrame::Acknowledge { run }
        });
    }

    fn interrupts_alone(&self) -> bool {
        true
    }
}

/// What an agent should know of the runs that other servers have begun: each cell once. `None` if there are none.
pub(crate) fn describe_others(notes: Vec<Note>) -> Option<String> {
    let (mut cells, mut runs) = (Vec::new(), Vec::new());
    for Note { run, data, .. } in notes {
        let data: NoteData = serde_json::from_value(data).unwrap_or_default();
        match data.cell {
            Some(cell) if cells.contains(&cell) => {}
            Some(cell) => cells.push(cell),
            None => runs.push(run),
        }
    }
    let named = |what: &str, ids: &[String]| match ids {
        [] => None,
        [id] => Some(format!("{what} {id}")),
        ids => Some(format!("{what}s {}", ids.join(", "))),
    };
    let ran: Vec<_> = [named("cell", &cells), named("run", &runs)].into_iter().flatten().collect();
    (!ran.is_empty()).then(|| {
        format!(
            "Another server has used this kernel since: {}. Its variables may have changed.",
            ran.join("; ")
        )
    })
}

/// What a keeper's log is to hold about a run whose request is not sent yet.
pub(crate) fn note_of(root: &Root, note: &RunDetails) -> Note {
    Note { run: note.run.to_string(), message: None, data: data(root, note) }
}

fn data(root: &Root, note: &RunDetails) -> serde_json::Value {
    let notebook = note.notebook.as_deref().and_then(|path| root.resolve(path).ok());
    let cell = note.cell.as_ref().map(ToString::to_string);
    let folder = notebook.is_none().then(|| root.real().to_path_buf());
    let (source, shown_before) = (note.source.clone(), note.shown_before.clone());
    let data = NoteData { notebook, folder, cell, source, shown_before };
    serde_json::to_value(&data).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_other_servers_ran_is_said_once_for_each_cell() {
        let note = |run: &str, cell: Option<&str>| Note {
            run: run.to_owned(),
            message: Some("m".to_owned()),
            data: serde_json::json!({ "cell": cell }),
        };
        assert_eq!(describe_others(Vec::new()), None);
        let notes = [note("r1", Some("a")), note("r2", Some("b")), note("r3", Some("a")), note("r4", None)];
        let said = describe_others(notes.into()).unwrap();
        assert!(said.contains(": cells a, b; run r4."), "{said}");
    }
}

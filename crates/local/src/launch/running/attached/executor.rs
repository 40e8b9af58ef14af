//! Runs code on a kernel with a keeper, with notes from which a later server knows what each run was.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use keeper::{ClientFrame, KeeperHandle, NoteData, OrphanedExecution as Orphaned};
use kernel::log::Note;
use kernel::{Client, ExecutionId, MemoryError, RunAnnouncement, Sink, Status};
use notebook::{CellId, Json};
use place::{Code, Execution, Executor, NotebookPath, Orphan, OrphanedExecution, RunDetails, RunId};
use tokio::sync::watch;

use crate::root::Root;

pub(crate) struct AttachedExecutor {
    pub(crate) client: Client,
    pub(crate) keeper: KeeperHandle,
    pub(crate) root: Root,
    /// Whether this process only stores runs, of which the next server has to tell.
    pub(crate) only_stores: bool,
}

impl AttachedExecutor {
    /// A run of an earlier server that this connection has adopted.
    pub(crate) fn orphan(self: &Arc<Self>, orphaned: Orphaned) -> Orphan {
        let Orphaned { note, noted_at, is_stored, is_acknowledged, execution } = orphaned;
        let data: NoteData = serde_json::from_value(note.data).unwrap_or_default();
        let notebook = data.notebook.and_then(|path| self.root.relative(&path)).map(NotebookPath::new);
        let cell = data.cell.map(CellId::new);
        let NoteData { source, shown_before, .. } = data;
        let note = RunDetails { run: RunId::new(note.run), notebook, cell, source, shown_before };
        let execution = execution.map(|(id, events)| OrphanedExecution {
            execution: Arc::new(AttachedExecution { client: self.client.clone(), id }),
            events,
        });
        let (requested_at, executor) = (noted_at, self.clone());
        Orphan { note, requested_at, is_stored, is_acknowledged, execution, executor }
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

impl Executor for AttachedExecutor {
    fn execute(&self, code: Code<'_>, sink: Sink) -> Arc<dyn Execution> {
        let note = RunAnnouncement { run: code.note.run.to_string(), data: data(&self.root, code.note) };
        let id = self.client.execute_with_note(code.source, Some(note), sink);
        Arc::new(AttachedExecution { client: self.client.clone(), id })
    }

    fn prepare_changes(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.client.prepare_changes())
    }

    fn acknowledge(&self, run: &RunId) {
        let run = run.to_string();
        self.keeper.send(if self.only_stores {
            ClientFrame::Store { run }
        } else {
            ClientFrame::Acknowledge { run }
        });
    }

    fn status(&self) -> watch::Receiver<Status> {
        self.client.status()
    }

    fn language_info(&self) -> Json {
        self.client.language_info().clone()
    }

    fn widget_state(&self) -> BoxFuture<'_, Option<Json>> {
        Box::pin(self.client.widget_state())
    }

    fn ask_memory<'a>(
        &'a self,
        question: &'a serde_json::Value,
        limit: Duration,
    ) -> BoxFuture<'a, Result<Json, MemoryError>> {
        Box::pin(self.client.ask_memory(question, limit))
    }
}

struct AttachedExecution {
    client: Client,
    id: ExecutionId,
}

impl Execution for AttachedExecution {
    fn answer_input(&self, line: String) -> bool {
        self.client.answer_input(&self.id, line)
    }

    fn changes(&self, count: u64) -> BoxFuture<'_, Option<Json>> {
        Box::pin(self.client.changes(&self.id, count))
    }

    fn interrupt(&self) -> bool {
        self.client.interrupt_execution(&self.id);
        true
    }
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

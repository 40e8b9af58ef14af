//! What a keeper's log holds about the runs on its kernel, from which a later server knows what each of them was.

use std::path::Path;
use std::sync::Arc;

use keeper::{ClientFrame, KeeperHandle, OrphanedExecution};
use kernel::log::{AdoptedRun, Announcement};
use place::{ClientExecutor, NotebookPath, Orphan, RunDetails, RunId, RunLogger};

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
    pub(crate) fn orphan(&self, orphaned: OrphanedExecution, executor: &Arc<ClientExecutor>) -> Orphan {
        let OrphanedExecution { run, execution } = orphaned;
        let AdoptedRun { announcement, announced_at, is_stored, is_acknowledged } = run;
        let data = serde_json::from_value(announcement.data).unwrap_or_default();
        let details = details_of(&self.root, announcement.run, data);
        let execution = execution.map(|(id, events)| (executor.execution(id), events));
        let (requested_at, executor) = (announced_at, executor.clone());
        Orphan { details, requested_at, is_stored, is_acknowledged, execution, executor }
    }
}

impl RunLogger for KeeperLogger {
    fn announcement(&self, run: &RunDetails) -> Announcement {
        announcement_of(&self.root, run)
    }

    fn acknowledge(&self, run: &RunId) {
        let run = run.clone();
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

/// What a keeper's log is to hold about a run whose request is not sent yet.
pub(crate) fn announcement_of(root: &Root, details: &RunDetails) -> Announcement {
    let notebook = details.notebook.as_deref().and_then(|path| root.resolve(path).ok());
    let folder = notebook.is_none().then(|| root.real().to_path_buf());
    let notebook = notebook.map(|path| NotebookPath::new(path.to_string_lossy()));
    let data = serde_json::to_value(RunDetails { notebook, folder, ..details.clone() }).unwrap_or_default();
    Announcement { run: details.run.clone(), message: None, data }
}

/// A run in a keeper's log.
pub(crate) fn details_of(root: &Root, run: RunId, data: RunDetails) -> RunDetails {
    let notebook = data.notebook.and_then(|path| root.relative(Path::new(&*path))).map(NotebookPath::new);
    RunDetails { run, notebook, folder: None, ..data }
}

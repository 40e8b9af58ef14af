//! The connection to the keeper of a kernel that runs, and what the keeper's log holds about the runs there, from which a later server
//! knows what each of them was.

use std::path::Path;
use std::sync::Arc;

use keeper::{ClientFrame, KeeperHandle};
use kernel::log::Announcement;
use parking_lot::Mutex;
use place::{NotebookPath, RunDetails, RunId, RunLogger};
use tokio::sync::watch;

use files::Root;

/// A connection to a keeper.
pub(crate) struct AttachedKernel {
    pub(crate) logger: Arc<KeeperLogger>,
    orphaned: Mutex<watch::Receiver<u64>>,
    /// The kernel's process, as its keeper says. Another process has another connection.
    pub(crate) process: Option<u32>,
}

impl AttachedKernel {
    pub(crate) fn new(logger: Arc<KeeperLogger>, process: Option<u32>) -> Self {
        let orphaned = Mutex::new(logger.keeper.orphaned());
        Self { logger, orphaned, process }
    }

    /// Whether another server has left runs behind since the last call.
    pub(crate) fn has_new_orphans(&self) -> bool {
        let mut orphaned = self.orphaned.lock();
        let is_new = orphaned.has_changed().unwrap_or(false);
        orphaned.mark_unchanged();
        is_new
    }

    /// Lets a later server know of a run that waits for its turn. `false` if the connection has ended.
    pub(crate) fn announce(&self, details: &RunDetails) -> bool {
        self.logger.keeper.send(ClientFrame::Announce(self.logger.announcement(details)))
    }
}

/// The log of a keeper.
pub(crate) struct KeeperLogger {
    pub(crate) keeper: KeeperHandle,
    pub(crate) root: Root,
    /// Whether this process only stores runs, of which the next server has to tell.
    pub(crate) only_stores: bool,
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
    RunDetails { notebook, folder, ..details.clone() }.announcement()
}

/// A run in a keeper's log.
pub(crate) fn details_of(root: &Root, announcement: &Announcement) -> RunDetails {
    let details = RunDetails::announced(announcement);
    let notebook = details.notebook.and_then(|path| root.relative(Path::new(&*path))).map(NotebookPath::new);
    RunDetails { notebook, folder: None, ..details }
}

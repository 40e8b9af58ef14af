//! What a keeper's log holds about the runs on its kernel, from which a later server knows what each of them was.

use std::path::Path;

use keeper::{ClientFrame, KeeperHandle};
use kernel::log::Announcement;
use place::{NotebookPath, RunDetails, RunId, RunLogger};

use files::Root;

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

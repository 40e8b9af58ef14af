//! Notices that other programs changed an open notebook.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::Documents;

/// Watches the folders of open notebooks. Where the system has no watches left, changes are noticed when a
/// notebook is next used, and by nothing else.
pub(crate) struct Watch {
    documents: Arc<Documents>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// `None` until the first notebook is opened, and for ever if there is no watcher to be had.
    watcher: Option<RecommendedWatcher>,
    has_failed: bool,
    folders: HashSet<PathBuf>,
    /// Ends with this.
    reader: JoinSet<()>,
}

/// Files that changed and were not looked at yet. Never more than are open.
#[derive(Default)]
struct Changed {
    files: Mutex<HashSet<PathBuf>>,
    some: Notify,
}

impl Watch {
    pub(crate) fn new(documents: Arc<Documents>) -> Self {
        Self { documents, state: Mutex::default() }
    }

    /// Watches the folder of `file` from now on.
    pub(crate) fn watch(&self, file: &Path) {
        let Some(folder) = file.parent() else { return };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { watcher, has_failed, folders, reader } = &mut *state;
        if watcher.is_none() && !*has_failed {
            match begin(&self.documents, reader) {
                Ok(new) => *watcher = Some(new),
                Err(error) => {
                    tracing::warn!("changes by other programs are noticed late: {error}");
                    *has_failed = true;
                }
            }
        }
        let Some(watcher) = watcher else { return };
        folders.retain(|folder| {
            let is_used = self.documents.has_any_in(folder);
            if !is_used {
                let _ = watcher.unwatch(folder);
            }
            is_used
        });
        if !folders.contains(folder) {
            match watcher.watch(folder, RecursiveMode::NonRecursive) {
                Ok(()) => drop(folders.insert(folder.to_path_buf())),
                Err(error) => tracing::warn!("changes in {} are noticed late: {error}", folder.display()),
            }
        }
    }
}

fn begin(documents: &Arc<Documents>, reader: &mut JoinSet<()>) -> notify::Result<RecommendedWatcher> {
    let changed = Arc::new(Changed::default());
    let (noticed, known) = (changed.clone(), documents.clone());
    let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        let Ok(event) = event else { return };
        if is_reading(event.kind) {
            return;
        }
        let open = event.paths.into_iter().filter(|path| known.get(path).is_some());
        noticed.files.lock().unwrap_or_else(PoisonError::into_inner).extend(open);
        noticed.some.notify_one();
    })?;
    let documents = documents.clone();
    reader.spawn(async move {
        loop {
            changed.some.notified().await;
            let files = std::mem::take(&mut *changed.files.lock().unwrap_or_else(PoisonError::into_inner));
            for file in files {
                if let Some(document) = documents.get(&file) {
                    document.look().await;
                }
            }
        }
    });
    Ok(watcher)
}

/// Whether an event tells of nothing that could have changed a file. Our own reading makes many of them.
fn is_reading(kind: EventKind) -> bool {
    matches!(kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}

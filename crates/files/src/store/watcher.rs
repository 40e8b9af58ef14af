//! Notices when other programs change an open notebook.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::OpenDocuments;
use crate::real_path::{for_watcher, from_watcher};

/// Watches the folders of open notebooks. If the operating system has no watches left, changes are noticed only when
/// a notebook is used again.
pub(crate) struct ChangeWatcher {
    documents: Arc<OpenDocuments>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// `None` until the first notebook is opened, and if it cannot be created.
    watcher: Option<RecommendedWatcher>,
    has_failed: bool,
    folders: HashSet<PathBuf>,
    /// Reads changed files again; stopped when this is dropped.
    reader: JoinSet<()>,
}

/// Changed files that are not yet read again. Bounded by the number of open documents.
#[derive(Default)]
struct Changed {
    files: Mutex<HashSet<PathBuf>>,
    any: Notify,
}

impl ChangeWatcher {
    pub(crate) fn new(documents: Arc<OpenDocuments>) -> Self {
        Self { documents, state: Mutex::default() }
    }

    pub(crate) fn watch(&self, file: &Path) {
        let Some(folder) = file.parent() else { return };
        let mut state = self.state.lock();
        let State { watcher, has_failed, folders, reader } = &mut *state;
        if watcher.is_none() && !*has_failed {
            match start(&self.documents, reader) {
                Ok(new) => *watcher = Some(new),
                Err(error) => {
                    tracing::warn!("changes by other programs are noticed only at the next use: {error}");
                    *has_failed = true;
                }
            }
        }
        let Some(watcher) = watcher else { return };
        folders.retain(|folder| {
            let is_used = self.documents.has_any_in(folder);
            if !is_used {
                let _ = watcher.unwatch(&for_watcher(folder));
            }
            is_used
        });
        if !folders.contains(folder) {
            match watcher.watch(&for_watcher(folder), RecursiveMode::NonRecursive) {
                Ok(()) => drop(folders.insert(folder.to_path_buf())),
                Err(error) => tracing::warn!(
                    "changes in {} are noticed only at the next use: {error}",
                    folder.display()
                ),
            }
        }
    }
}

fn start(documents: &Arc<OpenDocuments>, reader: &mut JoinSet<()>) -> notify::Result<RecommendedWatcher> {
    let changed = Arc::new(Changed::default());
    let (noticed, open_documents) = (changed.clone(), documents.clone());
    let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        let Ok(event) = event else { return };
        if is_reading(event.kind) {
            return;
        }
        let paths = event.paths.into_iter().map(from_watcher);
        let open = paths.filter(|path| open_documents.get(path).is_some());
        noticed.files.lock().extend(open);
        noticed.any.notify_one();
    })?;
    let documents = documents.clone();
    reader.spawn(async move {
        loop {
            changed.any.notified().await;
            let files = std::mem::take(&mut *changed.files.lock());
            for file in files {
                if let Some(document) = documents.get(&file) {
                    document.refresh_if_read().await;
                }
            }
        }
    });
    Ok(watcher)
}

/// Whether an event cannot have changed a file. This program's own reading causes many of these.
fn is_reading(kind: EventKind) -> bool {
    matches!(kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}

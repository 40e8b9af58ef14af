//! Edits a notebook that can only be read and written as a whole, while other programs write it too.
//!
//! No lock keeps the others out, so each edit is made optimistically: read, edit, compare, write. Example: the notebook
//! is at version 1.
//!
//! 1. We read version 1 and append a cell to our copy.
//! 2. Somebody else saves version 2 with a changed first cell.
//! 3. [`NotebookStore::replace`] compares, finds version 2 instead of 1, and returns [`Replaced::Conflict`].
//! 4. We read version 2, append the cell to that, and replace it by version 3, which has both changes.
//!
//! If the edit was to the first cell as version 1 had it, step 4 fails instead: [`Expected::check`] finds another
//! revision, and the agent gets the new source.

use std::future::Future;
use std::time::{Duration, Instant};

use notebook::{Edit, Notebook};
use operations::IdRecord;
use tokio::sync::{Mutex, watch};

use crate::recorded_ids::RecordedIds;
use crate::{Error, Expected};

/// Where a notebook is stored.
pub trait NotebookStore: Send + Sync + 'static {
    /// Identifies one content of the notebook.
    type Version: Clone + Send + Sync;

    /// How often an edit is tried while others change the notebook.
    const MAX_ATTEMPTS: u32;
    const RETRY_DELAY: Duration;

    /// The path that agents see.
    fn path(&self) -> &str;

    /// Reads the notebook, unless it still has the content `known`.
    fn read(
        &self,
        known: Option<&CachedVersion<Self::Version>>,
    ) -> impl Future<Output = Result<Content<Self::Version>, Error>> + Send;

    /// Replaces the notebook by `edited`, which is `current` after `edits`, if the content is still `current`.
    fn replace(
        &self,
        current: &CachedVersion<Self::Version>,
        edited: Notebook,
        edits: &[Edit],
    ) -> impl Future<Output = Result<Replaced<Self::Version>, Error>> + Send;
}

/// The last known content of a notebook.
#[derive(Debug, Clone)]
pub struct CachedVersion<V> {
    pub notebook: Notebook,
    pub version: V,
    /// When it was last compared with the store.
    pub checked: Instant,
}

/// How [`NotebookStore::read`] ended.
pub enum Content<V> {
    /// The notebook is the known one; its version may be another if it was written again with the same content.
    Unchanged {
        version: V,
    },
    Changed {
        notebook: Notebook,
        version: V,
    },
}

/// How [`NotebookStore::replace`] ended.
pub enum Replaced<V> {
    /// The store contains the notebook now.
    Written { notebook: Notebook, version: V },
    /// Somebody else changed the notebook before; nothing was written.
    Conflict,
    /// It was written, but somebody else wrote at the same moment. The file now has one of the two contents.
    Race,
}

/// A notebook in a store. Its last known content is kept, so that it is parsed only after a change by others.
pub struct StoredNotebook<S: NotebookStore> {
    store: S,
    /// Held while the notebook is read or written, so edits are made one after the other.
    known: Mutex<Option<CachedVersion<S::Version>>>,
    ids: RecordedIds,
    changes: watch::Sender<u64>,
}

impl<S: NotebookStore> StoredNotebook<S> {
    /// `changes` is increased whenever somebody else has changed the notebook. Reads nothing yet.
    pub fn new(store: S, changes: watch::Sender<u64>) -> Self {
        Self { store, known: Mutex::new(None), ids: RecordedIds::default(), changes }
    }

    /// Takes the ids of cells that the file does not tell apart from a record, and keeps them there. Only the first record counts.
    pub async fn record_ids(&self, record: IdRecord) {
        if self.ids.is_set() {
            return;
        }
        // Nobody has been told the ids of a notebook that was read without its record.
        let mut known = self.known.lock().await;
        self.ids.set(record);
        if let Some(known) = &mut *known {
            self.ids.identify(&mut known.notebook, None).await;
        }
    }

    pub fn store(&self) -> &S {
        &self.store
    }

    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub async fn snapshot(&self) -> Result<Notebook, Error> {
        let mut known = self.known.lock().await;
        Ok(self.refresh(&mut known).await?.notebook)
    }

    /// The notebook as it was at `since` or later.
    pub async fn snapshot_since(&self, since: Instant) -> Result<Notebook, Error> {
        let mut known = self.known.lock().await;
        if let Some(known) = known.as_ref().filter(|known| known.checked >= since) {
            return Ok(known.notebook.clone());
        }
        Ok(self.refresh(&mut known).await?.notebook)
    }

    /// Takes the known content for that of the store at `seen` if `is_same` says so of its version. Reads it otherwise.
    pub async fn confirm(
        &self,
        seen: Instant,
        is_same: impl FnOnce(&S::Version) -> bool + Send,
    ) -> Result<(), Error> {
        let mut known = self.known.lock().await;
        match &mut *known {
            Some(known) if is_same(&known.version) => known.checked = known.checked.max(seen),
            _ => drop(self.refresh(&mut known).await?),
        }
        Ok(())
    }

    /// Reads the notebook again if it was read before, so that subscribers are notified of a change.
    pub async fn refresh_if_read(&self) {
        let mut known = self.known.lock().await;
        if known.is_some()
            && let Err(error) = self.refresh(&mut known).await
        {
            tracing::debug!("{}: {}", self.store.path(), error.cause);
        }
    }

    /// Applies all of `edits` or none to the newest content.
    pub async fn apply(&self, edits: &[Edit], expected: &[Expected]) -> Result<Notebook, Error> {
        let mut known = self.known.lock().await;
        for _ in 0..S::MAX_ATTEMPTS {
            let current = self.refresh(&mut known).await?;
            for expected in expected {
                expected.check(&current.notebook)?;
            }
            let mut edited = current.notebook.clone();
            for edit in edits {
                edited.apply(edit).map_err(|error| Error::edit_refused(self.store.path(), error))?;
            }
            match self.replace(&current, edited, edits).await? {
                Replaced::Written { notebook, version } => {
                    *known =
                        Some(CachedVersion { notebook: notebook.clone(), version, checked: Instant::now() });
                    return Ok(notebook);
                }
                Replaced::Conflict => {}
                Replaced::Race => {
                    let current = self.refresh(&mut known).await?;
                    if edits.iter().all(|edit| edit.is_applied(&current.notebook)) {
                        return Ok(current.notebook);
                    }
                }
            }
            tokio::time::sleep(S::RETRY_DELAY).await;
        }
        Err(Error::notebook_busy(self.store.path()))
    }

    /// Replaces the notebook, and records the ids of its cells before other programs look for them.
    async fn replace(
        &self,
        current: &CachedVersion<S::Version>,
        edited: Notebook,
        edits: &[Edit],
    ) -> Result<Replaced<S::Version>, Error> {
        let lacks_ids = edited.lacks_ids();
        let is_recorded = current.notebook.lacks_ids() != lacks_ids || (lacks_ids && changes_ids(edits));
        let locked = if is_recorded { self.ids.lock(lacks_ids).await } else { None };
        let replaced = self.store.replace(current, edited, edits).await?;
        if let Replaced::Written { notebook, .. } = &replaced {
            self.ids.write(locked, notebook).await;
        }
        Ok(replaced)
    }

    async fn refresh(
        &self,
        known: &mut Option<CachedVersion<S::Version>>,
    ) -> Result<CachedVersion<S::Version>, Error> {
        let checked = Instant::now();
        let content = self.store.read(known.as_ref()).await?;
        // Stays known if the caller goes away during the next wait.
        let before = known.clone();
        let (notebook, version) = match (content, &before) {
            (Content::Unchanged { version }, Some(before)) => (before.notebook.clone(), version),
            (Content::Unchanged { .. }, None) => {
                return Err(Error::notebook_task_failed("an unread notebook was reported as unchanged"));
            }
            (Content::Changed { mut notebook, version }, before) => {
                self.ids.identify(&mut notebook, before.as_ref().map(|before| &before.notebook)).await;
                if before.is_some() {
                    self.changes.send_modify(|count| *count += 1);
                }
                (notebook, version)
            }
        };
        Ok(known.insert(CachedVersion { notebook, version, checked }).clone())
    }
}

/// Whether edits change the ids of cells, or what identifies a cell in a file without ids.
fn changes_ids(edits: &[Edit]) -> bool {
    let keeps = |edit: &Edit| {
        matches!(edit, Edit::SetOutputs { .. } | Edit::MergeMetadata { .. } | Edit::SetMetadata { .. })
    };
    !edits.iter().all(keeps)
}

#[cfg(test)]
mod tests;

//! The ids of cells that their file does not tell apart, from one program to the next.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use notebook::Notebook;
use operations::{IdRecord, LockedIds};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::timeout;

/// How long an edit or a reading waits for the record. It takes less than a millisecond unless the disk is slow or another program
/// replaces the notebook.
const RECORD_WAIT: Duration = Duration::from_millis(200);

/// The record of a notebook's ids, as one document uses it. Nothing fails because of it.
#[derive(Default)]
pub(crate) struct RecordedIds {
    record: OnceLock<IdRecord>,
    /// Whether more is known here than is recorded, because the record was out of reach.
    is_behind: AtomicBool,
}

impl RecordedIds {
    pub(crate) fn is_set(&self) -> bool {
        self.record.get().is_some()
    }

    /// Uses this record from now on, unless there is one.
    pub(crate) fn set(&self, record: IdRecord) {
        let _ = self.record.set(record);
    }

    /// Gives cells of a notebook that was just read the ids that they had before: in this document, or in other programs.
    pub(crate) async fn identify(&self, notebook: &mut Notebook, before: Option<&Notebook>) {
        if !notebook.lacks_ids() && before.is_some_and(|before| !before.lacks_ids()) {
            return;
        }
        let locked = self.lock(notebook.lacks_ids()).await;
        let recorded = locked.as_ref().and_then(LockedIds::ids);
        let recorded = recorded.filter(|_| before.is_none() || !self.is_behind.load(Ordering::Relaxed));
        match (recorded, before) {
            (Some(recorded), _) => notebook.take_ids(recorded),
            (None, Some(before)) => notebook.carry_ids(before),
            (None, None) => {}
        }
        self.write(locked, notebook).await;
    }

    /// Keeps other programs from the record while the notebook is replaced. `None` if that is not possible, or there is nothing to
    /// record.
    pub(crate) async fn lock(&self, creates: bool) -> Option<LockedIds> {
        let record = self.record.get()?.clone();
        self.in_time(spawn_blocking(move || record.lock(creates))).await.flatten()
    }

    /// Records the ids of a notebook that is stored now.
    pub(crate) async fn write(&self, locked: Option<LockedIds>, notebook: &Notebook) {
        let Some(mut locked) = locked else { return };
        let ids = notebook.lacks_ids().then(|| notebook.assigned_ids());
        let is_written = locked.ids() == ids.as_ref()
            || self.in_time(spawn_blocking(move || locked.write(ids))).await.is_some();
        self.is_behind.store(!is_written, Ordering::Relaxed);
    }

    async fn in_time<T>(&self, work: impl Future<Output = Result<io::Result<T>, JoinError>>) -> Option<T> {
        let problem = match timeout(RECORD_WAIT, work).await {
            Ok(Ok(Ok(done))) => return Some(done),
            Ok(Ok(Err(error))) => error.to_string(),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        tracing::debug!("a later server may assign other ids to cells without ids: {problem}");
        self.is_behind.store(true, Ordering::Relaxed);
        None
    }
}

//! A notebook that people edit together: our copy of its document, kept like the server's over the room's WebSocket.

mod confirmation;
mod connection;
mod connection_state;
mod disconnect;
mod edits;
mod file_location;
mod file_lookup;
mod inbound;
mod replica;
mod room_address;
mod save_queue;
mod shared;

use std::sync::Arc;
use std::time::Duration;

use notebook::{Edit, Notebook};
use parking_lot::{Mutex, MutexGuard};
use place::{Applied, Error, Expected};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use ydoc::Dialect;

use crate::server_handle::ServerHandle;
use shared::{Shared, State};

/// Time limit for leaving a room.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(2);

/// A live document. Its connection ends with it.
pub(crate) struct LiveDocument {
    shared: Arc<Shared>,
    stop: CancellationToken,
    connection: Mutex<Option<JoinHandle<()>>>,
}

impl LiveDocument {
    /// Joins the room of the notebook at `path`, which exists, and waits for its content. `None` if the server has no
    /// rooms of this dialect.
    pub(crate) async fn open(
        handle: Arc<ServerHandle>,
        path: String,
        dialect: Dialect,
        size: u64,
        changes: watch::Sender<u64>,
    ) -> Result<Option<Self>, Error> {
        let shared = Arc::new(Shared::new(handle, path, dialect, size, changes));
        let stop = CancellationToken::new();
        let task = place::spawn(connection::run(shared.clone(), stop.clone()));
        let live = Self { shared, stop, connection: Mutex::new(Some(task)) };
        match live.shared.synced().await {
            Ok(()) => Ok(Some(live)),
            Err(_) if live.is_unavailable() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether the server no longer has rooms.
    pub(crate) fn is_unavailable(&self) -> bool {
        self.shared.has_no_rooms()
    }

    /// Whether every edit is in the file, the file is where it was, and no lost edit is left to report.
    pub(crate) fn is_settled(&self) -> bool {
        let state = self.shared.state();
        state.pending.is_empty() && state.renamed().is_none() && state.pending.lost().is_none()
    }

    /// The document and its location. Never locked across an await.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state()
    }

    pub(crate) async fn snapshot(&self) -> Result<Notebook, Error> {
        self.shared.synced().await?;
        self.shared.snapshot(&mut self.shared.state())
    }

    pub(crate) async fn apply(&self, edits: Vec<Edit>, expected: Vec<Expected>) -> Result<Applied, Error> {
        // A task of its own: the caller may be cancelled, and must not leave an edit unconfirmed.
        let shared = self.shared.clone();
        let task = tokio::spawn(async move { edits::apply(&shared, edits, expected).await });
        task.await.unwrap_or_else(|error| Err(Error::notebook_task_failed(error)))
    }

    /// Applies edits without waiting until they are in the file.
    pub(crate) fn show(&self, edits: &[Edit]) -> Result<bool, Error> {
        edits::show(&self.shared, edits)
    }

    /// See [`edits::remove_default_cell`].
    pub(crate) fn remove_default_cell(&self) {
        if let Err(error) = edits::remove_default_cell(&self.shared) {
            tracing::debug!(%error, "the empty cell of a new notebook was not removed");
        }
    }

    /// Whether another file is now at the path under which this one was opened.
    pub(crate) async fn is_displaced(&self) -> bool {
        file_lookup::is_displaced(&self.shared).await
    }

    /// A sentence about edits that were lost, until an answer has reported it.
    pub(crate) fn lost_edits(&self) -> Option<String> {
        self.shared.state().pending.lost().as_deref().map(edits::describe_lost)
    }

    /// Removes our presence and closes the connection. Bounded.
    pub(crate) async fn leave(&self) {
        self.shared.state().replica.leave_all();
        self.stop.cancel();
        let task = self.connection.lock().take();
        if let Some(task) = task {
            let _ = tokio::time::timeout(LEAVE_TIMEOUT, task).await;
        }
    }
}

impl Drop for LiveDocument {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

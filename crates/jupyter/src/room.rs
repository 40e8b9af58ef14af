//! A notebook that people edit together: its document, kept up to date over the room's WebSocket.

mod confirm;
mod connection;
mod door;
mod edit;
mod ended;
mod hearing;
mod intent;
mod owed;
mod saves;
mod shared;
mod whereabouts;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use notebook::{Edit, Notebook};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use workspace::{Applied, Error, Expected, Presence, SessionId};
use ydoc::Dialect;

use crate::failure;
use crate::link::Link;
use shared::Shared;

/// How long the goodbye to a room may take.
const GOODBYE: Duration = Duration::from_secs(2);

/// A live document. Its connection ends with it.
pub(crate) struct Room {
    shared: Arc<Shared>,
    stop: CancellationToken,
    connection: Mutex<Option<JoinHandle<()>>>,
}

impl Room {
    /// Enters the room of the notebook at `path`, which exists, and waits for its content. `None` if the server has no
    /// rooms of this dialect.
    pub(crate) async fn enter(
        link: Arc<Link>,
        path: String,
        dialect: Dialect,
        size: u64,
        changes: watch::Sender<u64>,
    ) -> Result<Option<Self>, Error> {
        let shared = Arc::new(Shared::new(link, path, dialect, size, changes));
        let stop = CancellationToken::new();
        let task = tokio::spawn(connection::keep(shared.clone(), stop.clone()));
        let room = Self { shared, stop, connection: Mutex::new(Some(task)) };
        match room.shared.synced().await {
            Ok(()) => Ok(Some(room)),
            Err(_) if room.is_dismissed() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether the server turned out to have no rooms any more.
    pub(crate) fn is_dismissed(&self) -> bool {
        self.shared.is_dismissed()
    }

    /// Whether all that agents have done is in the file, which is where it was.
    pub(crate) fn is_settled(&self) -> bool {
        self.shared.state().owed.intents().is_empty() && self.renamed().is_none() && self.lost().is_none()
    }

    pub(crate) async fn snapshot(&self) -> Result<Notebook, Error> {
        self.shared.synced().await?;
        let mut state = self.shared.state();
        self.shared.snapshot(&mut state)
    }

    pub(crate) async fn apply(&self, edits: Vec<Edit>, expected: Vec<Expected>) -> Result<Applied, Error> {
        // A task of its own: whoever asked may go away, and must not leave an edit unconfirmed.
        let shared = self.shared.clone();
        let task = tokio::spawn(async move { shared.change(edits, expected).await });
        task.await.unwrap_or_else(|error| Err(failure::ours(&error)))
    }

    pub(crate) fn remove_default_cell(&self) {
        if let Err(error) = self.shared.remove_default_cell() {
            tracing::debug!(%error, "the empty cell of a new notebook was not removed");
        }
    }

    pub(crate) fn show(&self, edits: &[Edit]) -> Result<(), Error> {
        self.shared.show(edits)
    }

    pub(crate) fn set_running(&self, cell: &str, is_running: bool) {
        let mut state = self.shared.state();
        let state = &mut *state;
        if let Some(update) = state.live.set_running(cell, is_running) {
            state.tell(&update);
        }
    }

    pub(crate) fn set_presence(&self, agent: SessionId, presence: Option<Presence>) {
        let mut state = self.shared.state();
        let state = &mut *state;
        if state.agents.get(&agent) == presence.as_ref() {
            return;
        }
        let frame = if let Some(presence) = presence {
            let cursor = presence.cell.as_deref().and_then(|cell| state.live.cursor(cell));
            let who = ydoc::Presence { agent: agent.number(), name: presence.name.clone(), cursor };
            state.agents.insert(agent, presence);
            Some(state.room.presence(&who, Instant::now()))
        } else {
            state.agents.remove(&agent);
            state.room.leave(agent.number())
        };
        if let Some(frame) = frame {
            state.send(frame);
        }
    }

    /// The cell that a person is in.
    pub(crate) fn selected(&self) -> Option<String> {
        let state = self.shared.state();
        state.room.selected(&state.live)
    }

    /// Where the notebook is now, if it was renamed.
    pub(crate) fn renamed(&self) -> Option<String> {
        self.shared.renamed()
    }

    /// Whether another file has taken the path under which it was opened.
    pub(crate) async fn is_displaced(&self) -> bool {
        self.shared.is_displaced().await
    }

    /// Another file is in its place. Gives what was promised and not told to be lost.
    pub(crate) fn abandon(&self) -> Vec<String> {
        self.shared.state().owed.abandon()
    }

    /// Takes over what another room had promised, to tell that it is lost.
    pub(crate) fn inherit(&self, lost: Vec<String>) {
        self.shared.state().owed.inherit(lost);
    }

    /// What was promised and could not be kept, until an answer has told it.
    pub(crate) fn lost(&self) -> Option<String> {
        self.shared.state().owed.lost()
    }

    /// Says goodbye to the others and closes the connection. Bounded.
    pub(crate) async fn leave(&self) {
        {
            let mut state = self.shared.state();
            let state = &mut *state;
            if let Some(frame) = state.room.leave_all() {
                state.send(frame);
            }
        }
        self.stop.cancel();
        let task = self.connection.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            let _ = tokio::time::timeout(GOODBYE, task).await;
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

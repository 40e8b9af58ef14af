//! What the calls on a live document share with the task that keeps its connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use notebook::Notebook;
use parking_lot::{Mutex, MutexGuard};
use place::Error;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout_at};
use tokio_util::task::AbortOnDropHandle;
use ydoc::{Dialect, Intent, PendingEdits, YError};

use super::connection_state::{ConnectionState, Stage};
use super::disconnect::Disconnect;
use super::file_location::FileLocation;
use super::replica::Replica;
use crate::server_handle::ServerHandle;

pub(super) struct Shared {
    pub(super) handle: Arc<ServerHandle>,
    /// The path under which the notebook was opened.
    pub(super) path: String,
    pub(super) dialect: Dialect,
    /// How long the document may take to arrive, and an edit to get into the file before the answer says "not yet". Each
    /// megabyte of the notebook adds a second.
    pub(super) load_timeout: Duration,
    state: Mutex<State>,
    pub(super) connection: watch::Sender<ConnectionState>,
    /// Counts changes by others.
    pub(super) changes: watch::Sender<u64>,
    /// Counts frames from the room.
    pub(super) inbound: watch::Sender<u64>,
    /// Ends the pause before the next attempt to connect.
    wake: Notify,
    /// Whether a call has needed the connection, so that a stopped server may be started.
    has_caller: AtomicBool,
}

/// Never locked across an await.
pub(crate) struct State {
    pub(crate) replica: Replica,
    pub(super) location: FileLocation,
    pub(crate) pending: PendingEdits,
    /// Confirms the pending edits that were applied to a new document. One that is replaced is stopped.
    pub(super) confirming: Option<AbortOnDropHandle<()>>,
}

impl Shared {
    pub(super) fn new(
        handle: Arc<ServerHandle>,
        path: String,
        dialect: Dialect,
        size: u64,
        changes: watch::Sender<u64>,
    ) -> Self {
        let state = State {
            replica: Replica::new(),
            location: FileLocation::new(path.clone()),
            pending: PendingEdits::default(),
            confirming: None,
        };
        Self {
            path,
            dialect,
            load_timeout: handle.network_timeout().operation() + Duration::from_secs(size >> 20),
            handle,
            state: Mutex::new(state),
            connection: watch::Sender::new(ConnectionState::new(Stage::Connecting)),
            changes,
            inbound: watch::Sender::new(0),
            wake: Notify::new(),
            has_caller: AtomicBool::new(true),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// The path of the file, as far as it is known.
    pub(super) fn path_now(&self) -> String {
        self.state().path_now()
    }

    pub(super) fn is_synced(&self) -> bool {
        self.connection.borrow().stage == Stage::Synced
    }

    pub(super) fn has_no_rooms(&self) -> bool {
        self.connection.borrow().stage == Stage::NoRooms
    }

    /// Whether the connection was there once, and is being made again.
    pub(super) fn is_reconnecting(&self) -> bool {
        self.connection.borrow().stage == Stage::Reconnecting
    }

    /// Whether a call waits for the connection now.
    pub(super) fn is_awaited(&self) -> bool {
        self.connection.receiver_count() > 0
    }

    /// Whether a call has needed the connection since this was last asked.
    pub(super) fn take_caller(&self) -> bool {
        self.has_caller.swap(false, Ordering::Relaxed)
    }

    /// Completes when a call needs the connection.
    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Returns whether the next attempt to connect waits for a call.
    pub(super) fn set_disconnected(&self, disconnect: Disconnect) -> bool {
        self.state().replica.disconnect();
        let next = self.connection.borrow().disconnected(disconnect);
        let is_suspended = next.is_suspended;
        self.connection.send_replace(next);
        is_suspended
    }

    /// Waits until the document is what the server has. Bounded.
    pub(super) async fn synced(&self) -> Result<(), Error> {
        let mut connection = self.connection.subscribe();
        let deadline = Instant::now() + self.load_timeout;
        if !self.is_synced() {
            self.has_caller.store(true, Ordering::Relaxed);
            self.wake.notify_one();
        }
        // Attempts that failed before this call say nothing about the next one.
        let failures = connection.borrow().failures;
        loop {
            let state = connection.borrow_and_update().clone();
            let is_settled = state.stage == Stage::Synced || state.is_failed() && state.failures > failures;
            if is_settled || timeout_at(deadline, connection.changed()).await.is_err() {
                let error = self.connection.borrow().error(&self.path, &self.handle.title());
                return error.map_or(Ok(()), Err);
            }
        }
    }

    pub(super) fn snapshot(&self, state: &mut State) -> Result<Notebook, Error> {
        state.replica.snapshot().map_err(|error| self.discard(state, &error))
    }

    /// Gives up a document that cannot be trusted: the connection ends, and the next one brings a new document.
    pub(super) fn discard(&self, state: &mut State, error: &YError) -> Error {
        state.replica.disconnect();
        Error::unreadable_notebook(&self.path, error)
    }

    pub(super) fn inbound(&self) -> watch::Receiver<u64> {
        self.inbound.subscribe()
    }
}

impl State {
    /// The path of the file, as far as it is known.
    pub(super) fn path_now(&self) -> String {
        self.location.path(self.replica.live.path())
    }

    /// The path of the file, if it is no longer the one under which it was opened.
    pub(crate) fn renamed(&self) -> Option<String> {
        self.location.renamed(self.replica.live.path())
    }

    pub(super) fn add_pending(&mut self, intents: impl IntoIterator<Item = Intent>) {
        let dropped = self.pending.add(intents);
        if dropped > 0 {
            tracing::warn!(
                dropped,
                "too many edits wait to be saved; the oldest are not applied again if they are lost"
            );
        }
    }
}

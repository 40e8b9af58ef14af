//! One notebook of a server: edited live where the server has rooms, and through the contents API elsewhere.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use notebook::{CellId, Edit, Notebook};
use parking_lot::Mutex;
use place::{
    Applied, Document, Error, Expected, Future, IdRecord, NotebookPath, Presence, SaveStatus, SessionId,
    StoredNotebook,
};
use rest::ContentsQuery;
use tokio::sync::watch;
use ydoc::Dialect;

use super::contents_api::{ContentsStore, notice};
use super::live::LiveDocument;
use super::unreadable::explained;
use crate::failure;
use crate::server_handle::ServerHandle;

/// How often a notebook without a room is checked for changes while there are subscribers.
const POLL_INTERVAL: Duration = Duration::from_secs(3);

pub(crate) struct ServerDocument {
    this: Weak<Self>,
    handle: Arc<ServerHandle>,
    /// As agents see it.
    path: NotebookPath,
    /// From the server's root.
    server_path: String,
    backend: Mutex<Option<Backend>>,
    /// Held while the backend is chosen.
    choosing: tokio::sync::Mutex<()>,
    /// Of a notebook without a room.
    ids: OnceLock<IdRecord>,
    changes: watch::Sender<u64>,
    agents: Mutex<HashMap<SessionId, Presence>>,
    is_polled: Mutex<bool>,
}

/// How the notebook is read and edited.
#[derive(Clone)]
enum Backend {
    Live(Arc<LiveDocument>),
    ContentsApi(Arc<StoredNotebook<ContentsStore>>),
}

impl ServerDocument {
    pub(crate) fn new(handle: Arc<ServerHandle>, server_path: String, path: NotebookPath) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            handle,
            path,
            server_path,
            backend: Mutex::default(),
            choosing: tokio::sync::Mutex::default(),
            ids: OnceLock::new(),
            changes: watch::Sender::new(0),
            agents: Mutex::default(),
            is_polled: Mutex::new(false),
        })
    }

    /// Chooses the backend and reads the notebook, so that it fails if the notebook cannot be opened.
    pub(crate) async fn open(&self) -> Result<(), Error> {
        self.backend().await?;
        self.snapshot().await.map(drop)
    }

    fn room(&self) -> Option<Arc<LiveDocument>> {
        match &*self.backend.lock() {
            Some(Backend::Live(room)) => Some(room.clone()),
            _ => None,
        }
    }

    /// The notebook, if it has no room.
    fn stored(&self) -> Option<Arc<StoredNotebook<ContentsStore>>> {
        match &*self.backend.lock() {
            Some(Backend::ContentsApi(stored)) => Some(stored.clone()),
            _ => None,
        }
    }

    /// The backend; chosen if there is none.
    async fn backend(&self) -> Result<Backend, Error> {
        let usable = |backend: &Option<Backend>| match backend {
            Some(Backend::Live(room)) if room.is_unavailable() => None,
            backend => backend.clone(),
        };
        if let Some(backend) = usable(&self.backend.lock()) {
            return Ok(backend);
        }
        let _one_at_a_time = self.choosing.lock().await;
        if let Some(backend) = usable(&self.backend.lock()) {
            return Ok(backend);
        }
        let backend = if let Some(room) = self.find_room().await? {
            Backend::Live(room)
        } else {
            let store = ContentsStore::new(self.handle.clone(), self.server_path.clone());
            let stored = StoredNotebook::new(store, self.changes.clone());
            if let Some(ids) = self.ids.get() {
                stored.record_ids(ids.clone()).await;
            }
            Backend::ContentsApi(Arc::new(stored))
        };
        *self.backend.lock() = Some(backend.clone());
        Ok(backend)
    }

    /// Joins the notebook's room. `None` if the server has no rooms.
    async fn find_room(&self) -> Result<Option<Arc<LiveDocument>>, Error> {
        let (path, may_have_rooms) = (&*self.server_path, self.handle.capabilities.rooms);
        let looked = self.handle.attempt(|server| async move {
            // Checked first: a server assigns a room to a missing file too.
            let size = server.contents(path, ContentsQuery::Attributes).await?.size.unwrap_or(0);
            if !may_have_rooms {
                return Ok(None);
            }
            if server.collaboration_session(path).await?.is_some() {
                return Ok(Some((Dialect::Collaboration, size)));
            }
            Ok(server.file_id(path).await?.map(|_| (Dialect::ServerDocuments, size)))
        });
        let found = looked.await.map_err(|error| match error.kind {
            rest::Kind::NotFound => failure::no_notebook(&self.path, &self.handle.title()),
            _ => failure::of(error),
        })?;
        let Some((dialect, size)) = found else { return Ok(None) };
        let room = LiveDocument::open(
            self.handle.clone(),
            self.server_path.clone(),
            dialect,
            size,
            self.changes.clone(),
        );
        let room = match room.await {
            Ok(room) => room,
            Err(error) => return Err(explained(&self.handle, &self.server_path, error).await),
        };
        let Some(room) = room.map(Arc::new) else { return Ok(None) };
        if dialect == Dialect::ServerDocuments {
            self.handle.set_unlimited();
        }
        for (agent, presence) in &*self.agents.lock() {
            room.state().replica.set_presence(*agent, Some(presence.clone()));
        }
        Ok(Some(room))
    }

    /// The backend to edit with. A server may have got rooms since the notebook was opened, and a file with a room must
    /// never be written.
    async fn backend_for_write(&self) -> Result<Backend, Error> {
        let backend = self.backend().await?;
        if !self.handle.capabilities.rooms || matches!(backend, Backend::Live(_)) {
            return Ok(backend);
        }
        let path = &*self.server_path;
        let asked = self.handle.call(|server| async move { server.collaboration_session(path).await });
        if asked.await?.is_none() {
            return Ok(backend);
        }
        *self.backend.lock() = None;
        self.backend().await
    }

    /// Whether another file is at its path. Costs no request while the location is verified.
    pub(crate) async fn is_displaced(&self) -> bool {
        match self.room() {
            Some(room) => room.is_displaced().await,
            None => false,
        }
    }

    /// Reports the edits that the document lost which was open at its path before.
    pub(crate) fn inherit_lost_edits(&self, before: &Self) {
        if let (Some(room), Some(before)) = (self.room(), before.room()) {
            let lost = before.state().pending.abandon();
            room.state().pending.add_lost(lost);
        }
    }

    /// Empties a notebook that was just created without cells. Servers with rooms put a cell into it.
    pub(crate) fn remove_default_cell(&self) {
        if let Some(room) = self.room() {
            room.remove_default_cell();
        }
    }

    /// Leaves the room.
    pub(crate) async fn leave(&self) {
        if let Some(room) = self.room() {
            room.leave().await;
        }
    }

    /// Checks a notebook without a room for changes while there are subscribers.
    fn poll(&self) {
        let mut is_polled = self.is_polled.lock();
        if std::mem::replace(&mut *is_polled, true) {
            return;
        }
        let this = self.this.clone();
        place::spawn(async move {
            loop {
                tokio::time::sleep(POLL_INTERVAL).await;
                let Some(this) = this.upgrade() else { return };
                let stored = this.stored();
                if this.changes.receiver_count() == 0 {
                    *this.is_polled.lock() = false;
                    return;
                }
                if let Some(stored) = stored {
                    stored.refresh_if_read().await;
                }
            }
        });
    }
}

impl Document for ServerDocument {
    fn path(&self) -> &NotebookPath {
        &self.path
    }

    fn snapshot(&self) -> Future<'_, Notebook> {
        self.snapshot_since(Instant::now())
    }

    fn snapshot_since(&self, since: Instant) -> Future<'_, Notebook> {
        async move {
            match self.backend().await? {
                Backend::Live(room) => room.snapshot().await,
                Backend::ContentsApi(stored) => stored.snapshot_since(since).await,
            }
        }
        .boxed()
    }

    fn apply(&self, edits: Vec<Edit>, expected: Vec<Expected>) -> Future<'_, Applied> {
        async {
            match self.backend_for_write().await? {
                Backend::Live(room) => room.apply(edits, expected).await,
                Backend::ContentsApi(stored) => {
                    // A task of its own: the caller may be cancelled, and must not leave half an edit.
                    let task = tokio::spawn(async move { stored.apply(&edits, &expected).await });
                    let notebook =
                        task.await.unwrap_or_else(|error| Err(Error::notebook_task_failed(error)))?;
                    Ok(Applied { notebook, saved: SaveStatus::OnDisk })
                }
            }
        }
        .boxed()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        let changes = self.changes.subscribe();
        if self.room().is_none() {
            self.poll();
        }
        changes
    }

    fn record_ids(&self, record: IdRecord) -> BoxFuture<'_, ()> {
        let _ = self.ids.set(record.clone());
        let stored = self.stored();
        async move {
            if let Some(stored) = stored {
                stored.record_ids(record).await;
            }
        }
        .boxed()
    }

    fn is_live(&self) -> bool {
        self.room().is_some()
    }

    fn show(&self, edits: Vec<Edit>) -> Future<'_, bool> {
        match self.room() {
            Some(room) => ready(room.show(&edits)).boxed(),
            None => async { self.apply(edits, Vec::new()).await.map(|_| true) }.boxed(),
        }
    }

    fn set_running(&self, cell: &CellId, is_running: bool) -> Future<'_, ()> {
        if let Some(room) = self.room() {
            room.state().replica.set_running(cell, is_running);
        }
        ready(Ok(())).boxed()
    }

    fn running_cells(&self) -> Vec<CellId> {
        self.room().map(|room| room.state().replica.running()).unwrap_or_default()
    }

    fn set_presence(&self, session: SessionId, presence: Option<Presence>) {
        match &presence {
            Some(presence) => self.agents.lock().insert(session, presence.clone()),
            None => self.agents.lock().remove(&session),
        };
        if let Some(room) = self.room() {
            room.state().replica.set_presence(session, presence);
        }
    }

    fn selected(&self) -> Option<CellId> {
        self.room()?.state().replica.selected()
    }

    fn suspend(&self) -> BoxFuture<'_, ()> {
        // Only the room knows which edits are not in the file yet, or were lost.
        let left = self
            .backend
            .lock()
            .take_if(|backend| !matches!(backend, Backend::Live(room) if !room.is_settled()));
        async move {
            if let Some(Backend::Live(room)) = left {
                room.leave().await;
            }
        }
        .boxed()
    }

    fn notice(&self) -> Option<String> {
        match &*self.backend.lock() {
            Some(Backend::ContentsApi(_)) => Some(notice(&self.handle)),
            Some(Backend::Live(room)) => {
                let renamed = room.state().renamed();
                let renamed = renamed
                    .map(|path| format!("The file was renamed after it was opened; it is now {path:?}."));
                let lost = room.lost_edits().map(|lost| format!("Warning: {lost}"));
                let notices: Vec<String> = [renamed, lost].into_iter().flatten().collect();
                Some(notices.join(" ")).filter(|notices| !notices.is_empty())
            }
            None => None,
        }
    }
}

#[cfg(test)]
mod tests;

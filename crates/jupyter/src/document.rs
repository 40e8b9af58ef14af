//! One notebook of a server, in whichever way the server lets it be edited.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use notebook::{Edit, Notebook};
use rest::Want;
use tokio::sync::watch;
use workspace::{Applied, Document, Error, Expected, Future, Presence, SessionId};
use ydoc::Dialect;

use crate::failure;
use crate::link::Link;
use crate::room::Room;
use crate::stored::{NOTICE, Stored};

/// How often a stored notebook is looked at while somebody wants to hear of its changes.
const LOOK: Duration = Duration::from_secs(3);

pub(crate) struct ServerDocument {
    this: Weak<Self>,
    link: Arc<Link>,
    /// As agents know it.
    path: String,
    /// From the server's root.
    server_path: String,
    way: Mutex<Option<Way>>,
    /// Held while the way is being found.
    choosing: tokio::sync::Mutex<()>,
    changes: watch::Sender<u64>,
    agents: Mutex<HashMap<SessionId, Presence>>,
    is_watched: Mutex<bool>,
}

/// How the notebook is edited.
#[derive(Clone)]
enum Way {
    Room(Arc<Room>),
    Stored(Arc<Stored>),
}

impl ServerDocument {
    pub(crate) fn new(link: Arc<Link>, server_path: String, path: String) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            link,
            path,
            server_path,
            way: Mutex::default(),
            choosing: tokio::sync::Mutex::default(),
            changes: watch::Sender::new(0),
            agents: Mutex::default(),
            is_watched: Mutex::new(false),
        })
    }

    /// Finds the way and reads the notebook, so that what cannot be opened is refused here.
    pub(crate) async fn open(&self) -> Result<(), Error> {
        self.way().await?;
        self.snapshot().await.map(drop)
    }

    /// Whether people see changes as they come.
    fn room(&self) -> Option<Arc<Room>> {
        match &*self.known_way() {
            Some(Way::Room(room)) => Some(room.clone()),
            _ => None,
        }
    }

    fn known_way(&self) -> std::sync::MutexGuard<'_, Option<Way>> {
        self.way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn agents(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, Presence>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The way in which the notebook is edited now.
    async fn way(&self) -> Result<Way, Error> {
        let usable = |way: &Option<Way>| match way {
            Some(Way::Room(room)) if room.is_dismissed() => None,
            way => way.clone(),
        };
        if let Some(way) = usable(&self.known_way()) {
            return Ok(way);
        }
        let _one_at_a_time = self.choosing.lock().await;
        if let Some(way) = usable(&self.known_way()) {
            return Ok(way);
        }
        let way = match self.find_room().await? {
            Some(room) => Way::Room(room),
            None => Way::Stored(Arc::new(Stored::new(
                self.link.clone(),
                self.server_path.clone(),
                self.changes.clone(),
            ))),
        };
        *self.known_way() = Some(way.clone());
        Ok(way)
    }

    /// Enters the notebook's room. `None` if the server has none.
    async fn find_room(&self) -> Result<Option<Arc<Room>>, Error> {
        let (path, lacks_rooms) = (self.server_path.clone(), self.link.lacks.rooms);
        let looked = self.link.attempt(None, |server| {
            let path = path.clone();
            async move {
                // First: a room is promised for a file that is not there as well.
                let entry = server.contents(&path, Want::Glance).await?;
                let size = entry.size.unwrap_or(0);
                if lacks_rooms {
                    return Ok(None);
                }
                if server.collaboration_session(&path).await?.is_some() {
                    return Ok(Some((Dialect::Collaboration, size)));
                }
                Ok(server.file_id(&path).await?.map(|_| (Dialect::ServerDocuments, size)))
            }
        });
        let found = looked.await.map_err(|error| match error.kind {
            rest::Kind::NotFound => failure::no_notebook(&self.path, &self.link.title()),
            _ => failure::of(error),
        })?;
        let Some((dialect, size)) = found else { return Ok(None) };
        let room =
            Room::enter(self.link.clone(), self.server_path.clone(), dialect, size, self.changes.clone())
                .await?;
        let Some(room) = room.map(Arc::new) else { return Ok(None) };
        if dialect == Dialect::ServerDocuments {
            self.link.lift_limit();
        }
        for (agent, presence) in &*self.agents() {
            room.set_presence(*agent, Some(presence.clone()));
        }
        Ok(Some(room))
    }

    /// The way to change the notebook: a server may have got rooms since it was opened, and one must never write beside
    /// a room.
    async fn way_to_write(&self) -> Result<Way, Error> {
        let way = self.way().await?;
        if self.link.lacks.rooms || matches!(way, Way::Room(_)) {
            return Ok(way);
        }
        let path = self.server_path.clone();
        let asked = self.link.call(None, |server| {
            let path = path.clone();
            async move { server.collaboration_session(&path).await }
        });
        if asked.await?.is_none() {
            return Ok(way);
        }
        *self.known_way() = None;
        self.way().await
    }

    /// Whether another file has taken its path. Costs no request while it is known to be where it was.
    pub(crate) async fn is_displaced(&self) -> bool {
        match self.room() {
            Some(room) => room.is_displaced().await,
            None => false,
        }
    }

    /// Tells, in its answers, what the document lost that was open at its path before.
    pub(crate) fn follow(&self, before: &Self) {
        if let (Some(room), Some(before)) = (self.room(), before.room()) {
            room.inherit(before.abandon());
        }
    }

    /// Empties a notebook that was just created without cells. Servers with rooms put a cell into it.
    pub(crate) fn remove_default_cell(&self) {
        if let Some(room) = self.room() {
            room.remove_default_cell();
        }
    }

    /// Says goodbye to the others in the room.
    pub(crate) async fn leave(&self) {
        if let Some(room) = self.room() {
            room.leave().await;
        }
    }

    /// Looks at a stored notebook as long as somebody wants to hear of its changes.
    fn watch(&self) {
        let mut is_watched = self.is_watched.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *is_watched, true) {
            return;
        }
        let this = self.this.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(LOOK).await;
                let Some(this) = this.upgrade() else { return };
                let stored = match &*this.known_way() {
                    Some(Way::Stored(stored)) => Some(stored.clone()),
                    _ => None,
                };
                if this.changes.receiver_count() == 0 {
                    *this.is_watched.lock().unwrap_or_else(PoisonError::into_inner) = false;
                    return;
                }
                if let Some(stored) = stored {
                    stored.look().await;
                }
            }
        });
    }
}

impl Document for ServerDocument {
    fn path(&self) -> &str {
        &self.path
    }

    fn snapshot(&self) -> Future<'_, Notebook> {
        async {
            match self.way().await? {
                Way::Room(room) => room.snapshot().await,
                Way::Stored(stored) => stored.snapshot().await,
            }
        }
        .boxed()
    }

    fn apply(&self, edits: Vec<Edit>, expected: Vec<Expected>) -> Future<'_, Applied> {
        async {
            match self.way_to_write().await? {
                Way::Room(room) => room.apply(edits, expected).await,
                Way::Stored(stored) => {
                    // A task of its own: whoever asked may go away, and must not leave half of it.
                    let task = tokio::spawn(async move { stored.apply(&edits, &expected).await });
                    task.await.unwrap_or_else(|error| Err(failure::ours(&error)))
                }
            }
        }
        .boxed()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        let changes = self.changes.subscribe();
        if self.room().is_none() {
            self.watch();
        }
        changes
    }

    fn is_live(&self) -> bool {
        self.room().is_some()
    }

    fn show(&self, edits: Vec<Edit>) -> Future<'_, ()> {
        match self.room() {
            Some(room) => ready(room.show(&edits)).boxed(),
            None => async { self.apply(edits, Vec::new()).await.map(drop) }.boxed(),
        }
    }

    fn set_running(&self, cell: &str, is_running: bool) -> Future<'_, ()> {
        if let Some(room) = self.room() {
            room.set_running(cell, is_running);
        }
        ready(Ok(())).boxed()
    }

    fn set_presence(&self, session: SessionId, presence: Option<Presence>) {
        match &presence {
            Some(presence) => self.agents().insert(session, presence.clone()),
            None => self.agents().remove(&session),
        };
        if let Some(room) = self.room() {
            room.set_presence(session, presence);
        }
    }

    fn selected(&self) -> Option<String> {
        self.room()?.selected()
    }

    fn suspend(&self) -> BoxFuture<'_, ()> {
        // What is not in the file yet, or could not be kept, is known to the room alone.
        let left = self.known_way().take_if(|way| !matches!(way, Way::Room(room) if !room.is_settled()));
        async move {
            if let Some(Way::Room(room)) = left {
                room.leave().await;
            }
        }
        .boxed()
    }

    fn notice(&self) -> Option<String> {
        match &*self.known_way() {
            Some(Way::Stored(_)) => Some(NOTICE.to_owned()),
            Some(Way::Room(room)) => {
                let renamed = room
                    .renamed()
                    .map(|path| format!("The file was renamed since it was opened: it is {path:?} now."));
                let lost = room.lost().map(|lost| format!("Beware: {lost}"));
                let notices: Vec<String> = [renamed, lost].into_iter().flatten().collect();
                Some(notices.join(" ")).filter(|notices| !notices.is_empty())
            }
            None => None,
        }
    }
}

#[cfg(test)]
mod tests;

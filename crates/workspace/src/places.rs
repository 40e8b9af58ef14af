//! The places that agents work in: the initial one, and those that they connect to later.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::place::{Connector, Place, ServerSpec};
use crate::{Error, ErrorKind, NotebookPath};

/// Which sessions work in a server after connecting to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectScope {
    /// The session that connected.
    Session,
    /// All agents without sessions.
    Stateless,
    /// All sessions that have not chosen another place.
    All,
}

/// All places of a process. None is ever removed.
pub(crate) struct Places {
    /// The places beside the default one that every session can name from the start.
    others: Vec<Arc<dyn Place>>,
    connector: Option<Arc<dyn Connector>>,
    connected: Mutex<Connected>,
    /// Changes when a frontend connects or disconnects, or a session gets another place.
    capabilities: watch::Sender<u64>,
}

struct Connected {
    /// The place that was connected last is the last.
    places: Vec<Arc<dyn Place>>,
    /// The place of sessions that have not chosen another.
    default_place: Arc<dyn Place>,
    /// The place of agents without sessions, if one of them has connected to it.
    common: Option<Arc<dyn Place>>,
    /// Tasks that watch the frontends of the places.
    watchers: Vec<AbortOnDropHandle<()>>,
}

impl Places {
    /// `place` is the default one. Must be called within a runtime.
    pub(crate) fn new(
        place: Arc<dyn Place>,
        others: Vec<Arc<dyn Place>>,
        connector: Option<Arc<dyn Connector>>,
    ) -> Self {
        let connected = Connected {
            places: others.iter().cloned().chain([place.clone()]).collect(),
            default_place: place,
            common: None,
            watchers: Vec::new(),
        };
        let connected = Mutex::new(connected);
        let places = Self { others, connector, connected, capabilities: watch::Sender::new(0) };
        places.watch(&*places.default_place());
        places
    }

    /// The place of sessions that have not chosen another.
    pub(crate) fn default_place(&self) -> Arc<dyn Place> {
        self.connected().default_place.clone()
    }

    /// The place of agents that have no sessions.
    pub(crate) fn common(&self) -> Arc<dyn Place> {
        let connected = self.connected();
        connected.common.as_ref().unwrap_or(&connected.default_place).clone()
    }

    pub(crate) fn all(&self) -> Vec<Arc<dyn Place>> {
        self.connected().places.clone()
    }

    /// The places beside the default one that every session can name from the start.
    pub(crate) fn others(&self) -> &[Arc<dyn Place>] {
        &self.others
    }

    /// The place that the path names; otherwise `place`.
    pub(crate) fn of(&self, path: &NotebookPath, place: &Arc<dyn Place>) -> Arc<dyn Place> {
        if place.is_named_by(path) {
            return place.clone();
        }
        self.named_by(path).unwrap_or_else(|| place.clone())
    }

    /// The place that the path names; `None` if it names none.
    pub(crate) fn named_by(&self, path: &NotebookPath) -> Option<Arc<dyn Place>> {
        // The longest prefix wins, since one server may be below another: of `srv/` and `srv/lab/`, `srv/lab/x.ipynb` is in
        // the second. Among equal prefixes the newest wins: it may have a renewed token.
        let connected = self.connected();
        let named = connected.places.iter().filter(|place| place.is_named_by(path));
        named.max_by_key(|place| place.prefix().len()).cloned()
    }

    pub(crate) fn can_connect(&self) -> bool {
        self.connector.is_some()
    }

    pub(crate) async fn connect(
        &self,
        spec: ServerSpec,
        scope: ConnectScope,
    ) -> Result<Arc<dyn Place>, Error> {
        let Some(connector) = &self.connector else {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "This server does not connect to other servers.",
                "Its places are fixed when it starts.",
            ));
        };
        let place = connector.connect(spec).await?;
        let is_new = {
            let mut connected = self.connected();
            let is_new = !connected.places.iter().any(|known| Arc::ptr_eq(known, &place));
            connected.places.retain(|known| !Arc::ptr_eq(known, &place));
            connected.places.push(place.clone());
            match scope {
                ConnectScope::Session => {}
                ConnectScope::Stateless => connected.common = Some(place.clone()),
                ConnectScope::All => {
                    connected.default_place = place.clone();
                    connected.common = None;
                }
            }
            is_new
        };
        if is_new {
            self.watch(&*place);
        }
        if scope != ConnectScope::Session {
            self.capabilities_changed();
        }
        Ok(place)
    }

    pub(crate) fn capabilities(&self) -> watch::Receiver<u64> {
        self.capabilities.subscribe()
    }

    pub(crate) fn capabilities_changed(&self) {
        self.capabilities.send_modify(|count| *count += 1);
    }

    /// Reports changes of the place's frontend as changes of the capabilities.
    fn watch(&self, place: &dyn Place) {
        let Some(mut changes) = place.frontend_changes() else { return };
        let capabilities = self.capabilities.clone();
        let watcher = tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                capabilities.send_modify(|count| *count += 1);
            }
        });
        self.connected().watchers.push(AbortOnDropHandle::new(watcher));
    }

    fn connected(&self) -> MutexGuard<'_, Connected> {
        self.connected.lock()
    }
}

#[cfg(test)]
mod tests;

//! The places that agents work in: the initial one, and those that they connect to later.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use place::{Connected, Connector, Error, ErrorKind, NotebookPath, Place, ServerSpec};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

mod names;

pub use names::Located;
use names::Names;
pub(crate) use names::moved;

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
    /// The places that there are from the start: the default one, then others that every session can name.
    first: Vec<Arc<dyn Place>>,
    connector: Option<Arc<dyn Connector>>,
    known: Mutex<KnownPlaces>,
    /// Changes when a frontend connects or disconnects, or a session gets another place.
    capabilities: watch::Sender<u64>,
}

struct KnownPlaces {
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
        let known = KnownPlaces {
            places: others.iter().cloned().chain([place.clone()]).collect(),
            default_place: place.clone(),
            common: None,
            watchers: Vec::new(),
        };
        let first = [place].into_iter().chain(others).collect();
        let places = Self { first, connector, known: Mutex::new(known), capabilities: watch::Sender::new(0) };
        places.watch(&*places.default_place());
        places
    }

    /// The place of sessions that have not chosen another.
    pub(crate) fn default_place(&self) -> Arc<dyn Place> {
        self.known().default_place.clone()
    }

    /// The place of agents that have no sessions.
    pub(crate) fn common(&self) -> Arc<dyn Place> {
        let known = self.known();
        known.common.as_ref().unwrap_or(&known.default_place).clone()
    }

    pub(crate) fn all(&self) -> Vec<Arc<dyn Place>> {
        self.known().places.clone()
    }

    /// The places that there are from the start: the default one, then others that every session can name.
    pub(crate) fn first(&self) -> &[Arc<dyn Place>] {
        &self.first
    }

    /// The place that a path names, for an agent that works in `current`; `None` if it names none.
    pub(crate) fn named_by(
        &self,
        path: &NotebookPath,
        current: &Arc<dyn Place>,
    ) -> Result<Option<Located>, Error> {
        Names { places: &self.all(), connectable: self.connectable() }.find(path, current)
    }

    /// Whether a path begins with the name of a place, or of a kind of place.
    pub(crate) fn are_named_by(&self, path: &NotebookPath) -> bool {
        Names { places: &self.all(), connectable: self.connectable() }.are_in(path)
    }

    fn connectable(&self) -> &'static str {
        self.connector.as_ref().map_or("", |connector| connector.scheme())
    }

    pub(crate) fn can_connect(&self) -> bool {
        self.connector.is_some()
    }

    pub(crate) async fn connect(&self, spec: ServerSpec, scope: ConnectScope) -> Result<Connected, Error> {
        let Some(connector) = &self.connector else {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "This server does not connect to other servers.",
                "Its places are fixed when it starts.",
            ));
        };
        let connected = connector.connect(spec).await?;
        let place = &connected.place;
        let is_new = {
            let mut known = self.known();
            let is_new = !known.places.iter().any(|known| Arc::ptr_eq(known, place));
            known.places.retain(|known| !Arc::ptr_eq(known, place));
            known.places.push(place.clone());
            match scope {
                ConnectScope::Session => {}
                ConnectScope::Stateless => known.common = Some(place.clone()),
                ConnectScope::All => {
                    known.default_place = place.clone();
                    known.common = None;
                }
            }
            is_new
        };
        if is_new {
            self.watch(&**place);
        }
        if scope != ConnectScope::Session {
            self.capabilities_changed();
        }
        Ok(connected)
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
        let watcher = place::spawn(async move {
            while changes.changed().await.is_ok() {
                capabilities.send_modify(|count| *count += 1);
            }
        });
        self.known().watchers.push(AbortOnDropHandle::new(watcher));
    }

    fn known(&self) -> MutexGuard<'_, KnownPlaces> {
        self.known.lock()
    }
}

#[cfg(test)]
mod tests;

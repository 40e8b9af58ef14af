//! The places that agents work in: the one that is there from the beginning, and those that they reach meanwhile.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::place::{Connector, Place, ServerSpec};
use crate::{Error, ErrorKind};

/// Whose place a server becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectScope {
    /// That of the session that asked.
    Session,
    /// That of all agents that have no sessions.
    Stateless,
    /// That of all that have not chosen another.
    All,
}

/// The places of one server. None is ever let go of.
pub(crate) struct Places {
    connector: Option<Arc<dyn Connector>>,
    reached: Mutex<Reached>,
    /// Moves when a place has got, or lost, what some tools need.
    capabilities: watch::Sender<u64>,
}

#[derive(Default)]
struct Reached {
    /// There is always one. The first is that of a session that has not chosen.
    places: Vec<Arc<dyn Place>>,
    /// The place of agents without sessions, if one of them has chosen it.
    common: Option<Arc<dyn Place>>,
    /// What follows the capabilities of the places.
    followers: Vec<AbortOnDropHandle<()>>,
}

impl Places {
    /// Needs to be called within a runtime.
    pub(crate) fn new(place: Arc<dyn Place>, connector: Option<Arc<dyn Connector>>) -> Self {
        let reached = Mutex::default();
        let places = Self { connector, reached, capabilities: watch::Sender::new(0) };
        places.follow(&*place);
        places.reached().places.push(place);
        places
    }

    /// The place of sessions that have not chosen another.
    pub(crate) fn first(&self) -> Arc<dyn Place> {
        self.reached().places[0].clone()
    }

    /// The place of agents that have no sessions.
    pub(crate) fn common(&self) -> Arc<dyn Place> {
        let common = self.reached().common.clone();
        common.unwrap_or_else(|| self.first())
    }

    pub(crate) fn all(&self) -> Vec<Arc<dyn Place>> {
        self.reached().places.clone()
    }

    /// The place that a path tells; else `place`.
    pub(crate) fn of(&self, path: &str, place: &Arc<dyn Place>) -> Arc<dyn Place> {
        let is_theirs =
            |place: &Arc<dyn Place>| !place.prefix().is_empty() && path.starts_with(place.prefix());
        if is_theirs(place) {
            return place.clone();
        }
        // The newest of the nearest: a token may have been renewed, and one server may stand below another.
        let reached = self.reached();
        let theirs = reached.places.iter().filter(|place| is_theirs(place));
        theirs.max_by_key(|place| place.prefix().len()).unwrap_or(place).clone()
    }

    pub(crate) fn can_connect(&self) -> bool {
        self.connector.is_some()
    }

    /// Reaches a server.
    pub(crate) async fn connect(
        &self,
        wish: ServerSpec,
        scope: ConnectScope,
    ) -> Result<Arc<dyn Place>, Error> {
        let Some(connector) = &self.connector else {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "Servers cannot be chosen here.",
                "The places of this server are fixed when it starts.",
            ));
        };
        let place = connector.connect(wish).await?;
        let is_new = {
            let mut reached = self.reached();
            let is_new = !reached.places.iter().any(|known| Arc::ptr_eq(known, &place));
            match scope {
                ConnectScope::All => {
                    reached.places.retain(|known| !Arc::ptr_eq(known, &place));
                    reached.places.insert(0, place.clone());
                    reached.common = None;
                }
                _ if is_new => reached.places.push(place.clone()),
                _ => {}
            }
            if scope == ConnectScope::Stateless {
                reached.common = Some(place.clone());
            }
            is_new
        };
        if is_new {
            self.follow(&*place);
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

    /// Tells of the changes of one place's capabilities, as long as this is there.
    fn follow(&self, place: &dyn Place) {
        let Some(mut changes) = place.frontend_changes() else { return };
        let capabilities = self.capabilities.clone();
        let follower = tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                capabilities.send_modify(|count| *count += 1);
            }
        });
        self.reached().followers.push(AbortOnDropHandle::new(follower));
    }

    fn reached(&self) -> MutexGuard<'_, Reached> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

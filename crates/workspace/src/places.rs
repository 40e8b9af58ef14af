//! The places that agents work in: the initial one, and those that they connect to later.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use place::{Connected, Connector, Error, ErrorKind, Machines, NextStep, NotebookPath, Place, ServerSpec};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

mod names;

pub use names::Located;
pub(crate) use names::moved;

/// The time for which a list of the running machines counts as new.
const MACHINES_FRESH: Duration = Duration::from_secs(1);

/// The sessions that work in a server after connecting to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectScope {
    /// The session that connected.
    Session,
    /// All agents without sessions.
    Stateless,
    /// All sessions that have not chosen another place.
    All,
}

/// All places of a process. None is ever removed but machines that have ended.
pub struct Places {
    /// The places that there are from the start: the default one, then others that every session can name.
    first: Vec<Arc<dyn Place>>,
    connector: Option<Arc<dyn Connector>>,
    machines: OnceLock<Arc<dyn Machines>>,
    /// Whether somebody had signed in to their account when that was looked at last.
    has_login: AtomicBool,
    /// When it was asked last which machines run.
    machines_listed: tokio::sync::Mutex<Option<Instant>>,
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
        let places = Self {
            first,
            connector,
            machines: OnceLock::new(),
            has_login: AtomicBool::new(false),
            machines_listed: tokio::sync::Mutex::default(),
            known: Mutex::new(known),
            capabilities: watch::Sender::new(0),
        };
        places.watch(&*places.default_place());
        places
    }

    /// The place of sessions that have not chosen another.
    pub fn default_place(&self) -> Arc<dyn Place> {
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
    pub fn first(&self) -> &[Arc<dyn Place>] {
        &self.first
    }

    /// Machines that agents can start, from now on.
    pub fn use_machines(&self, machines: Arc<dyn Machines>) {
        self.has_login.store(machines.is_present(), Ordering::Relaxed);
        let _ = self.machines.set(machines);
    }

    /// Reports a change of the capabilities if somebody has signed in, or out, since the last call.
    pub fn notice_login(&self) {
        let has_login = self.machines().is_some_and(|machines| machines.is_present());
        if self.has_login.swap(has_login, Ordering::Relaxed) != has_login {
            self.capabilities_changed();
        }
    }

    pub(crate) fn machines(&self) -> Option<&Arc<dyn Machines>> {
        self.machines.get()
    }

    /// Finds out which machines run.
    pub async fn find_machines(&self) -> Result<(), Error> {
        let Some(machines) = self.machines() else { return Ok(()) };
        let mut listed = self.machines_listed.lock().await;
        self.note_machines(&machines.places().await?);
        *listed = Some(Instant::now());
        Ok(())
    }

    pub(crate) fn is_machine(&self, place: &Arc<dyn Place>) -> bool {
        self.machines().is_some_and(|machines| machines.scheme() == place.scheme())
    }

    /// Finds out which machines run, if a path names one and that is not known.
    pub(crate) async fn find_machine(&self, path: &NotebookPath) -> Result<(), Error> {
        let Some(machines) = self.machines() else { return Ok(()) };
        let rest = path.split_once(':').filter(|(scheme, _)| *scheme == machines.scheme());
        let Some((_, rest)) = rest else { return Ok(()) };
        let is_named = |place: &Arc<dyn Place>| place.is_present() && place.strip_name(path).is_some();
        if self.all().iter().any(is_named) {
            return Ok(());
        }
        let is_fresh = |at: &Option<Instant>| at.is_some_and(|at| at.elapsed() <= MACHINES_FRESH);
        if !is_fresh(&*self.machines_listed.lock().await) {
            self.find_machines().await?;
        }
        let id = rest.split('/').next().unwrap_or_default();
        if machines.is_id(id) && !self.all().iter().any(is_named) {
            let cause = format!("The machine {id} does not run: it has ended, with its files and variables.");
            return Err(Error::new(ErrorKind::Unavailable, cause, NextStep::StartMachine));
        }
        Ok(())
    }

    /// Records which machines run.
    pub(crate) fn note_machines(&self, running: &[Arc<dyn Place>]) {
        let scheme = self.machines().map_or("", |machines| machines.scheme());
        let is_running = |place: &Arc<dyn Place>| running.iter().any(|it| Arc::ptr_eq(it, place));
        self.known().places.retain(|place| place.scheme() != scheme || is_running(place));
        for place in running {
            self.add_machine(place);
        }
    }

    /// Records that the machine with this path prefix has ended.
    pub fn remove_machine(&self, prefix: &str) {
        self.known().places.retain(|place| !self.is_machine(place) || place.prefix() != prefix);
    }

    /// Records that a machine runs.
    pub fn add_machine(&self, machine: &Arc<dyn Place>) {
        if !self.all().iter().any(|place| Arc::ptr_eq(place, machine)) {
            self.add(machine);
        }
    }

    /// Makes a place the newest one.
    fn add(&self, place: &Arc<dyn Place>) {
        let is_new = {
            let places = &mut self.known().places;
            let before = places.len();
            places.retain(|other| !Arc::ptr_eq(other, place));
            places.push(place.clone());
            places.len() > before
        };
        if is_new {
            self.watch(&**place);
        }
    }

    /// Whether agents can connect to servers.
    pub fn can_connect(&self) -> bool {
        self.connector.is_some()
    }

    pub async fn connect(&self, spec: ServerSpec, scope: ConnectScope) -> Result<Connected, Error> {
        let Some(connector) = &self.connector else {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "This server does not connect to other servers.",
                "Its places are fixed when it starts.",
            ));
        };
        let connected = connector.connect(spec).await?;
        let place = &connected.place;
        self.add(place);
        match scope {
            ConnectScope::Session => {}
            ConnectScope::Stateless => self.known().common = Some(place.clone()),
            ConnectScope::All => {
                let mut known = self.known();
                (known.default_place, known.common) = (place.clone(), None);
            }
        }
        if scope != ConnectScope::Session {
            self.capabilities_changed();
        }
        Ok(connected)
    }

    /// A counter that changes whenever the set of possible tools may have changed.
    pub fn capabilities(&self) -> watch::Receiver<u64> {
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

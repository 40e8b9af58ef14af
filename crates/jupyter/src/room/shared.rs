//! What a room's document and its connection share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use notebook::Notebook;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, timeout_at};
use tokio_util::task::AbortOnDropHandle;
use workspace::{Error, ErrorKind, Presence, SessionId};
use ydoc::{Dialect, LiveNotebook, Room, YError};

use super::owed::Owed;
use super::saves::Saves;
use crate::failure;
use crate::link::Link;

/// How long a call waits for the connection to be there; each megabyte of the notebook gets a second more.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct Shared {
    pub(super) link: Arc<Link>,
    /// The path under which the notebook was opened.
    pub(super) path: String,
    pub(super) dialect: Dialect,
    pub(super) patience: Duration,
    state: Mutex<State>,
    pub(super) phase: watch::Sender<Phase>,
    /// Moves when others change the notebook.
    pub(super) changes: watch::Sender<u64>,
    /// Moves with everything that the room says.
    pub(super) heard: watch::Sender<u64>,
    /// Ends the pause before the next attempt to connect.
    pub(super) wake: Notify,
    /// Whether somebody waits, so that a stopped server may be started.
    is_wanted: AtomicBool,
}

/// Never held over an await.
pub(super) struct State {
    pub(super) live: LiveNotebook,
    /// Whether the document has arrived on this, or the last, connection.
    pub(super) is_whole: bool,
    /// The notebook as the connection before left it.
    pub(super) last: Option<Notebook>,
    pub(super) room: Room,
    /// The way out, while there is a connection. Frames are put in under the lock, so that they leave in the order of the
    /// changes they tell of.
    pub(super) outbox: Option<mpsc::UnboundedSender<Vec<u8>>>,
    pub(super) saves: Saves,
    /// The file's id on the server, and where it led when the file was not where it was.
    pub(super) file_id: Option<String>,
    pub(super) moved: Option<String>,
    /// When the file was last known to be there, and whether something has happened that makes it doubtful.
    pub(super) located: Option<Instant>,
    pub(super) is_doubted: bool,
    /// The agents that are shown.
    pub(super) agents: HashMap<SessionId, Presence>,
    /// Edits that are not known to be in the file. They are made again until a save is confirmed.
    pub(super) owed: Owed,
    /// Has what was made again saved.
    pub(super) settling: Option<AbortOnDropHandle<()>>,
}

/// How the connection stands.
#[derive(Debug, Clone)]
pub(super) enum Phase {
    /// The document is what the server has.
    Synced,
    /// There is no connection, or not yet the whole document.
    Away(Away),
}

#[derive(Debug, Clone)]
pub(super) struct Away {
    pub(super) since: Instant,
    /// Whether the document was there before.
    pub(super) was_synced: bool,
    pub(super) failures: u64,
    pub(super) error: Option<Error>,
    /// Nothing is tried until somebody asks.
    pub(super) is_final: bool,
    /// The server has no rooms (any more).
    pub(super) is_dismissed: bool,
}

impl Shared {
    pub(super) fn new(
        link: Arc<Link>,
        path: String,
        dialect: Dialect,
        size: u64,
        changes: watch::Sender<u64>,
    ) -> Self {
        let live = LiveNotebook::new();
        // Its frames are made anew for each connection.
        let (room, _) = Room::open(&live);
        let state = State {
            live,
            is_whole: false,
            last: None,
            room,
            outbox: None,
            saves: Saves::default(),
            file_id: None,
            moved: None,
            located: None,
            is_doubted: false,
            agents: HashMap::new(),
            owed: Owed::default(),
            settling: None,
        };
        let away = Away {
            since: Instant::now(),
            was_synced: false,
            failures: 0,
            error: None,
            is_final: false,
            is_dismissed: false,
        };
        Self {
            link,
            path,
            dialect,
            patience: PATIENCE + Duration::from_secs(size >> 20),
            state: Mutex::new(state),
            phase: watch::Sender::new(Phase::Away(away)),
            changes,
            heard: watch::Sender::new(0),
            wake: Notify::new(),
            is_wanted: AtomicBool::new(true),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the file is, as far as is known.
    pub(super) fn path_now(&self) -> String {
        let state = self.state();
        state.moved.clone().or_else(|| state.live.path()).unwrap_or_else(|| self.path.clone())
    }

    /// Where the file is, if that is elsewhere than where it was opened.
    pub(super) fn renamed(&self) -> Option<String> {
        Some(self.path_now()).filter(|path| *path != self.path)
    }

    pub(super) fn is_synced(&self) -> bool {
        matches!(*self.phase.borrow(), Phase::Synced)
    }

    /// Whether somebody waits for the connection now.
    pub(super) fn is_awaited(&self) -> bool {
        self.phase.receiver_count() > 0
    }

    pub(super) fn is_dismissed(&self) -> bool {
        matches!(&*self.phase.borrow(), Phase::Away(away) if away.is_dismissed)
    }

    /// Whether somebody has waited since this was last asked.
    pub(super) fn take_wanted(&self) -> bool {
        self.is_wanted.swap(false, Ordering::Relaxed)
    }

    /// Waits until the document is what the server has. Bounded.
    pub(super) async fn synced(&self) -> Result<(), Error> {
        let mut phase = self.phase.subscribe();
        let end = Instant::now() + self.patience;
        let mut failures = None;
        if !self.is_synced() {
            self.is_wanted.store(true, Ordering::Relaxed);
            self.wake.notify_one();
        }
        loop {
            match &*phase.borrow_and_update() {
                Phase::Synced => return Ok(()),
                Phase::Away(away) => {
                    let before = *failures.get_or_insert(away.failures);
                    let is_first = !away.was_synced;
                    if away.failures > before && (away.is_final || is_first) {
                        return Err(self.why_away(away));
                    }
                }
            }
            if timeout_at(end, phase.changed()).await.is_err() {
                return match &*self.phase.borrow() {
                    Phase::Synced => Ok(()),
                    Phase::Away(away) => Err(self.why_away(away)),
                };
            }
        }
    }

    pub(super) fn why_away(&self, away: &Away) -> Error {
        let server = self.link.title();
        let lost = away.since.elapsed().as_secs().max(1);
        match &away.error {
            Some(error) if !away.was_synced || away.is_final => error.clone(),
            Some(error) => Error {
                cause: format!("The connection to {:?} was lost {lost} s ago. {}", self.path, error.cause),
                ..error.clone()
            },
            None => Error::new(
                ErrorKind::Timeout,
                format!("The notebook {:?} did not come from {server} within {lost} s.", self.path),
                "Check that JupyterLab can open it; the next call tries again.",
            ),
        }
    }

    /// The notebook as it was last seen, and as others changed it.
    pub(super) fn snapshot(&self, state: &mut State) -> Result<Notebook, Error> {
        state.live.snapshot().map_err(|error| self.broken(state, &error))
    }

    /// A document that cannot be trusted is opened anew: the connection ends when its way out does.
    pub(super) fn broken(&self, state: &mut State, error: &YError) -> Error {
        state.outbox = None;
        failure::unreadable(&self.path, error)
    }
}

impl State {
    pub(super) fn send(&self, frame: Vec<u8>) {
        if let Some(outbox) = &self.outbox {
            let _ = outbox.send(frame);
        }
    }

    /// Tells others of a local change; nothing if it changed nothing.
    pub(super) fn tell(&self, update: &[u8]) {
        if !update.is_empty() {
            self.send(self.room.update(update));
        }
    }
}

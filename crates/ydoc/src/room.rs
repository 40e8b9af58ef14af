//! The protocol of one notebook's room, through all its connections.

use std::time::Instant;

use serde::Deserialize;

use crate::frame::{self, Message, Reader};
use crate::presence::Awareness;
use crate::{LiveNotebook, Presence, YError};

/// Which server keeps the room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `jupyter-collaboration`: it saves when asked to.
    Collaboration,
    /// `jupyter-server-documents`: it saves by itself, soon.
    ServerDocuments,
}

/// What came of a frame.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Happening {
    /// A frame to be sent, at once: one server closes the connection after five seconds without an answer.
    Send(Vec<u8>),
    /// The document is what the server has. Told once for each connection.
    Synced,
    /// Others have changed the notebook.
    Changed,
    /// A request to save came to its end.
    Saved {
        /// Which.
        request: u64,
        /// How.
        outcome: SaveOutcome,
    },
    /// The file is called otherwise now.
    PathChanged(String),
    /// Somebody came, went or moved.
    PeopleChanged,
    /// Something arrived that makes no sense; the room goes on.
    Malformed(String),
    /// The document cannot be trusted any more: a new one has to be opened.
    Broken,
}

/// How a request to save ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveOutcome {
    /// The document is in the file.
    Saved,
    /// The server saw nothing to save.
    Skipped,
    /// It is not in the file.
    Failed,
}

/// What [`Room::save`] set going.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Save {
    /// This frame asks the server, which answers.
    Asked {
        /// Under which number [`Happening::Saved`] will tell.
        request: u64,
        /// The frame to send.
        frame: Vec<u8>,
    },
    /// The server saves by itself; [`Happening::Saved`] will tell under this number if the document tells.
    Watched {
        /// Which number.
        request: u64,
    },
    /// The server saves by itself and does not tell: only the file does.
    Untold,
}

/// One room: what is said in it, without the connection that carries it.
pub struct Room {
    dialect: Dialect,
    awareness: Awareness,
    is_synced: bool,
    /// Whether changes are missing for which we have asked.
    is_asking: bool,
    last_request: u64,
    watched: Vec<Watched>,
    path: Option<String>,
}

/// A save that the document's state will tell of.
struct Watched {
    request: u64,
    hash: Option<String>,
    was_dirty: bool,
}

/// A reply of `jupyter-collaboration`.
#[derive(Deserialize)]
struct Reply {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "responseTo")]
    request: u64,
    status: String,
}

impl Room {
    /// A new connection to a room. The frames have to be sent at once, whoever speaks first: one of the dialects
    /// waits for them.
    pub fn open(dialect: Dialect, live: &LiveNotebook) -> (Self, Vec<Vec<u8>>) {
        let room = Self {
            dialect,
            awareness: Awareness::default(),
            is_synced: false,
            is_asking: false,
            last_request: 0,
            watched: Vec::new(),
            path: live.path(),
        };
        (room, vec![frame::step1(&live.state_vector())])
    }

    /// Another connection to the same room, with the same document and agents. The frames have to be sent at once.
    /// Saves that were not confirmed never will be.
    pub fn reopen(&mut self, live: &LiveNotebook, now: Instant) -> Vec<Vec<u8>> {
        self.is_synced = false;
        self.is_asking = false;
        self.watched.clear();
        let step1 = frame::step1(&live.state_vector());
        std::iter::once(step1).chain(self.awareness.tell(now)).collect()
    }

    /// Whether the document is, or was, what the server has on this connection.
    pub fn is_synced(&self) -> bool {
        self.is_synced
    }

    /// Takes one frame of the server.
    pub fn receive(&mut self, frame: &[u8], now: Instant, live: &mut LiveNotebook) -> Vec<Happening> {
        let mut happenings = Vec::new();
        let mut reader = Reader(frame);
        while !reader.0.is_empty() || frame.is_empty() {
            let Some(message) = reader.message() else {
                let problem = format!("{} bytes that are no message", reader.0.len());
                happenings.push(Happening::Malformed(problem));
                break;
            };
            if let Err(error) = self.take(message, now, live, &mut happenings) {
                happenings.push(match error {
                    YError::Broken => Happening::Broken,
                    error => Happening::Malformed(error.to_string()),
                });
                break;
            }
        }
        happenings
    }

    fn take(
        &mut self,
        message: Message<'_>,
        now: Instant,
        live: &mut LiveNotebook,
        happenings: &mut Vec<Happening>,
    ) -> Result<(), YError> {
        match message {
            Message::Step1(state_vector) => {
                let update = live.update_since(state_vector)?;
                happenings.push(Happening::Send(frame::step2(&update)));
            }
            Message::Step2(update) => {
                self.integrate(update, live, happenings)?;
                self.is_asking = false;
                if !std::mem::replace(&mut self.is_synced, true) {
                    happenings.push(Happening::Synced);
                }
            }
            Message::Update(update) => self.integrate(update, live, happenings)?,
            Message::Awareness(states) => match self.awareness.receive(states, now) {
                None => return Err(YError::Malformed("the states of clients".to_owned())),
                Some(is_denied) => {
                    happenings.push(Happening::PeopleChanged);
                    let again = is_denied.then(|| self.awareness.tell(now)).flatten();
                    happenings.extend(again.map(Happening::Send));
                }
            },
            Message::AwarenessQuery => {
                happenings.extend(self.awareness.tell(now).map(Happening::Send));
            }
            Message::Raw(text) => {
                // The server says other things too, which need no answer.
                if let Ok(reply) = serde_json::from_str::<Reply>(text)
                    && reply.kind == "save"
                {
                    happenings
                        .push(Happening::Saved { request: reply.request, outcome: outcome(&reply.status) });
                }
            }
            Message::Unknown(_) => {}
        }
        Ok(())
    }

    fn integrate(
        &mut self,
        update: &[u8],
        live: &mut LiveNotebook,
        happenings: &mut Vec<Happening>,
    ) -> Result<(), YError> {
        let is_changed = live.integrate(update)?;
        if is_changed {
            happenings.push(Happening::Changed);
            happenings.extend(live.mend().map(|update| Happening::Send(frame::update(&update))));
        }
        if live.is_incomplete() && !self.is_asking {
            self.is_asking = true;
            happenings.push(Happening::Send(frame::step1(&live.state_vector())));
        }
        let path = live.path();
        if path.is_some() && path != self.path {
            self.path.clone_from(&path);
            happenings.extend(path.map(Happening::PathChanged));
        }
        self.watch(live, happenings);
        Ok(())
    }

    /// Ends the saves of which the document's state tells now.
    fn watch(&mut self, live: &LiveNotebook, happenings: &mut Vec<Happening>) {
        let (hash, is_dirty) = (live.hash(), live.is_dirty());
        self.watched.retain_mut(|watched| {
            let is_saved =
                (hash.is_some() && hash != watched.hash) || (watched.was_dirty && is_dirty == Some(false));
            watched.was_dirty |= is_dirty == Some(true);
            if is_saved {
                let outcome = SaveOutcome::Saved;
                happenings.push(Happening::Saved { request: watched.request, outcome });
            }
            !is_saved
        });
    }

    /// The frame of a local change; `update` is what [`LiveNotebook::apply`] gave.
    pub fn update(&self, update: &[u8]) -> Vec<u8> {
        frame::update(update)
    }

    /// Asks for the document to be saved. To be called right after the change was sent, before anything more is
    /// received. The caller sets the time until when it waits for the answer.
    pub fn save(&mut self, live: &LiveNotebook) -> Save {
        self.last_request += 1;
        let request = self.last_request;
        match self.dialect {
            Dialect::Collaboration => Save::Asked { request, frame: frame::save(request) },
            Dialect::ServerDocuments => {
                let (hash, is_dirty) = (live.hash(), live.is_dirty());
                if hash.is_none() && is_dirty.is_none() {
                    return Save::Untold;
                }
                self.watched.push(Watched { request, hash, was_dirty: is_dirty == Some(true) });
                Save::Watched { request }
            }
        }
    }

    /// Forgets a save for which nobody waits any more.
    pub fn give_up(&mut self, request: u64) {
        self.watched.retain(|watched| watched.request != request);
    }

    /// Shows an agent, or where it is now; the frame to send.
    pub fn presence(&mut self, who: &Presence, now: Instant) -> Vec<u8> {
        self.awareness.set(who, now)
    }

    /// An agent has left; the frame to send, if it was shown.
    pub fn leave(&mut self, agent: u64) -> Option<Vec<u8>> {
        self.awareness.leave(agent)
    }

    /// All agents have left, before the connection is closed.
    pub fn leave_all(&mut self) -> Option<Vec<u8>> {
        self.awareness.leave_all()
    }

    /// When [`Room::renew`] is due. `None` while no agent is shown.
    pub fn renewal(&self) -> Option<Instant> {
        self.awareness.due()
    }

    /// What keeps our agents from being forgotten, once it is due.
    pub fn renew(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.awareness.renew(now)
    }

    /// The names of the others in the room, as far as they have told them.
    pub fn people(&self) -> Vec<String> {
        self.awareness.people()
    }

    /// The cell with the cursor of the person who moved last, of those who are in a cell.
    pub fn selected(&self, live: &LiveNotebook) -> Option<String> {
        self.awareness.positions().into_iter().find_map(|position| live.cell_with(position))
    }
}

fn outcome(status: &str) -> SaveOutcome {
    match status {
        "success" => SaveOutcome::Saved,
        "skipped" => SaveOutcome::Skipped,
        _ => SaveOutcome::Failed,
    }
}

#[cfg(test)]
mod tests;

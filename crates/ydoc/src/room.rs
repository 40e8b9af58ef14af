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
pub enum RoomEvent {
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

/// A request to save the document, which the server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaveRequest {
    /// The number under which [`RoomEvent::Saved`] reports the outcome.
    pub id: u64,
    /// The frame to send.
    pub frame: Vec<u8>,
}

/// One room: what is said in it, without the connection that carries it.
pub struct Room {
    awareness: Awareness,
    is_synced: bool,
    /// Whether changes are missing for which we have asked.
    is_asking: bool,
    last_request: u64,
    path: Option<String>,
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
    pub fn open(live: &LiveNotebook) -> (Self, Vec<Vec<u8>>) {
        let room = Self {
            awareness: Awareness::default(),
            is_synced: false,
            is_asking: false,
            last_request: 0,
            path: live.path(),
        };
        (room, vec![frame::step1(&live.state_vector())])
    }

    /// Another connection to the same room, with the same document and agents. The frames have to be sent at once.
    /// Saves that were not confirmed never will be.
    pub fn reopen(&mut self, live: &LiveNotebook, now: Instant) -> Vec<Vec<u8>> {
        self.is_synced = false;
        self.is_asking = false;
        let step1 = frame::step1(&live.state_vector());
        std::iter::once(step1).chain(self.awareness.tell(now)).collect()
    }

    /// Takes one frame of the server.
    pub fn receive(&mut self, frame: &[u8], now: Instant, live: &mut LiveNotebook) -> Vec<RoomEvent> {
        let mut events = Vec::new();
        let mut reader = Reader(frame);
        while !reader.0.is_empty() || frame.is_empty() {
            let Some(message) = reader.message() else {
                let problem = format!("{} bytes that are no message", reader.0.len());
                events.push(RoomEvent::Malformed(problem));
                break;
            };
            if let Err(error) = self.take(message, now, live, &mut events) {
                events.push(match error {
                    YError::Broken => RoomEvent::Broken,
                    error => RoomEvent::Malformed(error.to_string()),
                });
                break;
            }
        }
        events
    }

    fn take(
        &mut self,
        message: Message<'_>,
        now: Instant,
        live: &mut LiveNotebook,
        events: &mut Vec<RoomEvent>,
    ) -> Result<(), YError> {
        match message {
            Message::Step1(state_vector) => {
                let update = live.update_since(state_vector)?;
                events.push(RoomEvent::Send(frame::step2(&update)));
            }
            Message::Step2(update) => {
                self.integrate(update, live, events)?;
                self.is_asking = false;
                if !std::mem::replace(&mut self.is_synced, true) {
                    events.push(RoomEvent::Synced);
                }
            }
            Message::Update(update) => self.integrate(update, live, events)?,
            Message::Awareness(states) => match self.awareness.receive(states, now) {
                None => return Err(YError::Malformed("the states of clients".to_owned())),
                Some(is_denied) => {
                    let again = is_denied.then(|| self.awareness.tell(now)).flatten();
                    events.extend(again.map(RoomEvent::Send));
                }
            },
            Message::AwarenessQuery => {
                events.extend(self.awareness.tell(now).map(RoomEvent::Send));
            }
            Message::Raw(text) => {
                // The server says other things too, which need no answer.
                if let Ok(reply) = serde_json::from_str::<Reply>(text)
                    && reply.kind == "save"
                {
                    events.push(RoomEvent::Saved { request: reply.request, outcome: outcome(&reply.status) });
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
        events: &mut Vec<RoomEvent>,
    ) -> Result<(), YError> {
        let is_changed = live.integrate(update)?;
        if is_changed {
            events.push(RoomEvent::Changed);
            events.extend(live.repair().map(|update| RoomEvent::Send(frame::update(&update))));
        }
        if live.is_incomplete() && !self.is_asking {
            self.is_asking = true;
            events.push(RoomEvent::Send(frame::step1(&live.state_vector())));
        }
        let path = live.path();
        if path.is_some() && path != self.path {
            self.path.clone_from(&path);
            events.extend(path.map(RoomEvent::PathChanged));
        }
        Ok(())
    }

    /// The frame of a local change; `update` is what [`LiveNotebook::apply`] gave.
    pub fn update(&self, update: &[u8]) -> Vec<u8> {
        frame::update(update)
    }

    /// Asks the server to save the document as it is after the last change that was sent.
    pub fn save(&mut self) -> SaveRequest {
        self.last_request += 1;
        SaveRequest { id: self.last_request, frame: frame::save(self.last_request) }
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

//! The protocol of one notebook's room, over all its connections.

use std::time::Instant;

use notebook::CellId;
use serde::Deserialize;

use crate::frame::{self, Message, Reader};
use crate::presence::Awareness;
use crate::{LiveNotebook, Presence, YError};

/// The server extension that provides a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `jupyter-collaboration`, which saves on request.
    Collaboration,
    /// `jupyter-server-documents`, which saves by itself after a short time.
    ServerDocuments,
}

/// What a frame from the server caused.
#[derive(Debug, Clone, PartialEq)]
pub enum RoomEvent {
    /// Send this frame at once: one server closes the connection after five seconds without an answer.
    Send(Vec<u8>),
    /// The document is the same as the server's. Once per connection.
    Synced,
    /// Others have changed the notebook.
    Changed,
    /// The server answered a [`SaveRequest`].
    Saved { request: u64, outcome: SaveOutcome },
    /// The file was renamed.
    PathChanged(String),
    /// The frame was malformed. The room stays usable.
    Malformed(String),
    /// The document is in an undefined state and has to be replaced by a new one.
    Broken,
}

/// How a request to save ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveOutcome {
    /// The document is in the file.
    Saved,
    /// There was nothing to save.
    Skipped,
    /// The document is not in the file.
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

/// The state of one room, without its connection.
pub struct Room {
    awareness: Awareness,
    is_synced: bool,
    /// Whether we have requested missing changes.
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
    /// Opens a connection to a room. Returns the frames to send at once, without waiting for the server: one of the dialects
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

    /// Opens another connection to the same room, with the same document and agents. Returns the frames to send at once.
    /// Pending saves will not be answered.
    pub fn reopen(&mut self, live: &LiveNotebook, now: Instant) -> Vec<Vec<u8>> {
        self.is_synced = false;
        self.is_asking = false;
        let step1 = frame::step1(&live.state_vector());
        std::iter::once(step1).chain(self.awareness.announce(now)).collect()
    }

    /// Handles one frame from the server.
    pub fn receive(&mut self, frame: &[u8], now: Instant, live: &mut LiveNotebook) -> Vec<RoomEvent> {
        let mut events = Vec::new();
        let mut reader = Reader(frame);
        while !reader.0.is_empty() || frame.is_empty() {
            let Some(message) = reader.message() else {
                let problem = format!("{} bytes that are not a message", reader.0.len());
                events.push(RoomEvent::Malformed(problem));
                break;
            };
            if let Err(error) = self.handle(message, now, live, &mut events) {
                events.push(match error {
                    YError::Broken => RoomEvent::Broken,
                    error => RoomEvent::Malformed(error.to_string()),
                });
                break;
            }
        }
        events
    }

    fn handle(
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
                None => return Err(YError::Malformed("the awareness states are malformed".to_owned())),
                Some(was_removed) => {
                    let states = was_removed.then(|| self.awareness.announce(now)).flatten();
                    events.extend(states.map(RoomEvent::Send));
                }
            },
            Message::AwarenessQuery => {
                events.extend(self.awareness.announce(now).map(RoomEvent::Send));
            }
            Message::Raw(text) => {
                // Other messages of the server need no answer.
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

    /// The frame for a local change, given the update that [`LiveNotebook::apply`] returned.
    pub fn update(&self, update: &[u8]) -> Vec<u8> {
        frame::update(update)
    }

    /// Asks the server to save the document as it is after the last change that was sent.
    pub fn save(&mut self) -> SaveRequest {
        self.last_request += 1;
        SaveRequest { id: self.last_request, frame: frame::save(self.last_request) }
    }

    /// Shows an agent or its new position. Returns the frame to send.
    pub fn presence(&mut self, who: &Presence, now: Instant) -> Vec<u8> {
        self.awareness.set(who, now)
    }

    /// Removes an agent. Returns the frame to send, if the agent was shown.
    pub fn leave(&mut self, agent: u64) -> Option<Vec<u8>> {
        self.awareness.leave(agent)
    }

    /// Removes all agents before the connection is closed.
    pub fn leave_all(&mut self) -> Option<Vec<u8>> {
        self.awareness.leave_all()
    }

    /// When [`Room::renew`] is due. `None` while no agent is shown.
    pub fn renewal(&self) -> Option<Instant> {
        self.awareness.due()
    }

    /// The frame that keeps others from forgetting our agents, if it is due.
    pub fn renew(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.awareness.renew(now)
    }

    /// The cell that contains the cursor of the person who moved last.
    pub fn selected(&self, live: &LiveNotebook) -> Option<CellId> {
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

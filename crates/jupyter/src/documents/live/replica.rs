//! Our copy of a room's document, with the protocol that keeps it like the server's.

use std::collections::HashMap;
use std::time::Instant;

use notebook::{CellId, Edit, Notebook};
use place::{Presence, SessionId};
use tokio::sync::{mpsc, oneshot};
use ydoc::{ApplyError, LiveNotebook, Room, RoomEvent, YError};

use super::save_queue::{Reply, SaveQueue};

/// It survives connections; its document does not.
pub(crate) struct Replica {
    pub(super) live: LiveNotebook,
    pub(super) room: Room,
    /// Whether the whole document has arrived on this connection, or on the last one.
    is_complete: bool,
    /// The notebook as the previous connection left it.
    previous: Option<Notebook>,
    /// Takes the frames to send while there is a connection. They are queued under the lock of the room's state, so they
    /// leave in the order of the changes that they contain.
    outbox: Option<mpsc::UnboundedSender<Vec<u8>>>,
    saves: SaveQueue,
    presences: HashMap<SessionId, Presence>,
}

impl Replica {
    pub(super) fn new() -> Self {
        let live = LiveNotebook::new();
        // Each connection makes its own frames.
        let (room, _) = Room::open(&live);
        Self {
            live,
            room,
            is_complete: false,
            previous: None,
            outbox: None,
            saves: SaveQueue::default(),
            presences: HashMap::new(),
        }
    }

    /// Starts a new document on a new connection.
    ///
    /// The server may have rebuilt its document from the file, with a new history. Merging two histories of one notebook
    /// would show every cell twice, so the old document is dropped; edits that the new one lacks are applied to it again.
    pub(super) fn connect(&mut self, outbox: mpsc::UnboundedSender<Vec<u8>>, now: Instant) {
        if std::mem::take(&mut self.is_complete) {
            self.previous = self.live.snapshot().ok();
        }
        self.live = LiveNotebook::new();
        for frame in self.room.reopen(&self.live, now) {
            let _ = outbox.send(frame);
        }
        self.outbox = Some(outbox);
    }

    /// Ends the connection, and with it all requests to save.
    pub(super) fn disconnect(&mut self) {
        self.outbox = None;
        self.saves.clear();
    }

    /// Handles a frame of the room. Returns what others have to know of.
    pub(super) fn receive(&mut self, frame: &[u8], now: Instant) -> Vec<RoomEvent> {
        let mut events = self.room.receive(frame, now, &mut self.live);
        events.retain(|event| match event {
            RoomEvent::Send(frame) => {
                self.send(frame.clone());
                false
            }
            RoomEvent::Saved { request, outcome } => {
                let next = self.saves.answered(*request, *outcome, &mut self.room, &self.live);
                if let Some(frame) = next {
                    self.send(frame);
                }
                false
            }
            RoomEvent::Broken => {
                self.disconnect();
                false
            }
            RoomEvent::Synced => {
                self.is_complete = true;
                true
            }
            RoomEvent::Changed | RoomEvent::PathChanged(_) | RoomEvent::Malformed(_) => true,
        });
        events
    }

    pub(super) fn snapshot(&mut self) -> Result<Notebook, YError> {
        self.live.snapshot()
    }

    /// The notebook as it was last known in full. A document that is still arriving is empty.
    pub(super) fn last_known(&mut self) -> Result<Notebook, YError> {
        match self.previous.clone().filter(|_| !self.is_complete) {
            Some(previous) => Ok(previous),
            None => self.live.snapshot(),
        }
    }

    /// Applies all edits or none, and sends what changed.
    pub(super) fn apply(&mut self, edits: &[Edit]) -> Result<(), ApplyError> {
        let update = self.live.apply(edits)?;
        self.send_update(&update);
        Ok(())
    }

    /// Requests a save of everything that was changed so far. `None` without a connection.
    pub(super) fn request_save(&mut self) -> Option<oneshot::Receiver<Reply>> {
        let (frame, reply) = self.saves.request(&mut self.room, &self.live);
        if let Some(frame) = frame {
            self.send(frame);
        }
        self.outbox.as_ref().map(|_| reply)
    }

    pub(crate) fn set_running(&mut self, cell: &CellId, is_running: bool) {
        if let Some(update) = self.live.set_running(cell, is_running) {
            self.send_update(&update);
        }
    }

    pub(crate) fn running(&self) -> Vec<CellId> {
        self.live.running()
    }

    pub(crate) fn set_presence(&mut self, agent: SessionId, presence: Option<Presence>) {
        if self.presences.get(&agent) == presence.as_ref() {
            return;
        }
        let frame = if let Some(presence) = presence {
            let cursor = presence.cell.as_ref().and_then(|cell| self.live.cursor(cell));
            let who = ydoc::Presence { agent: agent.number(), name: presence.name.clone(), cursor };
            self.presences.insert(agent, presence);
            Some(self.room.presence(&who, Instant::now()))
        } else {
            self.presences.remove(&agent);
            self.room.leave(agent.number())
        };
        if let Some(frame) = frame {
            self.send(frame);
        }
    }

    pub(super) fn leave_all(&mut self) {
        if let Some(frame) = self.room.leave_all() {
            self.send(frame);
        }
    }

    pub(crate) fn selected(&self) -> Option<CellId> {
        self.room.selected(&self.live)
    }

    pub(super) fn renew_presence(&mut self, now: Instant) {
        if let Some(frame) = self.room.renew(now) {
            self.send(frame);
        }
    }

    fn send_update(&self, update: &[u8]) {
        if !update.is_empty() {
            self.send(self.room.update(update));
        }
    }

    fn send(&self, frame: Vec<u8>) {
        if let Some(outbox) = &self.outbox {
            let _ = outbox.send(frame);
        }
    }
}

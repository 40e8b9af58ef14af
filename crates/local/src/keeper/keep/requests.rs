//! What clients ask of the keeper.

use std::time::{Instant, SystemTime};

use kernel::keeper::{ClientFrame, ClientId, KeeperEvent, KeeperFrame, Record, VERSION, Welcome};

use super::{Ending, Keep};
use crate::keeper::turns::Request;

impl Keep {
    pub(super) fn on_frame(&mut self, id: ClientId, frame: ClientFrame) -> Option<Ending> {
        let client = self.clients.get_mut(&id)?;
        if let ClientFrame::Hello(hello) = frame {
            client.process = Some(hello.process);
            let answer = if hello.version == VERSION {
                KeeperFrame::Welcome(self.welcome())
            } else {
                KeeperFrame::Refused { version: VERSION }
            };
            if let Some(client) = self.clients.get(&id) {
                client.send(answer);
            }
            return None;
        }
        if client.process.is_none() {
            // It does not speak our protocol.
            self.clients.remove(&id);
            return None;
        }
        match frame {
            ClientFrame::Adopt => {
                let runs = self.runs.adopt(id, self.status.clone(), self.log.end());
                if let Some(client) = self.clients.get(&id) {
                    client.send(KeeperFrame::Adopted(runs));
                }
            }
            ClientFrame::Follow { offset } => {
                client.follow(offset);
                self.count_attached();
            }
            // Nothing runs here any more: what is announced just now runs on another kernel.
            ClientFrame::Note(_) if self.launcher.is_none() => {}
            ClientFrame::Note(note) => {
                let now = SystemTime::now();
                if let Some(offset) = self.record(&Record::Note(note.clone())) {
                    self.runs.note(note, offset, Some(id), now);
                }
            }
            ClientFrame::Send { channel, parts } => {
                self.requested();
                let released = self.turns.submit(Request::new(id, channel, parts));
                self.release(released);
            }
            ClientFrame::Store { run } => {
                if self.runs.store(&run) {
                    self.record(&Record::Stored { run });
                }
            }
            ClientFrame::Acknowledge { run } => {
                if self.runs.acknowledge(&run) {
                    self.record(&Record::Acknowledged { run });
                    self.forget();
                }
            }
            ClientFrame::Interrupt { message } => self.interrupt(message),
            ClientFrame::Restart => self.restart(),
            ClientFrame::End => return Some(Ending::Asked),
            ClientFrame::Hello(_) | ClientFrame::Unknown => {}
        }
        None
    }

    fn welcome(&self) -> Welcome {
        let following = self.clients.values().filter(|client| client.is_following);
        let mut attached: Vec<u32> = following.filter_map(|client| client.process).collect();
        attached.sort_unstable();
        attached.dedup();
        let mut kernel = self.status.clone();
        kernel.is_busy = self.is_busy();
        let orphans = self.runs.orphans();
        Welcome { version: VERSION, kernel, last_request: self.last_request, attached, orphans }
    }

    pub(super) fn on_left(&mut self, id: ClientId) {
        if self.clients.remove(&id).is_none() {
            return;
        }
        if self.runs.left(id) {
            self.record(&Record::Event(KeeperEvent::Orphaned));
        }
        self.count_attached();
    }

    fn count_attached(&mut self) {
        let attached = self.clients.values().filter(|client| client.is_following).count();
        self.lifetime.set_attached(attached, Instant::now());
    }

    pub(super) fn requested(&mut self) {
        self.last_request = SystemTime::now();
        self.lifetime.requested(Instant::now());
    }
}

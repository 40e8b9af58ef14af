//! What clients ask of the keeper.

use std::time::{Instant, SystemTime};

use kernel::log::{ClientId, LogEvent, LogRecord};
use notebook::RunId;

use super::{Ending, Keeper};
use crate::protocol::{AdoptedRuns, ClientFrame, KeeperFrame, VERSION, Welcome};
use crate::turns::QueuedRequest;

impl Keeper {
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
                if let Err(os_error) = self.repair_log() {
                    self.report_log_failure(id, os_error);
                    return None;
                }
                let (runs, from) = self.runs.adopt(id);
                let end = self.log.end();
                let from = from.map_or(end, |from| from.min(end));
                let adopted = AdoptedRuns { kernel: self.status.clone(), runs, from, end };
                if let Some(client) = self.clients.get(&id) {
                    client.send(KeeperFrame::Adopted(adopted));
                }
            }
            ClientFrame::Follow { offset } => {
                client.follow(offset);
                if let Some(os_error) = self.log_failure {
                    self.report_log_failure(id, os_error);
                }
                self.count_attached();
            }
            // Nothing runs here any longer: a run that is announced now runs on another kernel.
            ClientFrame::Announce(_) if self.launcher.is_none() => {}
            ClientFrame::Announce(announcement) => {
                if let Some(offset) = self.write(&LogRecord::Announced(announcement.clone())) {
                    self.runs.announced(announcement, offset, id);
                }
            }
            ClientFrame::Send { channel, parts } => {
                self.requested();
                let request = QueuedRequest::new(id, channel, parts);
                self.runs.requested(&request.id);
                if self.kernel.is_none() || self.log_failure.is_some() {
                    // The client has not yet been told that the kernel or log is gone; its request is withdrawn as
                    // well.
                    if request.is_execution {
                        self.withdrawn(request.id);
                    }
                    return None;
                }
                let released = self.turns.submit(request);
                self.release(released);
            }
            ClientFrame::Store { run } => _ = self.record_news(&LogRecord::Stored { run }),
            ClientFrame::Acknowledge { run } => self.acknowledge(run),
            ClientFrame::Interrupt { message } => self.interrupt(message),
            ClientFrame::Restart => self.restart(),
            ClientFrame::End => return Some(Ending::Asked),
            ClientFrame::Hello(_) | ClientFrame::Unknown => {}
        }
        None
    }

    fn record_news(&mut self, record: &LogRecord) -> bool {
        let is_news = self.runs.is_news(record);
        if is_news {
            self.record(record);
        }
        is_news
    }

    pub(super) fn acknowledge(&mut self, run: RunId) {
        if self.record_news(&LogRecord::Acknowledged { run }) {
            self.forget();
        }
        if self.launcher.is_none() && !self.has_unread_runs() {
            // Of a dead keeper. Its reader may be killed before it ends.
            self.folder.remove();
        }
    }

    fn welcome(&self) -> Welcome {
        let following = self.clients.values().filter(|client| client.is_following);
        let mut attached: Vec<u32> = following.filter_map(|client| client.process).collect();
        // The process that stores runs is not a server.
        attached.retain(|process| Some(*process) != self.settling.process());
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
        for message in self.runs.unrequested(id) {
            self.withdrawn(message);
        }
        if self.runs.client_gone(id) {
            self.record(&LogRecord::Event(LogEvent::Orphaned));
        }
        self.count_attached();
    }

    pub(super) fn count_attached(&mut self) {
        let attached = self.clients.values().filter(|client| client.is_following).count();
        self.lifetime.set_attached(attached, Instant::now());
    }

    pub(super) fn requested(&mut self) {
        self.last_request = SystemTime::now();
        self.lifetime.requested(Instant::now());
    }
}

//! The runs in a log: who owns them, how far they are, and what may be forgotten.
//!
//! An example, with two clients:
//!
//! | what happens | owner of `r1` | may the log forget it |
//! |---|---|---|
//! | client 1 announces `r1` with request `m` | 1 | no |
//! | client 1 is killed | nobody | no |
//! | the kernel replies to `m` and is idle | nobody | no |
//! | client 2 adopts | 2 | no |
//! | client 2 acknowledges `r1` | 2 | yes, but not before newer runs need its place |

use std::time::SystemTime;

use notebook::RunId;
use serde::{Deserialize, Serialize};

use super::peek::Peek;
use super::record::{Announcement, LogEvent, LogRecord};
use crate::messages::{Channel, MessageId};

/// A connection of a server to whoever writes the log.
pub type ClientId = u64;

/// A run that nobody else follows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AdoptedRun {
    #[serde(rename = "note")]
    pub announcement: Announcement,
    /// When its client announced it.
    #[serde(rename = "noted_at")]
    pub announced_at: SystemTime,
    /// Its outputs are in its cell already.
    #[serde(default)]
    pub is_stored: bool,
    /// It was acknowledged: it is shown on request, and nothing remains to be done.
    #[serde(default)]
    pub is_acknowledged: bool,
}

/// How many acknowledged runs are remembered, and from how much of the end of the log.
const HISTORY: usize = 50;
const HISTORY_BYTES: u64 = 16 * 1024 * 1024;

/// What the log keeps of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogDecision {
    Keep,
    /// Drop it, and record that this and what follows is dropped.
    CutFromHere,
    Drop,
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Entry {
    run: AdoptedRun,
    /// Where in the log its announcement is.
    offset: u64,
    owner: Option<ClientId>,
    /// Its client has sent its request.
    is_sent: bool,
    has_reply: bool,
    is_idle: bool,
    /// How many bytes the log keeps of what is published for it.
    output_bytes: u64,
    is_cut: bool,
}

impl Entry {
    /// Whether its client has gone before it was acknowledged.
    fn is_orphan(&self) -> bool {
        self.owner.is_none() && !self.run.is_acknowledged
    }

    /// Whether its outputs are still to be stored.
    fn is_to_store(&self) -> bool {
        self.is_orphan() && !self.run.is_stored && self.run.announcement.message.is_some()
    }

    /// Whether the kernel has its request and has not ended it.
    fn is_running(&self) -> bool {
        self.run.announcement.message.is_some() && !(self.has_reply && self.is_idle)
    }

    fn end(&mut self) {
        (self.has_reply, self.is_idle) = (true, true);
    }
}

/// The runs that nobody has acknowledged, and the last ones that somebody has.
#[derive(Debug, Default)]
pub struct Runs {
    entries: Vec<Entry>,
}

impl Runs {
    /// A client announced a run at `offset`. A second announcement of it says what has changed: that its request is sent now.
    pub fn announce(
        &mut self,
        announcement: Announcement,
        offset: u64,
        owner: Option<ClientId>,
        now: SystemTime,
    ) {
        if let Some(entry) = self.of_run(&announcement.run) {
            // Announcements and requests come to the keeper in any order.
            if announcement.message.is_some() || entry.run.announcement.message.is_none() {
                (entry.run.announcement, entry.owner) = (announcement, owner);
            }
            return;
        }
        self.entries.push(Entry {
            run: AdoptedRun { announcement, announced_at: now, is_stored: false, is_acknowledged: false },
            offset,
            owner,
            is_sent: false,
            has_reply: false,
            is_idle: false,
            output_bytes: 0,
            is_cut: false,
        });
    }

    fn of_run(&mut self, run: &RunId) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.run.announcement.run == *run)
    }

    fn of_request(&mut self, message: &str) -> Option<&mut Entry> {
        let is_of = |entry: &&mut Entry| entry.run.announcement.message.as_deref() == Some(message);
        self.entries.iter_mut().find(is_of)
    }

    /// A record of a log that is read again, at `offset`.
    pub fn read(&mut self, time: SystemTime, offset: u64, record: &LogRecord) {
        match record {
            LogRecord::Announced(announcement) => self.announce(announcement.clone(), offset, None, time),
            LogRecord::FromKernel { channel, parts } => {
                self.received(*channel, &Peek::of(*channel, parts), 0, u64::MAX);
            }
            LogRecord::Stored { run } => drop(self.store(run)),
            LogRecord::Acknowledged { run } => drop(self.acknowledge(run)),
            LogRecord::Event(LogEvent::Died { .. } | LogEvent::Restarting | LogEvent::LogFailed { .. }) => {
                self.kernel_ended();
            }
            LogRecord::Event(LogEvent::Withdrawn { message } | LogEvent::Ended { message }) => {
                self.ended(message);
            }
            LogRecord::Event(_) | LogRecord::ToKernel { .. } => {}
        }
    }

    /// The request of this id has come from its client.
    pub fn requested(&mut self, message: &str) {
        if let Some(entry) = self.of_request(message) {
            entry.is_sent = true;
        }
    }

    /// The requests that a client has announced and not sent: if it has gone, they never come.
    pub fn unrequested(&self, client: ClientId) -> Vec<MessageId> {
        let is_meant = |entry: &&Entry| entry.owner == Some(client) && !entry.is_sent && entry.is_running();
        let entries = self.entries.iter().filter(is_meant);
        entries.filter_map(|entry| entry.run.announcement.message.clone()).collect()
    }

    /// A message of the kernel, of `bytes`, with the most that the log keeps of what is published for one run; 0 if it is full.
    pub fn received(&mut self, channel: Channel, peek: &Peek, bytes: u64, limit: u64) -> LogDecision {
        let limit = peek.limit(channel, limit);
        let Some(entry) = self.of_request(&peek.parent) else {
            return if limit == Some(0) { LogDecision::Drop } else { LogDecision::Keep };
        };
        match (channel, &*peek.kind) {
            (Channel::Shell, "execute_reply") => entry.has_reply = true,
            (Channel::Iopub, "status") => entry.is_idle |= peek.state.as_deref() == Some("idle"),
            _ => {}
        }
        let Some(limit) = limit else { return LogDecision::Keep };
        // The traceback says how the run ended, even if what it printed before is gone.
        let is_left_out = entry.is_cut && peek.kind != "error";
        if !is_left_out && entry.output_bytes + bytes <= limit {
            entry.output_bytes += bytes;
            return LogDecision::Keep;
        }
        if std::mem::replace(&mut entry.is_cut, true) { LogDecision::Drop } else { LogDecision::CutFromHere }
    }

    /// The kernel's process ended: whatever it was sent is over.
    pub fn kernel_ended(&mut self) {
        let sent = self.entries.iter_mut().filter(|entry| entry.run.announcement.message.is_some());
        sent.for_each(Entry::end);
    }

    /// A request was withdrawn, or ended otherwise without a reply.
    pub fn ended(&mut self, message: &str) {
        if let Some(entry) = self.of_request(message) {
            entry.end();
        }
    }

    /// A client has gone. Returns whether runs have lost their owner.
    pub fn client_gone(&mut self, client: ClientId) -> bool {
        let mut has_orphans = false;
        for entry in self.entries.iter_mut().filter(|entry| entry.owner == Some(client)) {
            entry.owner = None;
            has_orphans |= !entry.run.is_acknowledged;
        }
        has_orphans
    }

    /// Gives `client` the runs that have no owner, and shows it those that were acknowledged. Returns them with the offset at which
    /// the first begins; `None` if there are none.
    pub fn adopt(&mut self, client: ClientId) -> (Vec<AdoptedRun>, Option<u64>) {
        let (mut adopted, mut from) = (Vec::new(), None);
        for entry in &mut self.entries {
            if entry.is_orphan() {
                entry.owner = Some(client);
            } else if !entry.run.is_acknowledged {
                continue;
            }
            from = Some(from.map_or(entry.offset, |from: u64| from.min(entry.offset)));
            adopted.push(entry.run.clone());
        }
        (adopted, from)
    }

    /// The outputs of a run are in its cell. `false` if that is no news.
    pub fn store(&mut self, run: &RunId) -> bool {
        let entry = self.of_run(run).filter(|entry| !entry.run.is_stored && !entry.run.is_acknowledged);
        entry.map(|entry| entry.run.is_stored = true).is_some()
    }

    /// The outcome of a run is stored, and known. `false` if that is no news.
    pub fn acknowledge(&mut self, run: &RunId) -> bool {
        let entry = self.of_run(run).filter(|entry| !entry.run.is_acknowledged);
        entry.map(|entry| (entry.run.is_stored, entry.run.is_acknowledged) = (false, true)).is_some()
    }

    /// Forgets acknowledged runs beyond the limits, in a log that ends at `end`.
    pub fn forget(&mut self, end: u64) {
        let acknowledged = self.entries.iter().filter(|entry| entry.run.is_acknowledged).count();
        let mut excess = acknowledged.saturating_sub(HISTORY);
        self.entries.retain(|entry| {
            let is_old = entry.offset + HISTORY_BYTES < end || excess > 0;
            let is_forgotten = entry.run.is_acknowledged && is_old;
            excess = excess.saturating_sub(usize::from(is_forgotten));
            !is_forgotten
        });
    }

    /// Where in the log the oldest run begins that is remembered.
    pub fn oldest(&self) -> Option<u64> {
        self.entries.iter().map(|entry| entry.offset).min()
    }

    /// The runs that nobody has acknowledged, and whether the kernel has been sent each and has not ended it.
    pub fn unacknowledged(&self) -> impl Iterator<Item = (&AdoptedRun, bool)> {
        let open = self.entries.iter().filter(|entry| !entry.run.is_acknowledged);
        open.map(|entry| (&entry.run, entry.is_running()))
    }

    /// Whether there are runs that nobody has acknowledged.
    pub fn has_unread(&self) -> bool {
        self.unacknowledged().next().is_some()
    }

    /// Whether the kernel works on a run.
    pub fn is_running(&self) -> bool {
        self.entries.iter().any(Entry::is_running)
    }

    /// How many runs have no owner.
    pub fn orphans(&self) -> usize {
        self.entries.iter().filter(|entry| entry.is_orphan()).count()
    }

    /// The runs without an owner whose outputs are still to be stored, once all of them are over.
    pub fn to_settle(&self) -> Vec<&RunId> {
        if self.entries.iter().any(|entry| entry.is_to_store() && entry.is_running()) {
            return Vec::new();
        }
        let to_store = self.entries.iter().filter(|entry| entry.is_to_store());
        to_store.map(|entry| &entry.run.announcement.run).collect()
    }
}

#[cfg(test)]
mod tests;

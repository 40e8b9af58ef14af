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
use super::record::Announcement;
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
struct Entry {
    announcement: Announcement,
    announced_at: SystemTime,
    /// Where in the log its announcement is.
    offset: u64,
    owner: Option<ClientId>,
    stage: RunStage,
    has_reply: bool,
    is_idle: bool,
    /// How many bytes the log keeps of what is published for it.
    output_bytes: u64,
    is_cut: bool,
    fate: Fate,
}

/// How far a run's request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunStage {
    Announced,
    /// Its client has sent it.
    Sent,
}

/// What has become of a run outside of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Unknown,
    /// Its outputs are in its cell, but not reported yet.
    Stored,
    Acknowledged,
}

impl Entry {
    fn is_acknowledged(&self) -> bool {
        self.fate == Fate::Acknowledged
    }

    /// Whether its client has gone before it was acknowledged.
    fn is_orphan(&self) -> bool {
        self.owner.is_none() && !self.is_acknowledged()
    }

    /// Whether its outputs are still to be stored.
    fn is_to_store(&self) -> bool {
        self.is_orphan() && self.fate == Fate::Unknown && self.announcement.message.is_some()
    }

    /// Whether the kernel has its request and has not ended it.
    fn is_running(&self) -> bool {
        self.announcement.message.is_some() && !(self.has_reply && self.is_idle)
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
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.announcement.run == announcement.run)
        {
            // Announcements and requests come to the keeper in any order.
            if announcement.message.is_some() || entry.announcement.message.is_none() {
                (entry.announcement, entry.owner) = (announcement, owner);
            }
            return;
        }
        self.entries.push(Entry {
            announcement,
            announced_at: now,
            offset,
            owner,
            stage: RunStage::Announced,
            has_reply: false,
            is_idle: false,
            output_bytes: 0,
            is_cut: false,
            fate: Fate::Unknown,
        });
    }

    fn of_request(&mut self, message: &str) -> Option<&mut Entry> {
        let is_of = |entry: &&mut Entry| entry.announcement.message.as_deref() == Some(message);
        self.entries.iter_mut().find(is_of)
    }

    /// The request of this id has come from its client.
    pub fn requested(&mut self, message: &str) {
        if let Some(entry) = self.of_request(message) {
            entry.stage = RunStage::Sent;
        }
    }

    /// The requests that a client has announced and not sent: if it has gone, they never come.
    pub fn unrequested(&self, client: ClientId) -> Vec<MessageId> {
        let is_meant = |entry: &&Entry| {
            entry.owner == Some(client) && entry.stage == RunStage::Announced && entry.is_running()
        };
        self.entries.iter().filter(is_meant).filter_map(|entry| entry.announcement.message.clone()).collect()
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
        for entry in self.entries.iter_mut().filter(|entry| entry.announcement.message.is_some()) {
            (entry.has_reply, entry.is_idle) = (true, true);
        }
    }

    /// A request was withdrawn, or ended otherwise without a reply.
    pub fn ended(&mut self, message: &str) {
        if let Some(entry) = self.of_request(message) {
            (entry.has_reply, entry.is_idle) = (true, true);
        }
    }

    /// A client has gone. Returns whether runs have lost their owner.
    pub fn client_gone(&mut self, client: ClientId) -> bool {
        let mut has_orphans = false;
        for entry in self.entries.iter_mut().filter(|entry| entry.owner == Some(client)) {
            entry.owner = None;
            has_orphans |= !entry.is_acknowledged();
        }
        has_orphans
    }

    /// Gives `client` the runs that have no owner, and shows it those that were acknowledged. Returns them with the offset at which
    /// the first begins; `None` if there are none.
    pub fn adopt(&mut self, client: ClientId) -> (Vec<AdoptedRun>, Option<u64>) {
        let (mut adopted, mut from) = (Vec::new(), None);
        for entry in self.entries.iter_mut().filter(|entry| entry.is_acknowledged() || entry.owner.is_none())
        {
            if !entry.is_acknowledged() {
                entry.owner = Some(client);
            }
            from = Some(from.map_or(entry.offset, |from: u64| from.min(entry.offset)));
            adopted.push(AdoptedRun {
                announcement: entry.announcement.clone(),
                announced_at: entry.announced_at,
                is_stored: entry.fate == Fate::Stored,
                is_acknowledged: entry.is_acknowledged(),
            });
        }
        (adopted, from)
    }

    /// The outputs of a run are in its cell. `false` if that is no news.
    pub fn store(&mut self, run: &RunId) -> bool {
        let is_it = |entry: &&mut Entry| entry.announcement.run == *run && entry.fate == Fate::Unknown;
        self.entries.iter_mut().find(is_it).map(|entry| entry.fate = Fate::Stored).is_some()
    }

    /// The outcome of a run is stored, and known. `false` if that is no news.
    pub fn acknowledge(&mut self, run: &RunId) -> bool {
        let is_it = |entry: &&mut Entry| entry.announcement.run == *run && !entry.is_acknowledged();
        self.entries.iter_mut().find(is_it).map(|entry| entry.fate = Fate::Acknowledged).is_some()
    }

    /// Forgets acknowledged runs beyond the limits, in a log that ends at `end`.
    pub fn forget(&mut self, end: u64) {
        let acknowledged = self.entries.iter().filter(|entry| entry.is_acknowledged()).count();
        let mut excess = acknowledged.saturating_sub(HISTORY);
        self.entries.retain(|entry| {
            let is_old = entry.offset + HISTORY_BYTES < end || excess > 0;
            if entry.is_acknowledged() && is_old {
                excess = excess.saturating_sub(1);
            }
            !(entry.is_acknowledged() && is_old)
        });
    }

    /// Where in the log the oldest run begins that is remembered.
    pub fn oldest(&self) -> Option<u64> {
        self.entries.iter().map(|entry| entry.offset).min()
    }

    /// The runs that nobody has acknowledged, and when each was announced.
    pub fn unacknowledged(&self) -> impl Iterator<Item = (&Announcement, SystemTime)> {
        let open = self.entries.iter().filter(|entry| !entry.is_acknowledged());
        open.map(|entry| (&entry.announcement, entry.announced_at))
    }

    /// Whether there are runs that nobody has acknowledged.
    pub fn has_unread(&self) -> bool {
        self.entries.iter().any(|entry| !entry.is_acknowledged())
    }

    /// The runs that the kernel has been sent and has not ended, unless somebody has acknowledged them.
    pub fn running(&self) -> impl Iterator<Item = &Announcement> {
        let running = self.entries.iter().filter(|entry| entry.is_running() && !entry.is_acknowledged());
        running.map(|entry| &entry.announcement)
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
        to_store.map(|entry| &entry.announcement.run).collect()
    }
}

#[cfg(test)]
mod tests;

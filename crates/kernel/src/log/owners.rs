//! Knowledge of the writer of a log beyond the records: the owners of runs, and the records that may be forgotten.
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

use super::peek::Peek;
use super::record::{Announcement, LogRecord};
use super::runs::{LoggedRun, RunRecord, RunsInLog};
use crate::messages::{Channel, MessageId};

/// A connection of a server to whoever writes the log.
pub type ClientId = u64;

/// The most acknowledged runs that are remembered, and the length of the end of the log that they are remembered from.
const HISTORY: usize = 50;
const HISTORY_BYTES: u64 = 16 * 1024 * 1024;

/// The decision of the log about a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogDecision {
    Keep,
    /// Drop it, and record that this and what follows is dropped.
    CutFromHere,
    Drop,
}

/// One run, as the writer knows it.
#[derive(Debug, Default)]
pub(super) struct Bookkeeping {
    /// The position of its announcement in the log.
    pub(super) offset: u64,
    pub(super) owner: Option<ClientId>,
    /// Its client has sent its request.
    pub(super) is_requested: bool,
    /// The bytes of its outputs that the log keeps.
    pub(super) output_bytes: u64,
    pub(super) is_cut: bool,
}

impl LoggedRun {
    /// Whether its client has gone before it was acknowledged.
    fn is_orphan(&self) -> bool {
        self.kept.owner.is_none() && !self.record.is_acknowledged
    }

    /// Whether its outputs are still to be stored.
    fn is_to_store(&self) -> bool {
        self.is_orphan() && !self.record.is_stored && self.request().is_some()
    }
}

impl RunsInLog {
    /// A client announces a run, of which the log tells at `offset`.
    pub fn announced(&mut self, announcement: Announcement, offset: u64, owner: ClientId) {
        self.announce(announcement, SystemTime::now(), offset, Some(owner));
    }

    /// The request of this id has come from its client.
    pub fn requested(&mut self, message: &str) {
        if let Some(index) = self.index_of(message) {
            self.runs[index].kept.is_requested = true;
        }
    }

    /// The requests that a client has announced and not sent: if it has gone, they never come.
    pub fn unrequested(&self, client: ClientId) -> Vec<MessageId> {
        let is_meant =
            |run: &&LoggedRun| run.kept.owner == Some(client) && !run.kept.is_requested && run.is_running();
        self.runs.iter().filter(is_meant).filter_map(|run| run.request().cloned()).collect()
    }

    /// Decides on a message of the kernel, of `bytes`, with the most that the log keeps of what is published for one run; 0 if it is
    /// full.
    pub fn decide(&mut self, channel: Channel, peek: &Peek, bytes: u64, limit: u64) -> LogDecision {
        let limit = peek.limit(channel, limit);
        let Some(index) = self.index_of(&peek.parent) else {
            return if limit == Some(0) { LogDecision::Drop } else { LogDecision::Keep };
        };
        let Some(limit) = limit else { return LogDecision::Keep };
        let kept = &mut self.runs[index].kept;
        // The traceback says how the run ended, even if what it printed before is gone.
        let is_left_out = kept.is_cut && peek.kind != "error";
        if !is_left_out && kept.output_bytes + bytes <= limit {
            kept.output_bytes += bytes;
            return LogDecision::Keep;
        }
        if std::mem::replace(&mut kept.is_cut, true) { LogDecision::Drop } else { LogDecision::CutFromHere }
    }

    /// Whether a record that a run is stored or acknowledged says something new.
    pub fn is_news(&self, record: &LogRecord) -> bool {
        let (LogRecord::Stored { run } | LogRecord::Acknowledged { run }) = record else { return true };
        let is_stored = |run: &LoggedRun| run.record.is_stored && matches!(record, LogRecord::Stored { .. });
        self.run(run).is_some_and(|run| !run.record.is_acknowledged && !is_stored(run))
    }

    /// A client has gone. Returns whether runs have lost their owner.
    pub fn client_gone(&mut self, client: ClientId) -> bool {
        let mut has_orphans = false;
        for run in self.runs.iter_mut().filter(|run| run.kept.owner == Some(client)) {
            run.kept.owner = None;
            has_orphans |= !run.record.is_acknowledged;
        }
        has_orphans
    }

    /// Gives `client` the runs that have no owner, and shows it those that were acknowledged. Returns them with the offset at which
    /// the first begins; `None` if there are none.
    pub fn adopt(&mut self, client: ClientId) -> (Vec<RunRecord>, Option<u64>) {
        let (mut adopted, mut from) = (Vec::new(), None);
        for run in &mut self.runs {
            if run.is_orphan() {
                run.kept.owner = Some(client);
            } else if !run.record.is_acknowledged {
                continue;
            }
            from = Some(from.map_or(run.kept.offset, |from: u64| from.min(run.kept.offset)));
            adopted.push(run.record.clone());
        }
        (adopted, from)
    }

    /// Forgets acknowledged runs beyond the limits, in a log that ends at `end`.
    pub fn forget(&mut self, end: u64) {
        let acknowledged = self.runs.iter().filter(|run| run.record.is_acknowledged).count();
        let mut excess = acknowledged.saturating_sub(HISTORY);
        self.retain(|run| {
            let is_old = run.kept.offset + HISTORY_BYTES < end || excess > 0;
            let is_forgotten = run.record.is_acknowledged && is_old;
            excess = excess.saturating_sub(usize::from(is_forgotten));
            !is_forgotten
        });
    }

    /// The position of the oldest run that is remembered.
    pub fn oldest(&self) -> Option<u64> {
        self.runs.iter().map(|run| run.kept.offset).min()
    }

    /// Whether there are runs that nobody has acknowledged.
    pub fn has_unread(&self) -> bool {
        self.unacknowledged().next().is_some()
    }

    /// The number of runs without an owner.
    pub fn orphans(&self) -> usize {
        self.runs.iter().filter(|run| run.is_orphan()).count()
    }

    /// The runs without an owner whose outputs are still to be stored, once all of them are over.
    pub fn to_settle(&self) -> Vec<&RunId> {
        let to_store = || self.runs.iter().filter(|run| run.is_to_store());
        if to_store().any(LoggedRun::is_running) {
            Vec::new()
        } else {
            to_store().map(LoggedRun::id).collect()
        }
    }
}

#[cfg(test)]
mod tests;

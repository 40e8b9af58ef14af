//! The runs in a log: who owns them, how far they are, and what may be forgotten.
//!
//! An example, with two clients:
//!
//! | what happens | owner of `r1` | may the log forget it |
//! |---|---|---|
//! | client 1 notes `r1` with request `m` | 1 | no |
//! | client 1 is killed | nobody | no |
//! | the kernel replies to `m` and is idle | nobody | no |
//! | client 2 adopts | 2 | no |
//! | client 2 acknowledges `r1` | 2 | yes, but not before newer runs need its place |

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::peek::Peek;
use super::record::Note;
use crate::messages::Channel;

/// A connection of a server to whoever writes the log.
pub type ClientId = u64;

/// A run that nobody else follows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AdoptedRun {
    pub note: Note,
    /// Its client wrote the note then.
    pub noted_at: SystemTime,
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
    note: Note,
    noted_at: SystemTime,
    /// Where in the log its note is.
    offset: u64,
    owner: Option<ClientId>,
    request: Request,
    has_reply: bool,
    is_idle: bool,
    /// How many bytes the log keeps of what is published for it.
    output_bytes: u64,
    is_cut: bool,
    fate: Fate,
}

/// What the keeper has of a run's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Noted,
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
        self.is_orphan() && self.fate == Fate::Unknown && self.note.message.is_some()
    }

    /// Whether the kernel has its request and has not ended it.
    fn is_running(&self) -> bool {
        self.note.message.is_some() && !(self.has_reply && self.is_idle)
    }
}

/// The runs that nobody has acknowledged, and the last ones that somebody has.
#[derive(Debug, Default)]
pub struct Runs {
    entries: Vec<Entry>,
}

impl Runs {
    /// A client noted a run at `offset`. A second note about it says what has changed: that its request is sent now.
    pub fn note(&mut self, note: Note, offset: u64, owner: Option<ClientId>, now: SystemTime) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.note.run == note.run) {
            // Announcements and requests come to the keeper in any order.
            if note.message.is_some() || entry.note.message.is_none() {
                (entry.note, entry.owner) = (note, owner);
            }
            return;
        }
        self.entries.push(Entry {
            note,
            noted_at: now,
            offset,
            owner,
            request: Request::Noted,
            has_reply: false,
            is_idle: false,
            output_bytes: 0,
            is_cut: false,
            fate: Fate::Unknown,
        });
    }

    /// The request of this id has come from its client.
    pub fn requested(&mut self, message: &str) {
        let is_of = |entry: &&mut Entry| entry.note.message.as_deref() == Some(message);
        if let Some(entry) = self.entries.iter_mut().find(is_of) {
            entry.request = Request::Sent;
        }
    }

    /// The requests that a client has noted and not sent: if it has gone, they never come.
    pub fn unrequested(&self, client: ClientId) -> Vec<String> {
        let is_meant = |entry: &&Entry| {
            entry.owner == Some(client) && entry.request == Request::Noted && entry.is_running()
        };
        self.entries.iter().filter(is_meant).filter_map(|entry| entry.note.message.clone()).collect()
    }

    /// A message of the kernel, of `bytes`, with the most that the log keeps of what is published for one run; 0 if it is full.
    pub fn received(&mut self, channel: Channel, peek: &Peek, bytes: u64, limit: u64) -> LogDecision {
        let is_of = |entry: &&mut Entry| entry.note.message.as_ref().is_some_and(|id| *id == peek.parent);
        let limit = peek.limit(channel, limit);
        let Some(entry) = self.entries.iter_mut().find(is_of) else {
            return if limit == Some(0) { LogDecision::Drop } else { LogDecision::Keep };
        };
        match (channel, &*peek.kind) {
            (Channel::Shell, "execute_reply") => entry.has_reply = true,
            (Channel::Iopub, "status") => entry.is_idle |= peek.state.as_deref() == Some("idle"),
            _ => {}
        }
        let Some(limit) = limit else { return LogDecision::Keep };
        let is_left_out = entry.is_cut && peek.kind != "error";
        if !is_left_out && entry.output_bytes + bytes <= limit {
            entry.output_bytes += bytes;
            return LogDecision::Keep;
        }
        if std::mem::replace(&mut entry.is_cut, true) { LogDecision::Drop } else { LogDecision::CutFromHere }
    }

    /// The kernel's process ended: whatever it was sent is over.
    pub fn kernel_ended(&mut self) {
        for entry in self.entries.iter_mut().filter(|entry| entry.note.message.is_some()) {
            (entry.has_reply, entry.is_idle) = (true, true);
        }
    }

    /// A request was withdrawn, or ended otherwise without a reply.
    pub fn ended(&mut self, message: &str) {
        let is_of = |entry: &&mut Entry| entry.note.message.as_deref() == Some(message);
        if let Some(entry) = self.entries.iter_mut().find(is_of) {
            (entry.has_reply, entry.is_idle) = (true, true);
        }
    }

    /// A client has gone. Returns whether runs have lost their owner.
    pub fn left(&mut self, client: ClientId) -> bool {
        let mut has_left_some = false;
        for entry in self.entries.iter_mut().filter(|entry| entry.owner == Some(client)) {
            entry.owner = None;
            has_left_some |= !entry.is_acknowledged();
        }
        has_left_some
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
                note: entry.note.clone(),
                noted_at: entry.noted_at,
                is_stored: entry.fate == Fate::Stored,
                is_acknowledged: entry.is_acknowledged(),
            });
        }
        (adopted, from)
    }

    /// The outputs of a run are in its cell. `false` if that is no news.
    pub fn store(&mut self, run: &str) -> bool {
        let is_it = |entry: &&mut Entry| entry.note.run == run && entry.fate == Fate::Unknown;
        self.entries.iter_mut().find(is_it).map(|entry| entry.fate = Fate::Stored).is_some()
    }

    /// The outcome of a run is stored, and known. `false` if that is no news.
    pub fn acknowledge(&mut self, run: &str) -> bool {
        let is_it = |entry: &&mut Entry| entry.note.run == run && !entry.is_acknowledged();
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

    /// The runs that nobody has acknowledged, and when each was noted.
    pub fn unacknowledged(&self) -> impl Iterator<Item = (&Note, SystemTime)> {
        let open = self.entries.iter().filter(|entry| !entry.is_acknowledged());
        open.map(|entry| (&entry.note, entry.noted_at))
    }

    /// Whether there are runs that nobody has acknowledged.
    pub fn has_unread(&self) -> bool {
        self.entries.iter().any(|entry| !entry.is_acknowledged())
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
    pub fn to_settle(&self) -> Vec<&str> {
        if self.entries.iter().any(|entry| entry.is_to_store() && entry.is_running()) {
            return Vec::new();
        }
        let to_store = self.entries.iter().filter(|entry| entry.is_to_store());
        to_store.map(|entry| &*entry.note.run).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const LIMIT: u64 = 100;

    fn runs() -> Runs {
        let mut runs = Runs::default();
        for (run, message, offset, owner) in [("r1", "m1", 10, 1), ("r2", "m2", 20, 2)] {
            let note = Note { run: run.to_owned(), message: Some(message.to_owned()), data: Value::Null };
            runs.note(note, offset, Some(owner), SystemTime::UNIX_EPOCH);
        }
        runs
    }

    fn peek(kind: &str, parent: &str, state: Option<&str>) -> Peek {
        let state = state.map(str::to_owned);
        Peek { id: String::new(), kind: kind.to_owned(), parent: parent.to_owned(), state }
    }

    fn finish(runs: &mut Runs, message: &str) {
        runs.received(Channel::Shell, &peek("execute_reply", message, None), 1, LIMIT);
        runs.received(Channel::Iopub, &peek("status", message, Some("idle")), 1, LIMIT);
    }

    /// The names of the runs that a client adopts, and where the first begins.
    fn adopt(runs: &mut Runs, client: ClientId) -> (Vec<String>, Option<u64>) {
        let (adopted, from) = runs.adopt(client);
        (adopted.into_iter().map(|run| run.note.run).collect(), from)
    }

    #[test]
    fn only_runs_of_clients_that_are_gone_are_adopted_and_by_one_client() {
        let mut runs = runs();
        let nothing = (Vec::new(), None);
        assert_eq!(adopt(&mut runs, 3), nothing);
        assert!(runs.left(1) && !runs.left(1) && !runs.left(77));
        assert_eq!(runs.orphans(), 1);
        assert_eq!(adopt(&mut runs, 3), (vec!["r1".to_owned()], Some(10)));
        assert_eq!(adopt(&mut runs, 4), nothing);
        assert!(runs.left(3), "the one that adopted it has gone, too");
        assert_eq!(adopt(&mut runs, 4).0, ["r1"]);
    }

    #[test]
    fn a_run_is_over_after_its_reply_and_idle() {
        let mut runs = runs();
        runs.received(Channel::Iopub, &peek("status", "m1", Some("busy")), 1, LIMIT);
        runs.received(Channel::Shell, &peek("execute_reply", "m1", None), 1, LIMIT);
        finish(&mut runs, "m2");
        assert!(runs.is_running(), "m1 is not idle");
        finish(&mut runs, "m1");
        assert!(!runs.is_running());
        assert!(runs.to_settle().is_empty(), "all have owners");
        runs.left(1);
        assert_eq!(runs.to_settle(), ["r1"]);
        assert!(runs.store("r1") && !runs.store("r1"));
        assert!(runs.to_settle().is_empty());
        let (adopted, _) = runs.adopt(3);
        assert!(adopted[0].is_stored && !adopted[0].is_acknowledged);
    }

    #[test]
    fn a_request_that_its_client_had_no_time_to_send_is_known() {
        let mut runs = runs();
        runs.requested("m1");
        runs.requested("other");
        assert!(runs.unrequested(1).is_empty());
        assert_eq!(runs.unrequested(2), ["m2"]);
        runs.ended("m2");
        assert!(runs.unrequested(2).is_empty());
    }

    #[test]
    fn nothing_is_settled_while_an_orphan_runs() {
        let mut runs = runs();
        runs.left(1);
        runs.left(2);
        finish(&mut runs, "m1");
        assert!(runs.to_settle().is_empty());
        runs.kernel_ended();
        assert_eq!(runs.to_settle(), ["r1", "r2"]);
        assert!(!runs.is_running());
    }

    #[test]
    fn what_was_acknowledged_is_shown_until_newer_runs_need_its_place() {
        let mut runs = runs();
        assert!(runs.acknowledge("r1") && !runs.acknowledge("r1"));
        assert!(!runs.left(1), "nothing is left to do");
        assert_eq!((runs.orphans(), runs.has_unread()), (0, true));
        for client in [3, 4] {
            let (adopted, from) = runs.adopt(client);
            assert_eq!((&*adopted[0].note.run, adopted.len(), from), ("r1", 1, Some(10)));
            assert!(adopted[0].is_acknowledged);
        }
        runs.forget(HISTORY_BYTES);
        assert_eq!(runs.oldest(), Some(10));
        runs.forget(HISTORY_BYTES + 50);
        assert_eq!(runs.oldest(), Some(20), "it was not acknowledged");
        assert!(runs.acknowledge("r2") && !runs.has_unread());
        for number in 0..HISTORY {
            let run = format!("later {number}");
            let note = Note { run: run.clone(), message: None, data: Value::Null };
            runs.note(note, 100, None, SystemTime::UNIX_EPOCH);
            runs.acknowledge(&run);
        }
        runs.forget(200);
        assert_eq!((adopt(&mut runs, 5).0.len(), runs.oldest()), (HISTORY, Some(100)));
    }

    #[test]
    fn a_run_whose_request_was_never_sent_is_no_running_one() {
        let mut runs = Runs::default();
        let note = |message: Option<&str>| Note {
            run: "r1".to_owned(),
            message: message.map(str::to_owned),
            data: Value::Null,
        };
        runs.note(note(None), 5, Some(1), SystemTime::UNIX_EPOCH);
        assert!(!runs.is_running());
        runs.note(note(Some("m")), 50, Some(1), SystemTime::UNIX_EPOCH);
        assert!(runs.is_running());
        runs.note(note(None), 60, Some(1), SystemTime::UNIX_EPOCH);
        assert!(runs.is_running(), "a late announcement changes nothing");
        assert_eq!(runs.oldest(), Some(5));
    }

    #[test]
    fn outputs_beyond_the_limit_are_cut_and_nothing_else() {
        let mut runs = runs();
        let stream = peek("stream", "m1", None);
        assert_eq!(runs.received(Channel::Iopub, &stream, 90, LIMIT), LogDecision::Keep);
        assert_eq!(runs.received(Channel::Iopub, &stream, 90, LIMIT), LogDecision::CutFromHere);
        assert_eq!(runs.received(Channel::Iopub, &stream, 1, LIMIT), LogDecision::Drop);
        for (channel, kind) in [(Channel::Shell, "execute_reply"), (Channel::Iopub, "error")] {
            assert_eq!(runs.received(channel, &peek(kind, "m1", None), 90, LIMIT), LogDecision::Keep);
        }
        let error = peek("error", "m1", None);
        assert_eq!(runs.received(Channel::Iopub, &error, 90, LIMIT), LogDecision::Drop, "many tracebacks");
        assert_eq!(runs.received(Channel::Iopub, &peek("stream", "m2", None), 90, LIMIT), LogDecision::Keep);
        assert_eq!(runs.received(Channel::Iopub, &peek("stream", "x", None), 900, LIMIT), LogDecision::Keep);
        assert_eq!(runs.received(Channel::Iopub, &peek("stream", "x", None), 1, 0), LogDecision::Drop);
        assert_eq!(runs.received(Channel::Iopub, &peek("status", "x", None), 1, 0), LogDecision::Keep);
    }

    #[test]
    fn displays_results_and_messages_of_widgets_count_as_text_does() {
        let widgets = ["comm_open", "comm_msg", "comm_close", "data_pub"];
        for kind in ["display_data", "update_display_data", "execute_result"].into_iter().chain(widgets) {
            let mut runs = runs();
            let output = peek(kind, "m1", None);
            let decided = [90, 90, 1].map(|bytes| runs.received(Channel::Iopub, &output, bytes, LIMIT));
            assert_eq!(decided, [LogDecision::Keep, LogDecision::CutFromHere, LogDecision::Drop], "{kind}");
        }
    }
}

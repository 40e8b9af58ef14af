//! Recognises messages that the server replays after a reconnect.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use kernel::messages::Message;

/// How many messages are remembered; more than a server replays.
const KEPT: usize = 16 * 1024;

/// The last messages, each with the connection over which it came first.
#[derive(Default)]
pub(super) struct ReplayFilter {
    // With random keys: nobody can choose ids that collide, which would hide messages.
    hasher: RandomState,
    /// Hashes of messages, with the number of the connection.
    known: HashMap<u64, u64>,
    /// The keys of `known`, the oldest first.
    order: VecDeque<u64>,
    connection: u64,
}

impl ReplayFilter {
    pub(super) fn reconnected(&mut self) {
        self.connection += 1;
    }

    /// Whether the message came over an earlier connection. Within one connection nothing is replayed, though two threads of
    /// `ipykernel` can use the same id:
    ///
    /// | connection | id | is a replay |
    /// |---|---|---|
    /// | 0 | 7 | no |
    /// | 0 | 7, of another thread | no |
    /// | 1 | 7 | yes |
    /// | 1 | 8 | no |
    pub(super) fn is_replay(&mut self, message: &Message) -> bool {
        let Some(key) = self.key(message) else { return false };
        if let Some(&first) = self.known.get(&key) {
            // The first connection stays on record: after another cut the message may be replayed again.
            return first != self.connection;
        }
        self.known.insert(key, self.connection);
        self.order.push_back(key);
        if self.order.len() > KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        false
    }

    /// The same, for a message that is about to be handled.
    pub(super) fn will_be_replay(&self, message: &Message) -> bool {
        let first = self.key(message).and_then(|key| self.known.get(&key));
        first.is_some_and(|first| *first != self.connection)
    }

    fn key(&self, message: &Message) -> Option<u64> {
        let header = &message.header;
        // Without an id, a message twice is better than one lost; the type tells apart most that share an id.
        (!header.id.is_empty()).then(|| self.hasher.hash_one((&header.id, &header.kind)))
    }
}

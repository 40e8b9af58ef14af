//! Remembers which messages came, to know them again when the server replays them.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use crate::message::Message;

use super::numbers::Stamp;

/// How many messages are remembered; more than a server sends twice.
const KEPT: usize = 16 * 1024;

/// The messages that came last, each with the connection over which it came first.
#[derive(Default)]
pub(super) struct Seen {
    hasher: RandomState,
    known: HashMap<u64, u64>,
    order: VecDeque<u64>,
    /// How many connections there were before this one.
    connection: u64,
}

impl Seen {
    /// The connection is another one from here on.
    pub(super) fn reconnect(&mut self) {
        self.connection += 1;
    }

    /// Remembers a message. `false`: it came before, over an earlier connection. Over one nothing comes twice, though two
    /// threads of `ipykernel` can take the same id.
    pub(super) fn insert(&mut self, message: &Message) -> bool {
        let Some(key) = self.key(message) else { return true };
        if let Some(&first) = self.known.get(&key) {
            return first == self.connection;
        }
        self.known.insert(key, self.connection);
        self.order.push_back(key);
        if self.order.len() > KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }

    /// What stands for a message; `None` if it has no id.
    fn key(&self, message: &Message) -> Option<u64> {
        let stamp = Stamp::read(&message.header);
        if stamp.msg_id.is_empty() {
            None
        } else {
            Some(self.hasher.hash_one((&stamp.msg_id, &message.kind)))
        }
    }
}

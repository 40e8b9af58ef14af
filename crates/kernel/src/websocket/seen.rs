//! Remembers which messages came, to know them again when they come over another socket.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use crate::message::Message;

use super::numbers::Stamp;

/// How many messages are remembered; more than a server sends twice.
const KEPT: usize = 16 * 1024;

/// Names a socket: each has its own number, the first is 0.
pub(super) type Source = u64;

/// The messages that came last, each with the socket over which it came first.
#[derive(Default)]
pub(super) struct Seen {
    hasher: RandomState,
    known: HashMap<u64, Source>,
    order: VecDeque<u64>,
}

impl Seen {
    /// Remembers a message. `false`: it came before, over another socket. Over one socket nothing comes twice, though
    /// two threads of `ipykernel` can take the same id.
    pub(super) fn insert(&mut self, message: &Message, source: Source) -> bool {
        let Some(key) = self.key(message) else { return true };
        if let Some(&first) = self.known.get(&key) {
            return first == source;
        }
        self.known.insert(key, source);
        self.order.push_back(key);
        if self.order.len() > KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }

    /// Whether a message came before.
    pub(super) fn contains(&self, message: &Message) -> bool {
        self.key(message).is_some_and(|key| self.known.contains_key(&key))
    }

    /// What stands for a message; `None` if it has no id.
    pub(super) fn key(&self, message: &Message) -> Option<u64> {
        let stamp = Stamp::read(&message.header);
        if stamp.msg_id.is_empty() {
            None
        } else {
            Some(self.hasher.hash_one((&stamp.msg_id, &message.kind)))
        }
    }
}

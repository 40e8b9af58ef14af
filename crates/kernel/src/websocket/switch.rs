//! Takes outputs from one socket, then from another, without a gap.
//!
//! A server limits what it sends over one socket, and a further socket begins with a limit of its own. All hear the same
//! outputs in the same order, each from its own start; so one can take over from another at a message that both heard.

use std::collections::{HashSet, VecDeque};

use super::numbers::state;
use super::seen::{Seen, Source};
use crate::message::{Channel, Message};

/// How many messages a socket may lag behind when it takes over. One that lags more would use up what it may be sent.
const LAG: usize = 16;

/// Which socket's outputs count. The main one starts, and it alone has replies.
#[derive(Default)]
pub(super) struct Switch {
    main: Source,
    current: Source,
    /// The outputs that were given out last.
    last: VecDeque<u64>,
    /// Those that are to take over, in their order.
    waiting: Vec<Waiting>,
}

/// A socket that is to take over.
struct Waiting {
    source: Source,
    /// What it heard that was not given out yet.
    held: Vec<Message>,
    keys: HashSet<u64>,
    /// The last that it heard was given out; it lags behind, or is where the current one is.
    is_behind: bool,
    /// It heard what the current one gave out not long ago; so it can take over.
    is_linked: bool,
}

impl Waiting {
    /// Takes what it hears next. `is_recent`: it was given out not long ago.
    fn hear(&mut self, message: Message, key: Option<u64>, was_given_out: bool, is_recent: bool) {
        if was_given_out {
            self.held.clear();
            self.keys.clear();
            self.is_linked |= is_recent;
        } else {
            self.is_linked |= self.is_behind;
            self.keys.extend(key);
            self.held.push(message);
        }
        self.is_behind = was_given_out;
    }
}

/// Messages, and the socket over which each came.
pub(super) type Messages = Vec<(Message, Source)>;

impl Switch {
    pub(super) fn current(&self) -> Source {
        self.current
    }

    /// The socket that was opened last and is in use or about to be.
    pub(super) fn newest(&self) -> Source {
        let waiting = self.waiting.iter().rev().map(|it| it.source);
        waiting.chain([self.current]).find(|&source| source != self.main).unwrap_or(self.main)
    }

    /// Whether `source` is in use or about to be.
    pub(super) fn needs(&self, source: Source) -> bool {
        self.current == source || self.waiting.iter().any(|it| it.source == source)
    }

    pub(super) fn is_main(&self, source: Source) -> bool {
        self.main == source
    }

    /// `source` is to take over after those that wait already.
    pub(super) fn prefer(&mut self, source: Source) {
        self.waiting.push(Waiting {
            source,
            held: Vec::new(),
            keys: HashSet::new(),
            is_behind: false,
            is_linked: false,
        });
    }

    /// The main socket is another one, and the only one.
    pub(super) fn restart(&mut self, main: Source) -> Messages {
        let mut held = Vec::new();
        while !self.waiting.is_empty() {
            held.extend(self.take_over(0));
        }
        (self.main, self.current) = (main, main);
        held
    }

    /// A socket other than the main one has ended.
    pub(super) fn lose(&mut self, source: Source) -> Messages {
        self.waiting.retain(|it| it.source != source);
        if self.current != source {
            return Vec::new();
        }
        if self.waiting.is_empty() {
            self.current = self.main;
            return Vec::new();
        }
        self.take_over(0)
    }

    /// The server drops messages for `source`; nothing is gained by waiting for it.
    pub(super) fn drops(&mut self, source: Source) -> Messages {
        self.waiting.retain(|it| it.source != source);
        let next = self.waiting.iter().position(|it| it.source != self.main);
        match next {
            Some(next) if self.current == source => self.take_over(next),
            // What the main socket waits with is for the end, which the server never drops.
            _ => Vec::new(),
        }
    }

    /// Takes a message. Gives those whose turn it is; some of them may have been given out before.
    pub(super) fn take(&mut self, message: Message, source: Source, seen: &Seen) -> Messages {
        if message.channel != Channel::Iopub {
            return vec![(message, source)];
        }
        let key = seen.key(&message);
        if source == self.current {
            self.link(key);
            let mut messages = vec![(message, source)];
            messages.extend(self.switch(seen));
            return messages;
        }
        // A server forgets at each `idle` what it counted, so the main socket can have its place back.
        if source == self.main && !self.needs(source) && ends_run(&message) {
            self.prefer(source);
        }
        let Some(waiting) = self.waiting.iter_mut().find(|it| it.source == source) else { return Vec::new() };
        let is_recent = key.is_some_and(|key| self.last.contains(&key));
        let was_given_out = seen.contains(&message);
        waiting.hear(message, key, was_given_out, is_recent);
        self.switch(seen)
    }

    /// A message is given out.
    fn link(&mut self, key: Option<u64>) {
        let Some(key) = key else { return };
        self.last.push_back(key);
        if self.last.len() > LAG {
            self.last.pop_front();
        }
        for waiting in &mut self.waiting {
            waiting.is_linked |= waiting.keys.contains(&key);
        }
    }

    /// Turns to those that can take over; to the main one, if it can.
    fn switch(&mut self, seen: &Seen) -> Messages {
        let mut messages = Vec::new();
        loop {
            let main = self.waiting.iter().position(|it| it.is_linked && it.source == self.main);
            let Some(next) = main.or_else(|| self.waiting.iter().position(|it| it.is_linked)) else {
                return messages;
            };
            let held = self.take_over(next);
            for (message, _) in &held {
                self.link(seen.key(message));
            }
            messages.extend(held);
        }
    }

    /// Turns to the one at `at`; those before it are too late, and the main one needs no other.
    fn take_over(&mut self, at: usize) -> Messages {
        let main = self.main;
        let mut at = at;
        if let Some(before) = self.waiting[..at].iter().position(|it| it.source == main) {
            let main = self.waiting.remove(before);
            self.waiting.push(main);
            at -= 1;
        }
        let next = self.waiting.drain(..=at).next_back();
        let Some(next) = next else { return Vec::new() };
        if next.source == main {
            self.waiting.clear();
        }
        self.current = next.source;
        next.held.into_iter().map(|message| (message, next.source)).collect()
    }
}

fn ends_run(message: &Message) -> bool {
    state(message).as_deref() == Some("idle") && message.parent_kind() == "execute_request"
}

#[cfg(test)]
mod tests;

//! How near a socket is to the limit beyond which a server drops outputs.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::numbers::state;
use crate::message::{Channel, Message};

/// What a server lets pass unless it is told otherwise (`ZMQChannelsWebsocketConnection._limit_rate`): so much within
/// this time. All is forgiven when the kernel is idle.
const WINDOW: Duration = Duration::from_secs(3);
const MESSAGES: usize = 3000;
const BYTES: usize = 3_000_000;
/// Which part of it may be used before another socket is opened, in percent. The rest is for what the kernel says until
/// the other one hears it.
const SHARE: usize = 40;
/// The same for a time so short that the limit may be reached soon. A kernel that prints without a pause is well ahead of
/// the server, and all that it said already has to come over this socket.
const BURST: (Duration, usize) = (Duration::from_millis(100), 2);
/// The same for a socket that was opened because there is so much.
const FURTHER: usize = 1;

/// What came over one socket within the window.
#[derive(Default)]
pub(super) struct Budget {
    recent: VecDeque<(Instant, usize)>,
    bytes: usize,
}

impl Budget {
    /// Takes note of a message as the server does.
    pub(super) fn count(&mut self, message: &Message, now: Instant) {
        if message.channel != Channel::Iopub {
            return;
        }
        if state(message).as_deref() == Some("idle") {
            *self = Self::default();
        }
        if matches!(message.kind.as_str(), "status" | "comm_open" | "execute_input") {
            return;
        }
        while let Some(&(_, bytes)) = self.recent.front().filter(|(at, _)| *at + WINDOW <= now) {
            self.bytes -= bytes;
            self.recent.pop_front();
        }
        let bytes = if message.kind == "stream" { message.size() } else { 0 };
        self.bytes += bytes;
        self.recent.push_back((now, bytes));
    }

    /// Whether another socket should take over.
    pub(super) fn is_strained(&self, now: Instant) -> bool {
        let (time, share) = BURST;
        let burst = self.recent.iter().rev().take_while(|(at, _)| now < *at + time);
        // More than these say nothing more.
        let (mut messages, mut bytes) = (0, 0);
        for (_, size) in burst.take(MESSAGES * share / 100 + 1) {
            messages += 1;
            bytes += size;
        }
        // One long text is no burst.
        let is_burst = messages > 2 && is_more(messages, bytes, share);
        is_burst || is_more(self.recent.len(), self.bytes, SHARE)
    }

    /// Whether another socket should be there to take over from this one, which was opened because there is so much.
    pub(super) fn is_in_use(&self) -> bool {
        is_more(self.recent.len(), self.bytes, FURTHER)
    }
}

fn is_more(messages: usize, bytes: usize, share: usize) -> bool {
    messages * 100 > MESSAGES * share || bytes * 100 > BYTES * share
}

#[cfg(test)]
mod tests;

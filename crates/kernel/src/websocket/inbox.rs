//! What the messages of the sockets become: each once, with what is missing told.

use std::collections::VecDeque;

use serde::Deserialize;

use super::numbers::{Cause, Numbers, Stamp, state};
use super::seen::{Seen, Source};
use super::switch::Switch;
use crate::message::{Channel, Message};
use crate::text::Lenient;
use crate::transport::Received;

/// Messages on their way from the sockets to the executions. No I/O.
#[derive(Default)]
pub(super) struct Inbox {
    ready: VecDeque<Received>,
    numbers: Numbers,
    seen: Seen,
    switch: Switch,
    /// The last request of ours on the shell channel.
    asked: String,
    /// The kernel said good-bye.
    is_ending: bool,
}

impl Inbox {
    /// What is to be given out next.
    pub(super) fn next(&mut self) -> Option<Received> {
        self.ready.pop_front()
    }

    /// A request of ours goes out on the shell channel.
    pub(super) fn asks(&mut self, id: &str) {
        id.clone_into(&mut self.asked);
    }

    /// Whether outputs can be taken from one socket and then from another.
    pub(super) fn can_switch(&self) -> bool {
        self.numbers.are_known()
    }

    /// Whether the kernel said good-bye since this was asked last.
    pub(super) fn is_ending(&mut self) -> bool {
        std::mem::take(&mut self.is_ending)
    }

    /// The socket that was opened last and is in use or about to be.
    pub(super) fn newest(&self) -> Source {
        self.switch.newest()
    }

    /// Whether outputs of `source` are in use or about to be.
    pub(super) fn needs(&self, source: Source) -> bool {
        self.switch.needs(source)
    }

    /// The main connection is another one, `source`, from here on.
    pub(super) fn reconnect(&mut self, source: Source) {
        let told = self.numbers.cut();
        self.give(told);
        let held = self.switch.restart(source);
        for (message, from) in held {
            self.take_one(message, from);
        }
        self.ready.push_back(Received::Reconnected);
    }

    /// A further socket is opened to the kernel.
    pub(super) fn crowd(&mut self) {
        self.numbers.crowd();
    }

    /// Outputs are to be taken from `source` as soon as that can be done without a gap.
    pub(super) fn prefer(&mut self, source: Source) {
        self.switch.prefer(source);
    }

    /// The socket `source`, which was not the main one, has ended.
    pub(super) fn lose(&mut self, source: Source) {
        if source == self.switch.current() {
            let told = self.numbers.cut();
            self.give(told);
        }
        for (message, from) in self.switch.lose(source) {
            self.take_one(message, from);
        }
    }

    /// Takes a message that came over `source`, whose session is `session`.
    pub(super) fn take(&mut self, message: Message, source: Source, session: &str) {
        let cause = Cause::of_notice(&message);
        let is_servers = cause.is_some()
            || Stamp::read(&message.header).session == session
            || matches!(state(&message).as_deref(), Some("restarting" | "dead"));
        match cause {
            Some(cause) if self.numbers.are_known() => self.drops(cause, message, source),
            // Sockets other than the main one hear the same.
            _ if is_servers && !self.switch.is_main(source) => {}
            _ if is_servers => self.ready.push_back(Received::Message(message)),
            _ => {
                for (message, from) in self.switch.take(message, source, &self.seen) {
                    self.take_one(message, from);
                }
            }
        }
    }

    /// The server says that it drops messages for `source`.
    fn drops(&mut self, cause: Cause, notice: Message, source: Source) {
        let is_current = source == self.switch.current();
        if is_current {
            let told = self.numbers.doubt(cause, notice.parent);
            self.give(told);
        }
        for (message, from) in self.switch.drops(source) {
            self.take_one(message, from);
        }
    }

    /// Takes a message of the kernel, in its turn.
    fn take_one(&mut self, message: Message, source: Source) {
        if !self.seen.insert(&message, source) {
            return;
        }
        self.is_ending |= says_good_bye(&message);
        let counted = self.numbers.take(&message, &self.asked);
        self.give(counted.before);
        if counted.is_new_process {
            self.ready.push_back(Received::Replaced);
        }
        // Of a kernel that counts it is known already, and the new process may have been asked something before it says
        // so.
        let is_known = self.numbers.are_known() && state(&message).as_deref() == Some("starting");
        if !is_known {
            self.ready.push_back(Received::Message(message));
        }
    }

    fn give(&mut self, told: Option<Message>) {
        self.ready.extend(told.map(Received::Message));
    }
}

/// Whether the kernel tells everybody that it ends, and not to come again.
fn says_good_bye(message: &Message) -> bool {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Content {
        restart: Lenient<bool>,
    }
    let is_told = message.channel == Channel::Iopub && message.kind == "shutdown_reply";
    is_told && message.content.decode::<Content>().is_ok_and(|content| !content.restart.0)
}

#[cfg(test)]
mod tests;

//! What the messages of a kernel become: each once, with what is missing told.

use std::collections::VecDeque;
use std::time::Instant;

use serde::Deserialize;

use super::numbers::{Cause, Numbers, Stamp, state};
use super::relief::Relief;
use super::seen::Seen;
use crate::message::{Channel, Message, Outgoing};
use crate::text::Lenient;
use crate::transport::Received;

/// Messages on their way from the socket to the executions. No I/O.
pub(super) struct Inbox {
    /// Ours, under which the server speaks itself.
    session: String,
    ready: VecDeque<Received>,
    numbers: Numbers,
    seen: Seen,
    relief: Relief,
    /// The last request of ours on the shell channel.
    asked: String,
    /// The kernel said good-bye.
    is_ending: bool,
    /// Somebody else connected to it.
    is_overtaken: bool,
    /// The end of a run of which something seems to be missing, while answers are to come that may make up for it.
    held: Option<Message>,
}

impl Inbox {
    /// For connections under `session`.
    pub(super) fn new(session: &str) -> Self {
        Self {
            session: session.to_owned(),
            ready: VecDeque::new(),
            numbers: Numbers::default(),
            seen: Seen::default(),
            relief: Relief::new(session),
            asked: String::new(),
            is_ending: false,
            is_overtaken: false,
            held: None,
        }
    }

    /// What is to be given out next.
    pub(super) fn next(&mut self) -> Option<Received> {
        self.ready.pop_front()
    }

    /// A request of ours goes out on the shell channel.
    pub(super) fn asks(&mut self, id: &str) {
        id.clone_into(&mut self.asked);
    }

    /// Whether the kernel said good-bye since this was asked last.
    pub(super) fn is_ending(&mut self) -> bool {
        std::mem::take(&mut self.is_ending)
    }

    /// Whether somebody else has connected to the kernel.
    pub(super) fn is_overtaken(&self) -> bool {
        self.is_overtaken
    }

    /// What is to be asked now, so that the server drops nothing.
    pub(super) fn question(&mut self, now: Instant) -> Option<Outgoing> {
        self.relief.question(now)
    }

    /// Whether something is held back until answers came.
    pub(super) fn is_holding(&self) -> bool {
        self.held.is_some()
    }

    /// Waits for no more answers.
    pub(super) fn release(&mut self) {
        if let Some(held) = self.held.take() {
            self.pass(held);
        }
    }

    /// The connection is another one from here on.
    pub(super) fn reconnect(&mut self) {
        self.release();
        self.relief.reset();
        let told = self.numbers.cut();
        self.give(told);
        self.seen.reconnect();
        self.ready.push_back(Received::Reconnected);
    }

    /// Takes a message that came over the socket.
    pub(super) fn take(&mut self, message: Message, now: Instant) {
        self.relief.count(&message, now);
        let cause = Cause::of_notice(&message);
        let is_servers = cause.is_some()
            || Stamp::read(&message.header).session == self.session
            || matches!(state(&message).as_deref(), Some("restarting" | "dead"));
        match cause {
            Some(cause) if self.numbers.are_known() => {
                let told = self.numbers.doubt(cause, message.parent);
                self.give(told);
            }
            _ if is_servers => self.ready.push_back(Received::Message(message)),
            _ => self.take_kernels(message),
        }
    }

    /// Takes a message of the kernel.
    fn take_kernels(&mut self, message: Message) {
        if !self.seen.insert(&message) {
            return;
        }
        let is_answer = self.relief.is_answer(&message);
        if message.channel == Channel::Iopub && !is_answer {
            self.release();
        }
        // The kernel answers from another thread, whose messages can come later than their numbers say.
        if self.relief.is_waiting() && self.numbers.lacks_at(&message) {
            self.held = Some(message);
            return;
        }
        self.pass(message);
        if is_answer && !self.relief.is_waiting() {
            self.release();
        }
    }

    fn pass(&mut self, message: Message) {
        self.is_ending |= says_good_bye(&message);
        // Clients begin with this question.
        self.is_overtaken |= state(&message).as_deref() == Some("busy")
            && message.parent_kind() == "kernel_info_request"
            && message.parent_session() != self.session;
        let counted = self.numbers.take(&message, &self.asked);
        self.give(counted.before);
        if counted.is_new_process {
            self.ready.push_back(Received::Replaced);
        }
        // Of a kernel that counts it is known already, and the new process may have been asked something before it says
        // so.
        let is_known = self.numbers.are_known() && state(&message).as_deref() == Some("starting");
        if !is_known && !self.relief.is_answer(&message) {
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

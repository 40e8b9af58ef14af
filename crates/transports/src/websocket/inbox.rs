//! Turns what comes over the socket into each message once, with losses reported. No I/O.

use std::collections::VecDeque;
use std::time::Instant;

use super::rate_limit::RateLimitReset;
use super::replay::ReplayFilter;

use kernel::Received;
use kernel::messages::{Channel, Message};
use kernel::{GapCause, Sequence};

/// Messages on their way from the socket to the executions.
pub(super) struct Inbox {
    /// Ours. The server sends its own messages under it.
    session: String,
    ready: VecDeque<Received>,
    sequence: Sequence,
    pub(super) replay: ReplayFilter,
    pub(super) rate_limit: RateLimitReset,
    /// The kernel announced its shutdown since this was taken last.
    pub(super) shutdown_announced: bool,
    /// Another client connected to the kernel.
    pub(super) is_superseded: bool,
    /// The `idle` of a run that seems incomplete, while answers are to come that may complete it.
    pub(super) held: Option<Message>,
}

impl Inbox {
    pub(super) fn new(session: &str) -> Self {
        Self {
            session: session.to_owned(),
            ready: VecDeque::new(),
            sequence: Sequence::default(),
            replay: ReplayFilter::default(),
            rate_limit: RateLimitReset::new(session),
            shutdown_announced: false,
            is_superseded: false,
            held: None,
        }
    }

    pub(super) fn pop(&mut self) -> Option<Received> {
        self.ready.pop_front()
    }

    /// Our request `id` goes out on the shell channel.
    pub(super) fn requested(&mut self, id: &str) {
        self.sequence.requested(id);
    }

    /// Passes on what is held.
    pub(super) fn release(&mut self) {
        if let Some(held) = self.held.take() {
            self.pass(held);
        }
    }

    /// Adds what is no message of the kernel.
    pub(super) fn add(&mut self, received: Received) {
        self.ready.push_back(received);
    }

    /// Messages of the execution `parent` are missing.
    pub(super) fn dropped(&mut self, cause: GapCause, parent: &str) {
        let notice = self.sequence.server_dropped(cause, parent);
        self.ready.extend(notice.map(received));
    }

    /// The connection was cut for this reason, and restored.
    pub(super) fn reconnected(&mut self, cause: String) {
        self.release();
        self.rate_limit.reconnected();
        self.sequence.cut();
        self.replay.reconnected();
        self.ready.push_back(Received::Reconnected { cause });
    }

    /// Accepts a message that came over the socket.
    pub(super) fn push(&mut self, message: Message, now: Instant) {
        // Before replays are sorted out: the server counts what it replays like everything else.
        self.rate_limit.count(&message, now);
        // Before the next case, because the server sends this notice under our session, too.
        if let Some(cause) = GapCause::of_notice(&message) {
            self.dropped(cause, &message.parent.id);
        } else if message.header.session == self.session {
            // The server's own. What it reports about the kernel is an answer to no request.
            let is_of_server = message.parent.id.is_empty();
            self.ready.push_back(received(Message { is_of_server, ..message }));
        } else if !self.replay.is_replay(&message) {
            self.push_of_kernel(message);
        }
    }

    fn push_of_kernel(&mut self, message: Message) {
        let is_answer = self.rate_limit.is_answer(&message);
        if message.channel == Channel::Iopub && !is_answer {
            self.release();
        }
        // The kernel answers us from another thread, whose messages can come later than their numbers say.
        if self.rate_limit.is_waiting() && self.sequence.is_incomplete_at(&message) {
            self.held = Some(message);
            return;
        }
        self.pass(message);
        if is_answer && !self.rate_limit.is_waiting() {
            self.release();
        }
    }

    fn pass(&mut self, message: Message) {
        let status = message.status();
        self.shutdown_announced |= message.announced_end() == Some(false);
        // Clients begin with this question.
        self.is_superseded |= status.as_deref() == Some("busy")
            && message.parent.kind == "kernel_info_request"
            && message.parent.session != self.session;
        let observed = self.sequence.observe(&message);
        self.ready.extend(observed.notice.map(received));
        if observed.is_new_process {
            self.ready.push_back(Received::Replaced);
        }
        // If the kernel numbers its messages, a new process is recognised without this. Passed on, it would end what the new
        // process was asked before it published this.
        let is_redundant = self.sequence.is_numbered() && status.as_deref() == Some("starting");
        if !is_redundant && !self.rate_limit.is_answer(&message) {
            self.ready.push_back(received(message));
        }
    }
}

fn received(message: Message) -> Received {
    Received::Message(Box::new(message))
}

#[cfg(test)]
mod tests;

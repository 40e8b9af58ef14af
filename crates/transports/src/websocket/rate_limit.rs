//! Keeps a server from dropping the outputs of a kernel that publishes much.
//!
//! Jupyter Server counts what it sends over a socket, drops what exceeds its limit, and resets the count at each `idle` of the
//! kernel, whatever the kernel is done with (`ZMQChannelsWebsocketConnection._limit_rate`). `ipykernel` and others answer on
//! the control channel from another thread while code runs, and publish an `idle` behind the answer. So a question now and
//! then keeps the count low. With a kernel that answers only after the code, no more is dropped than without.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use jupyter_protocol::{JupyterMessage, KernelInfoRequest};

use kernel::messages::{Channel, Message, Outgoing};

/// The server's default limits, within this window.
const WINDOW: Duration = Duration::from_secs(3);
const MESSAGES: usize = 3000;
const BYTES: usize = 3_000_000;
/// The share of the limits at which the kernel is asked, in percent. Small: the kernel may be far ahead of the server, and
/// everything that it published already passes before the answer.
const SHARE_PERCENT: usize = 2;
/// The least time between two questions. Their answers are as far apart among the outputs, however late they come.
const MIN_INTERVAL: Duration = Duration::from_millis(50);
/// How many questions may wait for their answers. If a kernel answers only after the code, they are useless.
const MAX_WAITING: usize = 48;

/// What came over one socket within the window, as the server counts it.
pub(super) struct RateLimitReset {
    session: String,
    recent: VecDeque<(Instant, usize)>,
    bytes: usize,
    waiting: usize,
    last_asked: Option<Instant>,
    questions: u64,
}

impl RateLimitReset {
    pub(super) fn new(session: &str) -> Self {
        Self {
            session: session.to_owned(),
            recent: VecDeque::new(),
            bytes: 0,
            waiting: 0,
            last_asked: None,
            questions: 0,
        }
    }

    pub(super) fn reconnected(&mut self) {
        self.reset();
        self.waiting = 0;
    }

    /// Counts a message as the server does. Outputs of other clients' code do not count: it is not ours to reset for.
    pub(super) fn count(&mut self, message: &Message, now: Instant) {
        // The rules of `_limit_rate`, here and below: only this channel counts, and any `idle` resets.
        if message.channel != Channel::Iopub {
            return;
        }
        if message.status().as_deref() == Some("idle") {
            self.reset();
            if self.is_answer(message) {
                // A question from before a cut may be answered after it, when `reconnected` has set this to zero.
                self.waiting = self.waiting.saturating_sub(1);
            }
        }
        let is_free = matches!(message.header.kind.as_str(), "status" | "comm_open" | "execute_input");
        if is_free || message.parent.session != self.session {
            return;
        }
        while let Some(&(_, bytes)) = self.recent.front().filter(|(at, _)| *at + WINDOW <= now) {
            self.bytes -= bytes;
            self.recent.pop_front();
        }
        // `_limit_rate` counts only the bytes of streams: an image is one message, however large.
        let bytes = if message.header.kind == "stream" { message.bytes } else { 0 };
        self.bytes += bytes;
        self.recent.push_back((now, bytes));
    }

    /// The question to send now, if any.
    pub(super) fn question(&mut self, now: Instant) -> Option<Outgoing> {
        let is_early = self.last_asked.is_some_and(|at| now < at + MIN_INTERVAL);
        if is_early || self.waiting >= MAX_WAITING || !self.is_near_limit() {
            return None;
        }
        self.last_asked = Some(now);
        self.waiting += 1;
        self.questions += 1;
        let mut question: JupyterMessage = KernelInfoRequest {}.into();
        // The answers are known by this prefix, however late they come, and over whichever connection.
        question.header.msg_id = format!("{}{}", self.prefix(), self.questions);
        // On the shell channel it would wait behind the code whose output it protects.
        Some((Channel::Control, question))
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Whether a message belongs to one of these questions.
    pub(super) fn is_answer(&self, message: &Message) -> bool {
        message.parent.id.starts_with(&self.prefix())
    }

    fn is_near_limit(&self) -> bool {
        let messages = self.recent.len();
        // One long text passes or does not, whatever we ask.
        messages > 2
            && (messages * 100 > MESSAGES * SHARE_PERCENT || self.bytes * 100 > BYTES * SHARE_PERCENT)
    }

    fn reset(&mut self) {
        self.recent.clear();
        self.bytes = 0;
    }

    fn prefix(&self) -> String {
        format!("{}_rate_limit_reset_", self.session)
    }
}

#[cfg(test)]
mod tests;

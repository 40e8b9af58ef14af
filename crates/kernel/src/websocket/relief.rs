//! Keeps a server from dropping the outputs of a kernel that says much.
//!
//! Jupyter Server counts what it sends over a socket, drops what is beyond its limit, and forgets the count at each
//! `idle` of the kernel, whatever the kernel is done with (`ZMQChannelsWebsocketConnection._limit_rate`). `ipykernel` and
//! others answer on the control channel from a thread of its own while code runs, and the `idle` behind the answer stands
//! among the outputs. So a question now and then keeps the count low. A kernel that answers only later drops nothing more
//! than it would have.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use jupyter_protocol::{JupyterMessage, KernelInfoRequest};

use super::numbers::state;
use crate::message::{Channel, Message, Outgoing};

/// What a server lets pass unless it is told otherwise: so much within this time.
const WINDOW: Duration = Duration::from_secs(3);
const MESSAGES: usize = 3000;
const BYTES: usize = 3_000_000;
/// Which part of it may be used before the kernel is asked, in percent. Little: the kernel may be far ahead of the server,
/// and all that it said already has to pass before the answer.
const SHARE: usize = 2;
/// The least time between two questions. Their answers stand among the outputs as far apart as they were asked, however
/// late they come.
const INTERVAL: Duration = Duration::from_millis(50);
/// How many questions may wait for their answers: those of a kernel that answers in the end only are for nothing.
const WAITING: usize = 48;

/// What came over one socket within the window, and what is asked because of it.
pub(super) struct Relief {
    session: String,
    recent: VecDeque<(Instant, usize)>,
    bytes: usize,
    waiting: usize,
    asked: Option<Instant>,
    questions: u64,
}

impl Relief {
    /// For a connection under `session`.
    pub(super) fn new(session: &str) -> Self {
        Self {
            session: session.to_owned(),
            recent: VecDeque::new(),
            bytes: 0,
            waiting: 0,
            asked: None,
            questions: 0,
        }
    }

    /// The connection is another one, over which nothing was sent yet.
    pub(super) fn reset(&mut self) {
        self.forget();
        self.waiting = 0;
    }

    /// Takes note of a message as the server does. Outputs of what others asked for do not count: they are not ours to
    /// make room for.
    pub(super) fn count(&mut self, message: &Message, now: Instant) {
        if message.channel != Channel::Iopub {
            return;
        }
        if state(message).as_deref() == Some("idle") {
            self.forget();
            if self.is_answer(message) {
                self.waiting = self.waiting.saturating_sub(1);
            }
        }
        let is_free = matches!(message.kind.as_str(), "status" | "comm_open" | "execute_input");
        if is_free || message.parent_session() != self.session {
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

    /// What to ask the kernel now, if anything.
    pub(super) fn question(&mut self, now: Instant) -> Option<Outgoing> {
        let is_early = self.asked.is_some_and(|at| now < at + INTERVAL);
        if is_early || self.waiting >= WAITING || !self.is_strained() {
            return None;
        }
        self.asked = Some(now);
        self.waiting += 1;
        self.questions += 1;
        let mut question: JupyterMessage = KernelInfoRequest {}.into();
        question.header.msg_id = format!("{}{}", self.prefix(), self.questions);
        Some((Channel::Control, question))
    }

    /// Whether answers are still to come.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Whether a message belongs to a question of ours, and so is of no use to anybody.
    pub(super) fn is_answer(&self, message: &Message) -> bool {
        message.parent.starts_with(&self.prefix())
    }

    fn is_strained(&self) -> bool {
        let messages = self.recent.len();
        // One long text passes or does not, whatever is asked.
        messages > 2 && (messages * 100 > MESSAGES * SHARE || self.bytes * 100 > BYTES * SHARE)
    }

    fn forget(&mut self) {
        self.recent.clear();
        self.bytes = 0;
    }

    fn prefix(&self) -> String {
        format!("{}_relief_", self.session)
    }
}

#[cfg(test)]
mod tests;

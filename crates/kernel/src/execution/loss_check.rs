//! Finds executions of which messages were lost.
//!
//! A kernel takes the requests on its shell channel one after the other. So its answer to a question that was asked last says
//! about every request before it: whatever has no reply by now gets none. For example, after a connection was cut:
//!
//! | our request | sent | before the answer came | after the answer |
//! |---|---|---|---|
//! | 1, execution `a` | before the cut | replayed reply and `idle` | done, as the reply says |
//! | 2, execution `b` | before the cut | `execute_input` | lost; it had started |
//! | 3, execution `c` | into the dead socket | – | lost; unknown whether it ran |
//! | 4, the question | after the reconnect | – | – |
//! | 5, execution `d` | after the question | – | goes on: 5 > 4 |

use std::time::{Duration, Instant};

use jupyter_protocol::{JupyterMessage, KernelInfoRequest};

use crate::LossCause;
use crate::messages::{Channel, Outgoing};

/// How long `idle` may be missing after the reply, or the reply after `idle`, before we ask whether it was lost. A kernel
/// drops messages for a reader that is too slow, and `idle` can be one of them.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(2);

/// At most one question to the kernel whose answer shows what was lost.
#[derive(Debug, Default)]
pub(super) struct LossCheck {
    asked: Option<Question>,
}

#[derive(Debug)]
struct Question {
    id: String,
    /// Its place among our requests.
    number: u64,
    cause: LossCause,
    is_idle: bool,
    /// When the answer came. Its `idle` may be lost for good.
    answered_at: Option<Instant>,
    /// How often the kernel has been silent since the first question.
    silences: u32,
}

/// What a check has shown: whatever was requested before `before` and is not over never ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Losses {
    pub(super) before: u64,
    pub(super) cause: LossCause,
}

impl LossCheck {
    /// Starts a check by the request of this number, in place of the last check. Returns the question to send.
    pub(super) fn start(&mut self, number: u64, cause: LossCause) -> Outgoing {
        self.ask(number, cause, 0)
    }

    fn ask(&mut self, number: u64, cause: LossCause, silences: u32) -> Outgoing {
        let message = JupyterMessage::new(KernelInfoRequest {}, None);
        let id = message.header.msg_id.clone();
        self.asked = Some(Question { id, number, cause, is_idle: false, answered_at: None, silences });
        (Channel::Shell, message)
    }

    /// The question to send after one more silence, as the request of this number, if one is due. A kernel that works answers later, so
    /// the pauses double; a server can drop a question while the kernel starts
    /// (<https://github.com/jupyter-ai-contrib/jupyter-server-documents>).
    pub(super) fn repeat(&mut self, number: u64) -> Option<Outgoing> {
        let Some(asked) = &mut self.asked else { return Some(self.start(number, LossCause::Superseded)) };
        asked.silences += 1;
        let (cause, silences) = (asked.cause.clone(), asked.silences);
        let is_due = asked.answered_at.is_none() && silences > 1 && silences.is_power_of_two();
        is_due.then(|| self.ask(number, cause, silences))
    }

    /// The kernel has replied to a request of ours that belongs to no execution.
    pub(super) fn answered(&mut self, request: &str, now: Instant) {
        if let Some(asked) = self.asked.as_mut().filter(|asked| asked.id == request) {
            asked.answered_at = Some(now);
        }
    }

    /// The kernel is idle after a request.
    pub(super) fn idle(&mut self, request: &str) {
        if let Some(asked) = self.asked.as_mut().filter(|asked| asked.id == request) {
            asked.is_idle = true;
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.asked.as_ref().and_then(Question::deadline)
    }

    /// What was lost, once that is known.
    pub(super) fn finish(&mut self, now: Instant) -> Option<Losses> {
        let asked = self.asked.take_if(|asked| asked.is_over(now))?;
        Some(Losses { before: asked.number, cause: asked.cause })
    }
}

impl Question {
    fn deadline(&self) -> Option<Instant> {
        self.answered_at.map(|answered_at| answered_at + IDLE_TIMEOUT)
    }

    fn is_over(&self, now: Instant) -> bool {
        (self.answered_at.is_some() && self.is_idle)
            || self.deadline().is_some_and(|deadline| deadline <= now)
    }
}

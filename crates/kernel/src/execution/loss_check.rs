//! Finds executions of which messages were lost, and ends them.
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

use std::time::Instant;

use jupyter_protocol::{JupyterMessage, KernelInfoRequest};

use super::executions::{Executions, IDLE_TIMEOUT};
use super::request::Request;
use crate::messages::{Channel, Outgoing};
use crate::{LossCause, Outcome};

/// What the driver has to do.
pub(crate) enum Action {
    Send(Box<Outgoing>),
    /// Reconnect, and then call [`Executions::reconnected`].
    Reconnect,
}

/// A question to the kernel whose answer shows what was lost.
pub(super) struct LossCheck {
    question: String,
    /// Its place among our requests.
    number: u64,
    cause: LossCause,
    is_idle: bool,
    /// When the answer came. Its `idle` may be lost for good.
    answered_at: Option<Instant>,
    /// How often the kernel has been silent since the first question.
    silences: u32,
}

impl LossCheck {
    pub(super) fn is_asked_by(&self, message: &str) -> bool {
        self.question == message
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.answered_at.map(|answered_at| answered_at + IDLE_TIMEOUT)
    }

    /// Whether to ask again after one more silence. A kernel that works answers later, so the pauses double; a server can drop a
    /// question while the kernel starts (<https://github.com/jupyter-ai-contrib/jupyter-server-documents>).
    fn is_due_again(&mut self) -> bool {
        self.silences += 1;
        self.answered_at.is_none() && self.silences > 1 && self.silences.is_power_of_two()
    }

    fn is_over(&self, now: Instant) -> bool {
        (self.answered_at.is_some() && self.is_idle)
            || self.deadline().is_some_and(|deadline| deadline <= now)
    }
}

impl Executions {
    /// The connection was cut and restored: messages may be lost. Returns the question to send.
    pub(crate) fn reconnected(&mut self) -> Outgoing {
        let cause = if self.is_superseded() { LossCause::Superseded } else { LossCause::Disconnected };
        self.check_losses(cause)
    }

    fn check_losses(&mut self, cause: LossCause) -> Outgoing {
        self.requests += 1;
        let question = JupyterMessage::new(KernelInfoRequest {}, None);
        self.loss_check = Some(LossCheck {
            question: question.header.msg_id.clone(),
            number: self.requests,
            cause,
            is_idle: false,
            answered_at: None,
            silences: 0,
        });
        (Channel::Shell, question)
    }

    /// The question to send after a silence, if one is due.
    fn check_after_silence(&mut self) -> Option<Outgoing> {
        let Some(check) = &mut self.loss_check else { return Some(self.check_losses(LossCause::Superseded)) };
        if !check.is_due_again() {
            return None;
        }
        let (cause, silences) = (check.cause, check.silences);
        let question = self.check_losses(cause);
        self.loss_check.as_mut()?.silences = silences;
        Some(question)
    }

    /// Another process has taken the kernel's place. What had started ran on the one before; what had not may have reached
    /// either process, or none. Returns the question to send.
    pub(crate) fn replaced(&mut self) -> Outgoing {
        self.end_started();
        self.replaced_after = self.requests;
        self.check_losses(LossCause::KernelReplaced)
    }

    /// Does what is due at `now`.
    pub(crate) fn tick(&mut self, now: Instant) -> Option<Action> {
        self.update_widgets(now);
        self.end_after_grace(now);
        self.finish_loss_check(now);
        self.probe_at = self.probe_at.filter(|&at| at > now);
        if self.can_be_superseded && self.probe_at.is_none() {
            self.end_without_reply();
        }
        let is_waiting = self.known.values().any(|it| it.waits_for_idle() || it.waits_for_reply());
        if self.probe_at.is_some() || !is_waiting {
            return self.check_silence(now);
        }
        self.requests += 1;
        self.probe_at = Some(now + IDLE_TIMEOUT);
        let question = JupyterMessage::new(KernelInfoRequest {}, None);
        self.probe = Some((question.header.msg_id.clone(), self.requests));
        Some(Action::Send(Box::new((Channel::Shell, question))))
    }

    fn check_silence(&mut self, now: Instant) -> Option<Action> {
        if self.running == 0 || !self.silence_check.is_timed_out(now) {
            return None;
        }
        let is_unanswered = self.silence_check.is_asked();
        // Once for each silence: a kernel without a thread for control is silent while it works.
        if self.can_be_superseded && is_unanswered && !std::mem::replace(&mut self.is_renewed, true) {
            self.superseded();
            self.silence_check.reset(now);
            return Some(Action::Reconnect);
        }
        let question =
            if self.can_be_superseded && !is_unanswered { self.check_after_silence() } else { None };
        if let Some(question) = question {
            self.silence_check.reset(now);
            return Some(Action::Send(Box::new(question)));
        }
        Some(Action::Send(Box::new(self.silence_check.ask(now))))
    }

    /// The kernel started our request `parent`: whatever it replied to before is over, `idle` or not.
    pub(super) fn end_before(&mut self, parent: &str) {
        let number = match (&self.probe, self.known.get(parent)) {
            (_, Some(request)) => request.number,
            (Some((id, number)), None) if id == parent => *number,
            _ => return,
        };
        let is_over = |request: &Request| request.number < number && request.waits_for_idle();
        for id in self.unfinished(is_over) {
            self.finish(&id, Request::conclude);
        }
    }

    /// What was idle without a reply before the kernel answered our question `parent` gets none. `ipykernel` does not reply
    /// if it is interrupted in its own code, before ours.
    pub(super) fn end_unanswered(&mut self, parent: &str) {
        let Some(&(_, number)) = self.probe.as_ref().filter(|(id, _)| id == parent) else { return };
        for id in self.unfinished(|request| request.number < number && request.waits_for_reply()) {
            self.finish(&id, |_| (Vec::new(), Outcome::Interrupted));
        }
    }

    /// Where the reply went to another client, what was published still says how the execution ended.
    fn end_without_reply(&mut self) {
        for id in self.unfinished(Request::waits_for_reply) {
            self.superseded();
            self.finish(&id, Request::conclude_without_reply);
        }
    }

    pub(super) fn loss_check_answered(&mut self, question: &str, now: Instant) {
        if let Some(check) = self.loss_check.as_mut().filter(|check| check.is_asked_by(question)) {
            check.answered_at = Some(now);
        }
        self.finish_loss_check(now);
    }

    pub(super) fn loss_check_idle(&mut self, question: &str, now: Instant) {
        if let Some(check) = self.loss_check.as_mut().filter(|check| check.is_asked_by(question)) {
            check.is_idle = true;
        }
        self.finish_loss_check(now);
    }

    /// Ends what was lost, if that is known by now.
    fn finish_loss_check(&mut self, now: Instant) {
        let Some(check) = self.loss_check.take_if(|check| check.is_over(now)) else { return };
        let replaced_after = self.replaced_after;
        for id in self.unfinished(|request| request.number < check.number) {
            self.finish(&id, |request| {
                let is_replaced = request.number <= replaced_after;
                request.conclude_after_loss(if is_replaced { LossCause::KernelReplaced } else { check.cause })
            });
        }
    }
}

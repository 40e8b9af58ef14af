//! What is asked of a kernel when messages are missing, and what ends by its answers.

use std::time::Instant;

use jupyter_protocol::{JupyterMessage, KernelInfoRequest};

use super::executions::Executions;
use super::loss_check::{IDLE_TIMEOUT, Losses};
use super::request::Request;
use crate::LossCause;
use crate::messages::{Channel, Outgoing};

/// What the driver has to do.
pub(crate) enum Action {
    Send(Box<Outgoing>),
    /// Reconnect, and then call [`Executions::reconnected`].
    Reconnect,
}

impl Executions {
    /// The connection was cut and restored: messages may be lost. Returns the question to send.
    pub(crate) fn reconnected(&mut self, cause: String) -> Outgoing {
        let is_superseded = self.is_superseded();
        let cut = LossCause::Disconnected { cause };
        self.check_losses(if is_superseded { LossCause::Superseded } else { cut })
    }

    fn check_losses(&mut self, cause: LossCause) -> Outgoing {
        self.requests += 1;
        self.loss_check.start(self.requests, cause)
    }

    /// The question to send after a silence, if one is due.
    fn check_after_silence(&mut self) -> Option<Outgoing> {
        let question = self.loss_check.repeat(self.requests + 1)?;
        self.requests += 1;
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
        self.end_lost(now);
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
            self.finish(&id, |request| (Vec::new(), request.interrupted()));
        }
    }

    /// Where the reply went to another client, what was published still says how the execution ended.
    fn end_without_reply(&mut self) {
        for id in self.unfinished(Request::waits_for_reply) {
            self.superseded();
            self.finish(&id, Request::conclude_without_reply);
        }
    }

    /// Ends what was lost, if that is known by now.
    pub(super) fn end_lost(&mut self, now: Instant) {
        let Some(Losses { before, cause }) = self.loss_check.finish(now) else { return };
        let replaced_after = self.replaced_after;
        for id in self.unfinished(|request| request.number < before) {
            self.finish(&id, |request| {
                let is_replaced = request.number <= replaced_after;
                let cause = if is_replaced { LossCause::KernelReplaced } else { cause.clone() };
                request.conclude_after_loss(cause)
            });
        }
    }
}

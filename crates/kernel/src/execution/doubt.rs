//! Whether messages were lost: what is asked to find out, and how what was lost ends.

use std::time::Instant;

use jupyter_protocol::{JupyterMessage, KernelInfoRequest};

use super::single::Execution;
use super::{Executions, IDLE_PATIENCE};
use crate::message::{Channel, Outgoing};

/// What it takes to learn whether something was lost.
pub(crate) enum Need {
    /// The answer to a question.
    Answer(Box<Outgoing>),
    /// Another connection, and then the answer to [`Executions::doubt`].
    Connection,
}

/// What is asked when messages may have been lost. The kernel answers in the order in which it is asked, so with this answer
/// it is known of everything before whether an answer will come.
pub(super) struct Doubt {
    question: String,
    /// Its place among our requests.
    pub(super) number: u64,
    pub(super) is_idle: bool,
    /// When the answer came; its `idle` may be lost for good.
    pub(super) answered: Option<Instant>,
}

impl Doubt {
    pub(super) fn new(question: String, number: u64) -> Self {
        Self { question, number, is_idle: false, answered: None }
    }

    pub(super) fn is_asked_by(&self, message: &str) -> bool {
        self.question == message
    }

    /// When it is settled at the latest.
    pub(super) fn settled_at(&self) -> Option<Instant> {
        self.answered.map(|answered| answered + IDLE_PATIENCE)
    }

    pub(super) fn is_settled(&self, now: Instant) -> bool {
        (self.answered.is_some() && self.is_idle) || self.settled_at().is_some_and(|at| at <= now)
    }
}

impl Executions {
    /// Learns that messages may have been lost, as when the connection was made anew. Gives a question to be sent: what ran
    /// before and of which the end was not heard when the kernel answers it was lost.
    pub(crate) fn doubt(&mut self) -> Outgoing {
        self.requests += 1;
        let question = JupyterMessage::new(KernelInfoRequest {}, None);
        self.doubt = Some(Doubt::new(question.header.msg_id.clone(), self.requests));
        (Channel::Shell, question)
    }

    /// Looks at the time. Gives what it takes to learn whether something was lost.
    pub(crate) fn tick(&mut self, now: Instant) -> Option<Need> {
        self.settle_doubt(now);
        self.probe_at = self.probe_at.filter(|&at| at > now);
        if self.can_be_overtaken && self.probe_at.is_none() {
            self.settle_unheard();
        }
        let is_waiting = self.known.values().any(|it| it.waits_for_idle() || it.waits_for_reply());
        if self.probe_at.is_some() || !is_waiting {
            return self.break_silence(now);
        }
        self.requests += 1;
        self.probe_at = Some(now + IDLE_PATIENCE);
        let question = JupyterMessage::new(KernelInfoRequest {}, None);
        self.probe = Some((question.header.msg_id.clone(), self.requests));
        Some(Need::Answer(Box::new((Channel::Shell, question))))
    }

    /// What a kernel that has worked and been silent for too long is asked.
    fn break_silence(&mut self, now: Instant) -> Option<Need> {
        if self.running == 0 || !self.silence.is_too_long(now) {
            return None;
        }
        let is_unanswered = self.silence.is_asked();
        // Once for each silence: a kernel without a thread for control is silent while it works.
        if self.can_be_overtaken && is_unanswered && !std::mem::replace(&mut self.is_renewed, true) {
            self.cut_off();
            self.silence.end(now);
            return Some(Need::Connection);
        }
        if self.can_be_overtaken && !is_unanswered && self.doubt.is_none() {
            self.silence.end(now);
            return Some(Need::Answer(Box::new(self.doubt())));
        }
        Some(Need::Answer(Box::new(self.silence.ask(now))))
    }

    /// The kernel turned to our request `parent`: whatever it replied to before is over, `idle` or not.
    pub(super) fn close_before(&mut self, parent: &str) {
        let number = match (&self.probe, self.known.get(parent)) {
            (_, Some(execution)) => execution.number,
            (Some((id, number)), None) if id == parent => *number,
            _ => return,
        };
        let is_over = |execution: &Execution| execution.number < number && execution.waits_for_idle();
        for id in self.unfinished(is_over) {
            self.finish(&id, Execution::conclude);
        }
    }

    /// Where the kernel was idle without a reply before it answered our question `parent`, there will be none.
    pub(super) fn settle_unanswered(&mut self, parent: &str) {
        let Some(&(_, number)) = self.probe.as_ref().filter(|(id, _)| id == parent) else { return };
        for id in self.unfinished(|execution| execution.number < number && execution.waits_for_reply()) {
            self.finish(&id, |_| Execution::unanswered());
        }
    }

    /// Where the kernel was idle and its reply went to somebody else, it is known all the same how it ended.
    fn settle_unheard(&mut self) {
        for id in self.unfinished(Execution::waits_for_reply) {
            self.cut_off();
            self.finish(&id, Execution::conclude_unheard);
        }
    }

    /// Ends what was lost with a connection, if that is known by now.
    pub(super) fn settle_doubt(&mut self, now: Instant) {
        let Some(doubt) = self.doubt.take_if(|doubt| doubt.is_settled(now)) else { return };
        for id in self.unfinished(|execution| execution.number < doubt.number) {
            let replaced_after = self.replaced_after;
            self.finish(&id, |execution| execution.conclude_in_doubt(execution.number <= replaced_after));
        }
    }
}

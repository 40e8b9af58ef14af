//! How executions end: each once, after what it published, and some only after a grace for outputs that come late.

use std::time::Instant;

use super::executions::{Executions, KEPT};
use super::late_output::GRACE;
use super::request::{Request, Stage};
use crate::handler_state::Handler;
use crate::{Death, Event, MessageId, Outcome, Status};

impl Executions {
    /// The kernel's process ended, and another one may have taken its place, which is idle.
    pub(crate) fn process_ended(&mut self, outcome: &Outcome) {
        self.end(outcome);
        self.status = Status::Idle;
        self.process.ended();
        self.widgets.widgets.clear();
    }

    /// The kernel will never get this request.
    pub(crate) fn withdrawn(&mut self, id: &MessageId) {
        self.finish(id, |_| (Vec::new(), Outcome::Aborted));
    }

    /// The kernel is a new process: what had started ran on the one before.
    pub(super) fn end_started(&mut self) {
        *self.memory_handler.lock() = Handler::Unknown;
        self.status = Status::Starting;
        self.process.restarted();
        self.widgets.widgets.clear();
        for id in self.unfinished(|request| request.stage == Stage::Started && request.late_until.is_none()) {
            self.finish(&id, |_| (Vec::new(), Outcome::KernelDied { how: Death::Replaced }));
        }
    }

    /// Ends all executions that are not over: with `outcome`, unless they only wait for late outputs.
    pub(crate) fn end(&mut self, outcome: &Outcome) {
        while let Some((_, id)) = self.ending.pop_front() {
            self.finish(&id, Request::conclude);
        }
        for id in self.unfinished(|_| true) {
            self.finish(&id, |request| match outcome {
                Outcome::Lost { cause, .. } => request.conclude_after_loss(cause.clone()),
                _ => (Vec::new(), outcome.clone()),
            });
        }
    }

    /// Ends `parent` if both its reply and `idle` have come, in whatever order; after a grace where outputs may follow.
    pub(super) fn settle(&mut self, parent: &str, now: Instant) {
        let Some((id, request)) = self.known.get_key_value(parent) else { return };
        let id = id.clone();
        let Some(reply) = request.reply.as_ref() else { return };
        // No `idle` need follow the reply to what was aborted, but what shows that it ran may arrive on another channel.
        let is_aborted = reply.is_aborted() && !request.is_idle;
        if !(request.is_idle || is_aborted) || request.late_until.is_some() {
            return;
        }
        // A kernel that is interrupted because it ends can announce that later: another thread does.
        let may_end = self.process.may_end_with(request.number, request.error.as_ref());
        let grace = self.order.grace(request.has_outputs).or((may_end || is_aborted).then_some(GRACE));
        let Some(request) = self.known.get_mut(&id) else { return };
        request.late_until = Some(now + GRACE);
        match grace {
            Some(grace) => self.ending.push_back((now + grace, id)),
            None => self.finish(&id, Request::conclude),
        }
    }

    /// Ends what waited long enough for late outputs.
    pub(super) fn end_after_grace(&mut self, now: Instant) {
        while self.ending.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, id)) = self.ending.pop_front() else { return };
            self.finish(&id, Request::conclude);
        }
    }

    /// The ids of unfinished executions, in the order of their requests.
    pub(super) fn unfinished(&self, is_wanted: impl Fn(&Request) -> bool) -> Vec<MessageId> {
        if self.running == 0 {
            return Vec::new();
        }
        let unfinished = self.known.iter().filter(|(_, it)| !it.is_finished() && is_wanted(it));
        let mut unfinished: Vec<_> = unfinished.map(|(id, it)| (it.number, id.clone())).collect();
        unfinished.sort_unstable_by_key(|(number, _)| *number);
        unfinished.into_iter().map(|(_, id)| id).collect()
    }

    pub(super) fn finish(
        &mut self,
        id: &MessageId,
        conclude: impl FnOnce(&mut Request) -> (Vec<Event>, Outcome),
    ) {
        let Some(request) = self.known.get_mut(id).filter(|request| !request.is_finished()) else {
            return;
        };
        self.input_requests.remove(id);
        if self.publishes_input {
            request.report_missing_outputs();
        }
        self.flush_widgets();
        self.conclude_widgets(id);
        let Some(request) = self.known.get_mut(id) else { return };
        if self.captures.iter().any(|(_, message)| message == id.as_str()) {
            // What we add about its end belongs to the cell.
            request.emit(Event::Captured(None));
        }
        let (last, outcome) = conclude(request);
        for event in last {
            request.emit(event);
        }
        request.stage = Stage::Finished;
        (request.sink)(Event::Finished(self.process.end_of(request.number, outcome)));
        self.running -= 1;
        self.finished.push_back(id.clone());
        if self.finished.len() > KEPT
            && let Some(oldest) = self.finished.pop_front()
        {
            self.known.remove(&oldest);
            self.captures.retain(|(_, message)| message != oldest.as_str());
        }
    }
}

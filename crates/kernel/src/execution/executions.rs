//! The executions of one connection: which there are, and what is known of the kernel that runs them. `incoming` changes them by the
//! kernel's messages, and `ending` ends them.
//!
//! `widget_updates` has methods of [`Executions`], which holds its state.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::late_output::PublishOrder;
use super::loss_check::LossCheck;
use super::process::ProcessWatch;
use super::request::Request;
use super::silence_check::SilenceCheck;
use super::stdin::InputRequests;
use super::widget_updates::WidgetUpdates;
use crate::handler_state::HandlerState;
use crate::{Event, MessageId, Sink, Status};

/// How many finished executions keep their sinks, for threads that print late and displays that are updated.
pub(super) const KEPT: usize = 64;

/// The executions of one connection; at first none, on a kernel that is ready.
#[derive(Default)]
pub(crate) struct Executions {
    pub(super) known: HashMap<MessageId, Request>,
    /// Those of `known` that are over, the oldest first.
    pub(super) finished: VecDeque<MessageId>,
    /// Those that end then unless outputs come late, the earliest first.
    pub(super) ending: VecDeque<(Instant, MessageId)>,
    pub(super) running: usize,
    /// How many requests we sent on the shell channel. The kernel takes them in this order.
    pub(super) requests: u64,
    /// The last question whether `idle` was lost, and its number.
    pub(super) probe: Option<(String, u64)>,
    pub(super) probe_at: Option<Instant>,
    pub(super) loss_check: LossCheck,
    pub(crate) silence_check: SilenceCheck,
    pub(super) order: PublishOrder,
    /// Another client that connects may get the kernel's replies to us, and our requests are lost.
    pub(crate) can_be_superseded: bool,
    /// Shared with the client; set before an execution that shows it ends.
    pub(crate) is_superseded: Arc<AtomicBool>,
    /// A reconnect was already tried in this silence.
    pub(super) is_renewed: bool,
    /// What the kernel reported last.
    pub(crate) status: Status,
    /// How many requests there had been when the kernel was last replaced.
    pub(super) replaced_after: u64,
    pub(crate) process: ProcessWatch,
    /// The kernel publishes `execute_input`, as the protocol demands. Not all do.
    pub(super) publishes_input: bool,
    pub(crate) input_requests: InputRequests,
    /// Our latest requests that belong to no execution. Their `busy` and `idle` say nothing about what the kernel runs.
    pub(super) asked: VecDeque<String>,
    /// Shared with the client; reset when the kernel is a new process.
    pub(crate) memory_handler: HandlerState,
    /// The widgets that take outputs, by their comms, each with its request. The last one of a request takes them.
    pub(super) captures: Vec<(String, String)>,
    pub(super) widgets: WidgetUpdates,
}

impl Executions {
    /// A request is about to be sent that belongs to no execution.
    pub(crate) fn asked(&mut self, id: &str) {
        if self.asked.len() == KEPT {
            self.asked.pop_front();
        }
        self.asked.push_back(id.to_owned());
    }

    pub(super) fn is_superseded(&self) -> bool {
        self.is_superseded.load(Ordering::Relaxed)
    }

    /// Another client's connection has taken over ours.
    pub(crate) fn superseded(&mut self) {
        self.is_superseded.store(true, Ordering::Relaxed);
    }

    /// The connection has been lost for a while, for this reason; without one, it works again.
    pub(crate) fn disconnected(&mut self, cause: Option<&str>) {
        for request in self.known.values_mut() {
            request.notify(Event::Disconnected { cause: cause.map(str::to_owned) });
        }
    }

    /// Somebody has answered the `input_request` of this id.
    pub(crate) fn input_answered(&mut self, request: &str) {
        let Some(id) = self.input_requests.answered(request) else { return };
        if let Some(execution) = self.known.get_mut(&id) {
            execution.emit(Event::InputAnswered);
        }
    }

    /// Adds an execution whose request is about to be sent.
    pub(crate) fn add(&mut self, id: MessageId, sink: Sink, now: Instant) {
        self.silence_check.reset(now);
        self.requests += 1;
        self.running += 1;
        self.known.insert(id, Request::new(self.requests, sink));
    }

    pub(crate) fn status(&self) -> Status {
        match &self.status {
            Status::Dead { .. } => self.status.clone(),
            _ if self.running > 0 => Status::Busy,
            status => status.clone(),
        }
    }

    /// When [`Executions::tick`] is due.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let checked = self.loss_check.deadline();
        let silent = self.silence_check.deadline().filter(|_| self.running > 0);
        let ending = self.ending.front().map(|(at, _)| *at);
        [self.probe_at, checked, silent, ending, self.widgets.due_at].into_iter().flatten().min()
    }
}

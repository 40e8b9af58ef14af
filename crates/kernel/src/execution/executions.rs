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
use super::process::{Process, ProcessWatch};
use super::request::Request;
use super::silence_check::SilenceCheck;
use super::stdin::InputRequests;
use super::widget_updates::WidgetUpdates;
use crate::handler_state::HandlerState;
use crate::{Event, MessageId, Sink, Status};

/// How many finished executions keep their sinks, for threads that print late and displays that are updated.
pub(super) const KEPT: usize = 64;

/// The executions of one connection.
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
    pub(super) silence_check: SilenceCheck,
    pub(super) order: PublishOrder,
    /// Another client that connects may get the kernel's replies to us, and our requests are lost.
    pub(super) can_be_superseded: bool,
    is_superseded: Arc<AtomicBool>,
    /// A reconnect was already tried in this silence.
    pub(super) is_renewed: bool,
    /// What the kernel reported last.
    pub(super) status: Status,
    /// How many requests there had been when the kernel was last replaced.
    pub(super) replaced_after: u64,
    pub(super) process: ProcessWatch,
    /// The kernel publishes `execute_input`, as the protocol demands. Not all do.
    pub(super) publishes_input: bool,
    pub(super) input_requests: InputRequests,
    /// Our latest requests that belong to no execution. Their `busy` and `idle` say nothing about what the kernel runs.
    pub(super) asked: VecDeque<String>,
    pub(super) memory_handler: HandlerState,
    /// The widgets that take outputs, by their comms, each with its request. The last one of a request takes them.
    pub(super) captures: Vec<(String, String)>,
    pub(super) widgets: WidgetUpdates,
}

impl Executions {
    /// No executions, on a kernel that is ready.
    pub(crate) fn new(input_requests: InputRequests) -> Self {
        Self {
            known: HashMap::new(),
            finished: VecDeque::new(),
            ending: VecDeque::new(),
            running: 0,
            requests: 0,
            probe: None,
            probe_at: None,
            loss_check: LossCheck::default(),
            silence_check: SilenceCheck::default(),
            order: PublishOrder::default(),
            can_be_superseded: false,
            is_superseded: Arc::default(),
            is_renewed: false,
            status: Status::Idle,
            replaced_after: 0,
            process: ProcessWatch::default(),
            publishes_input: false,
            input_requests,
            asked: VecDeque::new(),
            memory_handler: HandlerState::default(),
            captures: Vec::new(),
            widgets: WidgetUpdates::default(),
        }
    }

    /// Shared with the client.
    pub(crate) fn process(&self) -> Process {
        self.process.shared()
    }

    /// The kernel was this process when the connection was made.
    pub(crate) fn begin_with(&mut self, process: Option<String>) {
        self.process.begin_with(process);
    }

    /// From now on no message of the kernel means that another process has taken its place.
    pub(crate) fn trust_process_end(&mut self) {
        self.process.is_end_reported = true;
    }

    /// An earlier connection to this kernel spoke to this process; `None` if that has ended.
    pub(crate) fn follow_process(&mut self, earlier: Option<String>) {
        self.process.follow(earlier);
    }

    /// Shared with the client; reset when the kernel is a new process.
    pub(crate) fn memory_handler(&self) -> HandlerState {
        self.memory_handler.clone()
    }

    /// A request is about to be sent that belongs to no execution.
    pub(crate) fn asked(&mut self, id: &str) {
        if self.asked.len() == KEPT {
            self.asked.pop_front();
        }
        self.asked.push_back(id.to_owned());
    }

    /// From now on a kernel that runs code and is silent is asked whether it still exists.
    pub(crate) fn watch_for_silence(&mut self, now: Instant) {
        self.silence_check.watch(now);
    }

    /// From now on replies may go to another client, and requests nowhere.
    pub(crate) fn watch_for_superseding(&mut self) {
        self.can_be_superseded = true;
    }

    /// Shared with the client; set before an execution that shows it ends.
    pub(crate) fn superseded_flag(&self) -> Arc<AtomicBool> {
        self.is_superseded.clone()
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

    /// The kernel works on something that was asked before this connection was made.
    pub(crate) fn assume_busy(&mut self) {
        self.status = Status::Busy;
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

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use notebook::Json;

use super::late_output::{GRACE, PublishOrder};
use super::loss_check::LossCheck;
use super::process::{Process, ProcessWatch};
use super::published::published;
use super::request::{Request, Stage};
use super::silence_check::SilenceCheck;
use super::stdin::InputRequests;
use super::widget_updates::WidgetUpdates;
use crate::memory::{Handler, HandlerState};
use crate::messages::{Channel, Message, Reply, content};
use crate::{Event, ExecutionId, Outcome, Sink, Status};

/// How many finished executions keep their sinks, for threads that print late and displays that are updated.
const KEPT: usize = 64;

/// How long `idle` may be missing after the reply, or the reply after `idle`, before we ask whether it was lost. A kernel
/// drops messages for a reader that is too slow, and `idle` can be one of them.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(2);

const GIVEN_UP: &str = "it ended by itself, and its server could not restart it";

/// The executions of one connection.
pub(crate) struct Executions {
    pub(super) known: HashMap<ExecutionId, Request>,
    /// Those of `known` that are over, the oldest first.
    finished: VecDeque<ExecutionId>,
    /// Those that end then unless outputs come late, the earliest first.
    ending: VecDeque<(Instant, ExecutionId)>,
    pub(super) running: usize,
    /// How many requests we sent on the shell channel. The kernel takes them in this order.
    pub(super) requests: u64,
    /// The last question whether `idle` was lost, and its number.
    pub(super) probe: Option<(String, u64)>,
    pub(super) probe_at: Option<Instant>,
    pub(super) loss_check: Option<LossCheck>,
    pub(super) silence_check: SilenceCheck,
    order: PublishOrder,
    /// Another client that connects may get the kernel's replies to us, and our requests are lost.
    pub(super) can_be_superseded: bool,
    is_superseded: Arc<AtomicBool>,
    /// A reconnect was already tried in this silence.
    pub(super) is_renewed: bool,
    /// What the kernel reported last.
    status: Status,
    /// How many requests there had been when the kernel was last replaced.
    pub(super) replaced_after: u64,
    process: ProcessWatch,
    /// The kernel publishes `execute_input`, as the protocol demands. Not all do.
    publishes_input: bool,
    input_requests: InputRequests,
    /// Our latest requests that belong to no execution. Their `busy` and `idle` say nothing about what the kernel runs.
    asked: VecDeque<String>,
    memory_handler: HandlerState,
    /// The widgets that take outputs, by their comms, each with its request. The last one of a request takes them.
    captures: Vec<(String, String)>,
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
            loss_check: None,
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

    /// The kernel's process ended, and another one may have taken its place, which is idle.
    pub(crate) fn process_ended(&mut self, outcome: &Outcome) {
        self.end(outcome);
        self.status = Status::Idle;
        self.process.ended();
        self.widgets.clear();
    }

    /// The kernel will never get this request.
    pub(crate) fn withdrawn(&mut self, id: &ExecutionId) {
        self.finish(id, |_| (Vec::new(), Outcome::Aborted));
    }

    /// Adds an execution whose request is about to be sent.
    pub(crate) fn add(&mut self, id: ExecutionId, sink: Sink, now: Instant) {
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
        let checked = self.loss_check.as_ref().and_then(LossCheck::deadline);
        let silent = self.silence_check.deadline().filter(|_| self.running > 0);
        let ending = self.ending.front().map(|(at, _)| *at);
        [self.probe_at, checked, silent, ending, self.widgets.due_at].into_iter().flatten().min()
    }

    /// Handles a message of the kernel. Messages that are not for us, or malformed, change nothing.
    pub(crate) fn handle(&mut self, message: &Message, now: Instant) {
        self.silence_check.reset(now);
        self.is_renewed = false;
        // A Jupyter server numbers its own messages, which it sends under our session.
        if message.header.sequence().is_some() && message.header.session != message.parent.session {
            self.order.numbered();
        }
        let result = match (message.channel, message.header.kind.as_str()) {
            (Channel::Iopub, "status") => self.on_status(message, now),
            (Channel::Iopub, "execute_input") => self.on_input(message),
            (Channel::Iopub, "shutdown_reply") => {
                self.process.announced_end(message, self.requests);
                Ok(())
            }
            (Channel::Iopub, "comm_open" | "comm_close") => self.on_widget(message, now),
            (Channel::Iopub, _) => self.on_output(message, now),
            (Channel::Shell, "execute_reply") => {
                self.on_reply(message, now);
                Ok(())
            }
            (Channel::Shell, "kernel_info_reply") => {
                self.loss_check_answered(&message.parent.id, now);
                self.end_unanswered(&message.parent.id);
                Ok(())
            }
            (Channel::Stdin, "input_request") => self.on_input_request(message),
            _ => Ok(()),
        };
        if let Err(error) = result {
            tracing::warn!(kind = message.header.kind, %error, "ignored a malformed message of the kernel");
        }
    }

    /// The kernel is a new process: what had started ran on the one before.
    pub(super) fn end_started(&mut self) {
        *self.memory_handler.lock() = Handler::Unknown;
        self.status = Status::Starting;
        self.process.restarted();
        self.widgets.clear();
        for id in self.unfinished(|request| request.stage == Stage::Started && request.late_until.is_none()) {
            self.finish(&id, |_| (Vec::new(), Outcome::Restarted));
        }
    }

    /// Ends all executions that are not over: with `outcome`, unless they only wait for late outputs.
    pub(crate) fn end(&mut self, outcome: &Outcome) {
        while let Some((_, id)) = self.ending.pop_front() {
            self.finish(&id, Request::conclude);
        }
        for id in self.unfinished(|_| true) {
            self.finish(&id, |request| match outcome {
                Outcome::Lost { cause, .. } => request.conclude_after_loss(*cause),
                _ => (Vec::new(), outcome.clone()),
            });
        }
    }

    fn on_status(&mut self, message: &Message, now: Instant) -> serde_json::Result<()> {
        let status: content::Status = message.content.decode()?;
        let parent = message.parent.id.as_str();
        let is_other_process = self.process.observe(message);
        match status.execution_state.0.as_str() {
            "busy" | "idle" if self.asked.iter().any(|id| id == parent) => {}
            "busy" => {
                self.status = Status::Busy;
                self.end_before(parent);
                self.report_restart(parent);
                if let Some(request) = self.known.get_mut(parent) {
                    request.busy();
                }
            }
            "idle" => {
                self.status = Status::Idle;
                self.end_before(parent);
                if let Some(request) = self.known.get_mut(parent) {
                    request.idle();
                }
                self.settle(parent, now);
                if self.known.get(parent).is_some_and(Request::waits_for_reply) {
                    self.probe_at.get_or_insert(now + IDLE_TIMEOUT);
                }
                self.loss_check_idle(parent, now);
            }
            "starting" => {
                self.status = Status::Starting;
                // It lost what it was asked before. `ipykernel` can publish this late: it answers on the control channel
                // before it starts.
                if is_other_process && !self.process.is_end_reported {
                    *self.memory_handler.lock() = Handler::Unknown;
                    self.widgets.clear();
                    self.end(&Outcome::Restarted);
                }
            }
            // A Jupyter server publishes the last two on behalf of a kernel that cannot. Code in the kernel could publish them, too:
            // https://jupyter-client.readthedocs.io/en/stable/messaging.html#kernel-status
            "restarting" | "autorestarting" | "dead" if !message.is_of_server => {
                tracing::warn!("ignored a message of the kernel that reports its own end");
            }
            "restarting" | "autorestarting" => {
                let how = "it ended by itself, and its server restarts it".to_owned();
                self.process.ends();
                self.status = Status::Dead { how };
            }
            "dead" => {
                self.process.ends();
                self.status = Status::Dead { how: GIVEN_UP.to_owned() };
            }
            other => tracing::debug!(state = other, "unknown state of a kernel"),
        }
        Ok(())
    }

    /// Lets an execution know that it is the first of another process.
    fn report_restart(&mut self, parent: &str) {
        let request = self.known.get_mut(parent).filter(|request| !request.is_finished());
        if let Some(request) = request.filter(|_| self.process.take_restarted()) {
            (request.sink)(Event::Restarted);
        }
    }

    fn on_input(&mut self, message: &Message) -> serde_json::Result<()> {
        let input: content::ExecuteInput = message.content.decode()?;
        self.publishes_input = true;
        self.process.count(input.execution_count.0);
        self.report_restart(message.parent.id.as_str());
        match self.known.get_mut(message.parent.id.as_str()) {
            Some(request) => request.start(input.execution_count.0),
            None => self.memory_handler.lock().others_run(),
        }
        Ok(())
    }

    fn on_output(&mut self, message: &Message, now: Instant) -> serde_json::Result<()> {
        let event = match message.header.kind.as_str() {
            "update_display_data" => return self.on_update(message, now),
            "comm_msg" => {
                self.on_comm(&message.content)?;
                return self.on_widget(message, now);
            }
            _ => match published(message)? {
                Some(event) => event,
                None => return Ok(()),
            },
        };
        if let Some(request) = self.known.get_mut(message.parent.id.as_str()) {
            if request.late_until.is_some_and(|until| now < until) {
                self.order.late();
            }
            let taken_by =
                self.captures.iter().rev().find(|(_, id)| id.as_str() == message.parent.id.as_str());
            if let Some((comm, _)) = taken_by {
                self.widgets.capture(comm, &event, now);
            }
            request.publish(event);
        }
        self.on_widget_shown(&message.parent.id, now);
        Ok(())
    }

    /// An `Output` widget captures the outputs of the request whose id it was sent, until it is sent an empty id.
    fn on_comm(&mut self, content: &Json) -> serde_json::Result<()> {
        let Some((comm, message)) = content::captured(content)? else { return Ok(()) };
        let before = self.captures.iter().position(|(known, _)| *known == comm);
        let before = before.map(|index| self.captures.remove(index).1);
        if let Some(id) = before.filter(|id| !self.captures.iter().any(|(_, other)| other == id))
            && let Some(request) = self.known.get_mut(id.as_str())
        {
            request.emit(Event::Captured(false));
        }
        // Outputs captured by an unknown widget would be lost.
        if let Some(request) =
            self.known.get_mut(message.as_str()).filter(|_| self.widgets.can_capture(&comm))
        {
            self.captures.push((comm, message));
            request.emit(Event::Captured(true));
        }
        Ok(())
    }

    /// A display belongs to the execution that made it, whichever execution updates it.
    fn on_update(&mut self, message: &Message, now: Instant) -> serde_json::Result<()> {
        let Some(Event::UpdateDisplay { display_id, bundle }) = published(message)? else { return Ok(()) };
        let mut updated = Vec::new();
        for (id, request) in
            self.known.iter_mut().filter(|(_, request)| request.displays.contains(&display_id))
        {
            request.publish(Event::UpdateDisplay { display_id: display_id.clone(), bundle: bundle.clone() });
            updated.push(id.clone());
        }
        for id in &updated {
            self.on_widget_shown(id.as_str(), now);
        }
        Ok(())
    }

    fn on_reply(&mut self, message: &Message, now: Instant) {
        let parent = message.parent.id.as_str();
        let Some(request) = self.known.get_mut(parent) else { return };
        if !request.is_finished() && request.reply.is_none() {
            request.reply = Some(Reply::read(&message.content));
            self.settle(parent, now);
            if self.known.get(parent).is_some_and(Request::waits_for_idle) {
                self.probe_at.get_or_insert(now + IDLE_TIMEOUT);
            }
        }
    }

    fn on_input_request(&mut self, message: &Message) -> serde_json::Result<()> {
        let input: content::InputRequest = message.content.decode()?;
        let parent = message.parent.id.as_str();
        let is_running = |request: &&mut Request| !request.is_finished() && request.late_until.is_none();
        if let Some(request) = self.known.get_mut(parent).filter(is_running) {
            self.input_requests.insert(ExecutionId::new(parent), message.raw_header.detached());
            request.emit(Event::InputWanted { prompt: input.prompt.0, password: input.password.0 });
        }
        Ok(())
    }

    /// Ends `parent` if both its reply and `idle` have come, in whatever order; after a grace where outputs may follow.
    fn settle(&mut self, parent: &str, now: Instant) {
        let Some((id, request)) = self.known.get_key_value(parent) else { return };
        let id = id.clone();
        let Some(reply) = request.reply.as_ref() else { return };
        if reply.is_aborted() {
            return self.finish(&id, Request::conclude);
        }
        if !request.is_idle || request.late_until.is_some() {
            return;
        }
        // A kernel that is interrupted because it ends can announce that later: another thread does.
        let may_end = self.process.may_end_with(request.number, request.error.as_ref());
        let grace = self.order.grace(request.has_outputs).or(may_end.then_some(GRACE));
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
    pub(super) fn unfinished(&self, is_wanted: impl Fn(&Request) -> bool) -> Vec<ExecutionId> {
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
        id: &ExecutionId,
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
            request.emit(Event::Captured(false));
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

//! All executions of one connection: what each was told, and when it is over.
//!
//! No I/O: requests, messages and the time go in; events go to the sinks, messages to the kernel come out.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use notebook::{Json, Output};

use crate::content;
use crate::inputs::Inputs;
use crate::message::{Channel, Message};
use crate::reply::Reply;
use crate::{Event, ExecutionId, Outcome, Sink, Status};

mod doubt;
mod silence;
mod single;

use doubt::Doubt;
pub(crate) use doubt::Need;
use silence::Silence;
use single::{Execution, Stage, output};

/// How many finished executions keep their sinks, for threads that print late and displays that are updated.
const KEPT: usize = 64;

/// How long after the reply `idle` may be missing, or after `idle` the reply, before we ask whether it was lost. A kernel
/// drops messages for a reader that is too slow, and `idle` can be one of them.
const IDLE_PATIENCE: Duration = Duration::from_secs(2);

const GIVEN_UP: &str = "it ended by itself, and its server could not start it anew";

/// The executions of one connection.
pub(crate) struct Executions {
    known: HashMap<ExecutionId, Execution>,
    /// Those of `known` that are over, the oldest first.
    finished: VecDeque<ExecutionId>,
    running: usize,
    /// Numbers our requests in the order in which the kernel takes them.
    requests: u64,
    /// The last question whether `idle` was lost, and its number.
    probe: Option<(String, u64)>,
    probe_at: Option<Instant>,
    doubt: Option<Doubt>,
    silence: Silence,
    /// Somebody else who connects may get the kernel's answers to us, and our requests are lost.
    can_be_overtaken: bool,
    /// Somebody seems to have done so.
    is_cut_off: Arc<AtomicBool>,
    /// Another connection was wanted in this silence.
    is_renewed: bool,
    /// What the kernel last said of itself.
    state: Status,
    /// How many requests there had been when the kernel was last replaced.
    replaced_after: u64,
    /// The session under which the kernel last told its state; each of its processes has its own.
    process: Option<String>,
    /// The kernel publishes what it is about to run, as the protocol wants. Not all do.
    tells_input: bool,
    orphans: Option<Sink>,
    inputs: Inputs,
}

impl Executions {
    /// No executions, on a kernel that is ready. `inputs` learns of requests for input.
    pub(crate) fn new(inputs: Inputs) -> Self {
        Self {
            known: HashMap::new(),
            finished: VecDeque::new(),
            running: 0,
            requests: 0,
            probe: None,
            probe_at: None,
            doubt: None,
            silence: Silence::default(),
            can_be_overtaken: false,
            is_cut_off: Arc::default(),
            is_renewed: false,
            state: Status::Idle,
            replaced_after: 0,
            process: None,
            tells_input: false,
            orphans: None,
            inputs,
        }
    }

    /// From now on a kernel that works and is silent is asked for a sign of life.
    pub(crate) fn mind_silence(&mut self, now: Instant) {
        self.silence.mind(now);
    }

    /// From now on it is minded that answers may go to somebody else, and requests to nobody.
    pub(crate) fn mind_overtaking(&mut self) {
        self.can_be_overtaken = true;
    }

    /// Whether the kernel may hear us no more; known before an execution is told that it is over.
    pub(crate) fn is_cut_off(&self) -> Arc<AtomicBool> {
        self.is_cut_off.clone()
    }

    /// Takes note that the kernel may hear us no more. Gives whether that was not known.
    pub(crate) fn cut_off(&mut self) -> bool {
        !self.is_cut_off.swap(true, Ordering::Relaxed)
    }

    /// Takes an execution whose request is about to be sent.
    pub(crate) fn add(&mut self, id: ExecutionId, is_silent: bool, sink: Sink, now: Instant) {
        self.silence.end(now);
        self.requests += 1;
        self.running += 1;
        let execution = Execution::new(self.requests, is_silent, sink);
        self.known.insert(id, execution);
    }

    /// Sets where outputs go that belong to none of the known executions.
    pub(crate) fn set_orphans(&mut self, sink: Sink) {
        self.orphans = Some(sink);
    }

    /// What the kernel does.
    pub(crate) fn status(&self) -> Status {
        match &self.state {
            Status::Dead(_) => self.state.clone(),
            _ if self.running > 0 => Status::Busy,
            state => state.clone(),
        }
    }

    /// When [`Executions::tick`] wants to be called.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let settled = self.doubt.as_ref().and_then(Doubt::settled_at);
        let silent = self.silence.limit().filter(|_| self.running > 0);
        [self.probe_at, settled, silent].into_iter().flatten().min()
    }

    /// Takes a message of the kernel. Messages that are none of ours, or senseless, change nothing.
    pub(crate) fn handle(&mut self, message: &Message, now: Instant) {
        self.silence.end(now);
        self.is_renewed = false;
        let result = match (message.channel, message.kind.as_str()) {
            (Channel::Iopub, "status") => self.on_status(message, now),
            (Channel::Iopub, "execute_input") => self.on_input(message),
            (Channel::Iopub, _) => self.on_output(message),
            (Channel::Shell, "execute_reply") => {
                self.on_reply(message, now);
                Ok(())
            }
            (Channel::Shell, "kernel_info_reply") => {
                if let Some(doubt) = self.doubt.as_mut().filter(|doubt| doubt.is_asked_by(&message.parent)) {
                    doubt.answered = Some(now);
                }
                self.settle_doubt(now);
                self.settle_unanswered(&message.parent);
                Ok(())
            }
            (Channel::Stdin, "input_request") => self.on_input_request(message),
            _ => Ok(()),
        };
        if let Err(error) = result {
            tracing::warn!(kind = message.kind, %error, "a message of the kernel makes no sense");
        }
    }

    /// Learns that the kernel is a new process: what was running ran on the one before.
    pub(crate) fn replace(&mut self) {
        self.state = Status::Starting;
        self.replaced_after = self.requests;
        for id in self.unfinished(|execution| execution.stage == Stage::Started) {
            self.finish(&id, |_| (Vec::new(), Outcome::Restarted));
        }
    }

    /// Ends all executions that are not over.
    pub(crate) fn end(&mut self, outcome: &Outcome) {
        for id in self.unfinished(|_| true) {
            self.finish(&id, |_| (Vec::new(), outcome.clone()));
        }
    }

    fn on_status(&mut self, message: &Message, now: Instant) -> serde_json::Result<()> {
        let status: content::Status = message.content.decode()?;
        match status.execution_state.0.as_str() {
            "busy" => {
                self.state = Status::Busy;
                self.close_before(&message.parent);
                if let Some(execution) = self.known.get_mut(message.parent.as_str())
                    && execution.is_silent
                {
                    // Nothing else tells of a silent one that it runs.
                    execution.start(None);
                }
            }
            "idle" => {
                self.state = Status::Idle;
                self.close_before(&message.parent);
                if let Some(execution) = self.known.get_mut(message.parent.as_str()) {
                    execution.is_idle = true;
                }
                self.settle(&message.parent);
                if self.known.get(message.parent.as_str()).is_some_and(Execution::waits_for_reply) {
                    self.probe_at.get_or_insert(now + IDLE_PATIENCE);
                }
                if let Some(doubt) = self.doubt.as_mut().filter(|doubt| doubt.is_asked_by(&message.parent)) {
                    doubt.is_idle = true;
                }
                self.settle_doubt(now);
            }
            "starting" => {
                self.state = Status::Starting;
                // It lost what it was asked for before. `ipykernel` can say so late: it answers on the control channel
                // before it begins.
                if self.process.as_ref().is_some_and(|known| *known != message.session()) {
                    self.end(&Outcome::Restarted);
                }
            }
            // The last two are what a Jupyter server says in the name of a kernel that cannot:
            // https://jupyter-client.readthedocs.io/en/stable/messaging.html#kernel-status
            "restarting" => {
                self.state = Status::Dead("it ended by itself, and its server starts it anew".to_owned());
            }
            "dead" => self.state = Status::Dead(GIVEN_UP.to_owned()),
            other => tracing::debug!(state = other, "unknown state of a kernel"),
        }
        self.process = Some(message.session().into_owned());
        Ok(())
    }

    fn on_input(&mut self, message: &Message) -> serde_json::Result<()> {
        let input: content::ExecuteInput = message.content.decode()?;
        self.tells_input = true;
        if let Some(execution) = self.known.get_mut(message.parent.as_str()) {
            execution.start(input.execution_count.0);
        }
        Ok(())
    }

    fn on_output(&mut self, message: &Message) -> serde_json::Result<()> {
        let content = &message.content;
        let event = match message.kind.as_str() {
            "stream" => match content::stream(content)? {
                Some(stream) => output(stream, None),
                None => return Ok(()),
            },
            "error" => output(content::error(content)?, None),
            "display_data" => {
                let (bundle, display_id, _) = content::display(content)?;
                output(Output::Display(bundle), display_id)
            }
            "execute_result" => {
                let (bundle, display_id, execution_count) = content::display(content)?;
                output(Output::Result { execution_count, bundle }, display_id)
            }
            "clear_output" => Event::ClearOutput { wait: content.decode::<content::ClearOutput>()?.wait.0 },
            "update_display_data" => return self.on_update(content),
            _ => return Ok(()),
        };
        match self.known.get_mut(message.parent.as_str()) {
            Some(execution) => execution.tell(event),
            None => {
                if let Some(sink) = &mut self.orphans {
                    sink(event);
                }
            }
        }
        Ok(())
    }

    /// A display belongs to the execution that made it, whoever updates it.
    fn on_update(&mut self, content: &Json) -> serde_json::Result<()> {
        let (bundle, display_id, _) = content::display(content)?;
        let Some(display_id) = display_id else { return Ok(()) };
        for execution in self.known.values_mut().filter(|execution| execution.displays.contains(&display_id))
        {
            execution.tell(Event::UpdateDisplay { display_id: display_id.clone(), bundle: bundle.clone() });
        }
        Ok(())
    }

    fn on_reply(&mut self, message: &Message, now: Instant) {
        let Some(execution) = self.known.get_mut(message.parent.as_str()) else { return };
        if !execution.is_finished() && execution.reply.is_none() {
            execution.reply = Some(Reply::read(&message.content));
            self.settle(&message.parent);
            if self.known.get(message.parent.as_str()).is_some_and(Execution::waits_for_idle) {
                self.probe_at.get_or_insert(now + IDLE_PATIENCE);
            }
        }
    }

    fn on_input_request(&mut self, message: &Message) -> serde_json::Result<()> {
        let request: content::InputRequest = message.content.decode()?;
        let parent = message.parent.as_str();
        if let Some(execution) = self.known.get_mut(parent).filter(|execution| !execution.is_finished()) {
            self.inputs.put(ExecutionId::new(parent), message.header.detached());
            execution.tell(Event::InputWanted { prompt: request.prompt.0, password: request.password.0 });
        }
        Ok(())
    }

    /// Finishes `parent` if both its reply and `idle` were seen, in whatever order.
    fn settle(&mut self, parent: &str) {
        let Some((id, execution)) = self.known.get_key_value(parent) else { return };
        let is_aborted = execution.reply.as_ref().is_some_and(Reply::is_aborted);
        if execution.reply.is_some() && (execution.is_idle || is_aborted) {
            let id = id.clone();
            self.finish(&id, Execution::conclude);
        }
    }

    /// The ids of unfinished executions, in their order.
    fn unfinished(&self, is_wanted: impl Fn(&Execution) -> bool) -> Vec<ExecutionId> {
        if self.running == 0 {
            return Vec::new();
        }
        let unfinished = self.known.iter().filter(|(_, it)| !it.is_finished() && is_wanted(it));
        let mut unfinished: Vec<_> = unfinished.map(|(id, it)| (it.number, id.clone())).collect();
        unfinished.sort_unstable_by_key(|(number, _)| *number);
        unfinished.into_iter().map(|(_, id)| id).collect()
    }

    fn finish(&mut self, id: &ExecutionId, end: impl FnOnce(&mut Execution) -> (Vec<Event>, Outcome)) {
        let Some(execution) = self.known.get_mut(id).filter(|execution| !execution.is_finished()) else {
            return;
        };
        self.inputs.remove(id);
        if self.tells_input {
            execution.mind_losses();
        }
        let (last, outcome) = end(execution);
        for event in last {
            execution.tell(event);
        }
        execution.stage = Stage::Finished;
        (execution.sink)(Event::Finished(outcome));
        self.running -= 1;
        self.finished.push_back(id.clone());
        if self.finished.len() > KEPT
            && let Some(oldest) = self.finished.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod interleavings;
#[cfg(test)]
mod losses;
#[cfg(test)]
mod stories;

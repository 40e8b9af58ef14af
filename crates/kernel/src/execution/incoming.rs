//! What each message of the kernel changes.

use std::time::Instant;

use notebook::Json;

use super::colab_request;
use super::executions::Executions;
use super::loss_check::IDLE_TIMEOUT;
use super::published::published;
use super::request::Request;
use crate::handler_state::Handler;
use crate::messages::{Channel, Message, Outgoing, Reply, content};
use crate::{Death, Event, MessageId, Outcome, Status};

const GIVEN_UP: &str = "it ended by itself, and its server could not restart it";

impl Executions {
    /// Handles a message of the kernel. Messages that are not for us, or malformed, change nothing. Returns the answer to send, if
    /// there is one.
    pub(crate) fn handle(&mut self, message: &Message, now: Instant) -> Option<Outgoing> {
        self.silence_check.reset(now);
        self.is_renewed = false;
        // A Jupyter server numbers its own messages, which it sends under our session.
        if message.header.sequence().is_some() && message.header.session != message.parent.session {
            self.order.numbered();
        }
        let mut answer = None;
        let result = match (message.channel, message.header.kind.as_str()) {
            (Channel::Iopub, "status") => self.on_status(message, now),
            (Channel::Iopub, "execute_input") => self.on_input(message),
            (Channel::Iopub, "shutdown_reply") => {
                self.process.announced_end(message, self.requests);
                Ok(())
            }
            (Channel::Iopub, "comm_open" | "comm_close") => self.on_widget(message, now),
            (Channel::Iopub, "colab_request") => {
                self.on_colab_request(message).map(|refusal| answer = refusal)
            }
            (Channel::Iopub, _) => self.on_output(message, now),
            (Channel::Shell, "execute_reply") => {
                self.on_reply(message, now);
                Ok(())
            }
            (Channel::Shell, "kernel_info_reply") => {
                self.loss_check.answered(&message.parent.id, now);
                self.end_lost(now);
                self.end_unanswered(&message.parent.id);
                Ok(())
            }
            (Channel::Stdin, "input_request") => self.on_input_request(message),
            _ => Ok(()),
        };
        if let Err(error) = result {
            tracing::warn!(kind = message.header.kind, %error, "ignored a malformed message of the kernel");
        }
        answer
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
                    request.busy(&message.parent.session);
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
                self.loss_check.idle(parent);
                self.end_lost(now);
            }
            "starting" => {
                self.status = Status::Starting;
                // It lost what it was asked before. `ipykernel` can publish this late: it answers on the control channel
                // before it starts.
                if is_other_process && !self.process.is_end_reported {
                    *self.memory_handler.lock() = Handler::Unknown;
                    self.widgets.widgets.clear();
                    self.end(&Outcome::KernelDied { how: Death::Replaced });
                }
            }
            // A Jupyter server publishes the last two on behalf of a kernel that cannot. Code in the kernel could publish them, too:
            // https://jupyter-client.readthedocs.io/en/stable/messaging.html#kernel-status
            "restarting" | "autorestarting" | "dead" if !message.is_of_server => {
                tracing::warn!("ignored a shutdown message from the kernel");
            }
            "restarting" | "autorestarting" => {
                let how = "it ended by itself, and its server restarts it".into();
                self.process.ends();
                self.status = Status::Dead { how };
            }
            "dead" => {
                self.process.ends();
                self.status = Status::Dead { how: GIVEN_UP.into() };
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
            if request.is_idle && request.late_until.is_some_and(|until| now < until) {
                self.order.late();
            }
            let parent = message.parent.id.as_str();
            if let Some((comm, _)) = self.captures.iter().rfind(|(_, id)| id == parent) {
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
        // Outputs captured by an unknown widget would be lost.
        let takes = self.known.contains_key(message.as_str()) && self.widgets.widgets.is_output(&comm);
        if takes {
            self.captures.push((comm, message.clone()));
        }
        for id in before.into_iter().chain(takes.then_some(message)) {
            let by = self.captures.iter().rfind(|(_, of)| *of == id).map(|(comm, _)| comm.clone());
            if let Some(request) = self.known.get_mut(id.as_str()) {
                request.emit(Event::Captured(by));
            }
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
            self.input_requests.insert(MessageId::new(parent), message.raw_header.detached());
            request.emit(Event::InputWanted { prompt: input.prompt.0, password: input.password.0 });
        }
        Ok(())
    }

    /// Refuses what the code of a run of ours asks of Colab's page. A person's tab at the same kernel answers what its own code asks.
    fn on_colab_request(&self, message: &Message) -> serde_json::Result<Option<Outgoing>> {
        // Most name the session of the client whose code runs, and no request.
        let (parent, session) = (message.parent.id.as_str(), message.parent.session.as_str());
        let is_asking = |(id, request): (&MessageId, &Request)| {
            let is_parent = if parent.is_empty() { request.is_of(session) } else { parent == id.as_str() };
            is_parent && request.is_running()
        };
        if self.known.iter().any(is_asking) { colab_request::refusal(message) } else { Ok(None) }
    }
}

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jupyter_protocol::{
    ExecuteRequest, InputReply, InterruptRequest, JupyterMessage, JupyterMessageContent, KernelInfoRequest,
    ShutdownRequest,
};
use notebook::Json;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use crate::command::{Asked, Command};
use crate::execution::{InputRequests, Process};
use crate::handler_state::HandlerState;
use crate::log::Announcement;
use crate::messages::handler_answer::EXPRESSION;
use crate::messages::{Channel, Message};
use crate::{Death, Event, KernelError, MessageId, Outcome, Sink, Status};

/// How long a kernel may take to reply on the control channel. Many reply there only between two executions.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a kernel may take to reply when it is only asked which process it is.
const IDENTIFY_TIMEOUT: Duration = Duration::from_secs(1);

/// The answer to the `input_request` with this header.
pub fn input_reply(request: &Json, value: String) -> JupyterMessage {
    let mut reply = JupyterMessage::new(InputReply { value, ..InputReply::default() }, None);
    // Left out if the kernel's own header is incomplete.
    reply.parent_header = request.decode().ok();
    reply
}

/// A handle to a kernel; clones share its connection, which ends with the last of them.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) commands: mpsc::UnboundedSender<Command>,
    pub(crate) status: watch::Receiver<Status>,
    pub(crate) is_superseded: Arc<AtomicBool>,
    pub(crate) input_requests: InputRequests,
    pub(crate) memory_handler: HandlerState,
    /// Executions ask what they change in memory; see [`Client::prepare_changes`].
    pub(crate) asks_for_changes: Arc<AtomicBool>,
    pub(crate) process: Process,
    pub(crate) language_info: Json,
}

impl Client {
    /// Queues code behind what was queued before: counted, with input allowed; an error aborts what is queued behind it.
    /// Never waits.
    ///
    /// If the kernel is dead, `sink` receives that before this returns.
    pub fn execute(&self, code: impl Into<String>, sink: Sink) -> MessageId {
        self.execute_announced(code, None, sink)
    }

    /// The same, with a note for the kernel's keeper, if it has one.
    pub fn execute_announced(
        &self,
        code: impl Into<String>,
        announcement: Option<Announcement>,
        sink: Sink,
    ) -> MessageId {
        let request = ExecuteRequest {
            code: code.into(),
            silent: false,
            store_history: true,
            user_expressions: None,
            allow_stdin: true,
            stop_on_error: true,
        };
        self.execute_request(request, announcement, sink)
    }

    /// Queues a request to run code. Never waits.
    pub(crate) fn execute_request(
        &self,
        request: ExecuteRequest,
        announcement: Option<Announcement>,
        sink: Sink,
    ) -> MessageId {
        let mut request = JupyterMessage::new(request, None);
        let id = MessageId::new(&*request.header.msg_id);
        if let JupyterMessageContent::ExecuteRequest(content) = &mut request.content
            && !content.silent
        {
            let expression = self.changes_expression(id.as_str());
            content.user_expressions = expression.map(|it| [(EXPRESSION.to_owned(), it)].into());
        }
        let command = Command::Execute { id: id.clone(), request, announcement, sink };
        if let Err(mpsc::error::SendError(Command::Execute { mut sink, .. })) = self.commands.send(command) {
            sink(Event::Finished(Outcome::KernelDied { how: self.how_it_died() }));
        }
        id
    }

    /// Answers [`Event::InputWanted`]. `false` if the execution does not wait for input.
    pub fn answer_input(&self, id: &MessageId, value: String) -> bool {
        let Some(request) = self.input_requests.remove(id) else { return false };
        self.commands.send(Command::Send((Channel::Stdin, input_reply(&request, value)))).is_ok()
    }

    /// Has the kernel's keeper interrupt this execution, or withdraw it if it waits for those of other clients. Does nothing
    /// without a keeper.
    pub fn interrupt_execution(&self, id: &MessageId) {
        // It fails if the kernel is dead, and the execution over.
        let _ = self.commands.send(Command::Interrupt(id.clone()));
    }

    /// Asks the kernel to interrupt what it runs, and waits up to 5 s for its reply.
    pub async fn interrupt_message(&self) -> Result<(), KernelError> {
        let request = "interrupt_request";
        let interrupt = JupyterMessage::new(InterruptRequest {}, None);
        let reply = self.ask(request, Channel::Control, interrupt, REPLY_TIMEOUT).await?;
        check_status(request, &reply)
    }

    /// Asks the kernel something that changes nothing, and waits up to 1 s for its reply: what it publishes meanwhile shows which process
    /// runs now ([`Client::process`]).
    pub async fn identify(&self) -> Result<(), KernelError> {
        let question = JupyterMessage::new(KernelInfoRequest {}, None);
        self.ask("kernel_info_request", Channel::Control, question, IDENTIFY_TIMEOUT).await.map(drop)
    }

    /// Asks the kernel to end, and waits up to 5 s for its reply; its process may live a moment longer.
    ///
    /// With `restart`, executions that do not end before the kernel does finish as ended by [`Death::Restarted`].
    pub async fn shutdown_message(&self, restart: bool) -> Result<(), KernelError> {
        if restart {
            let _ = self.commands.send(Command::Restarting);
        }
        let request = "shutdown_request";
        let shutdown = JupyterMessage::new(ShutdownRequest { restart }, None);
        match self.ask(request, Channel::Control, shutdown, REPLY_TIMEOUT).await {
            Ok(reply) => check_status(request, &reply),
            // It ended without taking the time to reply.
            Err(KernelError::Died { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub fn status(&self) -> watch::Receiver<Status> {
        self.status.clone()
    }

    /// Whether another client's connection has taken over this one
    /// ([`Dial::can_be_superseded`](crate::Dial::can_be_superseded)). What was asked before still comes to its end; new
    /// requests need another connection.
    pub fn is_superseded(&self) -> bool {
        self.is_superseded.load(Ordering::Relaxed)
    }

    /// Which process of the kernel runs what is executed now, an opaque id: the process has no variables of one with another id.
    /// `None` if that is not known, or the kernel has none. Never waits.
    pub fn process(&self) -> Option<String> {
        let process = self.process.lock();
        process.id().filter(|_| process.lives()).map(str::to_owned)
    }

    /// The last known process of the kernel if that has ended, or is about to. Never waits.
    pub fn ended_process(&self) -> Option<String> {
        let process = self.process.lock();
        process.id().filter(|_| !process.lives()).map(str::to_owned)
    }

    /// An earlier connection to the kernel spoke to this process ([`Client::process`]), or to one that has ended (`None`). The next
    /// execution gets [`Event::Restarted`] if the kernel is another process now.
    pub fn follow_process(&self, earlier: Option<String>) {
        let _ = self.commands.send(Command::FollowProcess(earlier));
    }

    /// What a notebook keeps as `language_info`, an object, as the kernel reported it when the connection was made.
    pub fn language_info(&self) -> &Json {
        &self.language_info
    }

    /// The same client, for which the kernel reported this `language_info` after the connection was made.
    #[must_use]
    pub fn with_language_info(self, language_info: Json) -> Self {
        Self { language_info, ..self }
    }

    /// What a notebook keeps as `widgets` in its metadata if the states of all widgets are kept that this connection has seen, also of
    /// closed ones. `None` if there are none, or the kernel is dead.
    pub async fn widget_state(&self) -> Option<Json> {
        let (answer, state) = oneshot::channel();
        self.commands.send(Command::WidgetState(answer)).ok()?;
        state.await.ok().flatten()
    }

    /// Reports that the kernel's process ended; for the owner of the process. Executions finish as
    /// [`Outcome::KernelDied`] once everything that it sent before is read.
    pub fn report_death(&self, how: impl Into<Death>) {
        let _ = self.commands.send(Command::Died { how: how.into() });
    }

    /// Sends a request that belongs to no execution, and waits for its reply.
    pub(crate) async fn ask(
        &self,
        name: &'static str,
        channel: Channel,
        request: JupyterMessage,
        waited: Duration,
    ) -> Result<Message, KernelError> {
        match timeout(waited, self.request(channel, request)?.reply).await {
            Ok(reply) => reply.map_err(|_| self.died()),
            Err(_) => Err(KernelError::NoAnswer { request: name, waited }),
        }
    }

    /// Sends a request that belongs to no execution.
    pub(crate) fn request(&self, channel: Channel, request: JupyterMessage) -> Result<Asked, KernelError> {
        let (asked, answer) = Asked::new();
        let sent = self.commands.send(Command::Ask { request: (channel, request), answer });
        sent.map(|()| asked).map_err(|_| self.died())
    }

    pub(crate) fn died(&self) -> KernelError {
        KernelError::Died { how: self.how_it_died().to_string() }
    }

    fn how_it_died(&self) -> Death {
        match &*self.status.borrow() {
            Status::Dead { how } => how.clone(),
            _ => "the connection ended".into(),
        }
    }
}

fn check_status(request: &'static str, reply: &Message) -> Result<(), KernelError> {
    let text = |name: &str| {
        reply.content.member(name).and_then(|it| Some(it.text()?.into_owned())).unwrap_or_default()
    };
    if text("status") == "error" {
        return Err(KernelError::Refused { request, cause: text("evalue") });
    }
    Ok(())
}

//! The handle to a kernel.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jupyter_protocol::{ExecuteRequest, InputReply, InterruptRequest, JupyterMessage, ShutdownRequest};
use notebook::Json;
use serde::Deserialize;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use crate::driver::Command;
use crate::inputs::Inputs;
use crate::message::{Channel, Message};
use crate::text::Short;
use crate::{Event, Execute, ExecutionId, KernelError, Outcome, Sink, Status};

/// How long a kernel may take to answer on the control channel. Many answer there only between two executions.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a kernel says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelInfo {
    /// The kernel's name, for example `ipython`.
    pub implementation: String,
    /// Its version.
    pub implementation_version: String,
    /// The language, as `language_info.name` has it.
    pub language: String,
    /// What a notebook keeps as `language_info`, an object.
    pub language_info: Json,
    /// The kernel's greeting.
    pub banner: String,
    /// The version of the messaging protocol.
    pub protocol_version: String,
}

/// A handle to a kernel; clones share it. The connection ends with the last handle.
#[derive(Debug, Clone)]
pub struct Client {
    commands: mpsc::UnboundedSender<Command>,
    status: watch::Receiver<Status>,
    is_cut_off: Arc<AtomicBool>,
    inputs: Inputs,
    info: Arc<KernelInfo>,
}

impl Client {
    pub(crate) fn new(
        commands: mpsc::UnboundedSender<Command>,
        status: watch::Receiver<Status>,
        is_cut_off: Arc<AtomicBool>,
        inputs: Inputs,
        info: KernelInfo,
    ) -> Self {
        Self { commands, status, is_cut_off, inputs, info: Arc::new(info) }
    }

    /// Queues an execution behind those that were asked for before. Never waits.
    ///
    /// If the kernel is dead, `sink` learns so before this returns.
    pub fn execute(&self, request: Execute, sink: Sink) -> ExecutionId {
        let Execute { code, silent, store_history, allow_stdin, stop_on_error } = request;
        let request = ExecuteRequest {
            code,
            silent,
            store_history,
            user_expressions: None,
            allow_stdin,
            stop_on_error,
        };
        let request = JupyterMessage::new(request, None);
        let id = ExecutionId::new(&request.header.msg_id);
        let command = Command::Execute { id: id.clone(), request, is_silent: silent, sink };
        if let Err(mpsc::error::SendError(Command::Execute { mut sink, .. })) = self.commands.send(command) {
            sink(Event::Finished(Outcome::KernelDied(self.how_it_died())));
        }
        id
    }

    /// Answers [`Event::InputWanted`]. `false` if the execution does not wait for input.
    pub fn answer_input(&self, id: &ExecutionId, value: String) -> bool {
        let Some(request) = self.inputs.remove(id) else { return false };
        let mut reply = JupyterMessage::new(InputReply { value, ..InputReply::default() }, None);
        // Left out if the kernel's own header is not whole.
        reply.parent_header = request.decode().ok();
        self.commands.send(Command::Send((Channel::Stdin, reply))).is_ok()
    }

    /// Asks the kernel to interrupt what it runs. Waits a bounded time for it to agree.
    pub async fn interrupt_message(&self) -> Result<(), KernelError> {
        let request = "interrupt_request";
        let reply = self.ask(request, JupyterMessage::new(InterruptRequest {}, None)).await?;
        agreed(request, &reply)
    }

    /// Asks the kernel to end. Waits a bounded time for it to agree; its process may live on for a moment.
    ///
    /// After `restart`, executions that do not end before the kernel does finish as [`Outcome::Restarted`].
    pub async fn shutdown_message(&self, restart: bool) -> Result<(), KernelError> {
        if restart {
            let _ = self.commands.send(Command::Restarting);
        }
        let request = "shutdown_request";
        match self.ask(request, JupyterMessage::new(ShutdownRequest { restart }, None)).await {
            Ok(reply) => agreed(request, &reply),
            // It did not take the time to say so.
            Err(KernelError::Died { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// What the kernel does, now and later.
    pub fn status(&self) -> watch::Receiver<Status> {
        self.status.clone()
    }

    /// Whether the kernel may hear this connection no more, because somebody else connected through the same server
    /// ([`Dial::can_be_overtaken`](crate::Dial::can_be_overtaken)). What was asked before still comes to its end; whatever
    /// is asked from now on wants another connection.
    pub fn is_cut_off(&self) -> bool {
        self.is_cut_off.load(Ordering::Relaxed)
    }

    /// What the kernel said of itself when the connection was made.
    pub fn info(&self) -> Arc<KernelInfo> {
        self.info.clone()
    }

    /// Where outputs go that belong to none of our executions: of other clients, of threads whose execution is long
    /// over. Until this is called they are dropped.
    pub fn orphans(&self, sink: Sink) {
        let _ = self.commands.send(Command::Orphans(sink));
    }

    /// Tells that the kernel is dead; for whoever owns its process. Executions finish as
    /// [`Outcome::KernelDied`] once what it sent before is read.
    pub fn fail(&self, how: String) {
        let _ = self.commands.send(Command::Fail(how));
    }

    async fn ask(&self, name: &'static str, request: JupyterMessage) -> Result<Message, KernelError> {
        let (reply, answer) = oneshot::channel();
        let died = || KernelError::Died { how: self.how_it_died() };
        self.commands.send(Command::Ask { request, reply }).map_err(|_| died())?;
        match timeout(PATIENCE, answer).await {
            Ok(answer) => answer.map_err(|_| died()),
            Err(_) => Err(KernelError::NoAnswer { request: name, waited: PATIENCE }),
        }
    }

    fn how_it_died(&self) -> String {
        match &*self.status.borrow() {
            Status::Dead(how) => how.clone(),
            _ => "the connection ended".to_owned(),
        }
    }
}

fn agreed(request: &'static str, reply: &Message) -> Result<(), KernelError> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Content {
        status: Short,
        evalue: Short,
    }
    let content: Content = reply.content.decode().unwrap_or_default();
    if content.status.0 == "error" {
        return Err(KernelError::Refused { request, cause: content.evalue.0 });
    }
    Ok(())
}

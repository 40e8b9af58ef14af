//! The task that moves messages between a kernel and the executions.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use jupyter_protocol::JupyterMessage;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::coop::consume_budget;
use tokio::time::{sleep_until, timeout};

use crate::execution::{Executions, Need};
use crate::inputs::Inputs;
use crate::message::{Channel, Message, Outgoing};
use crate::transport::{Received, Transport};
use crate::{Client, ExecutionId, KernelInfo, Outcome, Sink, Status};

/// How long a dead kernel's connection may be silent before nothing more is expected of it.
const SILENCE: Duration = Duration::from_millis(500);
/// How long a dead kernel's connection is read at all: another process may hold it and talk on.
const DRAIN: Duration = Duration::from_secs(5);
/// How long after its connection a kernel's process may take to be seen dead.
const OBITUARY: Duration = Duration::from_secs(1);

/// What handles ask of the task.
pub(crate) enum Command {
    /// Send a request to execute.
    Execute { id: ExecutionId, request: JupyterMessage, is_silent: bool, sink: Sink },
    /// Send a message to which nothing is expected.
    Send(Outgoing),
    /// Send a message on the control channel and give out the reply.
    Ask { request: JupyterMessage, reply: oneshot::Sender<Message> },
    /// Whatever is cut short from now on is so because of a restart.
    Restarting,
    /// Send orphans there.
    Orphans(Sink),
    /// The kernel is dead.
    Fail(String),
}

/// The two ends of a connection to a kernel that is ready: the handle, and what has to run for it.
pub(crate) fn connection<T: Transport>(transport: T, kernel: KernelInfo) -> (Client, Driver<T>) {
    let (sender, commands) = mpsc::unbounded_channel();
    let (status, status_receiver) = watch::channel(Status::Idle);
    let inputs = Inputs::default();
    let mut executions = Executions::new(inputs.clone());
    let client = Client::new(sender, status_receiver, executions.is_cut_off(), inputs, kernel);
    if transport.is_remote() {
        executions.mind_silence(Instant::now());
    }
    if transport.can_be_overtaken() {
        executions.mind_overtaking();
    }
    let asked = HashMap::new();
    (client, Driver { transport, executions, asked, commands, status, is_restarting: false })
}

/// Why the task ends.
enum End {
    /// The kernel is dead, and it is known how.
    Told(String),
    /// Its server says that it is dead, after all that it said itself.
    Over(String),
    /// A connection has ended.
    Lost,
    /// There are no handles.
    Unwanted,
}

/// Moves messages between a kernel and the executions.
pub(crate) struct Driver<T> {
    transport: T,
    executions: Executions,
    /// Requests on the control channel that wait for a reply, by id.
    asked: HashMap<String, oneshot::Sender<Message>>,
    commands: mpsc::UnboundedReceiver<Command>,
    status: watch::Sender<Status>,
    is_restarting: bool,
}

impl<T: Transport> Driver<T> {
    /// Runs until there is no handle any more, or no kernel. `gone` tells how its process ended.
    pub(crate) async fn run(mut self, mut gone: BoxFuture<'static, String>) {
        let end = loop {
            if let Some(end) = self.step(&mut gone).await {
                break end;
            }
            self.publish(self.executions.status());
            // Messages that are here already never wait, and a kernel can send them faster than we read.
            consume_budget().await;
        };
        let how = match end {
            End::Told(how) => {
                self.drain().await;
                how
            }
            End::Lost => {
                self.drain().await;
                if let Some(how) = self.transport.how_it_ended() {
                    how
                } else {
                    let seen_dead = timeout(OBITUARY, gone).await;
                    seen_dead.unwrap_or_else(|_| "it closed its connections".to_owned())
                }
            }
            End::Over(how) => how,
            End::Unwanted => "nobody holds the connection any more".to_owned(),
        };
        self.end(how);
    }

    /// Takes whatever comes next.
    async fn step(&mut self, gone: &mut BoxFuture<'static, String>) -> Option<End> {
        let deadline = self.executions.deadline();
        tokio::select! {
            command = self.commands.recv() => match command {
                Some(command) => self.obey(command).await.map(End::Told),
                None => Some(End::Unwanted),
            },
            received = self.transport.receive() => match received {
                Some(received) => self.take(received).await,
                None => Some(End::Lost),
            },
            how = gone => Some(End::Told(how)),
            () = sleep_until(deadline.unwrap_or_else(Instant::now).into()), if deadline.is_some() => {
                match self.executions.tick(Instant::now()) {
                    Some(Need::Answer(question)) => self.transport.send(*question).await,
                    Some(Need::Connection) => self.transport.renew(),
                    None => {}
                }
                None
            }
        }
    }

    /// Does as asked. Gives how the kernel ended, if that is what it is told.
    async fn obey(&mut self, command: Command) -> Option<String> {
        match command {
            Command::Execute { id, request, is_silent, sink } => {
                self.executions.add(id, is_silent, sink, Instant::now());
                self.transport.send((Channel::Shell, request)).await;
            }
            Command::Send(message) => self.transport.send(message).await,
            Command::Ask { request, reply } => {
                self.asked.retain(|_, waiting| !waiting.is_closed());
                self.asked.insert(request.header.msg_id.clone(), reply);
                self.transport.send((Channel::Control, request)).await;
            }
            Command::Restarting => self.is_restarting = true,
            Command::Orphans(sink) => self.executions.set_orphans(sink),
            Command::Fail(how) => return Some(how),
        }
        None
    }

    async fn take(&mut self, received: Received) -> Option<End> {
        match received {
            Received::Message(message) => {
                if self.transport.is_overtaken() {
                    self.executions.cut_off();
                }
                self.handle(message);
            }
            Received::Reconnected => {
                let question = self.executions.doubt();
                self.transport.send(question).await;
            }
            Received::Replaced => {
                self.executions.replace();
                // What was on its way may have reached either process, or none.
                let question = self.executions.doubt();
                self.transport.send(question).await;
            }
        }
        match self.executions.status() {
            // Another process may take its place, and is not to be spoken to before it is seen to be heard here.
            Status::Dead(how) => Some(End::Over(how)),
            _ => None,
        }
    }

    fn handle(&mut self, message: Message) {
        if message.channel == Channel::Control {
            if let Some(waiting) = self.asked.remove(&message.parent) {
                // Whoever asked may have lost patience.
                let _ = waiting.send(message);
            }
        } else {
            self.executions.handle(&message, Instant::now());
        }
    }

    /// Reads what the kernel sent before its end.
    async fn drain(&mut self) {
        let everything = async {
            while !self.transport.is_closed() {
                match timeout(SILENCE, self.transport.receive()).await {
                    Ok(Some(Received::Message(message))) => self.handle(message),
                    Ok(Some(Received::Reconnected | Received::Replaced) | None) => {}
                    Err(_) => return,
                }
                consume_budget().await;
            }
        };
        if timeout(DRAIN, everything).await.is_err() {
            tracing::warn!("the connection of a dead kernel does not fall silent");
        }
    }

    fn end(mut self, how: String) {
        self.publish(Status::Dead(how.clone()));
        // From here on handles see that they have to answer themselves; what they asked before is answered here.
        self.commands.close();
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Execute { id, is_silent, sink, .. } => {
                    self.executions.add(id, is_silent, sink, Instant::now());
                }
                Command::Restarting => self.is_restarting = true,
                _ => {}
            }
        }
        let outcome = if self.is_restarting { Outcome::Restarted } else { Outcome::KernelDied(how) };
        self.executions.end(&outcome);
    }

    fn publish(&self, status: Status) {
        self.status.send_if_modified(|current| {
            let is_new = *current != status;
            *current = status;
            is_new
        });
    }
}

#[cfg(test)]
mod tests;

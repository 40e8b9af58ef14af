//! Moves messages between a kernel's transport, the executions, and the clients.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use notebook::Json;
use tokio::sync::{mpsc, watch};
use tokio::task::coop::consume_budget;
use tokio::time::{sleep_until, timeout};

use crate::command::{Answer, Command};
use crate::execution::{Action, Executions};
use crate::log::Announcement;
use crate::messages::{Channel, Message, Outgoing};
use crate::transport::{Received, Transport};
use crate::{Client, Death, Outcome, Status};

/// How long a dead kernel's connection may be silent before nothing more is expected.
const DRAIN_SILENCE: Duration = Duration::from_millis(500);
/// The same if its server has reported that it is dead: by then, what the kernel sent has arrived.
const REPORTED_SILENCE: Duration = Duration::from_millis(100);
/// How long a dead kernel's connection is read at all: another process may hold it and keep sending.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the end of a kernel's process may become known after the end of its connection.
const EXIT_GRACE: Duration = Duration::from_secs(1);

/// What is known of a kernel that is ready.
pub struct Ready {
    /// What it reported as its `language_info`, an object.
    pub language_info: Json,
    /// The session of its process, if it has one.
    pub process: Option<String>,
}

/// A client of a kernel that is ready, and the driver that must run for it ([`Driver::run`]).
pub fn drive<T: Transport>(transport: T, ready: Ready) -> (Client, Driver<T>) {
    let (sender, commands) = mpsc::unbounded_channel();
    let (status, status_receiver) = watch::channel(Status::Idle);
    let mut executions = Executions::default();
    executions.can_be_superseded = transport.can_be_superseded();
    if transport.is_busy() {
        executions.status = Status::Busy;
    }
    if transport.is_remote() {
        executions.silence_check.watch(Instant::now());
    }
    executions.process.begin_with(ready.process);
    executions.process.is_end_reported = transport.knows_process_end();
    let client = Client {
        commands: sender,
        status: status_receiver,
        is_superseded: executions.is_superseded.clone(),
        input_requests: executions.input_requests.clone(),
        memory_handler: executions.memory_handler.clone(),
        asks_for_changes: Arc::default(),
        process: executions.process.process.clone(),
        language_info: ready.language_info,
    };
    let asked = HashMap::new();
    (client, Driver { transport, executions, asked, commands, status, is_restarting: false })
}

enum Event {
    Command(Box<Command>),
    Received(Received),
    /// [`Executions::tick`] is due.
    Deadline,
    Stop(Stop),
}

/// Why the driver stops.
enum Stop {
    /// The kernel's process ended. The connection may hold messages that it sent before.
    ProcessEnded {
        how: Death,
        /// How long the connection may be silent then.
        silence: Duration,
    },
    /// Its server reported that it is dead, behind everything that it sent.
    ReportedDead {
        how: Death,
    },
    ConnectionEnded,
    /// All clients are dropped.
    Unused,
}

/// Moves the messages of one connection, as long as [`Driver::run`] does.
pub struct Driver<T> {
    transport: T,
    executions: Executions,
    /// Requests that belong to no execution and wait for a reply, by id.
    asked: HashMap<String, Answer>,
    commands: mpsc::UnboundedReceiver<Command>,
    status: watch::Sender<Status>,
    is_restarting: bool,
}

impl<T: Transport> Driver<T> {
    /// Runs until all clients are dropped or the kernel is dead. `process_end` completes with how its process ended. Returns
    /// the transport.
    pub async fn run(mut self, mut process_end: BoxFuture<'static, String>) -> T {
        let stop = loop {
            let event = self.next_event(&mut process_end).await;
            if let Some(stop) = self.handle(event).await {
                break stop;
            }
            self.publish(self.executions.status());
            // Messages that are here already never wait, and a kernel can send them faster than we read.
            consume_budget().await;
        };
        let how = match stop {
            Stop::ProcessEnded { how, silence } => {
                self.drain(silence).await;
                how
            }
            Stop::ConnectionEnded => {
                self.drain(DRAIN_SILENCE).await;
                match self.transport.how_it_ended() {
                    Some(how) => how,
                    None => timeout(EXIT_GRACE, process_end)
                        .await
                        .map_or_else(|_| "it closed its connections".into(), Death::from),
                }
            }
            Stop::ReportedDead { how } => how,
            Stop::Unused => {
                self.transport.finish().await;
                "the connection is no longer used".into()
            }
        };
        self.end(how)
    }

    /// The transport, for what only its own type knows.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// Handles what happened before the connection was made, until [`Transport::is_caught_up`] or the end of the connection.
    pub async fn catch_up(&mut self) {
        while !self.transport.is_caught_up() {
            let Some(received) = self.transport.receive().await else {
                // Whoever waits for this must not take the kernel for one that runs.
                if let Some(how) = self.transport.how_it_ended() {
                    self.publish(Status::Dead { how });
                }
                return;
            };
            self.on_received(received).await;
            consume_budget().await;
        }
        self.publish(self.executions.status());
    }

    async fn next_event(&mut self, process_end: &mut BoxFuture<'static, String>) -> Event {
        let deadline = self.executions.deadline();
        tokio::select! {
            command = self.commands.recv() => command.map_or(Event::Stop(Stop::Unused), |command| Event::Command(Box::new(command))),
            received = self.transport.receive() => received.map_or(Event::Stop(Stop::ConnectionEnded), Event::Received),
            how = process_end => Event::Stop(Stop::ProcessEnded { how: how.into(), silence: DRAIN_SILENCE }),
            () = sleep_until(deadline.unwrap_or_else(Instant::now).into()), if deadline.is_some() => Event::Deadline,
        }
    }

    async fn handle(&mut self, event: Event) -> Option<Stop> {
        match event {
            Event::Stop(stop) => return Some(stop),
            Event::Command(command) => {
                if let Some(how) = self.on_command(*command).await {
                    return Some(Stop::ProcessEnded { how, silence: REPORTED_SILENCE });
                }
            }
            Event::Received(received) => self.on_received(received).await,
            Event::Deadline => match self.executions.tick(Instant::now()) {
                Some(Action::Send(question)) => self.transport.send(*question).await,
                Some(Action::Reconnect) => self.transport.reconnect(),
                None => {}
            },
        }
        match self.executions.status() {
            // Another process may take its place. It is used over another connection, once its messages arrive there.
            Status::Dead { how } => Some(Stop::ReportedDead { how }),
            _ => None,
        }
    }

    /// Does what a client asks. Returns how the kernel's process ended, if that is what it reports.
    async fn on_command(&mut self, command: Command) -> Option<Death> {
        match command {
            Command::Execute { id, request, announcement, sink } => {
                if let Some(announcement) = announcement {
                    let message = Some(id.clone());
                    self.transport.announce(Announcement { message, ..announcement }).await;
                }
                self.executions.add(id, sink, Instant::now());
                self.transport.send((Channel::Shell, request)).await;
            }
            Command::Send(message) => self.transport.send(message).await,
            Command::Interrupt(id) => self.transport.interrupt(&id).await,
            Command::Ask { request, answer } => {
                self.asked.retain(|_, answer| !answer.reply.is_closed());
                let id = &request.1.header.msg_id;
                self.executions.asked(id);
                self.asked.insert(id.clone(), answer);
                self.transport.send(request).await;
            }
            Command::Restarting => self.is_restarting = true,
            // The client may have stopped waiting.
            Command::WidgetState(answer) => drop(answer.send(self.executions.widget_state())),
            Command::FollowProcess(earlier) => self.executions.process.follow(earlier),
            Command::Died { how } => return Some(how),
        }
        None
    }

    async fn on_received(&mut self, received: Received) {
        match received {
            Received::Message(message) => {
                if self.transport.is_superseded() {
                    self.executions.superseded();
                }
                let answer = self.on_message(message);
                // What happened before the connection was made was answered then.
                if let Some(answer) = answer.filter(|_| self.transport.is_caught_up()) {
                    self.transport.send(answer).await;
                }
            }
            Received::Reconnected { cause } => {
                let question = self.executions.reconnected(cause);
                self.transport.send(question).await;
            }
            Received::Disconnected { cause } => self.executions.disconnected(cause.as_deref()),
            Received::Replaced => {
                let question = self.executions.replaced();
                self.transport.send(question).await;
            }
            Received::Adopted(id, sink) => self.executions.add(id, sink, Instant::now()),
            Received::InputAnswered { request } => self.executions.input_answered(&request),
            Received::Ended(outcome) => self.executions.process_ended(&outcome),
            Received::CaughtUp => {}
            Received::Withdrawn(id) => self.executions.withdrawn(&id),
        }
    }

    /// Returns the answer to send, if any.
    fn on_message(&mut self, message: Box<Message>) -> Option<Outgoing> {
        if matches!(message.channel, Channel::Control | Channel::Shell)
            && let Some(answer) = self.asked.remove(&message.parent.id)
        {
            // The client may have stopped waiting.
            let _ = answer.reply.send(*message);
            return None;
        }
        if message.channel == Channel::Iopub
            && let Some(answer) = self.asked.get_mut(&message.parent.id)
            && let Some(begun) = answer.begun.take()
        {
            let _ = begun.send(());
        }
        if message.channel == Channel::Control {
            return None;
        }
        self.executions.handle(&message, Instant::now())
    }

    /// Reads what the kernel sent before its end.
    async fn drain(&mut self, silence: Duration) {
        let everything = async {
            while !self.transport.is_closed() {
                match timeout(silence, self.transport.receive()).await {
                    Ok(Some(Received::Message(message))) => drop(self.on_message(message)),
                    Ok(_) => {}
                    Err(_) => return,
                }
                consume_budget().await;
            }
        };
        if timeout(DRAIN_TIMEOUT, everything).await.is_err() {
            tracing::warn!("the connection of a dead kernel still sends");
        }
    }

    fn end(mut self, how: Death) -> T {
        self.publish(Status::Dead { how: how.clone() });
        // From here on clients answer executions themselves. Those already queued are answered here.
        self.commands.close();
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Execute { id, sink, .. } => self.executions.add(id, sink, Instant::now()),
                Command::Restarting => self.is_restarting = true,
                _ => {}
            }
        }
        let outcome = match self.transport.loss() {
            _ if self.is_restarting => Outcome::KernelDied { how: Death::Restarted },
            Some(cause) => Outcome::Lost { is_started: true, cause },
            None => Outcome::KernelDied { how },
        };
        self.executions.end(&outcome);
        self.transport
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

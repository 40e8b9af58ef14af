//! The connection to one kernel, reconnected when it is cut.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant as StdInstant};

use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep_until};

use super::connect::{Dialer, Redialed};
use super::dial::DialError;
use super::inbox::Inbox;
use super::reconnection::{self, Outage, Reconnection};
use super::resumed::RecordLog;
use super::socket::{KernelSocket, Parts};
use kernel::log::{Announcement, Followed, LogRecord};
use kernel::messages::{self, Channel, Message, Outgoing};
use kernel::{Death, LossCause, Received, Transport};

/// How long after a kernel announced its shutdown we look whether it is gone. A server does not close the connections to a
/// kernel that it was asked to shut down.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);
/// How long the end of a run is held back for messages that may complete it.
const HOLD_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) struct Channels {
    dialer: Dialer,
    connection: Connection,
    reconnection: Reconnection,
    /// What was never sent.
    outbox: VecDeque<Parts>,
    inbox: Inbox,
    /// When to look whether the kernel is gone.
    look_at: Option<Instant>,
    /// When to hold nothing back any longer.
    release_at: Option<Instant>,
    log: Option<Arc<dyn RecordLog>>,
    resumed: Option<Resumed>,
}

/// What belongs to the runs of an earlier connection.
struct Resumed {
    followed: Followed,
    /// What is received again.
    early: VecDeque<Received>,
}

enum Connection {
    Open(KernelSocket),
    Reconnecting(BoxFuture<'static, (Dialer, Option<Redialed>)>),
    /// `is_loss`: the kernel may run on, and have all of its variables.
    Ended {
        how: String,
        is_loss: bool,
    },
}

enum Event {
    Message(Message),
    Cut {
        cause: String,
    },
    Redialed(Dialer, Option<Redialed>),
    /// Time to look whether the kernel is gone.
    Look,
    Release,
    /// Time to report that there is no connection.
    Report,
}

impl Channels {
    /// Dials at once, unless the last connection's pause lasts. A resumed connection goes on where an earlier one under the same session
    /// has ended, and logs what a later one needs.
    pub(super) fn new(
        dialer: Dialer,
        outage: Outage,
        log: Option<Arc<dyn RecordLog>>,
        resume: Option<(Vec<LogRecord>, Followed)>,
    ) -> Self {
        let mut inbox = Inbox::new(&dialer.session);
        let resumed = resume.map(|(past, mut followed)| {
            inbox.resume(past, &mut followed);
            Resumed { followed, early: VecDeque::new() }
        });
        let (reconnection, next) = Reconnection::start(outage, Instant::now());
        let connection = match next {
            Ok((pause, end)) => Connection::Reconnecting(Box::pin(dialer.clone().redial(pause, end))),
            Err(how) => Connection::Ended { how, is_loss: true },
        };
        Self {
            inbox,
            dialer,
            reconnection,
            connection,
            outbox: VecDeque::new(),
            look_at: None,
            release_at: None,
            log,
            resumed,
        }
    }

    fn log_message(&self, message: &Message) {
        // A replayed message is in the log already.
        if let Some(log) =
            self.log.as_ref().filter(|log| log.has_runs() && !self.inbox.replay.will_be_replay(message))
        {
            log.append(&LogRecord::FromKernel { channel: message.channel, parts: message.to_parts() });
        }
    }

    fn next_early(&mut self) -> Option<Received> {
        let Resumed { followed, early } = self.resumed.as_mut()?;
        let next = early.pop_front();
        // The kernel's own time: now is when the message was read, which may be hours later.
        followed.set_time(match &next {
            Some(Received::Message(message)) => message.date(),
            _ => None,
        });
        next
    }

    /// Cancel safe.
    async fn next_event(&mut self) -> Event {
        tokio::select! {
            event = self.connection.next(&mut self.outbox) => event,
            () = sleep_until_some(self.look_at) => Event::Look,
            () = sleep_until_some(self.release_at) => Event::Release,
            () = sleep_until_some(self.reconnection.report_at) => Event::Report,
        }
    }

    async fn handle(&mut self, event: Event) {
        match event {
            Event::Message(message) => {
                // Before it is passed on: what a client has seen, a later server must find.
                self.log_message(&message);
                // The server's own messages do not show that the kernel is reached.
                if message.header.session != *self.dialer.session && self.reconnection.restored() {
                    self.inbox.add(Received::Disconnected { cause: None });
                }
                self.inbox.push(message, StdInstant::now());
            }
            Event::Cut { cause } => {
                tracing::info!(cause, "the connection to the kernel's server was cut");
                self.lost(cause);
            }
            Event::Look => {
                // Dialing is the check: the server answers 404 for a kernel that is gone, and replays to a session that returns.
                self.look_at = None;
                self.renew();
            }
            Event::Redialed(dialer, redialed) => {
                self.dialer = dialer;
                self.redialed(redialed);
            }
            Event::Report => {
                if let Some(cause) = self.reconnection.report(Instant::now()) {
                    self.inbox.add(Received::Disconnected { cause: Some(cause) });
                }
            }
            Event::Release => self.inbox.release(),
        }
        // From the first message that is held: a kernel that keeps publishing must not extend the wait.
        let release_at = self.release_at.unwrap_or_else(|| Instant::now() + HOLD_TIMEOUT);
        self.release_at = self.inbox.held.is_some().then_some(release_at);
        if std::mem::take(&mut self.inbox.shutdown_announced) {
            self.look_at = Some(Instant::now() + SHUTDOWN_GRACE);
        }
        // The `idle` behind the answer resets the server's count.
        if self.dialer.dial.is_rate_limited()
            && let Some(question) = self.inbox.rate_limit.question(StdInstant::now())
        {
            self.send(question).await;
        }
    }

    fn redialed(&mut self, redialed: Option<Redialed>) {
        let (how, is_loss) = match redialed {
            Some(Ok(socket)) => {
                // Before the new socket is read: replays are recognised by the number of the connection.
                self.inbox.reconnected(self.reconnection.opened(Instant::now()));
                self.connection = Connection::Open(socket);
                return;
            }
            // A server that restarts, or a proxy in front of it, refuses and fails for a while.
            Some(Err(DialError::NoProtocol { cause } | DialError::Unreachable { cause })) => {
                tracing::debug!(cause, "the kernel's channels cannot be opened yet");
                return self.lost(cause);
            }
            // Final answers: the kernel or the permission is gone, and asking again changes nothing.
            Some(Err(DialError::Gone { how })) => (how, false),
            Some(Err(DialError::Refused { cause })) => (cause, true),
            None => {
                let (seconds, cause) = (reconnection::TIMEOUT.as_secs(), self.reconnection.cause());
                (format!("{cause} (for {seconds} s)"), true)
            }
        };
        if self.reconnection.withdraw() {
            self.inbox.add(Received::Disconnected { cause: None });
        }
        // Nothing can come that would complete the held run.
        self.inbox.release();
        self.connection = Connection::Ended { how, is_loss };
    }

    /// There is no socket.
    fn lost(&mut self, cause: String) {
        let next = self.reconnection.lost(cause, Instant::now());
        self.redial(next);
    }

    /// Replaces the socket.
    fn renew(&mut self) {
        let next = self.reconnection.renew(Instant::now());
        self.redial(next);
    }

    fn redial(&mut self, (pause, end): (Duration, Instant)) {
        // What the old socket took is not sent again: it may have arrived, and code must not run twice.
        // No closing handshake (RFC 6455, 7.1.2): the other end may be gone, and the server closes a stale socket itself.
        // The attempt is kept here because `receive` may be cancelled, and must not start it over.
        // All clients of a restarted server return at the same time; growing pauses spare it.
        self.connection = Connection::Reconnecting(Box::pin(self.dialer.clone().redial(pause, end)));
    }
}

impl Transport for Channels {
    async fn receive(&mut self) -> Option<Received> {
        if let Some(early) = self.next_early() {
            return Some(early);
        }
        loop {
            if let Some(received) = self.inbox.pop() {
                return Some(received);
            }
            if self.is_closed() {
                return None;
            }
            let event = self.next_event().await;
            self.handle(event).await;
        }
    }

    fn is_open(&self) -> bool {
        matches!(self.connection, Connection::Open(_))
    }

    fn is_closed(&self) -> bool {
        // While it reconnects, messages that the server keeps can still arrive.
        matches!(self.connection, Connection::Ended { .. })
    }

    async fn send(&mut self, (channel, message): Outgoing) {
        if channel == Channel::Shell {
            self.inbox.requested(&message.header.msg_id);
        }
        match messages::write_parts(message, &self.dialer.session) {
            Ok(parts) => {
                if channel == Channel::Stdin
                    && let Some(log) = &self.log
                {
                    // Not the line itself, which may be a secret.
                    log.append(&LogRecord::ToKernel { channel, parts: parts[..2].to_vec() });
                }
                self.outbox.push_back((channel, parts));
            }
            Err(error) => tracing::error!(?channel, %error, "a message to the kernel cannot be written"),
        }
        // While it reconnects, the outbox waits; the next socket sends it.
        if let Connection::Open(socket) = &mut self.connection {
            socket.send(&mut self.outbox).await;
        }
    }

    async fn announce(&mut self, announcement: Announcement) {
        if let Some(log) = &self.log {
            log.append(&LogRecord::Announced(announcement));
        }
    }

    fn is_resumed(&self) -> bool {
        self.resumed.is_some()
    }

    fn give_back(&mut self, early: Vec<Received>) {
        if let Some(resumed) = &mut self.resumed {
            resumed.early = early.into();
        }
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn can_be_superseded(&self) -> bool {
        self.dialer.dial.can_be_superseded()
    }

    fn is_superseded(&self) -> bool {
        // Elsewhere each socket has its own `ZeroMQ` identity, and another client's question takes nothing away.
        self.can_be_superseded() && self.inbox.is_superseded
    }

    fn reconnect(&mut self) {
        // An attempt under way already leads to a new socket; starting over would only lose time.
        if self.is_open() {
            self.renew();
        }
    }

    fn loss(&self) -> Option<LossCause> {
        match &self.connection {
            Connection::Ended { how, is_loss: true } => Some(LossCause::NotRestored { cause: how.clone() }),
            _ => None,
        }
    }

    fn how_it_ended(&self) -> Option<Death> {
        match &self.connection {
            Connection::Ended { how, is_loss: true } => {
                Some(format!("the connection was cut and not restored: {how}").into())
            }
            Connection::Ended { how, .. } => Some(how.clone().into()),
            _ => None,
        }
    }
}

impl Connection {
    /// Cancel safe.
    async fn next(&mut self, outbox: &mut VecDeque<Parts>) -> Event {
        match self {
            Self::Open(socket) => {
                socket.receive(outbox).await.map_or_else(|cause| Event::Cut { cause }, Event::Message)
            }
            Self::Reconnecting(redial) => {
                let (dialer, redialed) = redial.await;
                Event::Redialed(dialer, redialed)
            }
            Self::Ended { .. } => std::future::pending().await,
        }
    }
}

async fn sleep_until_some(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

//! The channels of one kernel, kept open.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tokio::time::{Instant as Time, sleep_until};

use super::dialing::Dialing;
use super::inbox::Inbox;
use super::link::{Link, Parts};
use crate::message::{self, Channel, Message, Outgoing};
use crate::transport::{Received, Transport};

/// How long after a kernel's good-bye its server is asked whether it is gone. A server does not end the connections to
/// a kernel that it was told to end, and says nothing.
const FAREWELL: Duration = Duration::from_secs(1);
/// How long the end of a run is held back for what may still come.
const PATIENCE: Duration = Duration::from_secs(2);

/// The connection to one kernel, made anew when it is lost.
pub(crate) struct Channels {
    dialing: Dialing,
    connection: Connection,
    /// What never left us.
    outbox: VecDeque<Parts>,
    inbox: Inbox,
    /// When to find out whether the kernel is gone.
    farewell: Option<Time>,
    /// When to hold nothing back any more.
    release: Option<Time>,
}

/// The connection as it is.
enum Connection {
    Open(Link),
    Lost(BoxFuture<'static, Result<Link, String>>),
    /// For good, and why.
    Ended(String),
}

/// What happened to the connection.
enum Change {
    Message(Message),
    Lost,
    Opened(Link),
    Ended(String),
}

impl Channels {
    pub(super) fn new(dialing: Dialing, link: Link) -> Self {
        Self {
            inbox: Inbox::new(&dialing.session),
            dialing,
            connection: Connection::Open(link),
            outbox: VecDeque::new(),
            farewell: None,
            release: None,
        }
    }

    fn on_change(&mut self, change: Change) {
        match change {
            Change::Message(message) => self.inbox.take(message, Instant::now()),
            Change::Lost => self.connection = Connection::Lost(Box::pin(self.dialing.clone().again())),
            Change::Opened(link) => {
                self.inbox.reconnect();
                self.connection = Connection::Open(link);
            }
            Change::Ended(why) => {
                self.inbox.release();
                self.connection = Connection::Ended(why);
            }
        }
    }
}

impl Transport for Channels {
    async fn receive(&mut self) -> Option<Received> {
        loop {
            if let Some(received) = self.inbox.next() {
                return Some(received);
            }
            if self.is_closed() {
                return None;
            }
            tokio::select! {
                change = self.connection.next(&mut self.outbox) => self.on_change(change),
                () = at(self.farewell) => {
                    self.farewell = None;
                    self.on_change(Change::Lost);
                }
                () = at(self.release) => self.inbox.release(),
            }
            self.release =
                self.inbox.is_holding().then(|| self.release.unwrap_or_else(|| Time::now() + PATIENCE));
            if self.inbox.is_ending() {
                self.farewell = Some(Time::now() + FAREWELL);
            }
            if self.dialing.is_limited()
                && let Some(question) = self.inbox.question(Instant::now())
            {
                self.send(question).await;
            }
        }
    }

    fn is_closed(&self) -> bool {
        matches!(self.connection, Connection::Ended(_))
    }

    async fn send(&mut self, (channel, message): Outgoing) {
        if channel == Channel::Shell {
            self.inbox.asks(&message.header.msg_id);
        }
        match message::write(message, &self.dialing.session) {
            Ok(parts) => self.outbox.push_back((channel, parts)),
            Err(error) => tracing::error!(?channel, %error, "a message to the kernel cannot be written"),
        }
        if let Connection::Open(link) = &mut self.connection {
            link.send(&mut self.outbox).await;
        }
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn can_be_overtaken(&self) -> bool {
        self.dialing.can_be_overtaken()
    }

    fn is_overtaken(&self) -> bool {
        self.can_be_overtaken() && self.inbox.is_overtaken()
    }

    fn renew(&mut self) {
        if let Connection::Open(_) = self.connection {
            self.on_change(Change::Lost);
        }
    }

    fn how_it_ended(&self) -> Option<String> {
        match &self.connection {
            Connection::Ended(why) => Some(why.clone()),
            _ => None,
        }
    }
}

impl Connection {
    /// What happens next. Nothing is lost when the future is dropped.
    async fn next(&mut self, outbox: &mut VecDeque<Parts>) -> Change {
        match self {
            Self::Open(link) => link.receive(outbox).await.map_or(Change::Lost, Change::Message),
            Self::Lost(again) => again.await.map_or_else(Change::Ended, Change::Opened),
            Self::Ended(_) => std::future::pending().await,
        }
    }
}

async fn at(time: Option<Time>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

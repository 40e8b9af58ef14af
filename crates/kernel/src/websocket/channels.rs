//! The channels of one kernel, kept open.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tokio::time::{Instant as Time, sleep_until};

use super::budget::Budget;
use super::dialing::Dialing;
use super::helpers::{Helpers, News};
use super::inbox::Inbox;
use super::link::{Link, Parts};
use super::seen::Source;
use crate::message::{self, Channel, Message, Outgoing};
use crate::transport::{Received, Transport};

/// How long after a kernel's good-bye its server is asked whether it is gone. A server does not end the connections to
/// a kernel that it was told to end, and says nothing.
const FAREWELL: Duration = Duration::from_secs(1);

/// The connection to one kernel, made anew when it is lost.
pub(crate) struct Channels {
    dialing: Dialing,
    main: Main,
    /// What never left us.
    outbox: VecDeque<Parts>,
    inbox: Inbox,
    helpers: Helpers,
    sources: Source,
    /// When to find out whether the kernel is gone.
    farewell: Option<Time>,
}

/// The main connection, over which all but outputs go.
enum Main {
    Open {
        link: Link,
        source: Source,
        budget: Budget,
    },
    Lost(BoxFuture<'static, Result<Link, String>>),
    /// For good, and why.
    Ended(String),
}

/// What happened to the main connection.
enum Change {
    Message(Message),
    Lost,
    Opened(Link),
    Ended(String),
}

impl Channels {
    pub(super) fn new(dialing: Dialing, link: Link) -> Self {
        Self {
            dialing,
            main: Main::Open { link, source: 0, budget: Budget::default() },
            outbox: VecDeque::new(),
            inbox: Inbox::default(),
            helpers: Helpers::default(),
            sources: 0,
            farewell: None,
        }
    }

    fn on_change(&mut self, change: Change) {
        match (change, &mut self.main) {
            (Change::Message(message), Main::Open { source, budget, .. }) => {
                budget.count(&message, Instant::now());
                self.inbox.take(message, *source, &self.dialing.session);
            }
            (Change::Message(_), _) => {}
            (Change::Lost, _) => {
                // The others go the same way; what they hear would only be heard twice.
                self.helpers = Helpers::default();
                self.main = Main::Lost(Box::pin(self.dialing.clone().again()));
            }
            (Change::Opened(link), _) => {
                self.sources += 1;
                self.inbox.reconnect(self.sources);
                self.main = Main::Open { link, source: self.sources, budget: Budget::default() };
            }
            (Change::Ended(why), _) => self.main = Main::Ended(why),
        }
    }

    fn on_news(&mut self, news: News) {
        match news {
            News::Opened(source) => self.inbox.prefer(source),
            News::Message(message, source) => {
                self.inbox.take(message, source, self.helpers.session(source));
            }
            News::Ended(source) => {
                self.inbox.lose(source);
                self.helpers.retain(|it| it != source);
            }
        }
    }

    /// Opens and closes further sockets.
    fn manage(&mut self) {
        let Main::Open { source: main, budget, .. } = &self.main else { return };
        // The one that was opened last hears the kernel's newest words, so it has the most time until its limit.
        let newest = self.inbox.newest();
        let is_strained =
            if newest == *main { budget.is_strained(Instant::now()) } else { self.helpers.is_in_use(newest) };
        let is_strained = is_strained && self.dialing.is_limited();
        if is_strained && self.inbox.can_switch() && self.helpers.open(&self.dialing, self.sources + 1) {
            self.sources += 1;
            self.inbox.crowd();
        }
        self.helpers.retain(|source| self.inbox.needs(source));
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
                change = self.main.next(&mut self.outbox) => self.on_change(change),
                news = self.helpers.next() => self.on_news(news),
                () = sleep_until(self.farewell.unwrap_or_else(Time::now)), if self.farewell.is_some() => {
                    self.farewell = None;
                    self.on_change(Change::Lost);
                }
            }
            if self.inbox.is_ending() {
                self.farewell = Some(Time::now() + FAREWELL);
            }
            self.manage();
        }
    }

    fn is_closed(&self) -> bool {
        matches!(self.main, Main::Ended(_))
    }

    async fn send(&mut self, (channel, message): Outgoing) {
        if channel == Channel::Shell {
            self.inbox.asks(&message.header.msg_id);
        }
        match message::write(message, &self.dialing.session) {
            Ok(parts) => self.outbox.push_back((channel, parts)),
            Err(error) => tracing::error!(?channel, %error, "a message to the kernel cannot be written"),
        }
        if let Main::Open { link, .. } = &mut self.main {
            link.send(&mut self.outbox).await;
        }
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn how_it_ended(&self) -> Option<String> {
        match &self.main {
            Main::Ended(why) => Some(why.clone()),
            _ => None,
        }
    }
}

impl Main {
    /// What happens next. Nothing is lost when the future is dropped.
    async fn next(&mut self, outbox: &mut VecDeque<Parts>) -> Change {
        match self {
            Self::Open { link, .. } => link.receive(outbox).await.map_or(Change::Lost, Change::Message),
            Self::Lost(again) => again.await.map_or_else(Change::Ended, Change::Opened),
            Self::Ended(_) => std::future::pending().await,
        }
    }
}

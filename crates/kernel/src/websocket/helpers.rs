//! Further sockets to the same kernel, from which outputs are taken when there are too many for one.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tokio::time::Instant as Time;
use uuid::Uuid;

use super::DialError;
use super::budget::Budget;
use super::dialing::Dialing;
use super::link::Link;
use super::seen::Source;
use crate::message::Message;

/// How long no further socket is opened after one could not be.
const PAUSE: Duration = Duration::from_secs(5);

/// The least time between two attempts. At first the kernel is much faster than the server, and it may say some thousand
/// messages, no more, before the next socket hears it. Later the server's own pace counts, which stays below the limit
/// within the longer time.
const INTERVALS: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];
/// How many attempts may follow one another quickly.
const QUICK: u32 = 6;

/// What becomes of further sockets.
pub(super) enum News {
    Opened(Source),
    Message(Message, Source),
    Ended(Source),
}

/// How many there may be. Each costs the server the work of sending everything once more.
const MOST: usize = 6;

/// Further sockets, and an attempt to open one.
#[derive(Default)]
pub(super) struct Helpers {
    sockets: Vec<Helper>,
    opening: Option<Opening>,
    not_before: Option<Time>,
    /// How many attempts were made without a rest.
    attempts: u32,
}

/// An attempt: the number and the session of the socket, and its outcome.
type Opening = (Source, String, BoxFuture<'static, Result<Link, DialError>>);

struct Helper {
    source: Source,
    session: String,
    link: Link,
    budget: Budget,
}

impl Helpers {
    /// Begins to open one, unless that is of no use now.
    pub(super) fn open(&mut self, dialing: &Dialing, source: Source) -> bool {
        let is_enough = self.opening.is_some() || self.sockets.len() >= MOST;
        if is_enough || self.not_before.is_some_and(|at| Time::now() < at) {
            return false;
        }
        let now = Time::now();
        let had_rest = self.not_before.is_none_or(|at| now >= at + PAUSE);
        self.attempts = if had_rest { 1 } else { self.attempts + 1 };
        self.not_before = Some(now + INTERVALS[usize::from(self.attempts > QUICK)]);
        let session = Uuid::new_v4().to_string();
        let mut dialing = dialing.under(&session);
        self.opening = Some((source, session, Box::pin(async move { dialing.once().await })));
        true
    }

    /// Whether `source` should have one to take over from it.
    pub(super) fn is_in_use(&self, source: Source) -> bool {
        self.sockets.iter().any(|it| it.source == source && it.budget.is_in_use())
    }

    /// The session of `source`.
    pub(super) fn session(&self, source: Source) -> &str {
        self.sockets.iter().find(|it| it.source == source).map_or("", |it| &it.session)
    }

    /// Closes all for which `is_wanted` is not true.
    pub(super) fn retain(&mut self, is_wanted: impl Fn(Source) -> bool) {
        self.sockets.retain(|it| is_wanted(it.source));
    }

    /// What comes next; never completes without sockets. Nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> News {
        poll_fn(|context| {
            if let Some((source, _, opening)) = &mut self.opening
                && let Poll::Ready(opened) = opening.as_mut().poll(context)
            {
                let source = *source;
                let session = self.opening.take().map(|(_, session, _)| session).unwrap_or_default();
                match opened {
                    Ok(link) => {
                        let budget = Budget::default();
                        self.sockets.push(Helper { source, session, link, budget });
                        return Poll::Ready(News::Opened(source));
                    }
                    Err(error) => {
                        tracing::info!(%error, "no further socket for the kernel's outputs");
                        self.not_before = Some(Time::now() + PAUSE);
                    }
                }
            }
            for helper in &mut self.sockets {
                let mut nothing = VecDeque::new();
                let received = pin!(helper.link.receive(&mut nothing)).poll(context);
                if let Poll::Ready(message) = received {
                    return Poll::Ready(match message {
                        Some(message) => {
                            helper.budget.count(&message, Instant::now());
                            News::Message(message, helper.source)
                        }
                        None => News::Ended(helper.source),
                    });
                }
            }
            Poll::Pending
        })
        .await
    }
}

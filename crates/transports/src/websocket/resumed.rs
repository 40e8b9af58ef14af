//! What an earlier connection has logged of its runs, and how this one goes on with them.
//!
//! The log has the records of a keeper's log, and is fed to the same state machines as what comes over the socket, before it:
//!
//! | record | what the driver gets |
//! |---|---|
//! | the announcement of a followed run | [`Received::Adopted`] |
//! | a message of the kernel | what it would have got then |
//! | our answer to an `input_request` | [`Received::InputAnswered`] |
//! | the end of the log, once a socket is open | [`Received::Reconnected`]: what the server has kept follows |

use std::collections::HashMap;
use std::future::pending;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use notebook::Json;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

use super::inbox::Inbox;
use kernel::GapCause;
use kernel::Ready;
use kernel::log::{Announcement, LogEvent, LogRecord, Peek};
use kernel::messages::{Channel, Message, Outgoing};
use kernel::{Death, Event, MessageId, Outcome, Sink, TimedEvents, drive};
use kernel::{Received, Transport};

/// Where a connection writes what a later one needs to follow its runs.
pub trait RecordLog: Send + Sync + 'static {
    /// Whether there are runs that a later connection would follow.
    fn has_runs(&self) -> bool;

    /// Appends a record. A run goes on without, if that fails.
    fn append(&self, record: &LogRecord);
}

/// A log, and what is in it.
pub struct SessionLog {
    /// The session of the connection that began the log. The server keeps messages for it.
    pub session: String,
    /// What was logged, the oldest first.
    pub past: Vec<LogRecord>,
    /// The requests of the runs to follow.
    pub followed: Vec<MessageId>,
    pub log: Arc<dyn RecordLog>,
}

/// When the kernel sent what is being handled; `None` for now.
pub(super) type Clock = Arc<Mutex<Option<SystemTime>>>;

/// The sinks of followed executions, by request.
pub(super) type Sinks = HashMap<MessageId, Sink>;

/// Sinks for executions, where their events come out, and how many have not ended.
pub(super) fn follow(
    followed: &[MessageId],
    clock: &Clock,
) -> (Sinks, Vec<TimedEvents>, watch::Receiver<usize>) {
    let (unfinished, receiver) = watch::channel(followed.len());
    let unfinished = Arc::new(unfinished);
    let sinks = followed.iter().map(|id| {
        let (sender, events) = mpsc::unbounded_channel();
        let (clock, unfinished) = (clock.clone(), unfinished.clone());
        let sink: Sink = Box::new(move |event| {
            let is_end = matches!(event, Event::Finished(_));
            // Nobody may want to know any longer.
            let _ = sender.send((clock.lock().unwrap_or_else(SystemTime::now), event));
            if is_end {
                unfinished.send_modify(|count| *count -= 1);
            }
        });
        ((id.clone(), sink), events)
    });
    let (sinks, events) = sinks.unzip();
    (sinks, events, receiver)
}

impl Inbox {
    /// Takes what an earlier connection has logged. That counts as a connection of its own, so what the server replays of it is recognised
    /// once a socket is open.
    pub(super) fn resume(&mut self, past: Vec<LogRecord>, mut sinks: Sinks) {
        for record in past {
            match record {
                LogRecord::Announced(Announcement { message: Some(id), .. }) => {
                    self.requested(&id);
                    if let Some(sink) = sinks.remove(&id) {
                        self.add(Received::Adopted(id, sink));
                    }
                }
                LogRecord::FromKernel { channel, parts } => {
                    if let Some(message) = Message::of_parts(channel, parts) {
                        self.push(message, Instant::now());
                    }
                }
                LogRecord::ToKernel { channel: Channel::Stdin, parts } => {
                    let request = Peek::of(Channel::Stdin, &parts).parent;
                    self.add(Received::InputAnswered { request });
                }
                LogRecord::Event(LogEvent::Cut { message }) => self.dropped(GapCause::LogLimit, &message),
                _ => {}
            }
        }
    }
}

/// What became of logged executions, as far as the log says; those that have not ended there end with `outcome`.
pub async fn read_logged(log: SessionLog, outcome: Outcome) -> Vec<TimedEvents> {
    let (sinks, events, _) = follow(&log.followed, &Clock::default());
    let mut inbox = Inbox::new(&log.session);
    inbox.resume(log.past, sinks);
    inbox.add(Received::Ended(outcome));
    let ready = Ready { language_info: Json::empty_object(), process: None };
    let (_client, driver) = drive(Logged { inbox }, ready);
    driver.run(Box::pin(pending())).await;
    events
}

/// A connection over which nothing comes but what was logged.
struct Logged {
    inbox: Inbox,
}

impl Transport for Logged {
    async fn receive(&mut self) -> Option<Received> {
        self.inbox.pop()
    }

    fn is_closed(&self) -> bool {
        true
    }

    async fn send(&mut self, _message: Outgoing) {}

    fn how_it_ended(&self) -> Option<Death> {
        Some("it is only read".into())
    }
}

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

use std::future::pending;
use std::sync::Arc;
use std::time::Instant;

use notebook::Json;

use super::inbox::Inbox;
use kernel::GapCause;
use kernel::Ready;
use kernel::log::{Announcement, Followed, LogEvent, LogRecord};
use kernel::messages::Outgoing;
use kernel::{Death, MessageId, Outcome, TimedEvents, drive};
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

impl Inbox {
    /// Takes what an earlier connection has logged. That counts as a connection of its own, so what the server replays of it is recognised
    /// once a socket is open.
    pub(super) fn resume(&mut self, past: Vec<LogRecord>, followed: &mut Followed) {
        for record in past {
            match &record {
                LogRecord::Announced(Announcement { message: Some(id), .. }) => self.requested(id),
                LogRecord::Event(LogEvent::Cut { message }) => self.dropped(GapCause::LogLimit, message),
                _ => {}
            }
            match followed.received(record) {
                Some(Received::Message(message)) => self.push(*message, Instant::now()),
                Some(other) => self.add(other),
                None => {}
            }
        }
    }
}

/// What became of logged executions, as far as the log says; those that have not ended there end with `outcome`.
pub async fn read_logged(log: SessionLog, outcome: Outcome) -> Vec<TimedEvents> {
    let mut followed = Followed::default();
    let events = log.followed.into_iter().map(|request| followed.follow(request)).collect();
    let mut inbox = Inbox::new(&log.session);
    inbox.resume(log.past, &mut followed);
    inbox.add(Received::Ended(outcome));
    let ready = Ready { language_info: Json::empty_object(), process: None };
    let (_client, driver) = drive(inbox, ready);
    driver.run(Box::pin(pending())).await;
    events
}

/// As a connection over which nothing comes but what was logged.
impl Transport for Inbox {
    async fn receive(&mut self) -> Option<Received> {
        self.pop()
    }

    fn is_closed(&self) -> bool {
        true
    }

    async fn send(&mut self, _message: Outgoing) {}

    fn how_it_ended(&self) -> Option<Death> {
        Some("it is only read".into())
    }
}

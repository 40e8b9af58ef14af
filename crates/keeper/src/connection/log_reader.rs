//! What the records of a keeper's log mean: what each is for the driver, and what is known of the kernel and its runs by then. No I/O.

use std::time::{Instant, SystemTime};

use kernel::log::{Channel, Followed, LogEvent, LogRecord, Peek, RecordReader};
use kernel::{Death, GapCause, Message, MessageId, Outcome, Received, Sequence, TimedEvents};
use tokio::sync::watch;

use super::liveness::Liveness;
use crate::protocol::{KernelPhase, KernelStatus};

/// The log from an offset on, as far as it has been read.
pub(super) struct LogReader {
    pub(super) records: RecordReader,
    /// What was in the log when the connection was made.
    pub(super) end: u64,
    pub(super) kernel: KernelStatus,
    pub(super) orphaned: watch::Sender<u64>,
    pub(super) followed: Followed,
    pub(super) liveness: Liveness,
    pub(super) sequence: Sequence,
    /// What follows the report of a loss.
    pub(super) held: Option<Message>,
    pub(super) how_it_ended: Option<Death>,
}

impl LogReader {
    /// Follows the execution of an earlier client's request.
    pub(super) fn adopt(&mut self, message: MessageId) -> TimedEvents {
        self.liveness.begin(message.clone(), Instant::now());
        self.followed.follow(message)
    }

    pub(super) fn has_read_the_past(&self) -> bool {
        self.records.offset() >= self.end
    }

    pub(super) fn on_record(&mut self, time: SystemTime, record: LogRecord) -> Option<Received> {
        self.followed.set_time(Some(time));
        match &record {
            // What a client sent: this one or another.
            LogRecord::ToKernel { channel: Channel::Shell, parts } => {
                self.sequence.requested(&Peek::of(Channel::Shell, parts).id);
            }
            LogRecord::Event(LogEvent::Ready { language_info }) => {
                if !self.is_past() {
                    self.kernel.phase = KernelPhase::Running;
                }
                self.kernel.language_info = language_info.clone();
            }
            LogRecord::Event(LogEvent::Orphaned) => self.orphaned.send_modify(|count| *count += 1),
            LogRecord::Event(LogEvent::Cut { message }) => {
                let notice = self.sequence.server_dropped(GapCause::LogLimit, message)?;
                return Some(Received::Message(Box::new(notice)));
            }
            _ => {}
        }
        let received = self.followed.received(record)?;
        match &received {
            Received::Withdrawn(message) => self.liveness.end(message),
            Received::Ended(outcome) => {
                self.liveness.end_all();
                // What happens now ends this connection; what happened before, to an earlier process of the kernel, does not.
                if let Outcome::KernelDied { how } = outcome
                    && !self.is_past()
                {
                    self.how_it_ended = Some(how.clone());
                }
            }
            _ => {}
        }
        Some(match received {
            Received::Message(message) => self.on_message(*message),
            other => other,
        })
    }

    fn on_message(&mut self, message: Message) -> Received {
        if message.status().as_deref() == Some("idle") {
            self.liveness.end(&message.parent.id);
        }
        let next = match self.sequence.observe(&message).notice {
            Some(notice) => {
                self.held = Some(message);
                notice
            }
            None => message,
        };
        Received::Message(Box::new(next))
    }

    /// Whether the record that was read last was there before this began: what the kernel did then, its keeper has said.
    fn is_past(&self) -> bool {
        self.records.offset() <= self.end
    }
}

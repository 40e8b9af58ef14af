//! What the records of a keeper's log mean: what each is for the driver, and what is known of the kernel and its runs by then. No I/O.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use bytes::Bytes;
use kernel::log::{Announcement, Channel, LogEvent, LogRecord, Peek, RecordReader};
use kernel::{
    Death, GapCause, LossCause, Message, MessageId, Outcome, Received, Sequence, Sink, TimedEvents,
};
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

use super::liveness::Liveness;
use crate::protocol::{KernelPhase, KernelStatus};

/// The log from an offset on, as far as it has been read.
pub(super) struct LogReader {
    pub(super) records: RecordReader,
    /// What was in the log when the connection was made.
    end: u64,
    /// The time of the record that was read last.
    time: Arc<Mutex<SystemTime>>,
    pub(super) kernel: KernelStatus,
    orphaned: watch::Sender<u64>,
    /// The adopted executions that are not reached in the log yet, by request.
    adopted: HashMap<MessageId, Sink>,
    pub(super) liveness: Liveness,
    sequence: Sequence,
    /// What follows the report of a loss.
    pub(super) held: Option<Message>,
    pub(super) how_it_ended: Option<Death>,
}

impl LogReader {
    pub(super) fn new(
        from: u64,
        end: u64,
        kernel: KernelStatus,
        orphaned: watch::Sender<u64>,
        liveness: Liveness,
    ) -> Self {
        Self {
            records: RecordReader::at(from),
            end,
            time: Arc::new(Mutex::new(SystemTime::now())),
            kernel,
            orphaned,
            adopted: HashMap::new(),
            liveness,
            sequence: Sequence::of_direct_connection(),
            held: None,
            how_it_ended: None,
        }
    }

    /// Follows the execution of an earlier client's request.
    pub(super) fn adopt(&mut self, message: MessageId) -> (MessageId, TimedEvents) {
        let (sender, events) = mpsc::unbounded_channel();
        let time = self.time.clone();
        let sink: Sink = Box::new(move |event| {
            // Nobody may want to know any longer.
            let _ = sender.send((*time.lock(), event));
        });
        self.adopted.insert(message.clone(), sink);
        self.liveness.begin(message.clone(), Instant::now());
        (message, events)
    }

    pub(super) fn has_read_the_past(&self) -> bool {
        self.records.offset() >= self.end
    }

    pub(super) fn on_record(&mut self, time: SystemTime, record: LogRecord) -> Option<Received> {
        *self.time.lock() = time;
        match record {
            LogRecord::FromKernel { channel, parts } => {
                Some(self.on_message(Message::of_parts(channel, parts)?))
            }
            LogRecord::ToKernel { channel, parts } => self.on_request(channel, &parts),
            LogRecord::Announced(announcement) => self.on_announcement(announcement),
            LogRecord::Event(event) => self.on_event(event),
            LogRecord::Stored { .. } | LogRecord::Acknowledged { .. } => None,
        }
    }

    fn on_announcement(&mut self, announcement: Announcement) -> Option<Received> {
        let message = announcement.message?;
        let sink = self.adopted.remove(&message)?;
        Some(Received::Adopted(message, sink))
    }

    fn on_message(&mut self, message: Message) -> Received {
        if message.status().as_deref() == Some("idle") {
            self.liveness.end(message.parent_id());
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

    /// What a client sent: this one or another.
    fn on_request(&mut self, channel: Channel, parts: &[Bytes]) -> Option<Received> {
        let request = Peek::of(channel, parts);
        match channel {
            Channel::Shell => self.sequence.requested(&request.id),
            Channel::Stdin if request.kind == "input_reply" => {
                return Some(Received::InputAnswered { request: request.parent });
            }
            _ => {}
        }
        None
    }

    fn on_event(&mut self, event: LogEvent) -> Option<Received> {
        match event {
            LogEvent::Ready { language_info } => {
                if !self.is_past() {
                    self.kernel.phase = KernelPhase::Running;
                }
                self.kernel.language_info = language_info;
                None
            }
            LogEvent::Restarting => {
                self.liveness.end_all();
                self.end_unless_past(&Death::Restarted);
                Some(Received::Ended(Outcome::KernelDied { how: Death::Restarted }))
            }
            LogEvent::Died { how } => {
                self.liveness.end_all();
                let how = Death::from(how);
                self.end_unless_past(&how);
                Some(Received::Ended(Outcome::KernelDied { how }))
            }
            LogEvent::Orphaned => {
                self.orphaned.send_modify(|count| *count += 1);
                None
            }
            LogEvent::Cut { message } => {
                let notice = self.sequence.server_dropped(GapCause::LogLimit, &message)?;
                Some(Received::Message(Box::new(notice)))
            }
            LogEvent::Withdrawn { message } => {
                self.liveness.end(&message);
                Some(Received::Withdrawn(message))
            }
            LogEvent::LogFailed { os_error } => {
                self.liveness.end_all();
                let cause = LossCause::LogFailed { os_error };
                Some(Received::Ended(Outcome::Lost { is_started: true, cause }))
            }
            // Its executions ask the kernel themselves.
            LogEvent::Ended { .. } | LogEvent::Unknown => None,
        }
    }

    /// Whether the record that was read last was there before this began: what the kernel did then, its keeper has said.
    fn is_past(&self) -> bool {
        self.records.offset() <= self.end
    }

    /// What happens now ends this connection; what happened before, to an earlier process of the kernel, does not.
    fn end_unless_past(&mut self, how: &Death) {
        if !self.is_past() {
            self.how_it_ended = Some(how.clone());
        }
    }
}

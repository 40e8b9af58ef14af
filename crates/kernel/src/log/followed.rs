//! The records of a log as what comes over a connection, for the executions of earlier connections.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

use super::peek::Peek;
use super::record::LogRecord;
use crate::messages::{Channel, Message, MessageId};
use crate::{Event, Received, Sink, TimedEvents};

/// Executions of earlier connections that this one follows.
#[derive(Default)]
pub struct Followed {
    /// The time of what is being handled; `None` for now.
    time: Arc<Mutex<Option<SystemTime>>>,
    /// The executions that are not reached in the log yet, by request.
    sinks: HashMap<MessageId, Sink>,
    unfinished: Arc<watch::Sender<usize>>,
}

impl Followed {
    /// Follows the execution of this request.
    pub fn follow(&mut self, request: MessageId) -> TimedEvents {
        let (sender, events) = mpsc::unbounded_channel();
        let (time, unfinished) = (self.time.clone(), self.unfinished.clone());
        unfinished.send_modify(|count| *count += 1);
        let sink = move |event| {
            let is_end = matches!(event, Event::Finished(_));
            // Nobody may want to know any longer.
            let _ = sender.send((time.lock().unwrap_or_else(SystemTime::now), event));
            if is_end {
                unfinished.send_modify(|count| *count -= 1);
            }
        };
        self.sinks.insert(request, Box::new(sink));
        events
    }

    /// The number of executions that have not ended.
    pub fn unfinished(&self) -> watch::Receiver<usize> {
        self.unfinished.subscribe()
    }

    /// The events from here on have this time; without one, that of the moment.
    pub fn set_time(&self, time: Option<SystemTime>) {
        *self.time.lock() = time;
    }

    /// The input that a record is for a driver; `None` if it is none.
    pub fn received(&mut self, record: LogRecord) -> Option<Received> {
        Some(match record {
            LogRecord::FromKernel { channel, parts } => {
                Received::Message(Box::new(Message::of_parts(channel, parts)?))
            }
            LogRecord::ToKernel { channel: Channel::Stdin, parts } => {
                Received::InputAnswered { request: Peek::of(Channel::Stdin, &parts).parent }
            }
            LogRecord::Announced(announcement) => {
                let (message, sink) = self.sinks.remove_entry(announcement.message.as_ref()?)?;
                Received::Adopted(message, sink)
            }
            LogRecord::Event(super::LogEvent::Withdrawn { message }) => Received::Withdrawn(message),
            LogRecord::Event(event) => Received::Ended(event.end_of_all()?),
            LogRecord::ToKernel { .. } | LogRecord::Stored { .. } | LogRecord::Acknowledged { .. } => {
                return None;
            }
        })
    }
}

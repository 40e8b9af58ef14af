//! What carries messages to and from a kernel.

use crate::log::Announcement;
use crate::messages::{Message, Outgoing};
use crate::{Death, LossCause, MessageId, Outcome, Sink};

mod sequence;

pub use sequence::{GapCause, Observation, Sequence};

/// What comes over a [`Transport`].
pub enum Received {
    Message(Box<Message>),
    /// The connection was cut for this reason, and restored. Messages that were on their way, in either direction, may be
    /// lost; those that the other side kept follow.
    Reconnected {
        cause: String,
    },
    /// The connection has been lost for a while, for this reason; without one, it works again.
    Disconnected {
        cause: Option<String>,
    },
    /// From here on the kernel is another process. What the last one had started is over.
    Replaced,
    /// The request of an earlier client, whose messages follow.
    Adopted(MessageId, Sink),
    /// Somebody has answered the kernel's `input_request` of this id.
    InputAnswered {
        request: String,
    },
    /// What the kernel was sent before is over.
    Ended(Outcome),
    /// Everything was received that happened before the connection was made.
    CaughtUp,
    /// A request was withdrawn before the kernel got it.
    Withdrawn(MessageId),
}

/// The connections to one kernel.
pub trait Transport: Send + 'static {
    /// What comes next, over whatever channel. Cancel safe.
    ///
    /// `None`: one of the connections has ended, and everything that came over it was returned;
    /// [`Transport::is_closed`] says whether any is left.
    fn receive(&mut self) -> impl Future<Output = Option<Received>> + Send;

    /// Whether it is connected now. If not, [`Received::Reconnected`] follows, or its end.
    fn is_open(&self) -> bool {
        true
    }

    /// Whether nothing more can arrive.
    fn is_closed(&self) -> bool;

    /// Queues a message for sending. A connection that has ended loses it.
    fn send(&mut self, message: Outgoing) -> impl Future<Output = ()> + Send;

    /// Logs the details of the run whose request is sent next, where there is a log.
    fn announce(&mut self, _announcement: Announcement) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// Interrupts this execution and no other, where somebody between us and the kernel can tell them apart.
    fn interrupt(&mut self, _id: &MessageId) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// Sends what is queued: the connection is no longer used. Returns in bounded time.
    fn finish(&mut self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// Whether messages that arrive before the kernel is known to be ready belong to an execution, and must be
    /// returned.
    fn is_resumed(&self) -> bool {
        false
    }

    /// Takes back what came before the kernel was ready. It is received again.
    fn give_back(&mut self, _early: Vec<Received>) {}

    /// Whether everything has been received that happened before the connection was made.
    fn is_caught_up(&self) -> bool {
        true
    }

    /// Whether the kernel worked on something when the connection was made.
    fn is_busy(&self) -> bool {
        false
    }

    /// Whether it is reported when the kernel's process ends, whatever the kernel publishes.
    fn knows_process_end(&self) -> bool {
        false
    }

    /// Whether somebody else owns the kernel's process and may replace it unnoticed.
    fn is_remote(&self) -> bool {
        false
    }

    /// Whether another client that connects takes over this connection: replies go there, and our requests nowhere.
    /// What the kernel publishes still comes.
    fn can_be_superseded(&self) -> bool {
        false
    }

    /// Whether another client has connected since.
    fn is_superseded(&self) -> bool {
        false
    }

    /// Cuts the connection and restores it; [`Received::Reconnected`] follows.
    fn reconnect(&mut self) {}

    /// Why it is not known how executions ended that the end of the connection leaves open; `None` if the kernel died.
    fn loss(&self) -> Option<LossCause> {
        None
    }

    /// How the connection ended, if the transport knows.
    fn how_it_ended(&self) -> Option<Death> {
        None
    }
}

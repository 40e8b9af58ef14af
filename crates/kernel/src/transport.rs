//! What carries messages to and from a kernel.

use crate::message::{Message, Outgoing};

/// The connections to one kernel.
pub(crate) trait Transport: Send + 'static {
    /// The next message, of whatever channel. Nothing is lost when the future is dropped.
    ///
    /// `None`: one of the connections has ended, and all that came over it was given out; then
    /// [`Transport::is_closed`] tells whether any is left.
    fn receive(&mut self) -> impl Future<Output = Option<Message>> + Send;

    /// Whether nothing can come any more.
    fn is_closed(&self) -> bool;

    /// Hands a message over for sending. A connection that has ended takes it and loses it.
    fn send(&mut self, message: Outgoing) -> impl Future<Output = ()> + Send;
}

//! What carries messages to and from a kernel.

use crate::message::{Message, Outgoing};

/// What comes from a kernel's connections.
#[derive(Debug)]
pub(crate) enum Received {
    /// A message.
    Message(Message),
    /// The connection was lost and made anew. Messages that were on their way, in either direction, may be lost; those
    /// that the other side kept follow.
    Reconnected,
    /// The kernel is another process from here on. What the last one had begun is over.
    Replaced,
}

/// The connections to one kernel.
pub(crate) trait Transport: Send + 'static {
    /// What comes next, over whatever channel. Nothing is lost when the future is dropped.
    ///
    /// `None`: one of the connections has ended, and all that came over it was given out; then
    /// [`Transport::is_closed`] tells whether any is left.
    fn receive(&mut self) -> impl Future<Output = Option<Received>> + Send;

    /// Whether nothing can come any more.
    fn is_closed(&self) -> bool;

    /// Hands a message over for sending. A connection that has ended takes it and loses it.
    fn send(&mut self, message: Outgoing) -> impl Future<Output = ()> + Send;

    /// Whether somebody else keeps the kernel's process and may replace it without our seeing that.
    fn is_remote(&self) -> bool {
        false
    }

    /// Whether somebody else who connects can cut this connection off: the kernel's answers go to them, and our requests
    /// nowhere. What the kernel tells everybody still comes.
    fn can_be_overtaken(&self) -> bool {
        false
    }

    /// Whether somebody has connected since.
    fn is_overtaken(&self) -> bool {
        false
    }

    /// Makes the connection anew; [`Received::Reconnected`] follows.
    fn renew(&mut self) {}

    /// How the connection ended, if the transport was told.
    fn how_it_ended(&self) -> Option<String> {
        None
    }
}

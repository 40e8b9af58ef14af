//! A kernel's `ZeroMQ` sockets.
//!
//! What the `zeromq` crate (0.7) does, as read in its source: `recv` is cancel safe; a subscription has no queue on our
//! side, so that a slow reader fills the kernel's; a connection that ends does not end `recv`, it shows on the monitor,
//! after its last message was returned; TCP sends without delay.

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use jupyter_protocol::ConnectionInfo;
use zeromq::util::PeerIdentity;
use zeromq::{
    DealerSocket, Socket, SocketEvent, SocketOptions, SocketRecv, SocketSend, SubSocket, ZmqMessage,
    ZmqResult,
};

use super::wire::Wire;
use kernel::Sequence;
use kernel::messages::{self, Channel, Message, Outgoing};
use kernel::{Received, Transport};

/// The connections to one kernel, on which messages pass as they are.
pub(crate) struct RawSockets {
    iopub: End<SubSocket>,
    shell: End<DealerSocket>,
    stdin: End<DealerSocket>,
    control: End<DealerSocket>,
    wire: Wire,
    session: String,
}

impl RawSockets {
    /// Opens all connections, the subscription first. Boxed, so that its code is not again in each crate that connects.
    pub(crate) fn open<'s>(info: &'s ConnectionInfo, session: &'s str) -> BoxFuture<'s, ZmqResult<Self>> {
        Box::pin(async move {
            let mut iopub = SubSocket::new();
            // Before the connection: `zeromq` sends the subscriptions that it knows with the connection itself.
            iopub.subscribe("").await?;
            // The kernel asks for input by the identity under which it got the request.
            let identity: PeerIdentity = session.parse()?;
            let dealer = || {
                let mut options = SocketOptions::default();
                options.peer_identity(identity.clone());
                DealerSocket::with_options(options)
            };
            Ok(Self {
                // In this order: a subscription takes effect with a delay, which the other connections cover.
                iopub: End::connect(iopub, &info.iopub_url()).await?,
                shell: End::connect(dealer(), &info.shell_url()).await?,
                stdin: End::connect(dealer(), &info.stdin_url()).await?,
                control: End::connect(dealer(), &info.control_url()).await?,
                wire: Wire::new(info),
                session: session.to_owned(),
            })
        })
    }

    /// The parts of the next genuine message. `None` if one of the connections has ended.
    pub(crate) async fn receive_parts(&mut self) -> Option<(Channel, Vec<Bytes>)> {
        loop {
            // Not biased: a flood of output must not keep replies and input requests from being read.
            let (channel, frames) = tokio::select! {
                frames = self.iopub.receive() => (Channel::Iopub, frames?),
                frames = self.shell.receive() => (Channel::Shell, frames?),
                frames = self.stdin.receive() => (Channel::Stdin, frames?),
                frames = self.control.receive() => (Channel::Control, frames?),
            };
            if let Some(parts) = self.wire.open(channel, frames) {
                return Some((channel, parts));
            }
        }
    }

    pub(crate) async fn send_parts(&mut self, channel: Channel, parts: Vec<Bytes>) {
        let socket = match channel {
            Channel::Shell => &mut self.shell.socket,
            Channel::Control => &mut self.control.socket,
            Channel::Stdin => &mut self.stdin.socket,
            // A SUB socket cannot send (ZeroMQ RFC 29).
            Channel::Iopub => return,
        };
        // It waits only behind 100 000 messages that the kernel did not take.
        if let Err(error) = socket.send(self.wire.seal(parts)).await {
            tracing::warn!(?channel, %error, "a message to the kernel was lost");
        }
    }
}

impl Transport for RawSockets {
    async fn receive(&mut self) -> Option<Received> {
        loop {
            let (channel, parts) = self.receive_parts().await?;
            if let Some(message) = Message::of_parts(channel, parts) {
                return Some(Received::Message(Box::new(message)));
            }
        }
    }

    fn is_closed(&self) -> bool {
        // All that has to do with executions comes over these two.
        !self.iopub.is_open && !self.shell.is_open
    }

    async fn send(&mut self, (channel, message): Outgoing) {
        match messages::write_parts(message, &self.session) {
            Ok(parts) => self.send_parts(channel, parts.into()).await,
            Err(error) => tracing::error!(?channel, %error, "a message to the kernel cannot be written"),
        }
    }
}

/// The connections to one kernel, with a watch over what is missing.
pub(crate) struct Sockets {
    raw: RawSockets,
    sequence: Sequence,
    /// A message that follows the report of a loss.
    held: Option<Message>,
}

impl Sockets {
    pub(super) fn new(raw: RawSockets) -> Self {
        Self { raw, sequence: Sequence::of_direct_connection(), held: None }
    }
}

impl Transport for Sockets {
    async fn receive(&mut self) -> Option<Received> {
        if let Some(message) = self.held.take() {
            return Some(Received::Message(Box::new(message)));
        }
        let message = match self.raw.receive().await? {
            Received::Message(message) => *message,
            other => return Some(other),
        };
        let next = match self.sequence.observe(&message).notice {
            Some(notice) => {
                // The notice goes first: the message ends the run, and an output behind it would belong to none.
                self.held = Some(message);
                notice
            }
            None => message,
        };
        Some(Received::Message(Box::new(next)))
    }

    fn is_closed(&self) -> bool {
        self.raw.is_closed()
    }

    async fn send(&mut self, message: Outgoing) {
        if message.0 == Channel::Shell {
            self.sequence.requested(&message.1.header.msg_id);
        }
        self.raw.send(message).await;
    }
}

/// Our end of one connection.
struct End<S> {
    socket: S,
    events: BoxStream<'static, SocketEvent>,
    is_open: bool,
}

impl<S: Socket + SocketRecv> End<S> {
    async fn connect(mut socket: S, address: &str) -> ZmqResult<Self> {
        // Before the connection: an end that precedes the monitor is reported to nobody.
        let events = socket.monitor().boxed();
        socket.connect(address).await?;
        Ok(Self { socket, events, is_open: true })
    }

    /// The next message; `None` once, when the connection has ended. After that it never completes.
    async fn receive(&mut self) -> Option<ZmqMessage> {
        if !self.is_open {
            // Another `None` would make callers spin while the other connections are still open.
            return std::future::pending().await;
        }
        let is_lost = async {
            while let Some(event) = self.events.next().await {
                if matches!(event, SocketEvent::Disconnected(_)) {
                    return;
                }
            }
        };
        let received = tokio::select! {
            // In this order, because the last message comes before the end.
            biased;
            // An error ends the connection: ZMTP frames have lengths but no marks, so nothing behind one can be read.
            received = self.socket.recv() => received.ok(),
            () = is_lost => None,
        };
        // For good, though `zeromq` restores a subscription: what was published in between would be missing silently.
        self.is_open = received.is_some();
        received
    }
}

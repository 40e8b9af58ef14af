//! A kernel's `ZeroMQ` sockets.
//!
//! What the `zeromq` crate (0.7) does, as read in its source: `recv` is cancel safe; a subscription has no queue on our
//! side, so that a slow reader fills the kernel's; a connection that ends does not end `recv`, it shows on the monitor,
//! after its last message was returned; TCP sends without delay.

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use jupyter_protocol::{ConnectionInfo, JupyterMessage};
use ring::hmac;
use zeromq::util::PeerIdentity;
use zeromq::{
    DealerSocket, Socket, SocketEvent, SocketOptions, SocketRecv, SocketSend, SubSocket, ZmqMessage,
    ZmqResult,
};

use crate::messages::signature::{is_genuine, sign};
use crate::messages::{self, Channel, Message, Outgoing};
use crate::transport::sequence::Sequence;
use crate::transport::{Received, Transport};

/// Precedes the signature in every message.
const DELIMITER: &[u8] = b"<IDS|MSG>";

/// The connections to one kernel.
pub(crate) struct Sockets {
    iopub: End<SubSocket>,
    shell: End<DealerSocket>,
    stdin: End<DealerSocket>,
    control: End<DealerSocket>,
    key: Option<hmac::Key>,
    session: String,
    sequence: Sequence,
    /// The id of our last request on the shell channel.
    last_request: String,
    /// A message that follows the report of a loss.
    held: Option<Message>,
}

impl Sockets {
    /// Opens all connections, the subscription first.
    pub(crate) async fn open(info: &ConnectionInfo, session: &str) -> ZmqResult<Self> {
        let mut iopub = SubSocket::new();
        iopub.subscribe("").await?;
        // The kernel asks for input by the identity under which it got the request.
        let identity: PeerIdentity = session.parse()?;
        let dealer = || {
            let mut options = SocketOptions::default();
            options.peer_identity(identity.clone());
            DealerSocket::with_options(options)
        };
        let key = hmac::Key::new(hmac::HMAC_SHA256, info.key.as_bytes());
        Ok(Self {
            iopub: End::connect(iopub, &info.iopub_url()).await?,
            shell: End::connect(dealer(), &info.shell_url()).await?,
            stdin: End::connect(dealer(), &info.stdin_url()).await?,
            control: End::connect(dealer(), &info.control_url()).await?,
            key: if info.key.is_empty() { None } else { Some(key) },
            session: session.to_owned(),
            sequence: Sequence::of_direct_connection(),
            last_request: String::new(),
            held: None,
        })
    }

    fn read(&self, channel: Channel, frames: ZmqMessage) -> Option<Message> {
        // The topic of a publication stands before the delimiter.
        let mut frames = frames.into_vec();
        let start = frames.iter().position(|frame| frame == DELIMITER)? + 1;
        let Some([signature, parts @ ..]) = frames.get(start..) else { return None };
        if !is_genuine(self.key.as_ref(), parts.get(..4)?, signature) {
            tracing::warn!(?channel, "a message with a wrong signature was dropped");
            return None;
        }
        let mut parts = frames.drain(start + 1..);
        let (header, parent, _metadata, content) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        match Message::read(channel, header, parent, content) {
            Ok(message) => Some(message),
            Err(error) => {
                tracing::warn!(?channel, %error, "a message that cannot be read was dropped");
                None
            }
        }
    }

    fn write(&self, message: JupyterMessage) -> serde_json::Result<ZmqMessage> {
        let parts = messages::write(message, &self.session)?;
        let mut frames = ZmqMessage::from(Bytes::from_static(DELIMITER));
        frames.push_back(sign(self.key.as_ref(), &parts).into());
        for part in parts {
            frames.push_back(part);
        }
        Ok(frames)
    }
}

impl Transport for Sockets {
    async fn receive(&mut self) -> Option<Received> {
        if let Some(message) = self.held.take() {
            return Some(Received::Message(Box::new(message)));
        }
        loop {
            let (channel, frames) = tokio::select! {
                frames = self.iopub.receive() => (Channel::Iopub, frames?),
                frames = self.shell.receive() => (Channel::Shell, frames?),
                frames = self.stdin.receive() => (Channel::Stdin, frames?),
                frames = self.control.receive() => (Channel::Control, frames?),
            };
            let Some(message) = self.read(channel, frames) else { continue };
            let next = match self.sequence.observe(&message, &self.last_request).notice {
                Some(notice) => {
                    self.held = Some(message);
                    notice
                }
                None => message,
            };
            return Some(Received::Message(Box::new(next)));
        }
    }

    fn is_closed(&self) -> bool {
        // All that has to do with executions comes over these two.
        !self.iopub.is_open && !self.shell.is_open
    }

    async fn send(&mut self, (channel, message): Outgoing) {
        if channel == Channel::Shell {
            self.last_request.clone_from(&message.header.msg_id);
        }
        let message = match self.write(message) {
            Ok(message) => message,
            Err(error) => {
                return tracing::error!(?channel, %error, "a message to the kernel cannot be written");
            }
        };
        let socket = match channel {
            Channel::Shell => &mut self.shell.socket,
            Channel::Control => &mut self.control.socket,
            Channel::Stdin => &mut self.stdin.socket,
            Channel::Iopub => return,
        };
        // It waits only behind 100 000 messages that the kernel did not take.
        if let Err(error) = socket.send(message).await {
            tracing::warn!(?channel, %error, "a message to the kernel was lost");
        }
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
        let events = socket.monitor().boxed();
        socket.connect(address).await?;
        Ok(Self { socket, events, is_open: true })
    }

    /// The next message; `None` once, when the connection has ended. After that it never completes.
    async fn receive(&mut self) -> Option<ZmqMessage> {
        if !self.is_open {
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
            received = self.socket.recv() => received.ok(),
            () = is_lost => None,
        };
        self.is_open = received.is_some();
        received
    }
}

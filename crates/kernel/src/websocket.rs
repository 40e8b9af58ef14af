//! The way to a kernel over a Jupyter server's WebSocket.
//!
//! The server moves messages between the socket and the kernel's `ZeroMQ` channels. What that does to them, and what is
//! done about it here, stands in the modules below: [`channels`] keeps the connection alive.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{Sink, Stream};
use tokio_tungstenite::tungstenite;
use uuid::Uuid;

use crate::message::Channel;
use crate::reach::{self, Failure, Way};
use crate::{Client, KernelError};

mod channels;
mod dialing;
mod frame;
mod inbox;
mod link;
mod numbers;
mod relief;
mod seen;

use channels::Channels;
use dialing::Dialing;

/// A WebSocket whose opening handshake is over; every `WebSocketStream` is one, whatever carries it.
pub trait Socket:
    Stream<Item = Result<tungstenite::Message, tungstenite::Error>>
    + Sink<tungstenite::Message, Error = tungstenite::Error>
    + Send
    + Unpin
{
}

impl<S> Socket for S where
    S: Stream<Item = Result<tungstenite::Message, tungstenite::Error>>
        + Sink<tungstenite::Message, Error = tungstenite::Error>
        + Send
        + Unpin
{
}

/// A kernel's channels, opened.
pub struct Dialed {
    /// The socket. It should take messages of 1 GB and send without delay.
    pub socket: Box<dyn Socket>,
    /// The WebSocket subprotocol that the server selected.
    pub protocol: Option<String>,
}

impl Dialed {
    /// What the server answered: a socket, and the subprotocol that it selected.
    pub fn new(socket: impl Socket + 'static, protocol: Option<String>) -> Self {
        Self { socket: Box::new(socket), protocol }
    }
}

impl fmt::Debug for Dialed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialed").field("protocol", &self.protocol).finish_non_exhaustive()
    }
}

/// Opens the channels of one kernel.
pub trait Dial: Send + Sync + 'static {
    /// Opens the WebSocket at `…/api/kernels/<id>/channels?session_id=<session_id>`, offering `protocols`; none of them
    /// where there are none.
    ///
    /// It is called on the thread of the connection, again after each loss, and needs no time-out of its own.
    fn dial<'a>(
        &'a self,
        session_id: &'a str,
        protocols: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Dialed, DialError>>;

    /// Whether the server drops output beyond a rate, as jupyter-server does for each socket. Then it is kept from that
    /// where there is much of it.
    fn is_limited(&self) -> bool {
        true
    }

    /// Whether another socket to the kernel cuts this one off though it stays open: answers go there, requests nowhere.
    fn can_be_overtaken(&self) -> bool {
        false
    }
}

/// Why channels were not opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DialError {
    /// There is no such kernel. Final.
    #[error("{0}")]
    Gone(String),
    /// We are not let in. Final.
    #[error("{0}")]
    Refused(String),
    /// The server speaks none of the offered protocols. It is dialed again without.
    #[error("{0}")]
    NoProtocol(String),
    /// The server was not reached, or not able. It is dialed again.
    #[error("{0}")]
    Unreachable(String),
}

/// Connects to a kernel of a Jupyter server and waits until it answers and its outputs are seen to arrive, up to
/// `patience`.
///
/// `is_fresh`: the kernel has just been started, so that nothing keeps it from answering a request.
///
/// `gone` completes when the kernel is known to be dead and says how it ended; it may never complete. It is heeded as
/// long as there is a [`Client`]. A connection that is lost is made anew, for up to two minutes, under the same session,
/// for which the server keeps what the kernel says meanwhile.
///
/// Where the server left out messages, the execution is told so as an output on stderr.
pub async fn connect_websocket(
    dial: Arc<dyn Dial>,
    patience: Duration,
    is_fresh: bool,
    gone: impl Future<Output = String> + Send + 'static,
) -> Result<Client, KernelError> {
    let session = Uuid::new_v4().to_string();
    reach::connect(OverWebSocket { dialing: Dialing::new(dial, session), is_fresh }, patience, gone).await
}

struct OverWebSocket {
    dialing: Dialing,
    is_fresh: bool,
}

impl Way for OverWebSocket {
    type Transport = Channels;

    const PAUSE: Duration = Duration::from_millis(200);
    /// jupyter-server-documents can lose a kernel that is restarted, until somebody connects anew.
    const SILENCE: Duration = Duration::from_secs(8);
    const UNREACHED: &'static str = "the server does not answer";

    /// `ipykernel` replies on the control channel even while it runs what somebody else asked for. One that has just
    /// started runs nothing, but its server may have its other channels still with the process before.
    fn questioned(&self) -> &'static [Channel] {
        if self.is_fresh { &[Channel::Shell] } else { &[Channel::Shell, Channel::Control] }
    }

    async fn open(&mut self) -> Result<Channels, Failure> {
        match self.dialing.once().await {
            Ok(link) => Ok(Channels::new(self.dialing.clone(), link)),
            Err(DialError::Gone(how)) => Err(Failure::Final(KernelError::Died { how })),
            Err(DialError::Refused(cause)) => Err(Failure::Final(KernelError::Unusable { cause })),
            Err(DialError::NoProtocol(cause) | DialError::Unreachable(cause)) => Err(Failure::NotYet(cause)),
        }
    }
}

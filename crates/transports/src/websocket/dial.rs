//! Opening the WebSocket of a kernel, which the caller does.

use connection::NetworkTimeout;
use futures_util::future::BoxFuture;
use futures_util::{Sink, Stream};
use tokio_tungstenite::tungstenite;

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

/// A kernel's channels, open: the socket, which should take messages of 1 GB and send without delay, and the WebSocket subprotocol
/// that the server selected.
pub type Dialed = (Box<dyn Socket>, Option<String>);

/// Opens the WebSocket of one kernel.
pub trait Dial: Send + Sync + 'static {
    /// Opens the WebSocket at `…/api/kernels/<id>/channels?session_id=<session_id>`, offering `protocols`, if any.
    ///
    /// It is called on the connection's thread, again after each cut. The caller sets the timeout.
    fn dial<'a>(
        &'a self,
        session_id: &'a str,
        protocols: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Dialed, DialError>>;

    /// Whether a protocol may be offered. If not, `protocols` is always empty, and the older format is spoken.
    fn may_offer_protocols(&self) -> bool {
        // Most servers that know none ignore the offer. A proxy can accept it and then pass nothing on.
        true
    }

    /// Whether the server drops output beyond a rate, as jupyter-server does for each socket. If so, the kernel is asked
    /// questions that reset the server's count.
    fn is_rate_limited(&self) -> bool {
        // The safe guess: a needless question costs a message, an unknown limit costs outputs.
        true
    }

    /// How long the server may be silent.
    fn network_timeout(&self) -> NetworkTimeout {
        NetworkTimeout::default()
    }

    /// Whether another client's socket takes over this one though it stays open: replies go there, our requests nowhere.
    fn can_be_superseded(&self) -> bool {
        // Jupyter Server connects under the session as identity (`create_stream`), and sessions are unique.
        false
    }
}

/// Why channels were not opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DialError {
    /// There is no such kernel. Final.
    #[error("{how}")]
    Gone { how: String },
    /// The server denies access. Final.
    #[error("{cause}")]
    Refused { cause: String },
    /// The server supports none of the offered protocols. Retried without.
    #[error("{cause}")]
    NoProtocol { cause: String },
    /// The server was not reached, or failed. Retried.
    #[error("{cause}")]
    Unreachable { cause: String },
}

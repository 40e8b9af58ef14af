//! Opens the WebSocket of a kernel, for the first time and after a cut.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::dial::{Dial, DialError};
use super::frame::{Dialect, V1};
use super::socket::KernelSocket;

/// Time limit for one attempt: a server waits up to a minute for a kernel before it answers.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(75);

pub(super) type Redialed = Result<KernelSocket, DialError>;

/// Opens sockets to one kernel, under one session.
#[derive(Clone)]
pub(super) struct Dialer {
    pub(super) dial: Arc<dyn Dial>,
    pub(super) session: Arc<str>,
    /// No subprotocol is offered: the server supports none, or its proxy does not.
    is_legacy: bool,
}

impl Dialer {
    pub(super) fn new(dial: Arc<dyn Dial>, session: String) -> Self {
        let is_legacy = !dial.may_offer_protocols();
        Self { dial, session: session.into(), is_legacy }
    }

    /// Dials once; twice if the server turns out to support no subprotocol.
    pub(super) async fn dial(&mut self) -> Result<KernelSocket, DialError> {
        loop {
            let offered: &[&str] = if self.is_legacy { &[] } else { &[V1] };
            // Always the same session: the server hands what it kept to no other (`get_buffer`).
            let dialed = timeout(ATTEMPT_TIMEOUT, self.dial.dial(&self.session, offered)).await;
            let dialed = dialed.unwrap_or_else(|_| {
                let cause = format!("no answer within {} s", ATTEMPT_TIMEOUT.as_secs());
                // A proxy may accept a connection whose server is gone; a later attempt can reach it again.
                Err(DialError::Unreachable { cause })
            });
            match dialed {
                Ok((socket, protocol)) => {
                    // A server that selects nothing writes the legacy format (`select_subprotocol` in Jupyter Server).
                    let is_v1 = protocol.as_deref() == Some(V1);
                    let dialect = if is_v1 { Dialect::V1 } else { Dialect::Legacy };
                    tracing::debug!(?dialect, "the kernel's channels are open");
                    return Ok(KernelSocket::new(socket, dialect, self.dial.network_timeout()));
                }
                // Some servers refuse an offer that they do not know. What one supports does not change: later dials offer nothing.
                Err(DialError::NoProtocol { .. }) if !self.is_legacy => self.is_legacy = true,
                Err(error) => return Err(error),
            }
        }
    }

    /// Dials once after a pause. Returns the dialer, which may know more of the server now, and no result after `end`.
    pub(super) async fn redial(mut self, pause: Duration, end: Instant) -> (Self, Option<Redialed>) {
        let dialed = async {
            sleep(pause).await;
            self.dial().await
        };
        let dialed = timeout_at(end, dialed).await.ok();
        (self, dialed)
    }
}

//! Kernels reached over a Jupyter server's WebSocket.
//!
//! The server forwards messages between the socket and the kernel's `ZeroMQ` channels. It drops output beyond a rate, replays
//! output after a reconnect, and numbers nothing: [`inbox`] turns that into each message once, with losses reported;
//! [`channels`] keeps the connection open.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use uuid::Uuid;

use crate::connector::{self, Connector, OpenError};
use kernel::log::LogRecord;
use kernel::messages::Channel;
use kernel::{Client, KernelError, TimedEvents};

mod channels;
mod connect;
mod dial;
mod frame;
mod inbox;
mod rate_limit;
mod reconnection;
mod replay;
mod resumed;
mod socket;

use channels::Channels;
use connect::Dialer;
pub use dial::{Dial, DialError, Dialed, Socket};
#[doc(hidden)]
pub use frame::frame_messages;
use resumed::{Clock, Sinks, follow};
pub use resumed::{RecordLog, SessionLog, read_logged};

/// How long it may take until it is known which executions of an earlier connection have ended.
const SETTLE_TIMEOUT: Duration = Duration::from_millis(500);

/// Connects to a kernel of a Jupyter server and waits until it replies and its publications arrive.
///
/// `is_fresh`: the kernel has just been started, so that nothing keeps it from replying.
///
/// `kernel_end` completes with how the kernel ended; it may never complete. It is watched as long as there is a [`Client`].
/// A connection that is cut is restored, for up to two minutes, under the same session, for which the server keeps what the
/// kernel sends during that time.
///
/// If messages were lost, the execution gets an output on stderr that says so.
pub async fn connect_websocket(
    dial: Arc<dyn Dial>,
    ready_timeout: Duration,
    is_fresh: bool,
    kernel_end: impl Future<Output = String> + Send + 'static,
) -> Result<Client, KernelError> {
    // A session of its own: Jupyter Server closes an open socket of the same session (`_register_session`).
    let dialer = Dialer::new(dial, Uuid::new_v4().to_string());
    let connector = WebSocketConnector { dialer, is_fresh, log: None, resume: None };
    connector::connect(connector, ready_timeout, kernel_end).await
}

/// Connects in the same way, logs what a later connection needs to follow the runs of this one, and follows those that are in
/// the log: to their end, as far as the server has kept their messages. Returns their events, in the order of
/// [`SessionLog::followed`].
pub async fn connect_logged(
    dial: Arc<dyn Dial>,
    ready_timeout: Duration,
    is_fresh: bool,
    log: SessionLog,
) -> Result<(Client, Vec<TimedEvents>), KernelError> {
    let SessionLog { session, past, followed, log } = log;
    let clock = Clock::default();
    let (sinks, events, mut unfinished) = follow(&followed, &clock);
    let resume = (!followed.is_empty()).then_some(Resume { past: Some((past, sinks)), clock });
    let dialer = Dialer::new(dial, session);
    let connector = WebSocketConnector { dialer, is_fresh, log: Some(log), resume };
    let client = connector::connect(connector, ready_timeout, std::future::pending()).await?;
    // Those that take longer still run.
    let _ = timeout(SETTLE_TIMEOUT, unfinished.wait_for(|count| *count == 0)).await;
    Ok((client, events))
}

struct WebSocketConnector {
    dialer: Dialer,
    is_fresh: bool,
    log: Option<Arc<dyn RecordLog>>,
    resume: Option<Resume>,
}

struct Resume {
    /// For the first connection.
    past: Option<(Vec<LogRecord>, Sinks)>,
    clock: Clock,
}

impl Connector for WebSocketConnector {
    type Transport = Channels;

    const RETRY_PAUSE: Duration = Duration::from_millis(200);
    /// jupyter-server-documents can lose a kernel that is restarted, until a new connection is made.
    const READY_TIMEOUT: Duration = Duration::from_secs(8);
    const UNREACHED: &'static str = "the server does not answer";

    /// `ipykernel` replies on the control channel even while it runs code of another client. One that has just started runs
    /// nothing, but its server's control channel may still lead to the process before.
    fn info_channels(&self) -> &'static [Channel] {
        if self.is_fresh { &[Channel::Shell] } else { &[Channel::Shell, Channel::Control] }
    }

    async fn open(&mut self) -> Result<Channels, OpenError> {
        match self.dialer.dial().await {
            Ok(socket) => {
                let mut channels = Channels::new(self.dialer.clone(), socket);
                if let Some(log) = &self.log {
                    channels.log_to(log.clone());
                }
                if let Some(Resume { past, clock }) = &mut self.resume {
                    // The log goes to one attempt only: what it receives of the log is kept for the next.
                    channels.resume(past.take(), clock.clone());
                }
                Ok(channels)
            }
            // Waiting cannot help: a kernel that starts later has another id.
            Err(DialError::Gone { how }) => Err(OpenError::Final(KernelError::Died { how })),
            Err(DialError::Refused { cause }) => Err(OpenError::Final(KernelError::Unusable { cause })),
            Err(DialError::NoProtocol { cause } | DialError::Unreachable { cause }) => {
                Err(OpenError::Retry { cause })
            }
        }
    }
}

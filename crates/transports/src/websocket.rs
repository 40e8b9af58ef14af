//! Kernels reached over a Jupyter server's WebSocket.
//!
//! The server forwards messages between the socket and the kernel's `ZeroMQ` channels. It drops output beyond a rate, replays
//! output after a reconnect, and numbers nothing: [`inbox`] turns that into each message once, with losses reported;
//! [`channels`] keeps the connection open.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use uuid::Uuid;

use crate::connector::{self, Connector};
use kernel::log::Followed;
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
pub use reconnection::Outage;
pub use resumed::{RecordLog, SessionLog, read_logged};

/// How long it may take until it is known which executions of an earlier connection have ended.
const SETTLE_TIMEOUT: Duration = Duration::from_millis(500);

/// Connects to a kernel of a Jupyter server and waits until it replies and its publications arrive.
///
/// `is_fresh`: the kernel has just been started, so that nothing keeps it from replying. `outage` is shared by all connections to the
/// kernel: if no socket has worked for a while, this fails with the cause.
///
/// A connection that is cut is restored, for up to two minutes, under the same session, for which the server keeps what the
/// kernel sends during that time. If messages were lost, the execution gets an output on stderr that says so.
///
/// With a `log`, it logs what a later connection needs to follow the runs of this one, and follows those that are in the log: to
/// their end, as far as the server has kept their messages. Returns their events, in the order of [`SessionLog::followed`].
pub async fn connect_websocket(
    dial: Arc<dyn Dial>,
    outage: Outage,
    ready_timeout: Duration,
    is_fresh: bool,
    log: Option<SessionLog>,
) -> Result<(Client, Vec<TimedEvents>), KernelError> {
    // A session of its own: Jupyter Server closes an open socket of the same session (`_register_session`).
    let session = log.as_ref().map_or_else(|| Uuid::new_v4().to_string(), |log| log.session.clone());
    let (mut followed, mut events, mut resume) = (Followed::default(), Vec::new(), None);
    let mut unfinished = followed.unfinished();
    let log = log.map(|SessionLog { past, followed: requests, log, .. }| {
        events.extend(requests.into_iter().map(|request| followed.follow(request)));
        resume = (!events.is_empty()).then_some((past, followed));
        log
    });
    let channels = Channels::new(Dialer::new(dial, session), outage, log, resume);
    let connector = WebSocketConnector { channels: Some(channels), is_fresh };
    let client =
        connector::connect(connector, ready_timeout, std::future::pending(), |channels| channels).await?;
    // Those that take longer still run.
    let _ = timeout(SETTLE_TIMEOUT, unfinished.wait_for(|count| *count == 0)).await;
    Ok((client, events))
}

/// There is only one: it dials again by itself.
struct WebSocketConnector {
    channels: Option<Channels>,
    is_fresh: bool,
}

impl Connector for WebSocketConnector {
    type Transport = Channels;

    const UNREACHED: &'static str = "the server does not answer";

    /// `ipykernel` replies on the control channel even while it runs code of another client. One that has just started runs
    /// nothing, but its server's control channel may still lead to the process before.
    fn info_channels(&self) -> &'static [Channel] {
        if self.is_fresh { &[Channel::Shell] } else { &[Channel::Shell, Channel::Control] }
    }

    async fn open(&mut self) -> Result<Channels, String> {
        self.channels.take().ok_or_else(|| Self::UNREACHED.to_owned())
    }
}

#[cfg(test)]
mod tests;

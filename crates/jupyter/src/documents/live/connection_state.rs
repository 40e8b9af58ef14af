//! What is known of the connection to a room.

use place::{Error, ErrorKind};
use tokio::time::{Duration, Instant};

use super::disconnect::Disconnect;

/// After this long without a connection, none is attempted until a call needs it.
const SUSPEND_AFTER: Duration = Duration::from_secs(30 * 60);

#[derive(Debug, Clone)]
pub(super) enum ConnectionState {
    /// The document has not arrived yet.
    Connecting(Outage),
    /// The document is what the server has.
    Synced,
    /// The connection was lost, or its document is still arriving.
    Reconnecting(Outage),
    /// The server has no rooms, or no longer has them.
    NoRooms(Outage),
}

/// A time without a connection.
#[derive(Debug, Clone)]
pub(super) struct Outage {
    since: Instant,
    /// Failed attempts to connect.
    failures: u64,
    error: Option<Error>,
    /// Whether the next attempt waits for a call that needs the connection.
    is_suspended: bool,
}

impl ConnectionState {
    pub(super) fn new() -> Self {
        Self::Connecting(Outage::new())
    }

    /// The state after a connection or an attempt ended.
    pub(super) fn disconnected(&self, disconnect: Disconnect) -> Self {
        let has_no_rooms = matches!(disconnect, Disconnect::NoRooms(_));
        let is_final = matches!(disconnect, Disconnect::NoRooms(_) | Disconnect::Final(_));
        let before = self.outage().cloned().unwrap_or_else(Outage::new);
        let outage = Outage {
            failures: before.failures + 1,
            is_suspended: is_final || before.since.elapsed() > SUSPEND_AFTER,
            error: disconnect.into_error(),
            since: before.since,
        };
        match self {
            _ if has_no_rooms => Self::NoRooms(outage),
            Self::Connecting(_) | Self::NoRooms(_) => Self::Connecting(outage),
            Self::Synced | Self::Reconnecting(_) => Self::Reconnecting(outage),
        }
    }

    pub(super) fn is_synced(&self) -> bool {
        matches!(self, Self::Synced)
    }

    /// Whether the next attempt waits for a call that needs the connection.
    pub(super) fn is_suspended(&self) -> bool {
        self.outage().is_some_and(|outage| outage.is_suspended)
    }

    /// How many attempts have failed since there was a connection.
    pub(super) fn failures(&self) -> u64 {
        self.outage().map_or(0, |outage| outage.failures)
    }

    /// Whether a failed attempt is the answer for waiting callers. A connection that was lost is more likely to come back than
    /// one that never was.
    pub(super) fn is_failed(&self) -> bool {
        match self {
            Self::Synced => false,
            Self::Connecting(_) | Self::NoRooms(_) => true,
            Self::Reconnecting(outage) => outage.is_suspended,
        }
    }

    /// Why there is no connection; `None` if there is one.
    pub(super) fn error(&self, path: &str, server: &str) -> Option<Error> {
        let outage = self.outage()?;
        let seconds = outage.since.elapsed().as_secs().max(1);
        Some(match &outage.error {
            Some(error) if self.is_failed() => error.clone(),
            Some(error) => Error {
                cause: format!("The connection to {path:?} was lost {seconds} s ago. {}", error.cause),
                ..error.clone()
            },
            None => Error::new(
                ErrorKind::Timeout,
                format!("The notebook {path:?} did not arrive from {server} within {seconds} s."),
                "Check that JupyterLab can open it; the next call tries again.",
            ),
        })
    }

    fn outage(&self) -> Option<&Outage> {
        match self {
            Self::Synced => None,
            Self::Connecting(outage) | Self::Reconnecting(outage) | Self::NoRooms(outage) => Some(outage),
        }
    }
}

impl Outage {
    fn new() -> Self {
        Self { since: Instant::now(), failures: 0, error: None, is_suspended: false }
    }
}

#[cfg(test)]
mod tests {
    use place::NextStep;

    use super::*;

    fn error(cause: &str) -> Error {
        Error::new(ErrorKind::Disconnected, cause, NextStep::TryAgain)
    }

    #[tokio::test(start_paused = true)]
    async fn a_lost_connection_is_retried_until_it_is_suspended() {
        let lost = || Disconnect::Lost(error("It broke."));
        let state = ConnectionState::Synced.disconnected(lost());
        assert!(!state.is_failed());
        assert!(state.error("x.ipynb", "the server").unwrap().cause.contains("was lost 1 s ago. It broke."));
        tokio::time::advance(SUSPEND_AFTER * 2).await;
        let state = state.disconnected(lost());
        assert!(state.is_suspended());
        assert!(state.is_failed());
        assert_eq!(state.failures(), 2);
        assert_eq!(state.error("x.ipynb", "the server").unwrap().cause, "It broke.");
    }

    #[tokio::test(start_paused = true)]
    async fn a_first_attempt_that_fails_is_the_answer() {
        let state = ConnectionState::new().disconnected(Disconnect::Lost(error("It broke.")));
        assert!(state.is_failed());
        assert!(!state.is_suspended());
        let state = state.disconnected(Disconnect::NoRooms(error("There are none.")));
        assert!(matches!(state, ConnectionState::NoRooms(_)));
        assert!(state.is_suspended());
    }
}

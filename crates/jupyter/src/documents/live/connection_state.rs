//! What is known of the connection to a room.

use place::{Error, ErrorKind};
use tokio::time::{Duration, Instant};

use super::disconnect::Disconnect;

/// After this long without a connection, none is attempted until a call needs it.
const SUSPEND_AFTER: Duration = Duration::from_secs(30 * 60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The document has not arrived yet.
    Connecting,
    /// The document is what the server has.
    Synced,
    /// The connection was lost, or its document is still arriving.
    Reconnecting,
    /// The server has no rooms, or no longer has them.
    NoRooms,
}

#[derive(Debug, Clone)]
pub(super) struct ConnectionState {
    pub(super) stage: Stage,
    /// Start of the stage, or of the time without a connection.
    since: Instant,
    /// Attempts to connect that have failed since there was a connection.
    pub(super) failures: u64,
    error: Option<Error>,
    /// Whether the next attempt waits for a call that needs the connection.
    pub(super) is_suspended: bool,
}

impl ConnectionState {
    pub(super) fn new(stage: Stage) -> Self {
        Self { stage, since: Instant::now(), failures: 0, error: None, is_suspended: false }
    }

    /// The state after a connection or an attempt ended.
    pub(super) fn disconnected(&self, disconnect: Disconnect) -> Self {
        let stage = match (&disconnect, self.stage) {
            (Disconnect::NoRooms(_), _) => Stage::NoRooms,
            (_, Stage::Connecting | Stage::NoRooms) => Stage::Connecting,
            (_, Stage::Synced | Stage::Reconnecting) => Stage::Reconnecting,
        };
        let since = if self.stage == Stage::Synced { Instant::now() } else { self.since };
        let is_final = matches!(disconnect, Disconnect::NoRooms(_) | Disconnect::Final(_));
        Self {
            stage,
            since,
            failures: self.failures + 1,
            error: disconnect.into_error(),
            is_suspended: is_final || since.elapsed() > SUSPEND_AFTER,
        }
    }

    /// Whether a failed attempt is the answer for waiting callers. A connection that was lost is more likely to come back than
    /// one that never was.
    pub(super) fn is_failed(&self) -> bool {
        match self.stage {
            Stage::Synced => false,
            Stage::Connecting | Stage::NoRooms => true,
            Stage::Reconnecting => self.is_suspended,
        }
    }

    /// Why there is no connection; `None` if there is one.
    pub(super) fn error(&self, path: &str, server: &str) -> Option<Error> {
        if self.stage == Stage::Synced {
            return None;
        }
        let seconds = self.since.elapsed().as_secs().max(1);
        Some(match &self.error {
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
        let state = ConnectionState::new(Stage::Synced).disconnected(lost());
        assert!(!state.is_failed());
        assert!(state.error("x.ipynb", "the server").unwrap().cause.contains("was lost 1 s ago. It broke."));
        tokio::time::advance(SUSPEND_AFTER * 2).await;
        let state = state.disconnected(lost());
        assert!(state.is_suspended);
        assert!(state.is_failed());
        assert_eq!(state.failures, 2);
        assert_eq!(state.error("x.ipynb", "the server").unwrap().cause, "It broke.");
    }

    #[tokio::test(start_paused = true)]
    async fn a_first_attempt_that_fails_is_the_answer() {
        let state =
            ConnectionState::new(Stage::Connecting).disconnected(Disconnect::Lost(error("It broke.")));
        assert!(state.is_failed());
        assert!(!state.is_suspended);
        let state = state.disconnected(Disconnect::NoRooms(error("There are none.")));
        assert_eq!(state.stage, Stage::NoRooms);
        assert!(state.is_suspended);
    }
}

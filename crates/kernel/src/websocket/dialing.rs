//! Opens the channels, for the first time and after a loss.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::frame::{Dialect, V1};
use super::link::Link;
use super::{Dial, DialError};

/// How long one attempt may take: a server waits up to a minute for a kernel before it answers.
const ATTEMPT: Duration = Duration::from_secs(75);
/// The first pause between two attempts, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// How long a server may be out of reach.
pub(super) const ENDURANCE: Duration = Duration::from_secs(120);

/// Opens the channels of one kernel, under one session.
#[derive(Clone)]
pub(super) struct Dialing {
    dial: Arc<dyn Dial>,
    pub(super) session: Arc<str>,
    /// The server takes no protocol by name.
    is_legacy: bool,
}

impl Dialing {
    pub(super) fn new(dial: Arc<dyn Dial>, session: String) -> Self {
        Self { dial, session: session.into(), is_legacy: false }
    }

    pub(super) fn is_limited(&self) -> bool {
        self.dial.is_limited()
    }

    pub(super) fn can_be_overtaken(&self) -> bool {
        self.dial.can_be_overtaken()
    }

    /// Dials once; twice if the server turns out to speak no protocol by name.
    pub(super) async fn once(&mut self) -> Result<Link, DialError> {
        loop {
            let offered: &[&str] = if self.is_legacy { &[] } else { &[V1] };
            let dialed = timeout(ATTEMPT, self.dial.dial(&self.session, offered)).await;
            let dialed = dialed.unwrap_or_else(|_| {
                Err(DialError::Unreachable(format!("no answer within {} s", ATTEMPT.as_secs())))
            });
            match dialed {
                Ok(dialed) => {
                    let dialect =
                        if dialed.protocol.as_deref() == Some(V1) { Dialect::V1 } else { Dialect::Legacy };
                    tracing::debug!(?dialect, "the kernel's channels are open");
                    return Ok(Link::new(dialed.socket, dialect));
                }
                Err(DialError::NoProtocol(_)) if !self.is_legacy => self.is_legacy = true,
                Err(error) => return Err(error),
            }
        }
    }

    /// Dials until it succeeds: at once, then ever more rarely. Gives in words why not, if it does not.
    pub(super) async fn again(mut self) -> Result<Link, String> {
        let (mut pause, longest) = PAUSES;
        let mut cause = String::new();
        let attempts = async {
            loop {
                match self.once().await {
                    Ok(link) => return Ok(link),
                    Err(DialError::Gone(how)) => return Err(how),
                    Err(DialError::Refused(why)) => {
                        return Err(format!(
                            "the connection was lost, and the server refuses another: {why}"
                        ));
                    }
                    Err(DialError::NoProtocol(why) | DialError::Unreachable(why)) => {
                        tracing::debug!(why, "the kernel's channels cannot be opened yet");
                        cause = why;
                    }
                }
                sleep(pause).await;
                pause = (pause * 2).min(longest);
            }
        };
        timeout(ENDURANCE, attempts).await.unwrap_or_else(|_| {
            let waited = ENDURANCE.as_secs();
            Err(format!("the connection was lost, and the server was not reached for {waited} s: {cause}"))
        })
    }
}

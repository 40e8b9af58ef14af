//! Notices that an agent closed the stream on which it waited for an answer.
//!
//! In the 2026-07-28 era that cancels the request. Older agents may come back for the stream
//! (`Last-Event-ID`), so theirs is cancelled only if they do not within [`GRACE`].
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery>

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// How long an agent of the older era may take to come back. Agents are told to wait [`RETRY`] first.
const GRACE: Duration = Duration::from_secs(3);
/// What agents are told to wait before they come back for a broken stream.
pub(crate) const RETRY: Duration = Duration::from_secs(1);

/// How often each session came back for a stream. Sessions that never did are not in it.
#[derive(Clone, Default)]
pub(crate) struct Resumptions(Arc<Mutex<HashMap<String, u64>>>);

impl Resumptions {
    /// An agent came back for a stream of this session.
    pub(crate) fn resumed(&self, session: &str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(session.to_owned()).or_default() += 1;
    }

    fn count(&self, session: &str) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(session).copied().unwrap_or_default()
    }
}

/// Tells the handler of a request that nobody waits for its answer; travels with the request.
#[derive(Clone, Default)]
pub(crate) struct Hangup(CancellationToken);

impl Hangup {
    pub(crate) fn token(&self) -> CancellationToken {
        self.0.clone()
    }
}

/// Watches over one response stream: dropped before [`Watch::finished`], it reports a hang-up.
pub(crate) struct Watch {
    hangup: Option<Hangup>,
    /// The agent's session, in the era that has sessions.
    session: Option<(String, Resumptions)>,
}

impl Watch {
    pub(crate) fn new(hangup: Hangup, session: Option<(String, Resumptions)>) -> Self {
        Self { hangup: Some(hangup), session }
    }

    /// The whole stream was handed over.
    pub(crate) fn finished(&mut self) {
        self.hangup = None;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let Some(Hangup(token)) = self.hangup.take() else { return };
        match (self.session.take(), tokio::runtime::Handle::try_current()) {
            (Some((session, resumptions)), Ok(runtime)) => {
                let before = resumptions.count(&session);
                // Lives for the grace period at most.
                runtime.spawn(async move {
                    sleep(GRACE).await;
                    if resumptions.count(&session) == before {
                        token.cancel();
                    }
                });
            }
            _ => token.cancel(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_stream_without_a_session_is_cancelled_at_once() {
        let hangup = Hangup::default();
        drop(Watch::new(hangup.clone(), None));
        assert!(hangup.token().is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn a_finished_stream_is_not_cancelled() {
        let hangup = Hangup::default();
        let mut watch = Watch::new(hangup.clone(), None);
        watch.finished();
        drop(watch);
        assert!(!hangup.token().is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_with_a_session_may_come_back() {
        let resumptions = Resumptions::default();
        let (left, returned) = (Hangup::default(), Hangup::default());
        drop(Watch::new(left.clone(), Some(("left".into(), resumptions.clone()))));
        drop(Watch::new(returned.clone(), Some(("returned".into(), resumptions.clone()))));
        sleep(RETRY).await;
        resumptions.resumed("returned");
        sleep(GRACE).await;
        assert!(left.token().is_cancelled());
        assert!(!returned.token().is_cancelled());
    }
}

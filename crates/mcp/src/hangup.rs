//! Notices that an agent closed the stream on which it waited for an answer.
//!
//! In the 2026-07-28 era that cancels the request. Older agents may come back for the stream
//! (`Last-Event-ID`), so theirs is cancelled only if they do not within [`GRACE`].
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery>

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// How long an agent of the older era may take to come back. Agents are told to wait [`RETRY`] first.
const GRACE: Duration = Duration::from_secs(3);
/// What agents are told to wait before they come back for a broken stream.
pub(crate) const RETRY: Duration = Duration::from_secs(1);

/// Tells the handler of a call that nobody waits for its answer; travels with the request.
#[derive(Clone, Default)]
pub(crate) struct Hangup {
    token: CancellationToken,
    is_answered: Arc<AtomicBool>,
}

impl Hangup {
    /// Cancelled when nobody waits any more.
    pub(crate) fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// The call is over: what becomes of its stream does not matter any more.
    pub(crate) fn answered(&self) {
        self.is_answered.store(true, Ordering::Relaxed);
    }

    fn is_pending(&self) -> bool {
        !self.is_answered.load(Ordering::Relaxed)
    }
}

/// The calls whose streams were closed by agents that may come back, by session.
#[derive(Clone, Default)]
pub(crate) struct Deserted(Arc<Mutex<HashMap<String, Vec<Hangup>>>>);

impl Deserted {
    /// An agent came back: its calls are watched on the new stream from now on.
    pub(crate) fn resume(&self, session: &str) -> Vec<Hangup> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(session).unwrap_or_default()
    }

    fn leave(&self, session: String, hangup: Hangup) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return hangup.token.cancel() };
        let mut deserted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        deserted.entry(session.clone()).or_default().push(hangup.clone());
        let all = self.clone();
        // Lives for the grace period at most.
        runtime.spawn(async move {
            sleep(GRACE).await;
            if all.forget(&session, &hangup) {
                hangup.token.cancel();
            }
        });
    }

    /// Takes a call out; `false` if its agent came back for it.
    fn forget(&self, session: &str, hangup: &Hangup) -> bool {
        let mut deserted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(calls) = deserted.get_mut(session) else { return false };
        let before = calls.len();
        calls.retain(|call| !Arc::ptr_eq(&call.is_answered, &hangup.is_answered));
        let was_there = calls.len() < before;
        if calls.is_empty() {
            deserted.remove(session);
        }
        was_there
    }
}

/// Watches over one response stream: when it ends before a call is answered, the agent has hung up.
pub(crate) struct Watch {
    calls: Vec<Hangup>,
    /// The agent's session, in the era that has sessions.
    session: Option<(String, Deserted)>,
}

impl Watch {
    pub(crate) fn new(calls: Vec<Hangup>, session: Option<(String, Deserted)>) -> Self {
        Self { calls, session }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        for call in self.calls.drain(..).filter(Hangup::is_pending) {
            match &self.session {
                Some((session, deserted)) => deserted.leave(session.clone(), call),
                None => call.token.cancel(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(call: &Hangup, deserted: &Deserted) -> Watch {
        Watch::new(vec![call.clone()], Some(("session".into(), deserted.clone())))
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_without_a_session_is_cancelled_at_once() {
        let hangup = Hangup::default();
        drop(Watch::new(vec![hangup.clone()], None));
        assert!(hangup.token().is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answered_call_is_not_cancelled() {
        let (hangup, deserted) = (Hangup::default(), Deserted::default());
        hangup.answered();
        drop(watch(&hangup, &deserted));
        sleep(GRACE * 2).await;
        assert!(!hangup.token().is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_with_a_session_may_come_back() {
        let (hangup, deserted) = (Hangup::default(), Deserted::default());
        drop(watch(&hangup, &deserted));
        sleep(RETRY).await;
        let resumed = Watch::new(deserted.resume("session"), Some(("session".into(), deserted.clone())));
        sleep(GRACE * 2).await;
        assert!(!hangup.token().is_cancelled());
        drop(resumed);
        sleep(GRACE * 2).await;
        assert!(hangup.token().is_cancelled(), "the resumed stream was closed too");
        assert!(deserted.0.lock().unwrap().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_stays_away_has_hung_up() {
        let (hangup, deserted) = (Hangup::default(), Deserted::default());
        drop(watch(&hangup, &deserted));
        assert!(deserted.resume("another").is_empty());
        sleep(GRACE * 2).await;
        assert!(hangup.token().is_cancelled());
        assert!(deserted.0.lock().unwrap().is_empty());
    }
}

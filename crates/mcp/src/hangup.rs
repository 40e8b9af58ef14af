//! Notices that an agent closed the stream on which it waited for an answer.
//!
//! In the 2026-07-28 era that cancels the request. Older agents may come back for the stream
//! (`Last-Event-ID`), so theirs is cancelled only if they do not within [`GRACE`].
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery>

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
pub(crate) struct Deserted(Arc<Mutex<HashMap<String, Calls>>>);

/// The deserted calls of one session.
#[derive(Default)]
struct Calls {
    /// Nobody has come back for these yet.
    waiting: Vec<Hangup>,
    /// The agent listens to these on a resumed stream, or will: it may be back before we notice that it left.
    resumed: Vec<Hangup>,
    /// How many resumed streams are open.
    streams: usize,
}

impl Deserted {
    fn calls(&self) -> MutexGuard<'_, HashMap<String, Calls>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave(&self, session: &str, hangup: Hangup) {
        let mut calls = self.calls();
        let own = calls.entry(session.to_owned()).or_default();
        if own.streams > 0 {
            own.resumed.push(hangup);
            return;
        }
        own.waiting.push(hangup.clone());
        let (all, session) = (self.clone(), session.to_owned());
        let expiry = async move {
            sleep(GRACE).await;
            if all.forget(&session, &hangup) {
                hangup.token.cancel();
            }
        };
        // Lives for the grace period at most. Outside of a runtime there is no agent either.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(expiry);
        }
    }

    /// Takes a call out; `false` if its agent came back for it.
    fn forget(&self, session: &str, hangup: &Hangup) -> bool {
        let mut calls = self.calls();
        let Some(own) = calls.get_mut(session) else { return false };
        let before = own.waiting.len();
        own.waiting.retain(|call| !Arc::ptr_eq(&call.is_answered, &hangup.is_answered));
        let was_waiting = own.waiting.len() < before;
        if own.waiting.is_empty() && own.streams == 0 {
            calls.remove(session);
        }
        was_waiting
    }

    fn open(&self, session: &str) {
        let mut calls = self.calls();
        let own = calls.entry(session.to_owned()).or_default();
        own.streams += 1;
        own.resumed.append(&mut own.waiting);
    }

    fn close(&self, session: &str) {
        let mut calls = self.calls();
        let Some(own) = calls.get_mut(session) else { return };
        own.streams -= 1;
        if own.streams > 0 {
            return;
        }
        let left: Vec<Hangup> = own.resumed.drain(..).filter(Hangup::is_pending).collect();
        if own.waiting.is_empty() {
            calls.remove(session);
        }
        drop(calls);
        for hangup in left {
            self.leave(session, hangup);
        }
    }
}

/// Watches over one response stream: when it ends before the call is answered, the agent has hung up.
pub(crate) enum Watch {
    /// The stream of a call; the session is the agent's, in the era that has sessions.
    Call { hangup: Hangup, session: Option<(String, Deserted)> },
    /// A stream that an agent came back for.
    Resumed { session: String, deserted: Deserted },
}

impl Watch {
    /// Watches a stream that an agent of this session came back for.
    pub(crate) fn resumed(session: String, deserted: Deserted) -> Self {
        deserted.open(&session);
        Self::Resumed { session, deserted }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        match self {
            Self::Resumed { session, deserted } => deserted.close(session),
            Self::Call { hangup, .. } if !hangup.is_pending() => {}
            Self::Call { hangup, session: Some((session, deserted)) } => {
                deserted.leave(session, hangup.clone());
            }
            Self::Call { hangup, session: None } => hangup.token.cancel(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(call: &Hangup, deserted: &Deserted) -> Watch {
        Watch::Call { hangup: call.clone(), session: Some(("session".into(), deserted.clone())) }
    }

    fn is_forgotten(deserted: &Deserted) -> bool {
        deserted.calls().is_empty()
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_without_a_session_is_cancelled_at_once() {
        let hangup = Hangup::default();
        drop(Watch::Call { hangup: hangup.clone(), session: None });
        assert!(hangup.token().is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answered_call_is_not_cancelled() {
        let (hangup, deserted) = (Hangup::default(), Deserted::default());
        hangup.answered();
        drop(watch(&hangup, &deserted));
        sleep(GRACE * 2).await;
        assert!(!hangup.token().is_cancelled() && is_forgotten(&deserted));
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_with_a_session_may_come_back() {
        let (hangup, deserted) = (Hangup::default(), Deserted::default());
        drop(watch(&hangup, &deserted));
        sleep(RETRY).await;
        let resumed = Watch::resumed("session".into(), deserted.clone());
        sleep(GRACE * 2).await;
        assert!(!hangup.token().is_cancelled());
        drop(resumed);
        sleep(GRACE * 2).await;
        assert!(hangup.token().is_cancelled(), "the resumed stream was closed too");
        assert!(is_forgotten(&deserted));
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_may_be_back_before_it_is_missed() {
        let (hangup, deserted) = (Hangup::default(), Deserted::default());
        let first = watch(&hangup, &deserted);
        let resumed = Watch::resumed("session".into(), deserted.clone());
        drop(first);
        sleep(GRACE * 2).await;
        assert!(!hangup.token().is_cancelled());
        hangup.answered();
        drop(resumed);
        sleep(GRACE * 2).await;
        assert!(!hangup.token().is_cancelled() && is_forgotten(&deserted));
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_stays_away_has_hung_up() {
        let (hangup, deserted) = (Hangup::default(), Deserted::default());
        drop(watch(&hangup, &deserted));
        let other = Watch::resumed("another".into(), deserted.clone());
        sleep(GRACE * 2).await;
        assert!(hangup.token().is_cancelled());
        drop(other);
        assert!(is_forgotten(&deserted));
    }
}

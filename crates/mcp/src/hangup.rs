//! Notices that an agent closed the stream on which it waited for an answer.
//!
//! In the 2026-07-28 era that cancels the request. Older agents may come back for the stream
//! (`Last-Event-ID`), so theirs is cancelled only if they do not within [`GRACE`], and an answer that comes
//! meanwhile is kept for them: `rmcp` 3.9 forgets what it cannot deliver.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery>

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// How long an agent of the older era may take to come back. Agents are told to wait [`RETRY`] first.
const GRACE: Duration = Duration::from_secs(3);
/// How long an answer is kept for an agent that was away when it came.
const KEPT: Duration = Duration::from_secs(60);
/// What agents are told to wait before they come back for a broken stream.
pub(crate) const RETRY: Duration = Duration::from_secs(1);

/// Tells the handler of a call that nobody waits for its answer; travels with the request.
#[derive(Clone, Default)]
pub(crate) struct Hangup {
    token: CancellationToken,
    is_answered: Arc<AtomicBool>,
    /// The agent's session, in the era that has sessions.
    session: Option<(String, Deserted)>,
}

impl Hangup {
    pub(crate) fn new(session: Option<(String, Deserted)>) -> Self {
        Self { session, ..Self::default() }
    }

    /// Cancelled when nobody waits any more.
    pub(crate) fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// The call is over. If its agent is away, `message` (the whole answer, one line) is kept for it.
    pub(crate) fn answered(&self, message: impl FnOnce() -> Option<String>) {
        self.is_answered.store(true, Ordering::Relaxed);
        if let Some((session, deserted)) = &self.session
            && deserted.forget(session, self)
            && let Some(message) = message()
        {
            deserted.keep(session, message.into());
        }
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
    /// Answers that came while the agent was away.
    answers: Vec<Arc<str>>,
}

impl Calls {
    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.resumed.is_empty() && self.streams == 0 && self.answers.is_empty()
    }
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
        if own.is_empty() {
            calls.remove(session);
        }
        was_waiting
    }

    fn keep(&self, session: &str, answer: Arc<str>) {
        self.calls().entry(session.to_owned()).or_default().answers.push(answer.clone());
        let (all, session) = (self.clone(), session.to_owned());
        let expiry = async move {
            sleep(KEPT).await;
            let mut calls = all.calls();
            let Some(own) = calls.get_mut(&session) else { return };
            own.answers.retain(|kept| !Arc::ptr_eq(kept, &answer));
            if own.is_empty() {
                calls.remove(&session);
            }
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(expiry);
        }
    }

    /// The agent is back: gives what was kept for it.
    fn open(&self, session: &str) -> Vec<Arc<str>> {
        let mut calls = self.calls();
        let own = calls.entry(session.to_owned()).or_default();
        own.streams += 1;
        own.resumed.append(&mut own.waiting);
        std::mem::take(&mut own.answers)
    }

    fn close(&self, session: &str) {
        let mut calls = self.calls();
        let Some(own) = calls.get_mut(session) else { return };
        own.streams -= 1;
        if own.streams > 0 {
            return;
        }
        let left: Vec<Hangup> = own.resumed.drain(..).filter(Hangup::is_pending).collect();
        if own.is_empty() {
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
    /// The stream of a call.
    Call(Hangup),
    /// A stream that an agent came back for.
    Resumed { session: String, deserted: Deserted },
}

impl Watch {
    /// Watches a stream that an agent of this session came back for; with the answers that were kept for it.
    pub(crate) fn resumed(session: String, deserted: Deserted) -> (Self, Vec<Arc<str>>) {
        let kept = deserted.open(&session);
        (Self::Resumed { session, deserted }, kept)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        match self {
            Self::Resumed { session, deserted } => deserted.close(session),
            Self::Call(hangup) if !hangup.is_pending() => {}
            Self::Call(hangup) => match &hangup.session {
                Some((session, deserted)) => deserted.leave(session, hangup.clone()),
                None => hangup.token.cancel(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> (Hangup, Deserted) {
        let deserted = Deserted::default();
        (Hangup::new(Some(("session".into(), deserted.clone()))), deserted)
    }

    fn come_back(deserted: &Deserted) -> (Watch, Vec<Arc<str>>) {
        Watch::resumed("session".into(), deserted.clone())
    }

    fn is_forgotten(deserted: &Deserted) -> bool {
        deserted.calls().is_empty()
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_without_a_session_is_cancelled_at_once() {
        let hangup = Hangup::default();
        drop(Watch::Call(hangup.clone()));
        assert!(hangup.token().is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answered_call_is_not_cancelled() {
        let (hangup, deserted) = call();
        hangup.answered(|| panic!("the agent was there"));
        drop(Watch::Call(hangup.clone()));
        sleep(GRACE * 2).await;
        assert!(!hangup.token().is_cancelled() && is_forgotten(&deserted));
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_with_a_session_may_come_back() {
        let (hangup, deserted) = call();
        drop(Watch::Call(hangup.clone()));
        sleep(RETRY).await;
        let (resumed, kept) = come_back(&deserted);
        assert!(kept.is_empty());
        sleep(GRACE * 2).await;
        assert!(!hangup.token().is_cancelled());
        drop(resumed);
        sleep(GRACE * 2).await;
        assert!(hangup.token().is_cancelled(), "the resumed stream was closed too");
        assert!(is_forgotten(&deserted));
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_may_be_back_before_it_is_missed() {
        let (hangup, deserted) = call();
        let (resumed, _) = come_back(&deserted);
        drop(Watch::Call(hangup.clone()));
        sleep(GRACE * 2).await;
        assert!(!hangup.token().is_cancelled());
        hangup.answered(|| panic!("the agent is there"));
        drop(resumed);
        sleep(GRACE * 2).await;
        assert!(!hangup.token().is_cancelled() && is_forgotten(&deserted));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_kept_for_an_agent_that_is_away() {
        let (hangup, deserted) = call();
        drop(Watch::Call(hangup.clone()));
        hangup.answered(|| Some("the answer".into()));
        sleep(GRACE * 2).await;
        assert!(!hangup.token().is_cancelled());
        let (resumed, kept) = come_back(&deserted);
        assert_eq!(kept.iter().map(|kept| &**kept).collect::<Vec<_>>(), ["the answer"]);
        drop(resumed);
        assert!(come_back(&deserted).1.is_empty() && is_forgotten(&deserted));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_not_kept_for_ever() {
        let (hangup, deserted) = call();
        drop(Watch::Call(hangup.clone()));
        hangup.answered(|| Some("the answer".into()));
        sleep(KEPT * 2).await;
        assert!(is_forgotten(&deserted));
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_stays_away_has_hung_up() {
        let (hangup, deserted) = call();
        drop(Watch::Call(hangup.clone()));
        let other = Watch::resumed("another".into(), deserted.clone());
        sleep(GRACE * 2).await;
        assert!(hangup.token().is_cancelled());
        drop(other);
        assert!(is_forgotten(&deserted));
    }
}

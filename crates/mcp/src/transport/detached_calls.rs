//! Calls whose response stream the agent closed.
//!
//! In the 2026-07-28 era that cancels the call. Older agents may resume the stream (`Last-Event-ID`), so their calls are
//! cancelled only after [`GRACE`], and an answer that is ready before is kept for them: `rmcp` 3.9 drops what it cannot
//! deliver.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery>

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// How long an agent of the older era may take to resume. Agents wait [`RETRY`] first.
const GRACE: Duration = Duration::from_secs(3);
/// How long an answer is kept for a disconnected agent.
const ANSWER_TTL: Duration = Duration::from_secs(60);
/// Maximum number of answers kept for a disconnected agent. One more drops the oldest.
const MAX_ANSWERS: usize = 100;
/// How long agents shall wait before they resume a broken stream.
pub(crate) const RETRY: Duration = Duration::from_secs(1);

/// The response stream of a call, for the handler that answers it. Travels with the request.
#[derive(Clone, Default)]
pub(crate) struct CallStream {
    token: CancellationToken,
    is_answered: Arc<AtomicBool>,
    /// The agent's session, in the era that has sessions.
    session: Option<(String, DetachedCalls)>,
}

impl CallStream {
    pub(crate) fn new(session: Option<(String, DetachedCalls)>) -> Self {
        Self { session, ..Self::default() }
    }

    /// Waits until nobody waits for the answer any longer.
    pub(crate) fn closed(&self) -> impl Future<Output = ()> + Send + use<> {
        self.token.clone().cancelled_owned()
    }

    /// The call is over. If its agent is disconnected, `message` (the whole answer, one line) is kept for it.
    pub(crate) fn answered(&self, message: impl FnOnce() -> Option<String>) {
        self.is_answered.store(true, Ordering::Relaxed);
        if let Some((session, detached)) = &self.session
            && detached.remove(session, self)
            && let Some(message) = message()
        {
            detached.keep(session, message.into());
        }
    }

    fn is_pending(&self) -> bool {
        !self.is_answered.load(Ordering::Relaxed)
    }
}

/// The calls whose streams were closed by agents that may resume them, by session.
#[derive(Clone, Default)]
pub(crate) struct DetachedCalls(Arc<Mutex<HashMap<String, OfSession>>>);

/// The detached calls of one session.
#[derive(Default)]
struct OfSession {
    /// Not resumed yet.
    waiting: Vec<CallStream>,
    /// Resumed, or about to be: the agent may be back before we notice that it disconnected.
    resumed: Vec<CallStream>,
    /// How many resumed streams are open.
    streams: usize,
    /// Answers that were ready while the agent was disconnected.
    answers: Vec<Arc<str>>,
}

impl OfSession {
    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.resumed.is_empty() && self.streams == 0 && self.answers.is_empty()
    }
}

impl DetachedCalls {
    fn calls(&self) -> MutexGuard<'_, HashMap<String, OfSession>> {
        self.0.lock()
    }

    fn detach(&self, session: &str, call: CallStream) {
        let mut calls = self.calls();
        let own = calls.entry(session.to_owned()).or_default();
        if own.streams > 0 {
            own.resumed.retain(CallStream::is_pending);
            own.resumed.push(call);
            return;
        }
        own.waiting.push(call.clone());
        let (all, session) = (self.clone(), session.to_owned());
        // Ends with the grace period.
        place::spawn_if_running(async move {
            sleep(GRACE).await;
            if all.remove(&session, &call) {
                call.token.cancel();
            }
        });
    }

    /// Removes a call; `false` if its agent has resumed it.
    fn remove(&self, session: &str, call: &CallStream) -> bool {
        let mut calls = self.calls();
        let Some(own) = calls.get_mut(session) else { return false };
        let before = own.waiting.len();
        own.waiting.retain(|other| !Arc::ptr_eq(&other.is_answered, &call.is_answered));
        let was_waiting = own.waiting.len() < before;
        if own.is_empty() {
            calls.remove(session);
        }
        was_waiting
    }

    fn keep(&self, session: &str, answer: Arc<str>) {
        {
            let mut calls = self.calls();
            let answers = &mut calls.entry(session.to_owned()).or_default().answers;
            answers.drain(..(answers.len() + 1).saturating_sub(MAX_ANSWERS));
            answers.push(answer.clone());
        }
        let (all, session) = (self.clone(), session.to_owned());
        place::spawn_if_running(async move {
            sleep(ANSWER_TTL).await;
            let mut calls = all.calls();
            let Some(own) = calls.get_mut(&session) else { return };
            own.answers.retain(|kept| !Arc::ptr_eq(kept, &answer));
            if own.is_empty() {
                calls.remove(&session);
            }
        });
    }

    /// The agent resumed a stream; returns the answers that were kept for it.
    fn resume(&self, session: &str) -> Vec<Arc<str>> {
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
        let left: Vec<CallStream> = own.resumed.drain(..).filter(CallStream::is_pending).collect();
        if own.is_empty() {
            calls.remove(session);
        }
        drop(calls);
        for call in left {
            self.detach(session, call);
        }
    }
}

/// Watches one response stream: if it ends before the call is answered, the agent closed it.
pub(crate) enum StreamWatch {
    /// The stream of a call.
    Call(CallStream),
    /// A stream that an agent resumed.
    Resumed { session: String, detached: DetachedCalls },
}

impl StreamWatch {
    /// Watches a stream that an agent of this session resumed; returns the answers that were kept for it, too.
    pub(crate) fn resumed(session: String, detached: DetachedCalls) -> (Self, Vec<Arc<str>>) {
        let kept = detached.resume(&session);
        (Self::Resumed { session, detached }, kept)
    }
}

impl Drop for StreamWatch {
    fn drop(&mut self) {
        match self {
            Self::Resumed { session, detached } => detached.close(session),
            Self::Call(call) if !call.is_pending() => {}
            Self::Call(call) => match &call.session {
                Some((session, detached)) => detached.detach(session, call.clone()),
                None => call.token.cancel(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_call() -> (CallStream, DetachedCalls) {
        let detached = DetachedCalls::default();
        (CallStream::new(Some(("session".into(), detached.clone()))), detached)
    }

    fn resume(detached: &DetachedCalls) -> (StreamWatch, Vec<Arc<str>>) {
        StreamWatch::resumed("session".into(), detached.clone())
    }

    fn is_empty(detached: &DetachedCalls) -> bool {
        detached.calls().is_empty()
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_without_a_session_is_cancelled_at_once() {
        let call = CallStream::default();
        drop(StreamWatch::Call(call.clone()));
        assert!(call.token.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answered_call_is_not_cancelled() {
        let (call, detached) = new_call();
        call.answered(|| panic!("the agent was connected"));
        drop(StreamWatch::Call(call.clone()));
        sleep(GRACE * 2).await;
        assert!(!call.token.is_cancelled() && is_empty(&detached));
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_with_a_session_can_resume() {
        let (call, detached) = new_call();
        drop(StreamWatch::Call(call.clone()));
        sleep(RETRY).await;
        let (resumed, kept) = resume(&detached);
        assert!(kept.is_empty());
        sleep(GRACE * 2).await;
        assert!(!call.token.is_cancelled());
        drop(resumed);
        sleep(GRACE * 2).await;
        assert!(call.token.is_cancelled(), "the resumed stream was closed too");
        assert!(is_empty(&detached));
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_can_resume_before_the_old_stream_ends() {
        let (call, detached) = new_call();
        let (resumed, _) = resume(&detached);
        drop(StreamWatch::Call(call.clone()));
        sleep(GRACE * 2).await;
        assert!(!call.token.is_cancelled());
        call.answered(|| panic!("the agent is connected"));
        drop(resumed);
        sleep(GRACE * 2).await;
        assert!(!call.token.is_cancelled() && is_empty(&detached));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_kept_for_a_disconnected_agent() {
        let (call, detached) = new_call();
        drop(StreamWatch::Call(call.clone()));
        call.answered(|| Some("the answer".into()));
        sleep(GRACE * 2).await;
        assert!(!call.token.is_cancelled());
        let (resumed, kept) = resume(&detached);
        assert_eq!(kept.iter().map(|kept| &**kept).collect::<Vec<_>>(), ["the answer"]);
        drop(resumed);
        assert!(resume(&detached).1.is_empty() && is_empty(&detached));
    }

    #[tokio::test(start_paused = true)]
    async fn a_kept_answer_expires() {
        let (call, detached) = new_call();
        drop(StreamWatch::Call(call.clone()));
        call.answered(|| Some("the answer".into()));
        sleep(ANSWER_TTL * 2).await;
        assert!(is_empty(&detached));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_not_resumed_is_cancelled() {
        let (call, detached) = new_call();
        drop(StreamWatch::Call(call.clone()));
        let other = StreamWatch::resumed("another".into(), detached.clone());
        sleep(GRACE * 2).await;
        assert!(call.token.is_cancelled());
        drop(other);
        assert!(is_empty(&detached));
    }
}

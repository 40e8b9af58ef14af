//! Which process of the kernel speaks.
//!
//! A server can restart a kernel, or a person can, and the new process knows nothing of what the last one has run. It has another
//! session in the headers of its messages.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::messages::Message;
use crate::{Death, Outcome, is_interrupt};

/// How many statuses of a kernel must have had one session before another one means another process. A kernel could make up a
/// session for each message.
const TRUSTED: u32 = 2;

/// The process that a connection speaks to, shared by client and driver.
pub(crate) type Process = Arc<Mutex<KernelProcess>>;

/// Whether another process has taken the place of the one that ran the last execution.
#[derive(Debug, Default)]
pub(crate) struct ProcessWatch {
    /// Shared with the client.
    pub(crate) process: Process,
    /// The next execution is the first of a process, after others that an earlier process has run.
    is_restarted: bool,
    /// The owner of the kernel's process reports its end, so that no message of the kernel is needed to know of it.
    pub(crate) is_end_reported: bool,
    /// The count that the kernel gave last.
    count: Option<u64>,
    /// How many requests there had been when the kernel announced its end, and how those end that it interrupts because of it.
    announced_end: Option<(u64, Outcome)>,
}

impl ProcessWatch {
    /// The kernel was this process when the connection was made.
    pub(crate) fn begin_with(&mut self, session: Option<String>) {
        *self.process.lock() = KernelProcess::known(session);
    }

    /// An earlier connection spoke to this process; `None` if that has ended.
    pub(crate) fn follow(&mut self, earlier: Option<String>) {
        let mut process = self.process.lock();
        match (process.id(), earlier) {
            (_, None) => self.is_restarted = true,
            (Some(now), Some(earlier)) => self.is_restarted |= now != earlier,
            (None, earlier) => *process = KernelProcess::known(earlier),
        }
    }

    /// A status has come. Returns whether it is of another process than those before.
    pub(super) fn observe(&mut self, status: &Message) -> bool {
        let Some(session) = status.process() else { return false };
        let is_other = self.process.lock().observe(session, status.header.sequence().is_some());
        self.is_restarted |= is_other;
        is_other
    }

    /// The kernel counts an execution. Counts grow. Where the kernel's process has no id, one that falls back is of another process.
    pub(super) fn count(&mut self, count: Option<u64>) {
        let is_back = count.zip(self.count).is_some_and(|(now, last)| now < last);
        self.is_restarted |= is_back && self.process.lock().id().is_none();
        self.count = count.or(self.count);
    }

    /// It is known that another process has taken its place.
    pub(super) fn restarted(&mut self) {
        self.is_restarted = true;
        self.ends();
    }

    /// The process has ended or is about to, and the next one is not known yet.
    pub(super) fn ends(&mut self) {
        self.process.lock().is_ended = true;
    }

    /// The kernel may have announced its end, after so many requests.
    pub(super) fn announced_end(&mut self, message: &Message, requests: u64) {
        let Some(is_restart) = message.announced_end().filter(|_| !self.is_end_reported) else { return };
        self.ends();
        let how = if is_restart { Death::Restarted } else { "it was shut down".into() };
        self.announced_end = Some((requests, Outcome::KernelDied { how }));
    }

    /// Whether the kernel may still announce an end that is why code has ended with this error.
    pub(super) fn may_end_with(&self, number: u64, error: Option<&(String, String)>) -> bool {
        let is_announced = self.announced_end.as_ref().is_some_and(|(requests, _)| number <= *requests);
        !is_announced && !self.is_end_reported && error.is_some_and(|(name, _)| is_interrupt(name))
    }

    /// How the request of this number has ended, to which the kernel replied with `outcome`: code that it interrupts because it ends
    /// fails as if a person had interrupted it.
    pub(super) fn end_of(&self, number: u64, outcome: Outcome) -> Outcome {
        let end = self.announced_end.as_ref().filter(|(requests, _)| number <= *requests);
        match (end, outcome) {
            (Some((_, end)), Outcome::Error { name, .. }) if is_interrupt(&name) => end.clone(),
            (_, outcome) => outcome,
        }
    }

    /// The process has ended, and everybody knows it.
    pub(super) fn ended(&mut self) {
        *self.process.lock() = KernelProcess::default();
        self.count = None;
    }

    /// Whether an execution that begins now is the first of its process. `true` once.
    pub(super) fn take_restarted(&mut self) -> bool {
        std::mem::take(&mut self.is_restarted)
    }
}

#[derive(Debug, Default)]
pub(crate) struct KernelProcess {
    session: Option<String>,
    /// How many statuses had it.
    seen: u32,
    /// It is known to have ended, or to be about to.
    is_ended: bool,
}

impl KernelProcess {
    /// A process that is known for sure.
    fn known(session: Option<String>) -> Self {
        Self { seen: if session.is_some() { TRUSTED } else { 0 }, session, is_ended: false }
    }

    /// The session of the process; `None` if it is not known, or none that can be relied on.
    pub(crate) fn id(&self) -> Option<&str> {
        self.session.as_deref().filter(|_| self.seen >= TRUSTED)
    }

    /// Whether it runs, as far as is known.
    pub(crate) fn lives(&self) -> bool {
        !self.is_ended
    }

    /// A status with this session has come. A kernel that numbers its messages has one session for all of them. Returns whether the
    /// status is of another process than those before.
    fn observe(&mut self, session: &str, is_numbered: bool) -> bool {
        if self.session.as_deref() == Some(session) {
            self.seen = self.seen.saturating_add(1);
            return false;
        }
        let is_other = self.id().is_some();
        let seen = if is_other || is_numbered { TRUSTED } else { 1 };
        *self = Self { session: Some(session.to_owned()), seen, is_ended: false };
        is_other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_session_is_another_process_once_one_was_repeated() {
        let mut process = KernelProcess::default();
        assert!(!process.observe("a", false));
        assert_eq!(process.id(), None);
        assert!(!process.observe("a", false));
        assert_eq!(process.id(), Some("a"));
        assert!(process.observe("b", false));
        assert!(!process.observe("b", false));
        let mut process = KernelProcess::default();
        assert!(
            ["a", "b", "c"].iter().all(|session| !process.observe(session, false)),
            "one for each message"
        );
        let mut process = KernelProcess::known(Some("a".to_owned()));
        assert!(process.observe("b", false));
        process.is_ended = true;
        assert!(!process.observe("b", false) && !process.lives(), "what it publishes as it ends");
        assert!(process.observe("c", false) && process.lives());
        let mut process = KernelProcess::default();
        assert!(!process.observe("a", true) && process.observe("b", true), "it numbers its messages");
    }
}

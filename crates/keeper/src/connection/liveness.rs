//! Whether the keeper still answers, while executions wait for it. Time is passed in.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use kernel::MessageId;

/// Watches one connection. A kernel that works says nothing for hours, so a keeper that is silent is asked before it is given up.
pub(super) struct Liveness {
    /// The keeper's process.
    pub(super) process: u32,
    pub(super) timeout: Duration,
    /// The requests that the kernel has not ended.
    open: HashSet<MessageId>,
    /// When the keeper last sent something, or an execution began to wait for it.
    heard_at: Instant,
    asked_at: Option<Instant>,
}

/// What must be done about a silent keeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    Ask,
    GiveUp,
}

impl Liveness {
    pub(super) fn new(process: u32, timeout: Duration) -> Self {
        Self { process, timeout, open: HashSet::new(), heard_at: Instant::now(), asked_at: None }
    }

    /// An execution waits for the keeper from now on.
    pub(super) fn begin(&mut self, request: MessageId, now: Instant) {
        if self.open.is_empty() {
            self.received(now);
        }
        self.open.insert(request);
    }

    /// The kernel has ended a request.
    pub(super) fn end(&mut self, request: &str) {
        self.open.remove(request);
    }

    /// The kernel has ended all requests.
    pub(super) fn end_all(&mut self) {
        self.open.clear();
    }

    /// The keeper has sent something.
    pub(super) fn received(&mut self, now: Instant) {
        (self.heard_at, self.asked_at) = (now, None);
    }

    /// When [`Liveness::tick`] is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        (!self.open.is_empty()).then(|| self.asked_at.unwrap_or(self.heard_at) + self.timeout)
    }

    /// What is due at `now`.
    pub(super) fn tick(&mut self, now: Instant) -> Option<Silence> {
        self.deadline().filter(|deadline| *deadline <= now)?;
        if self.asked_at.is_some() {
            return Some(Silence::GiveUp);
        }
        self.asked_at = Some(now);
        Some(Silence::Ask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_silent_keeper_is_asked_once_and_then_given_up() {
        let mut liveness = Liveness::new(1, 10 * SECOND);
        let start = Instant::now();
        assert_eq!(liveness.deadline(), None, "nothing waits for it");
        liveness.begin("m1".into(), start);
        assert_eq!(liveness.tick(start + 9 * SECOND), None);
        assert_eq!(liveness.tick(start + 10 * SECOND), Some(Silence::Ask));
        assert_eq!(liveness.tick(start + 19 * SECOND), None);
        liveness.received(start + 19 * SECOND);
        assert_eq!(liveness.tick(start + 28 * SECOND), None, "it has answered");
        assert_eq!(liveness.tick(start + 29 * SECOND), Some(Silence::Ask));
        assert_eq!(liveness.tick(start + 39 * SECOND), Some(Silence::GiveUp));
        liveness.end("m1");
        assert_eq!(liveness.tick(start + 99 * SECOND), None);
    }
}

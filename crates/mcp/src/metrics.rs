//! Counts of sessions and calls, for those who run the server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

/// Counts of all sessions that share it.
#[derive(Debug, Default)]
pub struct Metrics {
    sessions: AtomicI64,
    calls: Mutex<BTreeMap<&'static str, Calls>>,
}

/// The calls of one tool.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Calls {
    /// How many were answered.
    pub answered: u64,
    /// Of these, how many with an error.
    pub failed: u64,
    /// How many were cancelled, or lost their agent.
    pub abandoned: u64,
    /// How long all of them took in total.
    pub time: Duration,
}

/// How a call ended.
#[derive(Clone, Copy)]
enum CallOutcome {
    Succeeded,
    Failed,
    Abandoned,
}

impl Metrics {
    /// How many MCP sessions are open.
    pub fn sessions(&self) -> u64 {
        self.sessions.load(Ordering::Relaxed).try_into().unwrap_or_default()
    }

    /// The calls of each tool that was called, by its name.
    pub fn calls(&self) -> Vec<(&'static str, Calls)> {
        self.tallies().iter().map(|(name, calls)| (*name, *calls)).collect()
    }

    /// Counts a call of a tool from here on.
    pub(crate) fn begin(&self, tool: &'static str) -> Timing<'_> {
        Timing { metrics: self, tool, start: Instant::now(), outcome: CallOutcome::Abandoned }
    }

    fn count(&self, name: &'static str, outcome: CallOutcome, time: Duration) {
        let mut tallies = self.tallies();
        let calls = tallies.entry(name).or_default();
        match outcome {
            CallOutcome::Succeeded => calls.answered += 1,
            CallOutcome::Failed => {
                calls.answered += 1;
                calls.failed += 1;
            }
            CallOutcome::Abandoned => calls.abandoned += 1,
        }
        calls.time += time;
    }

    fn tallies(&self) -> MutexGuard<'_, BTreeMap<&'static str, Calls>> {
        self.calls.lock()
    }
}

/// A call in progress. If it is dropped before its end, it was abandoned.
pub(crate) struct Timing<'a> {
    metrics: &'a Metrics,
    tool: &'static str,
    start: Instant,
    outcome: CallOutcome,
}

impl Timing<'_> {
    pub(crate) fn end(mut self, is_error: bool) {
        self.outcome = if is_error { CallOutcome::Failed } else { CallOutcome::Succeeded };
    }
}

impl Drop for Timing<'_> {
    fn drop(&mut self) {
        self.metrics.count(self.tool, self.outcome, self.start.elapsed());
    }
}

/// Counts a session as long as it lives.
#[derive(Debug)]
pub(crate) struct Counted {
    metrics: Arc<Metrics>,
    sessions: i64,
}

impl Counted {
    pub(crate) fn new(metrics: Arc<Metrics>) -> Self {
        Self::count(metrics, 1)
    }

    /// For calls without a session, which are not counted as one.
    pub(crate) fn no_session(metrics: Arc<Metrics>) -> Self {
        Self::count(metrics, 0)
    }

    fn count(metrics: Arc<Metrics>, sessions: i64) -> Self {
        metrics.sessions.fetch_add(sessions, Ordering::Relaxed);
        Self { metrics, sessions }
    }

    pub(crate) fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.metrics.sessions.fetch_sub(self.sessions, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_tool_and_end() {
        let metrics = Metrics::default();
        metrics.begin("read_cell").end(false);
        metrics.begin("read_cell").end(true);
        drop(metrics.begin("execute_cell"));
        let counts: Vec<_> = metrics
            .calls()
            .into_iter()
            .map(|(name, it)| (name, it.answered, it.failed, it.abandoned))
            .collect();
        assert_eq!(counts, [("execute_cell", 0, 0, 1), ("read_cell", 2, 1, 0)]);
    }

    #[test]
    fn sessions_are_counted_while_they_live() {
        let metrics = Arc::new(Metrics::default());
        let (one, two) = (Counted::new(metrics.clone()), Counted::new(metrics.clone()));
        let _nobody = Counted::no_session(metrics.clone());
        assert_eq!(metrics.sessions(), 2);
        drop(one);
        assert_eq!(metrics.sessions(), 1);
        drop(two);
        assert_eq!(metrics.sessions(), 0);
    }
}

//! Counts of sessions and calls, for those who run the server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

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

impl Metrics {
    /// How many MCP sessions are open.
    pub fn sessions(&self) -> u64 {
        self.sessions.load(Ordering::Relaxed).try_into().unwrap_or_default()
    }

    /// The calls of each tool that was called, by its name.
    pub fn calls(&self) -> Vec<(&'static str, Calls)> {
        self.calls.lock().iter().map(|(name, calls)| (*name, *calls)).collect()
    }

    /// Counts a call of a tool that has failed or not; `None` if it was abandoned.
    pub(crate) fn count(&self, tool: &'static str, has_failed: Option<bool>, time: Duration) {
        let mut tallies = self.calls.lock();
        let calls = tallies.entry(tool).or_default();
        match has_failed {
            Some(has_failed) => {
                calls.answered += 1;
                calls.failed += u64::from(has_failed);
            }
            None => calls.abandoned += 1,
        }
        calls.time += time;
    }
}

/// Counts a session as long as it lives.
#[derive(Debug)]
pub(crate) struct Counted(Arc<Metrics>);

impl Counted {
    pub(crate) fn new(metrics: Arc<Metrics>) -> Self {
        metrics.sessions.fetch_add(1, Ordering::Relaxed);
        Self(metrics)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_tool_and_end() {
        let metrics = Metrics::default();
        for (tool, has_failed) in
            [("read_cell", Some(false)), ("read_cell", Some(true)), ("execute_cell", None)]
        {
            metrics.count(tool, has_failed, Duration::ZERO);
        }
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
        assert_eq!(metrics.sessions(), 2);
        drop(one);
        assert_eq!(metrics.sessions(), 1);
        drop(two);
        assert_eq!(metrics.sessions(), 0);
    }
}

//! The author of a change: the agent and its tool, for the record of operations.
//!
//! It is local to the task, so that no function between has to pass it on.

use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use operations::SessionLock;

/// The author of a change.
#[derive(Debug, Clone, Default)]
pub struct Actor {
    /// The agent's name for itself.
    pub agent: String,
    /// Gone if its session has ended, or was one call.
    pub session: Weak<SessionLock>,
    /// The tool or command.
    pub tool: String,
    /// Its call, whose changes are one operation in the history; empty if each is one.
    pub call: String,
    /// When that began, as [`now`] gives it; 0 if nobody knows.
    pub arrived: u64,
}

/// This moment in microseconds since 1970, later than any that was given before, whatever becomes of the clock.
pub fn now() -> u64 {
    static LATEST: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let clock = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
    let next = |latest: u64| Some(clock.max(latest.saturating_add(1)));
    LATEST
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
        .map_or(clock, |latest| clock.max(latest + 1))
}

tokio::task_local! {
    static ACTOR: Actor;
}

/// Runs `work`, whose changes are those of `actor`.
pub async fn acting<F: Future>(actor: Actor, work: F) -> F::Output {
    ACTOR.scope(actor, work).await
}

/// The present author; nobody in particular outside of [`acting`].
pub fn current() -> Actor {
    ACTOR.try_with(Clone::clone).unwrap_or_default()
}

/// `work` for another task, with the present actor.
pub fn carried<F: Future>(work: F) -> impl Future<Output = F::Output> {
    acting(current(), work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_follow_each_other() {
        let moments: Vec<u64> = std::iter::repeat_with(now).take(1000).collect();
        assert!(moments.is_sorted_by(|one, other| one < other));
    }

    #[tokio::test]
    async fn work_in_another_task_has_the_same_actor() {
        assert_eq!(current().tool, "");
        let actor = Actor { agent: "a".to_owned(), tool: "t".to_owned(), ..Actor::default() };
        let work = async {
            let elsewhere = carried(async { current().tool });
            tokio::spawn(elsewhere).await.unwrap()
        };
        assert_eq!(acting(actor, work).await, "t");
    }
}

//! Who makes a change: the agent and its tool, for the record of operations.
//!
//! It is local to the task, so that no function between has to pass it on.

use std::sync::Weak;

use operations::SessionLock;

/// Who makes a change.
#[derive(Debug, Clone, Default)]
pub struct Actor {
    /// What the agent calls itself.
    pub agent: String,
    /// Gone if its session has ended, or was one call.
    pub session: Weak<SessionLock>,
    /// The tool or command.
    pub tool: String,
    /// Its call, whose changes are one operation in the history; empty if each is one.
    pub call: String,
}

tokio::task_local! {
    static ACTOR: Actor;
}

/// Runs `work`, whose changes are those of `actor`.
pub async fn acting<F: Future>(actor: Actor, work: F) -> F::Output {
    ACTOR.scope(actor, work).await
}

/// Who acts now; nobody in particular outside of [`acting`].
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

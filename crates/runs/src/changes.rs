//! Changes of a notebook by anybody but one session, for its subscribers.

use place::SessionId;
use tokio::sync::watch::{self, error::RecvError};

/// The number of changes by agents of this program, and the session of the last one.
pub(crate) type ByAgents = (u64, SessionId);

/// Waits for changes by others than one session.
pub struct Changes {
    /// Counts changes from outside this program.
    outside: watch::Receiver<u64>,
    agents: watch::Receiver<ByAgents>,
    seen: u64,
    session: SessionId,
}

impl Changes {
    pub(crate) fn new(
        outside: watch::Receiver<u64>,
        agents: watch::Receiver<ByAgents>,
        session: SessionId,
    ) -> Self {
        let seen = agents.borrow().0;
        Self { outside, agents, seen, session }
    }

    /// Waits until somebody else has changed the notebook. Fails when the notebook is closed, so that nobody can change
    /// it any longer. No change is lost when the future is dropped.
    pub async fn changed(&mut self) -> Result<(), RecvError> {
        loop {
            tokio::select! {
                changed = self.outside.changed() => return changed,
                changed = self.agents.changed() => changed?,
            }
            let (count, by) = *self.agents.borrow_and_update();
            let new = count - std::mem::replace(&mut self.seen, count);
            // If several changes arrived together, `by` is the session of the last one only. Another session may have
            // made the others.
            if by != self.session || new > 1 {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn own_changes_are_skipped() {
        let (outside, agents) = (watch::Sender::new(0), watch::Sender::new((0, SessionId::new(0))));
        let mut changes = Changes::new(outside.subscribe(), agents.subscribe(), SessionId::new(1));
        let made_by =
            |session| agents.send_modify(|(count, by)| (*count, *by) = (*count + 1, SessionId::new(session)));
        let mut is_notified = || changes.changed().now_or_never().is_some();
        made_by(1);
        assert!(!is_notified());
        made_by(2);
        assert!(is_notified());
        assert!(!is_notified());
        made_by(2);
        made_by(1);
        assert!(is_notified());
        assert!(!is_notified());
        outside.send_modify(|count| *count += 1);
        assert!(is_notified());
        assert!(!is_notified());
    }
}

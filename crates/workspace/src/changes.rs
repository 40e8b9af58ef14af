//! What one agent hears of a notebook: changes that somebody else has made.

use tokio::sync::watch::{self, error::RecvError};

use crate::SessionId;

/// How many changes agents of this program have made, and whose session the last.
pub(crate) type ByAgents = (u64, SessionId);

/// Waits for changes by others than one session.
pub struct Changes {
    /// Moves with those from outside this program.
    outside: watch::Receiver<u64>,
    agents: watch::Receiver<ByAgents>,
    heard: u64,
    session: SessionId,
}

impl Changes {
    pub(crate) fn new(
        outside: watch::Receiver<u64>,
        agents: watch::Receiver<ByAgents>,
        session: SessionId,
    ) -> Self {
        let heard = agents.borrow().0;
        Self { outside, agents, heard, session }
    }

    /// Waits until somebody else has changed the notebook. Fails when nobody will any more. Nothing is lost when the
    /// future is dropped.
    pub async fn changed(&mut self) -> Result<(), RecvError> {
        loop {
            tokio::select! {
                changed = self.outside.changed() => return changed,
                changed = self.agents.changed() => changed?,
            }
            let (count, by) = *self.agents.borrow_and_update();
            let news = count - std::mem::replace(&mut self.heard, count);
            // Of several at once the last may be our own, and the others are not.
            if by != self.session || news > 1 {
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
    async fn an_agent_hears_of_others_only() {
        let (outside, agents) = (watch::Sender::new(0), watch::Sender::new((0, SessionId::new(0))));
        let mut changes = Changes::new(outside.subscribe(), agents.subscribe(), SessionId::new(1));
        let made_by =
            |session| agents.send_modify(|(count, by)| (*count, *by) = (*count + 1, SessionId::new(session)));
        let mut is_told = || changes.changed().now_or_never().is_some();
        made_by(1);
        assert!(!is_told());
        made_by(2);
        assert!(is_told() && !is_told());
        made_by(2);
        made_by(1);
        assert!(is_told() && !is_told());
        outside.send_modify(|count| *count += 1);
        assert!(is_told() && !is_told());
    }
}

//! Uses of a kernel by other sessions and servers, for the agents that run code there next.

use std::collections::VecDeque;
use std::sync::Weak;

use notebook::one_line;
use operations::SessionLock;

/// Maximum number of uses that are remembered; a session gets the last ones.
const MAX_USES: usize = 20;

/// Uses of a kernel, the oldest first, and how many of them the sessions know that have run code there.
#[derive(Debug, Default)]
pub(crate) struct KernelUse {
    uses: VecDeque<(User, Option<String>)>,
    count: usize,
    known: Vec<(Weak<SessionLock>, usize)>,
}

/// Somebody who uses a kernel.
#[derive(Debug, Clone)]
pub(crate) enum User {
    Session(Weak<SessionLock>),
    /// An agent of another server; empty if nobody knows it.
    Elsewhere(String),
}

impl KernelUse {
    /// Somebody has run `what`, a cell or a run; without it, they have restarted the kernel.
    pub(crate) fn add(&mut self, user: User, what: Option<String>) {
        self.uses.push_back((user, what));
        self.uses.drain(..self.uses.len().saturating_sub(MAX_USES));
        self.count += 1;
    }

    /// Uses by others since a session's last run here, in one or two sentences, and whether somebody has restarted the kernel. Its first run has no variables here, so that nothing is news.
    pub(crate) fn since_last_run(&mut self, session: &Weak<SessionLock>) -> Option<(String, bool)> {
        let own = self.known.iter().find(|(known, _)| known.ptr_eq(session)).map(|(_, count)| *count);
        self.known.retain(|(known, _)| known.strong_count() > 0 && !known.ptr_eq(session));
        self.known.push((session.clone(), self.count));
        let is_own = |user: &User| matches!(user, User::Session(user) if user.ptr_eq(session));
        let new = self.uses.len().min(self.count - own?);
        let new = self.uses.iter().skip(self.uses.len() - new).filter(|(user, _)| !is_own(user));
        let (mut restarted, mut ran): (Option<String>, Vec<(String, Vec<&str>)>) = (None, Vec::new());
        for (user, what) in new {
            let user = user.to_string();
            match (what, ran.iter_mut().find(|(known, _)| *known == user)) {
                (None, _) => (restarted, ran) = (Some(user), Vec::new()),
                (Some(what), Some((_, cells))) if cells.contains(&&**what) => {}
                (Some(what), Some((_, cells))) => cells.push(what),
                (Some(what), None) => ran.push((user, vec![what])),
            }
        }
        let has_restarted = restarted.is_some();
        let restart = restarted.map(|user| {
            format!("{user} has restarted this kernel since your last run: its earlier variables are gone.")
        });
        let used = ran.iter().map(|(user, cells)| {
            format!(
                "{user} has used this kernel since: {}. Its variables may have changed.",
                cells.join("; ")
            )
        });
        let sentences: Vec<_> = restart.into_iter().chain(used).collect();
        (!sentences.is_empty()).then(|| (sentences.join(" "), has_restarted))
    }
}

impl std::fmt::Display for User {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Session(_) => f.write_str("Another session"),
            Self::Elsewhere(agent) if agent.is_empty() => f.write_str("Another server"),
            Self::Elsewhere(agent) => write!(f, "Another server ({})", one_line(agent)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_session_learns_once_what_others_did_since_its_last_run() {
        let [one, other] = [SessionLock::default(), SessionLock::default()].map(Arc::new);
        let [mine, theirs] = [&one, &other].map(Arc::downgrade);
        let mut kernel = KernelUse::default();
        let ran = |kernel: &mut KernelUse, session: &Weak<SessionLock>, what: &str| {
            let others = kernel.since_last_run(session);
            kernel.add(User::Session(session.clone()), Some(what.to_owned()));
            others.map(|(sentences, _)| sentences)
        };
        assert_eq!(ran(&mut kernel, &mine, "cell a"), None);
        assert_eq!(ran(&mut kernel, &theirs, "cell a"), None, "it had no variables here");
        ran(&mut kernel, &theirs, "cell a");
        ran(&mut kernel, &theirs, "run r3");
        kernel.add(User::Elsewhere("claude".to_owned()), Some("cell d".to_owned()));
        assert_eq!(
            ran(&mut kernel, &mine, "cell b").as_deref(),
            Some(
                "Another session has used this kernel since: cell a; run r3. Its variables may have changed. Another \
                 server (claude) has used this kernel since: cell d. Its variables may have changed."
            )
        );
        assert_eq!(ran(&mut kernel, &mine, "cell b"), None);
        kernel.add(User::Session(mine.clone()), None);
        assert_eq!(ran(&mut kernel, &mine, "cell b"), None, "its own restart is no news");
        let others = kernel.since_last_run(&theirs).unwrap();
        assert!(others.1);
        assert_eq!(
            others.0,
            "Another session has restarted this kernel since your last run: its earlier variables are gone. Another \
             session has used this kernel since: cell b. Its variables may have changed."
        );
        for _ in 0..2 * MAX_USES {
            kernel.add(User::Elsewhere(String::new()), Some("cell e".to_owned()));
        }
        assert!(kernel.since_last_run(&theirs).unwrap().0.starts_with("Another server has used"));
        drop(other);
        kernel.since_last_run(&mine);
        assert_eq!(kernel.known.len(), 1, "a session that has ended is forgotten");
    }
}

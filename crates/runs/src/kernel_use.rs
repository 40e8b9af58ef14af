//! Uses of a notebook's kernel by sessions of this server, for the others that run code there next.

use std::collections::HashMap;

use place::SessionId;

/// Maximum number of other agents' runs that are named.
const MAX_NAMED: usize = 20;

/// The sessions that have run code in a kernel, with what others have done since.
#[derive(Default)]
pub(crate) struct KernelUse(HashMap<SessionId, Others>);

#[derive(Default)]
struct Others {
    is_restarted: bool,
    ran: Vec<String>,
}

impl KernelUse {
    /// A session runs `what`, a cell or a run. Returns what others have done since its last run here.
    pub(crate) fn run(&mut self, session: SessionId, what: &str) -> Option<String> {
        let known = self.0.insert(session, Others::default());
        for others in self.0.iter_mut().filter(|(other, _)| **other != session).map(|(_, others)| others) {
            if others.ran.len() < MAX_NAMED && !others.ran.iter().any(|ran| ran == what) {
                others.ran.push(what.to_owned());
            }
        }
        let Others { is_restarted, ran } = known?;
        let restarted = is_restarted
            .then_some("restarted this kernel since your last run: its earlier variables are gone");
        let used = (!ran.is_empty())
            .then(|| format!("used this kernel since: {}. Its variables may have changed", ran.join("; ")));
        let clauses: Vec<_> = restarted.map(str::to_owned).into_iter().chain(used).collect();
        (!clauses.is_empty())
            .then(|| format!("Another session has {}.", clauses.join(". Another session has ")))
    }

    /// A session has restarted the kernel.
    pub(crate) fn restart(&mut self, session: SessionId) {
        for (other, others) in &mut self.0 {
            *others = Others { is_restarted: *other != session, ran: Vec::new() };
        }
    }

    pub(crate) fn forget(&mut self, session: SessionId) {
        self.0.remove(&session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_told_once_what_others_did_since_its_last_run() {
        let (one, other) = (SessionId::new(1), SessionId::new(2));
        let mut kernel = KernelUse::default();
        assert_eq!(kernel.run(one, "cell a"), None);
        assert_eq!(kernel.run(other, "cell a"), None, "it had no variables here");
        assert_eq!(kernel.run(other, "run r3"), None);
        assert_eq!(
            kernel.run(one, "cell b").as_deref(),
            Some(
                "Another session has used this kernel since: cell a; run r3. Its variables may have changed."
            )
        );
        assert_eq!(kernel.run(one, "cell b"), None);
        kernel.restart(one);
        assert_eq!(kernel.run(one, "cell b"), None, "its own restart is no news");
        let told = kernel.run(other, "cell a").unwrap();
        assert_eq!(
            told,
            "Another session has restarted this kernel since your last run: its earlier variables are gone. Another \
             session has used this kernel since: cell b. Its variables may have changed."
        );
        kernel.forget(other);
        assert_eq!(kernel.run(other, "cell a"), None);
    }
}

//! Who makes requests: the users of the server, with their credentials.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How many credentials of one user have a state: tokens that are renewed leave one behind each time, and anything that a user sends
/// as a token counts as one. If all are in use, another is refused.
const MAX_PER_USER: usize = 16;

/// A user with one credential and its rights. Each has a state of its own: what was opened or begun with one token goes on with
/// that token's headers, and no request of another can make use of them.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Caller {
    pub(crate) user: String,
    /// A key for the token or the cookie.
    pub(crate) credential: String,
    /// Whether the user may read, write, execute, and see kernels.
    pub(crate) may: (bool, bool, bool, bool),
}

/// The states of all callers.
pub(crate) struct Callers<S> {
    /// With the time of the last use.
    states: HashMap<Caller, (u64, Arc<S>)>,
    time: u64,
}

#[derive(Debug, thiserror::Error)]
#[error("all {MAX_PER_USER} credentials of this user are in use")]
pub(crate) struct TooManyCredentials;

impl<S> Default for Callers<S> {
    fn default() -> Self {
        Self { states: HashMap::new(), time: 0 }
    }
}

impl<S> Callers<S> {
    pub(crate) fn get(&mut self, caller: &Caller) -> Option<Arc<S>> {
        self.time += 1;
        let (last_use, state) = self.states.get_mut(caller)?;
        *last_use = self.time;
        Some(state.clone())
    }

    /// Makes room for another state of a user. If there are as many as there may be, returns the one of those that can end which was not
    /// used for the longest time; fails if there is none.
    pub(crate) fn make_room(
        &mut self,
        user: &str,
        can_end: impl Fn(&S) -> bool,
    ) -> Result<Option<Arc<S>>, TooManyCredentials> {
        let of_user = self.states.iter().filter(|(other, _)| other.user == user);
        if of_user.clone().count() < MAX_PER_USER {
            return Ok(None);
        }
        let unused =
            of_user.filter(|(_, (_, state))| can_end(state)).min_by_key(|(_, (last_use, _))| last_use);
        let unused = unused.map(|(caller, _)| caller.clone()).ok_or(TooManyCredentials)?;
        Ok(self.states.remove(&unused).map(|(_, state)| state))
    }

    pub(crate) fn insert(&mut self, caller: Caller, state: Arc<S>) {
        self.time += 1;
        self.states.insert(caller, (self.time, state));
    }

    pub(crate) fn all(&self) -> Vec<Arc<S>> {
        self.states.values().map(|(_, state)| state.clone()).collect()
    }

    /// The states of all credentials of a user.
    pub(crate) fn of_user(&self, user: &str) -> Vec<Arc<S>> {
        let of_user = self.states.iter().filter(|(caller, _)| caller.user == user);
        of_user.map(|(_, (_, state))| state.clone()).collect()
    }

    pub(crate) fn count_users(&self) -> usize {
        self.states.keys().map(|caller| &caller.user).collect::<HashSet<_>>().len()
    }
}

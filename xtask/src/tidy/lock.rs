//! `Cargo.lock` is committed, so that everyone builds the same program.

use std::process::Command;

use super::model::Finding;
use crate::command;
use crate::project::Project;

const RULE: &str = "lock";

/// What is known of `Cargo.lock`.
#[derive(Clone, Copy)]
pub(crate) struct Lock {
    pub(crate) exists: bool,
    /// Whether Git tracks it; unknown where the sources came without their history.
    pub(crate) tracked: Option<bool>,
}

/// Asks the disk and Git.
pub(crate) fn state(project: &Project) -> Lock {
    let mut git = Command::new("git");
    git.args(["ls-files", "Cargo.lock"]).current_dir(&project.root);
    let tracked = command::read(&mut git).ok().map(|listed| !listed.is_empty());
    Lock { exists: project.root.join("Cargo.lock").is_file(), tracked }
}

/// Checks that it is there and tracked.
pub(crate) fn check(lock: Lock) -> Vec<Finding> {
    let advice = match lock {
        Lock { exists: false, .. } => "is missing; run `cargo metadata` and commit it",
        Lock { tracked: Some(false), .. } => "is not committed; run `git add Cargo.lock`",
        Lock { .. } => return Vec::new(),
    };
    vec![Finding { path: "Cargo.lock".to_owned(), line: 1, rule: RULE, advice: advice.to_owned() }]
}

#[cfg(test)]
mod tests {
    use super::{Lock, check};

    #[test]
    fn an_absent_or_untracked_lock_is_found() {
        assert_eq!(check(Lock { exists: true, tracked: Some(true) }), []);
        assert_eq!(check(Lock { exists: true, tracked: None }), []);
        assert_eq!(check(Lock { exists: true, tracked: Some(false) }).len(), 1);
        assert_eq!(check(Lock { exists: false, tracked: Some(true) }).len(), 1);
    }
}

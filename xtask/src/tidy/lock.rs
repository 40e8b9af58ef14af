//! `Cargo.lock` is committed, so that everyone builds the same program.

use std::process::Command;

use super::Finding;
use crate::command;
use crate::project::Project;

pub(super) fn check(project: &Project) -> Option<Finding> {
    let mut git = Command::new("git");
    git.args(["ls-files", "Cargo.lock"]).current_dir(&project.root);
    // Unknown if the sources came without their history.
    let is_tracked = command::read(&mut git).ok().map(|listed| !listed.is_empty());
    advice(project.root.join("Cargo.lock").is_file(), is_tracked)
        .map(|advice| Finding::new("Cargo.lock", "lock", advice))
}

fn advice(exists: bool, is_tracked: Option<bool>) -> Option<&'static str> {
    match (exists, is_tracked) {
        (false, _) => Some("is missing; run `cargo metadata` and commit it"),
        (true, Some(false)) => Some("is not committed; run `git add Cargo.lock`"),
        (true, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::advice;

    #[test]
    fn a_missing_or_untracked_lock_is_found() {
        assert_eq!(advice(true, Some(true)), None);
        assert_eq!(advice(true, None), None);
        assert!(advice(true, Some(false)).is_some());
        assert!(advice(false, Some(true)).is_some());
    }
}

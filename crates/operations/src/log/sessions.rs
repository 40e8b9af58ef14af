//! Tells which sessions that have changed notebooks are connected. Each holds a lock on a file of its own, which the system
//! releases however the session's program ends.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use uuid::Uuid;

use crate::line_file::remove_old;

/// Beside the logs.
const FOLDER: &str = "sessions";
/// The age from which the file of a session is removed because its program was killed.
const MIN_AGE: Duration = Duration::from_secs(24 * 3600);

/// Shows other programs that a session is connected, from its first change until this is dropped.
#[derive(Debug)]
pub struct SessionLock {
    name: String,
    held: Mutex<Option<(PathBuf, File)>>,
}

impl Default for SessionLock {
    /// Touches no file yet.
    fn default() -> Self {
        Self { name: Uuid::new_v4().simple().to_string(), held: Mutex::default() }
    }
}

impl SessionLock {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// If this is not possible, the session counts as one that has ended.
    pub(super) fn hold(&self, root: &Path) {
        let mut held = self.held.lock();
        if held.is_none() {
            *held = self.create(root).ok();
        }
    }

    fn create(&self, root: &Path) -> io::Result<(PathBuf, File)> {
        let folder = root.join(FOLDER);
        state::create_folder(&folder)?;
        let path = folder.join(&self.name);
        let file = state::options().create_new(true).open(&path)?;
        file.lock()?;
        Ok((path, file))
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        if let Some((path, _)) = self.held.get_mut() {
            // A file that stays is removed another time.
            let _ = fs::remove_file(path);
        }
    }
}

/// Whether the session of this name holds its lock.
pub(super) fn is_connected(root: &Path, name: &str) -> bool {
    // A log may have been damaged.
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_name && is_locked(&root.join(FOLDER).join(name))
}

/// Removes the files of sessions whose programs were killed.
pub(super) fn prune(root: &Path, now: SystemTime) {
    remove_old(&root.join(FOLDER), now, MIN_AGE, is_locked);
}

fn is_locked(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| state::is_locked(&file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_connected_from_its_first_change_to_its_end() {
        let root = tempfile::tempdir().unwrap();
        let (lock, other) = (SessionLock::default(), SessionLock::default());
        let name = lock.name().to_owned();
        assert!(!is_connected(root.path(), &name));
        lock.hold(root.path());
        lock.hold(root.path());
        assert!(is_connected(root.path(), &name) && !is_connected(root.path(), other.name()));
        drop(lock);
        assert!(!is_connected(root.path(), &name));
        assert_eq!(fs::read_dir(root.path().join(FOLDER)).unwrap().count(), 0);
    }

    #[test]
    fn files_of_killed_programs_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let lock = SessionLock::default();
        lock.hold(root.path());
        let left = root.path().join(FOLDER).join("abc");
        fs::write(&left, "").unwrap();
        prune(root.path(), SystemTime::now());
        assert!(left.exists());
        prune(root.path(), SystemTime::now() + MIN_AGE * 2);
        assert!(!left.exists() && is_connected(root.path(), lock.name()));
    }
}

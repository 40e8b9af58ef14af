//! The lock under which one server at a time starts the kernel of a notebook.

use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep};

use crate::state_folder::StateFolder;

/// How many bytes of the digest are in the name of the file.
const NAME_BYTES: usize = 16;
/// How often a lock is tried that another server holds.
const LOCK_PAUSE: Duration = Duration::from_millis(20);
/// How long another server may take to start a kernel. One that takes longer may have been stopped; then both start one.
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// Held by the server that starts the kernel of a notebook: one that comes later joins its kernel.
#[derive(Debug)]
pub struct StartLock {
    path: PathBuf,
    _file: File,
}

impl StartLock {
    /// Waits until no other server starts the kernel of `notebook`. Fails after a minute, and without a state folder.
    pub async fn take(state: &StateFolder, notebook: &Path) -> io::Result<Self> {
        let folder = state.of_start_locks().ok_or(io::ErrorKind::NotFound)?;
        let path = folder.join(file_name(notebook));
        state::create_folder_of(&path)?;
        let deadline = Instant::now() + LOCK_TIMEOUT;
        loop {
            let file = state::open_lock(&path)?;
            match state::try_lock(&file)? {
                true if is_at(&file, &path) => return Ok(Self { path, _file: file }),
                // Whoever held it has removed it.
                true => {}
                false if Instant::now() >= deadline => return Err(io::ErrorKind::TimedOut.into()),
                false => sleep(LOCK_PAUSE).await,
            }
        }
    }
}

impl Drop for StartLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The same in every version of this program, so that servers of two versions wait for each other.
fn file_name(notebook: &Path) -> String {
    const_hex::encode(&Sha256::digest(notebook.as_os_str().as_bytes())[..NAME_BYTES])
}

fn is_at(file: &File, path: &Path) -> bool {
    let (file, there) = (file.metadata(), fs::symlink_metadata(path));
    file.ok().zip(there.ok()).is_some_and(|(file, there)| file.ino() == there.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_lock_is_the_same_in_every_version() {
        assert_eq!(file_name(Path::new("/a.ipynb")), "42f05fcb4ee732c9e16f95a3e7aa6fc0");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_never_ends_its_start_is_not_waited_for_any_longer() {
        let temporary = tempfile::tempdir().unwrap();
        let state = StateFolder::at(temporary.path());
        let notebook = Path::new("/a.ipynb");
        let held = StartLock::take(&state, notebook).await.unwrap();
        let waited = StartLock::take(&state, notebook);
        let waited = tokio::time::timeout(LOCK_TIMEOUT * 2, waited).await.unwrap();
        assert_eq!(waited.unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(held);
        StartLock::take(&state, notebook).await.unwrap();
    }
}

//! How a browser's last attempt to connect a Colab tab ended, kept for the doctor.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use colab::Attempt;
use environments::ProcessEnv;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// A page that connects again and again does not make us write each time.
const BETWEEN_WRITES: Duration = Duration::from_secs(1);

/// The last attempt at any server of this user.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionAttempt {
    pub(crate) time: SystemTime,
    pub(crate) is_connected: bool,
    /// A sentence.
    pub(crate) what: String,
}

impl ConnectionAttempt {
    /// The one that was kept, if there is one that can be read.
    pub(crate) fn read(process_env: &ProcessEnv) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(file(process_env)?).ok()?).ok()
    }

    pub(crate) fn age(&self, now: SystemTime) -> Duration {
        now.duration_since(self.time).unwrap_or_default()
    }

    /// Replaces the file as a whole; only the user can read it.
    fn write(&self, file: &Path) -> io::Result<()> {
        state::replace(file, &serde_json::to_vec(self)?)
    }
}

fn file(process_env: &ProcessEnv) -> Option<PathBuf> {
    Some(process_env.own_state_dir()?.join("colab-attempt.json"))
}

/// Keeps each attempt until the tabs are gone. Without a home folder it keeps nothing.
pub async fn store_attempts(mut attempts: watch::Receiver<Option<Attempt>>, process_env: ProcessEnv) {
    let Some(file) = file(&process_env) else { return };
    while attempts.changed().await.is_ok() {
        let Some(Attempt { is_connected, what }) = attempts.borrow_and_update().clone() else { continue };
        let attempt = ConnectionAttempt { time: SystemTime::now(), is_connected, what };
        let file = file.clone();
        match tokio::task::spawn_blocking(move || attempt.write(&file)).await {
            Ok(Ok(())) => {}
            // It only helps the doctor, and in a container there may be no place for it.
            Ok(Err(error)) => tracing::debug!(%error, "the attempt to connect a tab was not recorded"),
            Err(_) => return,
        }
        tokio::time::sleep(BETWEEN_WRITES).await;
    }
}

//! Starts this program once to store what ran while no server was attached. The keeper itself knows no notebooks.

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::process::Command;

use super::Keep;

/// How long a server that starts again may take to store the runs itself.
const GRACE: Duration = Duration::from_secs(5);

/// What is known of runs to store.
#[derive(Debug, Default)]
pub(in crate::keeper) struct Settling {
    /// `None` if runs wait for the next server.
    program: Option<PathBuf>,
    /// The runs for which it was started. Once for each: where it fails, the next server stores them.
    tried: HashSet<String>,
    due: Option<Instant>,
}

impl Settling {
    pub(in crate::keeper) fn with(program: PathBuf) -> Self {
        Self { program: Some(program), ..Self::default() }
    }

    /// When [`Keep::settle`] is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.due
    }
}

impl Keep {
    /// Starts the program if runs have ended that no server follows.
    pub(super) fn settle(&mut self, now: Instant) {
        let Some(program) = &self.settling.program else { return };
        let is_followed = self.clients.values().any(|client| client.is_following);
        let runs = if is_followed { Vec::new() } else { self.runs.to_settle() };
        if runs.iter().all(|run| self.settling.tried.contains(*run)) {
            self.settling.due = None;
            return;
        }
        if *self.settling.due.get_or_insert(now + GRACE) > now {
            return;
        }
        self.settling.due = None;
        self.settling.tried.extend(runs.into_iter().map(str::to_owned));
        let mut command = Command::new(program);
        command.arg("keep").arg("--settle").arg(&self.folder.path).current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // It ends by itself, and the runtime reaps it.
        if let Err(error) = command.spawn() {
            tracing::warn!(%error, "the runs of a server that has ended cannot be stored");
        }
    }
}

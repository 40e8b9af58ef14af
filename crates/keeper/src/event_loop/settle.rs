//! Starts this program once to store the runs of servers that have gone. The keeper itself knows no notebooks.

use notebook::RunId;
use std::collections::HashSet;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::process::{Child, Command};

use super::Keeper;

/// How long a server that starts again may take to store the runs itself.
const GRACE: Duration = Duration::from_secs(5);

/// What is known of runs to store.
#[derive(Debug, Default)]
pub(crate) struct Settling {
    /// `None` if runs wait for the next server.
    program: Option<PathBuf>,
    /// The runs for which it was started. Once for each: where it fails, the next server stores them.
    tried: HashSet<RunId>,
    due: Option<Instant>,
    /// The process that was started last.
    storing: Option<Child>,
}

impl Settling {
    pub(crate) fn with(program: PathBuf) -> Self {
        Self { program: Some(program), ..Self::default() }
    }

    /// When [`Keeper::settle`] is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.due
    }

    /// The process that stores runs now, or did last.
    pub(super) fn process(&self) -> Option<u32> {
        self.storing.as_ref().and_then(Child::id)
    }

    /// Whether runs are being stored, or soon will be.
    pub(super) fn is_pending(&mut self) -> bool {
        self.due.is_some() || self.storing.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }
}

impl Keeper {
    /// Starts the program if runs have ended that no server follows. One that is attached learns of them only with its next
    /// run.
    pub(super) fn settle(&mut self, now: Instant) {
        let Some(program) = &self.settling.program else { return };
        let runs = self.runs.to_settle();
        if runs.iter().all(|run| self.settling.tried.contains(*run)) {
            self.settling.due = None;
            return;
        }
        if *self.settling.due.get_or_insert(now + GRACE) > now {
            return;
        }
        self.settling.due = None;
        self.settling.tried.extend(runs.into_iter().cloned());
        let mut command = Command::new(program);
        command.arg("keep").arg("--settle").arg(&self.folder.path).current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // It ends by itself.
        match command.spawn() {
            Ok(child) => self.settling.storing = Some(child),
            Err(error) => {
                tracing::warn!(%error, "the runs of a server that has ended cannot be stored");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use kernel::log::{Announcement, LogEvent, LogRecord};
    use serde_json::Value;
    use tokio::net::UnixStream;

    use super::*;
    use crate::folder::KeeperFolder;
    use crate::lifetime::Lifetimes;
    use crate::log::Log;
    use crate::protocol::KernelPhase;
    use crate::tests::script;

    /// The keeper of an idle kernel with a run that has ended without its server. The program that stores it goes on for long.
    fn keeper(path: &std::path::Path) -> Keeper {
        let folder = KeeperFolder { path: path.to_path_buf() };
        let lock = folder.lock().unwrap().unwrap();
        let log = Log::create(path).unwrap();
        let mut keeper = Keeper::new(folder, lock, log, Lifetimes::of_idle(Duration::ZERO));
        let program = path.join("program");
        script(&program, "exec sleep 1000");
        keeper.settling = Settling::with(program);
        keeper.status.phase = KernelPhase::Running;
        let announcement = Announcement { run: "r1".into(), message: Some("m1".into()), data: Value::Null };
        keeper.record(&LogRecord::Announced(announcement));
        keeper.record(&LogRecord::Event(LogEvent::Ended { message: "m1".into() }));
        keeper
    }

    #[tokio::test]
    async fn a_kernel_does_not_expire_before_its_runs_are_stored() {
        let folder = tempfile::tempdir().unwrap();
        let mut keeper = keeper(folder.path());
        let ended = Instant::now();
        assert_eq!(keeper.settled_or_expired(ended), None, "storing is due later");
        assert!(keeper.settling.deadline().is_some());
        assert_eq!(keeper.settled_or_expired(ended + GRACE), None, "the process has just been started");
        keeper.settling.storing.as_mut().unwrap().kill().await.unwrap();
        assert!(keeper.settled_or_expired(ended + GRACE).is_some());
    }

    #[tokio::test]
    async fn runs_of_a_server_that_has_gone_are_stored_although_another_is_attached() {
        let folder = tempfile::tempdir().unwrap();
        let mut keeper = keeper(folder.path());
        let (_other, ours) = UnixStream::pair().unwrap();
        keeper.serve(ours);
        keeper.clients.values_mut().for_each(|client| client.is_following = true);
        keeper.settle(Instant::now());
        assert!(keeper.settling.deadline().is_some());
    }
}

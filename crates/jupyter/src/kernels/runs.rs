//! The runs on one kernel that a later server is to find again, and those that earlier servers have left.

use std::sync::Arc;

use ::kernel::log::{Announcement, LogRecord, RunRecord};
use ::kernel::{Client, LossCause, Outcome, TimedEvents};
use parking_lot::Mutex;
use place::{ClientExecutor, Executor, LeftoverRun, NotebookPath, Orphan, RunDetails, RunId, RunLogger};
use run_logs::{Past, RunLog, RunLogs};
use transports::{RecordLog, SessionLog, read_logged};

use crate::paths::Prefix;

/// Where runs are logged, for all kernels of a place.
#[derive(Debug, Clone)]
pub(crate) struct RunLogging {
    pub(crate) logs: RunLogs,
    pub(crate) prefix: Prefix,
}

/// The runs on one kernel.
pub(super) struct KernelRuns {
    logging: RunLogging,
    server: String,
    kernel: String,
    /// That of our connections.
    log: Arc<RunLog>,
    left: Mutex<EarlierRuns>,
}

/// What earlier servers have left.
#[derive(Default)]
struct EarlierRuns {
    /// What our log had in it when we claimed it. Its runs are followed.
    past: Option<Past>,
    /// Logs that can only be read, with the end of the runs that do not end there.
    ended: Vec<(RunLog, Past, Outcome)>,
    orphans: Vec<Orphan>,
    has_looked_elsewhere: bool,
}

impl KernelRuns {
    /// Claims what earlier servers have left of the runs on a kernel.
    pub(super) fn new(logging: RunLogging, server: String, kernel: String) -> Arc<Self> {
        let mut claimed = logging.logs.claim(&server, &kernel);
        let mut left = EarlierRuns::default();
        // The server keeps messages only for the session that was connected last.
        let log = match claimed.pop() {
            Some((log, past)) => {
                left.past = Some(past);
                log
            }
            None => logging.logs.begin(&server, &kernel),
        };
        let cause = LossCause::Disconnected { cause: "the program that made it ended".to_owned() };
        let outcome = Outcome::Lost { is_started: false, cause };
        left.ended.extend(claimed.into_iter().map(|(log, past)| (log, past, outcome.clone())));
        Arc::new(Self { logging, server, kernel, log: Arc::new(log), left: Mutex::new(left) })
    }

    /// A run waits for its turn.
    pub(super) fn announce(&self, details: &RunDetails) {
        self.log.append(&LogRecord::Announced(self.logging.announcement(details)));
    }

    /// A run that was announced does not run.
    pub(super) fn retract(&self, run: &RunId) {
        self.log.acknowledge(run);
    }

    /// The kernel is gone. What was left there and not seen yet is found again with the next kernel.
    pub(super) fn kernel_gone(&self) {
        let mut left = self.left.lock();
        left.ended.clear();
        if left.past.take().is_some() {
            self.log.release();
        } else {
            self.log.retract_waiting();
        }
    }

    /// For a connection.
    pub(super) fn session_log(&self) -> SessionLog {
        session_log(&self.log, self.left.lock().past.as_ref())
    }

    /// The connection is made: `events` are those of the runs in [`SessionLog::followed`].
    pub(super) fn connected(&self, client: &Client, events: Vec<TimedEvents>) {
        let mut left = self.left.lock();
        let Some(past) = left.past.take() else { return };
        let orphans = self.logging.orphans(past, events, client, &self.log);
        left.orphans.extend(orphans);
    }

    pub(super) fn executor(&self, client: Client) -> Arc<dyn Executor> {
        self.logging.executor(client, &self.log)
    }

    /// The kernels of this server of which there are logs: those that are gone have left runs. Returns them once.
    pub(super) fn other_kernels(&self) -> Vec<String> {
        if std::mem::replace(&mut self.left.lock().has_looked_elsewhere, true) {
            return Vec::new();
        }
        let mut kernels = self.logging.logs.kernels(&self.server);
        kernels.retain(|kernel| *kernel != self.kernel);
        kernels
    }

    /// The runs that our other servers have sent to the kernel and that have not ended. Reads files.
    pub(super) fn of_others(&self) -> Vec<RunDetails> {
        let others = self.logging.logs.running(&self.server, &self.kernel, &self.log);
        others.iter().map(|run| self.logging.details(&run.announcement)).collect()
    }

    /// Another kernel of the server is gone. Claims the runs that were left there.
    pub(super) fn claim_gone(&self, kernel: &str, how: &str) {
        let outcome = Outcome::KernelDied { how: how.into() };
        let claimed = self.logging.logs.claim(&self.server, kernel).into_iter();
        self.left.lock().ended.extend(claimed.map(|(log, past)| (log, past, outcome.clone())));
    }

    /// Whether earlier servers have left runs that are not taken yet.
    pub(super) fn has_orphans(&self) -> bool {
        let left = self.left.lock();
        left.past.is_some() || !left.ended.is_empty() || !left.orphans.is_empty()
    }

    /// The runs of earlier servers; each is returned once.
    pub(super) async fn take_orphans(&self, client: &Client) -> Vec<Orphan> {
        let (ended, mut orphans) = {
            let mut left = self.left.lock();
            (std::mem::take(&mut left.ended), std::mem::take(&mut left.orphans))
        };
        for (log, past, outcome) in ended {
            let log = Arc::new(log);
            let events = read_logged(session_log(&log, Some(&past)), outcome).await;
            orphans.extend(self.logging.orphans(past, events, client, &log));
        }
        orphans
    }
}

/// A log, with what was in it when it was claimed.
fn session_log(log: &Arc<RunLog>, past: Option<&Past>) -> SessionLog {
    SessionLog {
        session: log.header.session.clone(),
        past: past.map(|past| past.records.clone()).unwrap_or_default(),
        followed: past.map(Past::requests).unwrap_or_default(),
        log: log.clone(),
    }
}

impl RunLogging {
    /// In the log, the notebook's path begins at the root of the server.
    fn announcement(&self, details: &RunDetails) -> Announcement {
        let notebook = details.notebook.as_deref().and_then(|path| self.prefix.strip(path).ok());
        RunDetails { notebook: notebook.map(NotebookPath::new), ..details.clone() }.announcement()
    }

    /// What [`Self::announcement`] announced.
    fn details(&self, announcement: &Announcement) -> RunDetails {
        let details = RunDetails::announced(announcement);
        let notebook = details.notebook.as_deref().map(|path| NotebookPath::new(self.prefix.shown(path)));
        RunDetails { notebook, ..details }
    }

    /// The runs that earlier servers have left on the kernels of `server`. Reads files.
    pub(super) fn left(&self, server: &str) -> Vec<LeftoverRun> {
        let left = self.logs.open_runs(server).into_iter().filter(|(_, is_left)| *is_left);
        left.map(|(run, _)| LeftoverRun { details: self.details(&run.announcement), state: None }).collect()
    }

    fn executor(&self, client: Client, log: &Arc<RunLog>) -> Arc<ClientExecutor> {
        ClientExecutor::logged(client, Arc::new(ServerLogger { log: log.clone(), logging: self.clone() }))
    }

    fn orphans(
        &self,
        past: Past,
        events: Vec<TimedEvents>,
        client: &Client,
        log: &Arc<RunLog>,
    ) -> Vec<Orphan> {
        let mut events = events.into_iter();
        let orphan = |run: RunRecord| {
            let events = run.announcement.message.is_some().then(|| events.next()).flatten();
            let details = self.details(&run.announcement);
            Orphan::new(run, details, events, self.executor(client.clone(), log))
        };
        past.open.into_iter().map(orphan).collect()
    }
}

/// Logs the runs on one connection.
struct ServerLogger {
    log: Arc<RunLog>,
    logging: RunLogging,
}

impl RunLogger for ServerLogger {
    fn announcement(&self, run: &RunDetails) -> Announcement {
        self.logging.announcement(run)
    }

    fn acknowledge(&self, run: &RunId) {
        self.log.acknowledge(run);
    }
}

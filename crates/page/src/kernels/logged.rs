//! Runs in logs that programs of this user write: those of keepers, and those of runs on a server's kernels.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use keeper::LogFollower;
use kernel::log::LoggedRun;
use parking_lot::Mutex;
use place::{Error, ErrorKind, NotebookPath, Place, RunDetails, RunId, RunState};
use run_logs::{CurrentLog, RunLogs};

use super::server::RunSource;
use super::{MAX_ENDED, RECENT, SeenRun};

/// Longest time that a run is unfinished on an idle kernel: after it, the program that requested the run has ended.
const IDLE: Duration = Duration::from_secs(5);

/// The runs on the kernels of a server, from their logs.
pub(super) struct LoggedRuns {
    place: Arc<dyn Place>,
    logs: Option<RunLogs>,
    followed: Arc<Mutex<HashMap<PathBuf, LogFollower>>>,
}

impl LoggedRuns {
    /// `folder` is that of the logs.
    pub(super) fn new(place: Arc<dyn Place>, folder: Option<PathBuf>) -> Self {
        Self { place, logs: folder.map(RunLogs::new), followed: Arc::default() }
    }
}

impl RunSource for LoggedRuns {
    fn runs(&self) -> BoxFuture<'_, HashMap<String, Vec<SeenRun>>> {
        async {
            let Some(logs) = self.logs.clone() else { return HashMap::new() };
            let (server, followed) = (self.place.name(), self.followed.clone());
            let reading =
                tokio::task::spawn_blocking(move || read(&logs.current(&server), &mut followed.lock()));
            reading.await.unwrap_or_default()
        }
        .boxed()
    }

    fn is_current(&self, run: &SeenRun, is_busy: bool) -> bool {
        let age = || run.since.and_then(|at| SystemTime::now().duration_since(at).ok());
        is_busy || run.state.is_over() || age().is_none_or(|age| age <= IDLE)
    }

    /// The caller that started the run would ask on the page itself.
    fn answer_input(&self, run: &RunId, _line: String) -> Result<(), Error> {
        let cause = format!("The program that started run {run} asks only in the agent's client.");
        Err(Error::new(ErrorKind::Unsupported, cause, "Answer it there."))
    }
}

/// Reads what was added to logs, and returns the runs in them by kernel.
fn read(
    current: &[CurrentLog],
    followed: &mut HashMap<PathBuf, LogFollower>,
) -> HashMap<String, Vec<SeenRun>> {
    followed.retain(|path, _| current.iter().any(|log| log.path == *path));
    let mut runs = HashMap::<String, Vec<SeenRun>>::new();
    for CurrentLog { path, kernel, start } in current {
        let log = followed.entry(path.clone());
        let log = log.or_insert_with(|| LogFollower::of_file(path.clone(), *start));
        // A log that cannot be read has no runs.
        let _ = log.read();
        let seen = seen_runs(log, true, |notebook| Some(NotebookPath::from(notebook.to_str()?)));
        let seen = seen.into_iter().map(|run| SeenRun { takes_input: false, ..run });
        runs.entry(kernel.clone()).or_default().extend(seen);
    }
    runs
}

/// The runs in a log that are not over and those that ended last. `path` gives the notebook of a file, if that is in the place.
pub(super) fn seen_runs(
    log: &LogFollower,
    is_alive: bool,
    path: impl Fn(&Path) -> Option<NotebookPath>,
) -> Vec<SeenRun> {
    let mut ended = 0;
    let is_seen = |run: &&LoggedRun| {
        let is_over = run.stage.is_over() || !is_alive;
        ended += usize::from(is_over);
        // One that was withdrawn before it was sent has no end.
        if is_over { ended <= MAX_ENDED } else { !run.record.is_acknowledged }
    };
    let seen = log.runs().rev().filter(is_seen).map(|run| seen_run(run, is_alive, &path));
    let mut runs: Vec<SeenRun> = seen.collect();
    runs.reverse();
    runs
}

fn seen_run(run: &LoggedRun, is_alive: bool, path: impl Fn(&Path) -> Option<NotebookPath>) -> SeenRun {
    let is_over = run.stage.is_over();
    let age = || run.changed_at.and_then(|at| SystemTime::now().duration_since(at).ok());
    let is_recent = is_over && age().is_some_and(|age| age < RECENT);
    let has_outputs = (!is_over || is_recent) && run.is_whole();
    let state = if is_over || is_alive {
        run.stage.clone().into()
    } else {
        RunState::KernelDied { how: "its keeper has ended".into() }
    };
    let RunDetails { run: id, notebook, cell, source, .. } = RunDetails::announced(&run.record.announcement);
    SeenRun {
        id,
        notebook: notebook.as_deref().map(Path::new).and_then(path),
        cell,
        source,
        state,
        since: run.started_at.or(Some(run.record.announced_at)),
        execution_count: run.execution_count,
        outputs: has_outputs.then(|| run.outputs().into()),
        version: if has_outputs { run.version } else { 0 },
        is_recent,
        takes_input: true,
        is_interruptible: true,
    }
}

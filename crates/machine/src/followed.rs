//! The runs in a log, as the page sees them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use keeper::{LogFollower, LoggedRun, Shown};
use notebook::Output;
use page::SeenRun;
use place::{NotebookPath, RunId, RunState};

/// How many runs that have ended are looked at.
const MAX_ENDED: usize = 20;
/// How long the outputs of a run that has ended may take to be in its notebook.
const RECENT: Duration = Duration::from_secs(3);

/// A log that is followed.
pub(crate) struct Followed {
    pub(crate) log: LogFollower,
    /// The outputs of runs as they were last passed on, with their version.
    outputs: HashMap<RunId, (u64, Arc<[Output]>)>,
}

impl Followed {
    pub(crate) fn new(log: LogFollower) -> Self {
        Self { log, outputs: HashMap::new() }
    }

    /// The runs that are not over and those that ended last. `path` gives the notebook of a file, if that is in the place.
    pub(crate) fn runs(
        &mut self,
        is_alive: bool,
        path: impl Fn(&Path) -> Option<NotebookPath>,
    ) -> Vec<SeenRun> {
        let mut runs: Vec<SeenRun> = Vec::new();
        let mut ended = 0;
        for (run, shown) in self.log.runs().rev() {
            if run.state.is_over() || !is_alive {
                ended += 1;
                if ended > MAX_ENDED {
                    continue;
                }
            }
            runs.push(seen_run(run, shown, is_alive, &path, &mut self.outputs));
        }
        runs.reverse();
        self.outputs.retain(|id, _| runs.iter().any(|run| *run.id == **id));
        runs
    }
}

fn seen_run(
    run: &LoggedRun,
    shown: &Shown,
    is_alive: bool,
    path: impl Fn(&Path) -> Option<NotebookPath>,
    outputs: &mut HashMap<RunId, (u64, Arc<[Output]>)>,
) -> SeenRun {
    let is_over = run.state.is_over();
    let is_recent = is_over
        && shown
            .changed_at
            .is_some_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age < RECENT));
    let of_run = (!is_over || is_recent) && shown.is_whole();
    let shown_outputs = of_run.then(|| {
        let known = outputs.entry(run.run.clone()).or_insert_with(|| (shown.version, shown.outputs().into()));
        if known.0 != shown.version {
            *known = (shown.version, shown.outputs().into());
        }
        known.1.clone()
    });
    let state = if is_over || is_alive {
        run.state.clone()
    } else {
        RunState::KernelDied { how: "its keeper has ended".to_owned() }
    };
    SeenRun {
        id: run.run.clone(),
        notebook: run.data.notebook.as_deref().and_then(path),
        cell: run.data.cell.clone(),
        source: run.data.source.clone(),
        state,
        since: shown.started_at.or(shown.requested_at),
        execution_count: shown.execution_count,
        outputs: shown_outputs,
        version: if of_run { shown.version } else { 0 },
        is_recent,
        takes_input: true,
        is_interruptible: true,
    }
}

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use notebook::{Cell, CellId, Output};
use parking_lot::Mutex;
use place::{Error, ErrorKind, NextStep, NotebookPath, RunDetails, RunId, RunState};

use crate::outputs;
use crate::run::Run;
use crate::view::RunCell;

/// How many runs are remembered. Older ones that are over are forgotten.
const MAX_RUNS: usize = 500;
/// How many bytes of outputs are kept of runs that are over, besides those of the newest.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// All runs of this process, and those that it has adopted. Any session finds them by id.
#[derive(Default)]
pub struct Journal {
    entries: Mutex<Entries>,
    /// Ends the ids of our runs, so that no other server uses them; empty where no server adopts them.
    suffix: String,
}

#[derive(Default)]
struct Entries {
    count: u64,
    runs: VecDeque<Arc<Run>>,
}

impl Journal {
    /// A journal whose runs have ids that end so.
    pub(crate) fn with_suffix(suffix: String) -> Self {
        Self { entries: Mutex::default(), suffix }
    }

    /// Adds a new run.
    pub fn begin(&self, cell: Option<RunCell>, source: String) -> Arc<Run> {
        let mut entries = self.entries.lock();
        entries.count += 1;
        let run = Arc::new(Run::new(RunId::new(format!("r{}{}", entries.count, self.suffix)), cell, source));
        entries.runs.push_back(run.clone());
        entries.make_room();
        run
    }

    /// Adds a run of an earlier server among those that were requested at the same time. `None` if it is known; one that was lost has
    /// been found, and takes the place of what was known.
    pub(crate) fn adopt(&self, details: RunDetails, requested_at: SystemTime) -> Option<Arc<Run>> {
        let mut entries = self.entries.lock();
        if let Some(index) = entries.runs.iter().position(|run| *run.id() == details.run) {
            if !matches!(entries.runs[index].state(), RunState::Lost { .. }) {
                return None;
            }
            entries.runs.remove(index);
        }
        let run = Arc::new(Run::adopted(details, requested_at));
        let at = entries.runs.partition_point(|known| known.requested_at() <= run.requested_at());
        entries.runs.insert(at, run.clone());
        entries.make_room();
        Some(run)
    }

    /// The run with this id, whose suffix may be missing. Fails with the reason if there is none.
    pub fn run(&self, id: &RunId) -> Result<Arc<Run>, Error> {
        let entries = self.entries.lock();
        // Models leave the server's suffix out.
        let ours = format!("{id}{}", self.suffix);
        if let Some(run) = entries.runs.iter().find(|run| run.id() == id || run.id().as_str() == ours) {
            return Ok(run.clone());
        }
        let latest = entries.runs.iter().rev().take(5).map(|run| run.id().to_string()).collect();
        let cause = format!("There is no run {id:?}{}.", self.why_unknown(id, entries.count));
        Err(Error::new(ErrorKind::NotFound, cause, NextStep::GetRun { latest }))
    }

    /// Why no run has this id, as far as the id tells.
    fn why_unknown(&self, id: &RunId, count: u64) -> &'static str {
        let Some((number, suffix)) =
            id.strip_prefix('r').map(|id| id.split_at(id.find('-').unwrap_or(id.len())))
        else {
            return "";
        };
        let Ok(number) = number.parse::<u64>() else { return "" };
        if !suffix.is_empty() && suffix != self.suffix {
            return ". Another server started it. Its kernel was stopped, has run 50 other cells since, or belongs to another \
             folder. If the run had a cell, the outputs are there";
        }
        if (1..=count).contains(&number) { ": only the last 500 runs are remembered" } else { "" }
    }

    /// The runs that are remembered, the newest first.
    pub fn runs(&self) -> Vec<Arc<Run>> {
        self.entries.lock().runs.iter().rev().cloned().collect()
    }

    /// The runs of a notebook's cells that have not ended, or of which the history may not know yet, the oldest first.
    pub fn unfinished(&self, path: &NotebookPath) -> Vec<Arc<Run>> {
        let entries = self.entries.lock();
        let is_of = |run: &&Arc<Run>| run.is_in(path) && !run.is_closed();
        entries.runs.iter().filter(is_of).cloned().collect()
    }

    /// The newest run of a cell.
    pub fn latest_of(&self, path: &NotebookPath, id: &CellId) -> Option<Arc<Run>> {
        let entries = self.entries.lock();
        let is_of = |run: &&Arc<Run>| run.cell().is_some_and(|cell| cell.path == *path && cell.id == *id);
        entries.runs.iter().rev().find(is_of).cloned()
    }

    /// All that the last run of a cell has shown, if the cell has only a part of it.
    pub fn whole_outputs(&self, path: &NotebookPath, cell: &Cell) -> Option<Arc<[Output]>> {
        let run = self.latest_of(path, cell.id()).filter(|run| run.state().is_over())?;
        let outputs = run.cell_outputs();
        let is_its =
            run.view().execution_count == cell.execution_count() && outputs.len() == cell.output_count();
        (is_its && outputs.iter().any(outputs::is_cut)).then_some(outputs)
    }
}

impl Entries {
    fn make_room(&mut self) {
        while self.runs.len() > MAX_RUNS && self.runs.front().is_some_and(|run| run.state().is_over()) {
            self.runs.pop_front();
        }
        let mut held = 0;
        for run in self.runs.iter().rev().skip(1).filter(|run| run.is_closed()) {
            let size = run.with(|it| it.area.size_bytes());
            held += size;
            if held > MAX_BYTES && size > 0 {
                run.drop_outputs();
                held -= size;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kernel::{Event, Outcome};
    use place::RunState;

    use super::*;

    fn print(run: &Run, size: usize) {
        let text = "x".repeat(size).as_str().into();
        run.on_event(Event::Output {
            output: Output::Stream { name: "stdout".into(), text },
            display_id: None,
        });
    }

    #[test]
    fn runs_are_found_by_id_and_by_cell() {
        let journal = Journal::default();
        let cell = RunCell { path: "a.ipynb".into(), id: "c1".into() };
        let first = journal.begin(Some(cell.clone()), "1".into());
        let second = journal.begin(Some(cell), "2".into());
        assert_eq!(journal.run(first.id()).unwrap().source(), "1");
        assert_eq!(journal.latest_of(&"a.ipynb".into(), &"c1".into()).unwrap().id(), second.id());
        assert!(journal.latest_of(&"b.ipynb".into(), &"c1".into()).is_none());
        let error = journal.run(&"r99".into()).err().unwrap();
        assert_eq!(error.next, NextStep::GetRun { latest: vec!["r2".into(), "r1".into()] });
    }

    #[test]
    fn a_run_that_is_over_is_unfinished_until_it_is_closed() {
        let journal = Journal::default();
        let cell = RunCell { path: "a.ipynb".into(), id: "c1".into() };
        let run = journal.begin(Some(cell), "1".into());
        run.on_event(Event::Finished(Outcome::Done { execution_count: Some(1), next_input: None }));
        assert!(run.state().is_over());
        assert_eq!(journal.unfinished(&"a.ipynb".into()).len(), 1, "nobody knows yet what it has done");
        run.close();
        assert_eq!(journal.unfinished(&"a.ipynb".into()).len(), 0);
    }

    fn details(run: &str) -> RunDetails {
        RunDetails {
            run: run.into(),
            notebook: Some("a.ipynb".into()),
            cell: Some("c1".into()),
            source: "early".to_owned(),
            ..RunDetails::default()
        }
    }

    #[test]
    fn runs_of_an_earlier_server_are_older_than_ours() {
        let journal = Journal::with_suffix("-x".to_owned());
        let cell = RunCell { path: "a.ipynb".into(), id: "c1".into() };
        let ours = journal.begin(Some(cell), "late".into());
        assert_eq!(ours.id().as_str(), "r1-x");
        let earlier = SystemTime::now() - Duration::from_secs(60);
        let adopted = journal.adopt(details("r1-y"), earlier).unwrap();
        assert!(adopted.elapsed() >= Duration::from_secs(59));
        assert!(journal.adopt(details("r1-y"), earlier).is_none());
        assert_eq!(journal.latest_of(&"a.ipynb".into(), &"c1".into()).unwrap().id(), ours.id());
        assert_eq!(journal.run(&"r1-y".into()).unwrap().source(), "early");
        assert_eq!(journal.run(&"r1".into()).unwrap().id(), ours.id());
    }

    #[test]
    fn why_a_run_is_unknown_is_said() {
        let journal = Journal::with_suffix("-x".to_owned());
        for _ in 0..=MAX_RUNS {
            journal.begin(None, String::new()).end(RunState::Done);
        }
        let cause = |id: &str| journal.run(&id.into()).err().unwrap().cause;
        assert_eq!(cause("r1-x"), "There is no run \"r1-x\": only the last 500 runs are remembered.");
        assert_eq!(cause("r9999-x"), "There is no run \"r9999-x\".");
        assert_eq!(cause("r9999"), "There is no run \"r9999\".");
        assert_eq!(cause("last"), "There is no run \"last\".");
        assert!(cause("r7-y").contains("Another server started it"), "{}", cause("r7-y"));
    }

    #[test]
    fn only_finished_runs_are_removed() {
        let journal = Journal::default();
        let endless = journal.begin(None, String::new());
        for _ in 0..MAX_RUNS * 2 {
            journal.begin(None, String::new()).end(RunState::Done);
        }
        assert!(journal.run(endless.id()).is_ok());
        endless.end(RunState::Done);
        journal.begin(None, String::new());
        assert_eq!(journal.runs().len(), MAX_RUNS);
        assert!(journal.run(endless.id()).is_err());
    }

    #[test]
    fn large_outputs_of_old_runs_are_dropped_with_a_note() {
        let journal = Journal::default();
        let runs: Vec<_> = (0..3).map(|_| journal.begin(None, String::new())).collect();
        for run in &runs {
            print(run, MAX_BYTES * 2 / 3);
            run.on_event(Event::Finished(Outcome::Done { execution_count: None, next_input: None }));
            run.close();
        }
        journal.begin(None, String::new());
        assert_eq!(runs[2].view().outputs.len(), 1);
        assert_eq!(runs[1].view().outputs.len(), 0);
        assert!(runs[1].view().notes[0].contains("free memory"));
    }
}

//! Every run of this server, found by its id whoever asked for it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::run::Run;
use crate::run_state::RunCell;
use crate::{Error, ErrorKind, NextStep, RunId};

/// The runs that are remembered; older ones that are over are forgotten.
const MOST_RUNS: usize = 500;
/// The bytes of outputs that are kept of runs that are over, besides those of the newest.
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// All runs, from request to end.
#[derive(Default)]
pub struct Journal {
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    count: u64,
    runs: VecDeque<Arc<Run>>,
}

impl Journal {
    /// Writes a new run into the journal.
    pub(crate) fn begin(&self, cell: Option<RunCell>, source: String) -> Arc<Run> {
        let mut book = self.book();
        book.count += 1;
        let run = Arc::new(Run::new(RunId::new(format!("r{}", book.count)), cell, source));
        book.runs.push_back(run.clone());
        book.make_room();
        run
    }

    /// The run with this id.
    pub fn run(&self, id: &RunId) -> Result<Arc<Run>, Error> {
        let book = self.book();
        if let Some(run) = book.runs.iter().find(|run| run.id() == id) {
            return Ok(run.clone());
        }
        let latest = book.runs.iter().rev().take(5).map(|run| run.id().clone()).collect();
        Err(Error::new(ErrorKind::NotFound, format!("There is no run {id:?}."), NextStep::GetRun { latest }))
    }

    /// All runs that are remembered, the newest first.
    pub fn runs(&self) -> Vec<Arc<Run>> {
        self.book().runs.iter().rev().cloned().collect()
    }

    /// The newest run of a cell.
    pub fn latest_of(&self, path: &str, id: &str) -> Option<Arc<Run>> {
        let book = self.book();
        let is_of = |run: &&Arc<Run>| run.cell().is_some_and(|cell| cell.path == path && cell.id == id);
        book.runs.iter().rev().find(is_of).cloned()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn make_room(&mut self) {
        while self.runs.len() > MOST_RUNS && self.runs.front().is_some_and(|run| run.state().is_over()) {
            self.runs.pop_front();
        }
        let mut held = 0;
        for run in self.runs.iter().rev().skip(1).filter(|run| run.is_closed()) {
            let size = run.output_size();
            held += size;
            if held > MOST_BYTES && size > 0 {
                run.forget_outputs();
                held -= size;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use kernel::{Event, Outcome};
    use notebook::Output;

    use super::*;
    use crate::run_state::RunState;

    fn print(run: &Run, size: usize) {
        let text = "x".repeat(size).as_str().into();
        run.take(Event::Output { output: Output::Stream { name: "stdout".into(), text }, display_id: None });
    }

    #[test]
    fn runs_are_found_by_id_and_by_cell() {
        let journal = Journal::default();
        let cell = RunCell { path: "a.ipynb".into(), id: "c1".into() };
        let first = journal.begin(Some(cell.clone()), "1".into());
        let second = journal.begin(Some(cell), "2".into());
        assert_eq!(journal.run(first.id()).unwrap().source(), "1");
        assert_eq!(journal.latest_of("a.ipynb", "c1").unwrap().id(), second.id());
        assert!(journal.latest_of("b.ipynb", "c1").is_none());
        let error = journal.run(&"r99".into()).err().unwrap();
        assert_eq!(error.next, NextStep::GetRun { latest: vec!["r2".into(), "r1".into()] });
    }

    #[test]
    fn only_runs_that_are_over_are_forgotten() {
        let journal = Journal::default();
        let endless = journal.begin(None, String::new());
        for _ in 0..MOST_RUNS * 2 {
            journal.begin(None, String::new()).end(RunState::Done);
        }
        assert!(journal.run(endless.id()).is_ok());
        endless.end(RunState::Done);
        journal.begin(None, String::new());
        assert_eq!(journal.runs().len(), MOST_RUNS);
        assert!(journal.run(endless.id()).is_err());
    }

    #[test]
    fn large_outputs_of_old_runs_make_room_and_say_so() {
        let journal = Journal::default();
        let runs: Vec<_> = (0..3).map(|_| journal.begin(None, String::new())).collect();
        for run in &runs {
            print(run, MOST_BYTES * 2 / 3);
            run.take(Event::Finished(Outcome::Done { execution_count: None, next_input: None }));
            run.close();
        }
        journal.begin(None, String::new());
        assert_eq!(runs[2].view().outputs.len(), 1);
        assert_eq!(runs[1].view().outputs.len(), 0);
        assert!(runs[1].view().notes[0].contains("make room"));
    }
}

//! Runs of earlier servers: what is stored of them, and what is acknowledged.

use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use kernel::{Event, Outcome, Sink, Status};
use notebook::{Json, Output};
use place::{Execution, Executor, Orphan, RunDetails, RunId};
use tokio::sync::{mpsc, watch};

use super::fakes::{Idle, Memory, Page};
use super::*;

/// The connection of a run that it says nothing of.
#[derive(Default)]
pub(super) struct Connection {
    acknowledged: Mutex<Vec<RunId>>,
}

impl Execution for Connection {}

impl Executor for Connection {
    fn execute(&self, _: &RunDetails, _: Sink) -> Arc<dyn Execution> {
        unreachable!("nothing new runs here")
    }

    fn acknowledge(&self, run: &RunId) {
        self.acknowledged.lock().unwrap().push(run.clone());
    }

    fn status(&self) -> watch::Receiver<Status> {
        watch::Sender::new(Status::Idle).subscribe()
    }

    fn language_info(&self) -> Json {
        Json::parse("{}".into()).unwrap()
    }
}

/// A cell that showed something when an earlier server ran it, and the run, which has printed "ours" as number `count`.
struct Earlier {
    memory: Arc<Memory>,
    session: Session,
    opened: Arc<OpenNotebook>,
    cell: CellId,
    details: RunDetails,
    count: u64,
}

impl Earlier {
    async fn new(shown: (&str, Option<u64>), count: u64) -> Self {
        let (memory, workspace) = memory();
        let session = Session::new(workspace);
        let (opened, notebook) = with_cells(&session, "a.ipynb", 1).await;
        let cell = notebook.cells()[0].id().clone();
        let left = Self {
            details: RunDetails {
                run: "r1-earlier".into(),
                notebook: Some("a.ipynb".into()),
                cell: Some(cell.clone()),
                source: "0".to_owned(),
                ..RunDetails::default()
            },
            memory,
            session,
            opened,
            cell,
            count,
        };
        let shown_before = left.show(shown).await.shown_revision();
        Self { details: RunDetails { shown_before: Some(shown_before), ..left.details }, ..left }
    }

    /// The cell shows this from now on.
    async fn show(&self, (text, execution_count): (&str, Option<u64>)) -> notebook::Cell {
        let edit =
            Edit::SetOutputs { id: self.cell.clone(), outputs: vec![printed(text)].into(), execution_count };
        let applied = self.opened.document().apply(vec![edit], Vec::new()).await.unwrap();
        applied.notebook.cells()[0].clone()
    }

    fn page(&self) -> Arc<Page> {
        self.memory.pages.lock().unwrap()[&NotebookPath::new("a.ipynb")].clone()
    }

    /// Adopts the run. Returns what the cell shows then, what the run notes, and whether the run is acknowledged.
    async fn adopted(&self) -> (String, String, bool) {
        let (orphan, executor) = orphan(&self.details, self.count);
        let kernel = Idle { orphans: Mutex::new(vec![orphan]), ..Idle::new("kept") };
        self.memory.kernels.lock().unwrap().push(Arc::new(kernel));
        self.session.adopt("kept".into()).await.unwrap();
        let run = self.session.workspace().journal().run(&self.details.run).unwrap();
        run.settled().await;
        let shown = self.page().notebook.lock().unwrap().cells()[0].outputs();
        let shown = shown.iter().map(|output| match output {
            Output::Stream { text, .. } => text.as_str().into_owned(),
            other => format!("{other:?}"),
        });
        let is_acknowledged = executor.acknowledged.lock().unwrap().contains(&self.details.run);
        (shown.collect(), run.view().notes.join(" "), is_acknowledged)
    }
}

/// A run of an earlier server that has printed "ours" as number `count`.
pub(super) fn orphan(details: &RunDetails, count: u64) -> (Orphan, Arc<Connection>) {
    let (sender, events) = mpsc::unbounded_channel();
    let done = Outcome::Done { execution_count: Some(count), next_input: None };
    for event in [Event::Output { output: printed("ours"), display_id: None }, Event::Finished(done)] {
        sender.send((SystemTime::now(), event)).unwrap();
    }
    let executor = Arc::new(Connection::default());
    let orphan = Orphan {
        details: details.clone(),
        requested_at: SystemTime::now(),
        is_stored: false,
        is_acknowledged: false,
        execution: Some((executor.clone(), events)),
        executor: executor.clone(),
    };
    (orphan, executor)
}

fn printed(text: &str) -> Output {
    Output::Stream { name: "stdout".to_owned(), text: text.into() }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_stored_is_stored_later_or_left_to_the_next_server() {
    let left = Earlier::new(("before", Some(1)), 2).await;
    let full = Error::new(ErrorKind::Unavailable, "The disk is full.", "Free some space.");
    *left.page().refusal.lock().unwrap() = Some(full);
    let (shown, notes, is_acknowledged) = left.adopted().await;
    assert_eq!((&*shown, is_acknowledged), ("before", false));
    assert!(notes.contains("could not be stored") && notes.contains("The disk is full"), "{notes}");
    *left.page().refusal.lock().unwrap() = None;
    let run = left.session.workspace().journal().run(&left.details.run).unwrap();
    let mut changes = run.changes();
    let stored = changes.wait_for(|_| run.view().notes.concat().contains("in the notebook now"));
    tokio::time::timeout(Duration::from_secs(600), stored).await.unwrap().unwrap();
    assert_eq!(left.page().notebook.lock().unwrap().cells()[0].execution_count(), Some(2));
}

#[tokio::test]
async fn a_run_whose_notebook_cannot_be_opened_from_here_is_left_to_another_server() {
    let mut left = Earlier::new(("before", Some(1)), 2).await;
    left.details.notebook = None;
    let (shown, notes, is_acknowledged) = left.adopted().await;
    assert_eq!((&*shown, is_acknowledged), ("before", false));
    assert!(notes.contains("outside this server's folder"), "{notes}");
}

#[tokio::test]
async fn outputs_replace_what_the_run_found_whatever_its_number_was() {
    for (before, count) in [(Some(120), 3), (Some(3), 120), (Some(1), 1), (None, 1)] {
        let left = Earlier::new(("before", before), count).await;
        assert_eq!(left.adopted().await, ("ours".to_owned(), String::new(), true), "{before:?}");
    }
}

#[tokio::test]
async fn outputs_of_a_later_run_stay_whatever_its_number_is() {
    for (before, later, count) in [(Some(56), 1, 57), (Some(1), 1, 7), (Some(2), 9, 3), (None, 1, 2)] {
        let left = Earlier::new(("before", before), count).await;
        left.show(("newer", Some(later))).await;
        let (shown, notes, is_acknowledged) = left.adopted().await;
        assert_eq!((&*shown, is_acknowledged), ("newer", true), "{before:?} {later}");
        assert!(notes.contains("has been run again"), "{notes}");
    }
}

#[tokio::test]
async fn what_the_earlier_server_has_shown_of_the_run_is_replaced() {
    let left = Earlier::new(("before", Some(1)), 2).await;
    // While a cell runs it has no number.
    left.show(("ou", None)).await;
    assert_eq!(left.adopted().await, ("ours".to_owned(), String::new(), true));
}

#[tokio::test]
async fn numbers_decide_where_an_earlier_version_has_noted_nothing_else() {
    for (later, shown) in [(9, "newer"), (1, "ours")] {
        let mut left = Earlier::new(("before", Some(1)), 3).await;
        left.details.shown_before = None;
        left.show(("newer", Some(later))).await;
        assert_eq!(left.adopted().await.0, shown);
    }
}

#[tokio::test]
async fn a_run_of_this_server_that_was_lost_is_found_again_and_is_of_no_earlier_one() {
    let left = Earlier::new(("before", Some(1)), 2).await;
    let place = left.session.place();
    let runner = left.session.workspace().runner();
    let (mut lost, _) = orphan(&left.details, 2);
    let (sender, events) = mpsc::unbounded_channel();
    let outcome = Outcome::Lost {
        is_started: true,
        cause: kernel::LossCause::Disconnected { cause: "a cut".to_owned() },
    };
    sender.send((SystemTime::now(), Event::Finished(outcome))).unwrap();
    lost.execution.as_mut().unwrap().1 = events;
    let mut notices = Vec::new();
    for orphan in [lost, orphan(&left.details, 2).0] {
        let kernel = Idle { orphans: Mutex::new(vec![orphan]), ..Idle::new("kept") };
        let kernel: Arc<dyn place::Kernel> = Arc::new(kernel);
        notices.extend(runner.adopt_at(&kernel, &place, None).await);
    }
    assert!(notices[0].starts_with("From an earlier server: run r1-earlier of cell"), "{notices:?}");
    assert!(notices[1].starts_with("Found again: run r1-earlier of cell"), "{notices:?}");
    assert!(notices[1].ends_with(" completed."), "{notices:?}");
}

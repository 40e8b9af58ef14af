//! Several cells that run in order: what their tags say, and what ends the series.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use kernel::{Event, Outcome, Sink, Status};
use notebook::Json;
use place::{Execution, Executor, KernelChoice, RunDetails, RunState};
use runs::Run;
use serde_json::json;
use tokio::sync::watch;

use super::fakes::Idle;
use super::*;

/// A kernel whose code says what happens.
#[derive(Default)]
struct Scripted {
    count: AtomicU64,
    ran: Mutex<Vec<String>>,
    /// What `hold` sends its end to.
    held: Mutex<Option<Sink>>,
    /// The kernel that `restart` restarts behind our back.
    kernel: Mutex<Option<Arc<Idle>>>,
}

struct Over;

impl Execution for Over {}

impl Executor for Scripted {
    fn execute(&self, code: &RunDetails, mut sink: Sink) -> Arc<dyn Execution> {
        self.ran.lock().unwrap().push(code.source.clone());
        // As IPython does, which repeats the last count for a blank source.
        let counted = u64::from(!code.source.trim().is_empty());
        let execution_count = Some(self.count.fetch_add(counted, Ordering::Relaxed) + counted);
        sink(Event::Started { execution_count });
        if code.source == "hold" {
            *self.held.lock().unwrap() = Some(sink);
            return Arc::new(Over);
        }
        let done = Outcome::Done { execution_count, next_input: None };
        let outcome = match &*code.source {
            "raise" => Outcome::Error { name: "E".to_owned(), value: String::new(), execution_count },
            "die" => Outcome::KernelDied { how: "killed".into() },
            "exit()" | "exit(keep_kernel=True)" => {
                sink(Event::ExitRequested { keeps_kernel: code.source != "exit()" });
                done
            }
            "restart later" => {
                let kernel = self.kernel.lock().unwrap();
                *kernel.as_ref().unwrap().instance.lock().unwrap() = Some("another".to_owned());
                // It is seen only after the run has ended.
                done
            }
            _ => done,
        };
        sink(Event::Finished(outcome));
        Arc::new(Over)
    }

    fn status(&self) -> watch::Receiver<Status> {
        watch::Sender::new(Status::Idle).subscribe()
    }

    fn language_info(&self) -> Json {
        Json::empty_object()
    }
}

/// The cells' states, what the notes say, and what ran.
struct Ended {
    states: Vec<&'static str>,
    notes: Vec<String>,
    failed: Vec<bool>,
    ran: Vec<String>,
}

/// A notebook with a kernel that does what its cells say.
async fn scripted_notebook(memory: &Memory, session: &Session) -> (Arc<Scripted>, Arc<OpenNotebook>) {
    let scripted = Arc::new(Scripted::default());
    let kernel = Arc::new(Idle { executor: Some(scripted.clone()), language: "python", ..Idle::new("kept") });
    *kernel.instance.lock().unwrap() = Some("one".to_owned());
    *scripted.kernel.lock().unwrap() = Some(kernel.clone());
    memory.kernels.lock().unwrap().push(kernel);
    let opened = session.use_notebook("a", &"a.ipynb".into(), Mode::Connect).await.unwrap();
    session.choose_kernel(&opened, KernelSelector::Existing("kept".into())).await.unwrap();
    (scripted, opened)
}

async fn series(cells: &[(&str, &[&str])], stops_on_error: bool) -> Ended {
    let (memory, workspace) = memory();
    let session = Session::new(workspace);
    let (scripted, opened) = scripted_notebook(&memory, &session).await;
    let edits = cells.iter().enumerate().map(|(index, (source, tags))| {
        let metadata = Some(Json::from_value(&json!({ "tags": tags })));
        Edit::Insert { index, cell: NewCell { metadata, ..NewCell::new(CellType::Code, *source) } }
    });
    let applied = opened.document().apply(edits.collect(), Vec::new()).await.unwrap();
    let cells = applied.notebook.cells().iter();
    let cells = cells.map(|cell| (cell.id().clone(), cell.source().into_owned())).collect();
    let runs = session.run_in_order(&opened, cells, stops_on_error).unwrap();
    for run in &runs {
        run.ended().await;
    }
    let ran = scripted.ran.lock().unwrap().clone();
    Ended {
        states: runs.iter().map(|run| run.state().name()).collect(),
        notes: runs.iter().map(|run| said(run)).collect(),
        failed: runs.iter().map(|run| run.has_failed()).collect(),
        ran,
    }
}

/// What an agent reads about a run beside its state.
fn said(run: &Run) -> String {
    let view = run.view();
    match view.state {
        RunState::Skipped { reason } => reason.to_string(),
        _ => view.notes.join(" "),
    }
}

#[tokio::test]
async fn a_cell_with_the_tag_is_skipped_and_says_so() {
    let ended = series(&[("1", &[]), ("2", &["skip-execution"]), ("3", &[])], true).await;
    assert_eq!(ended.states, ["done", "skipped", "done"]);
    assert_eq!(ended.ran, ["1", "3"]);
    assert!(ended.notes[1].contains("tag skip-execution"), "{:?}", ended.notes);
    assert_eq!(ended.failed, [false; 3]);
}

#[tokio::test]
async fn a_blank_cell_is_not_sent_and_is_done() {
    let ended =
        series(&[("", &[]), ("1", &[]), (" \n\t", &[]), ("# only a comment", &[]), ("2", &[])], true).await;
    assert_eq!(ended.states, ["done"; 5]);
    assert_eq!(ended.ran, ["1", "# only a comment", "2"]);
    assert_eq!(ended.notes, [""; 5]);
}

#[tokio::test]
async fn a_kernel_that_repeats_its_count_for_blank_code_was_not_restarted() {
    let (memory, workspace) = memory();
    let session = Session::new(workspace);
    let scripted = Arc::new(Scripted::default());
    // Its process has no name: only counts tell.
    let kernel = Arc::new(Idle { executor: Some(scripted), language: "python", ..Idle::new("kept") });
    memory.kernels.lock().unwrap().push(kernel);
    let opened = session.use_notebook("a", &"a.ipynb".into(), Mode::Connect).await.unwrap();
    session.choose_kernel(&opened, KernelSelector::Existing("kept".into())).await.unwrap();
    for source in ["1", "", "  ", "2"] {
        let run = session.run(opened.clone(), None, source.to_owned()).unwrap();
        run.ended().await;
        assert_eq!(run.view().notes, Vec::<String>::new(), "{source:?}");
    }
}

#[tokio::test]
async fn an_interrupt_finds_a_run_whose_task_has_not_started() {
    let (memory, workspace) = memory();
    let session = Session::new(workspace.clone());
    let kernel = Arc::new(Idle { executor: Some(Arc::new(Scripted::default())), ..Idle::new("kept") });
    memory.kernels.lock().unwrap().push(kernel);
    let (opened, before) = with_cells(&session, "a.ipynb", 1).await;
    session.choose_kernel(&opened, KernelSelector::Existing("kept".into())).await.unwrap();
    let cell = (before.cells()[0].id().clone(), "1".to_owned());
    let mut runs = vec![session.run(opened.clone(), None, "1".to_owned()).unwrap()];
    runs.extend(session.run_in_order(&opened, vec![cell], true).unwrap());
    for run in &runs {
        assert_eq!(run.kernel().unwrap().id(), "kept");
        workspace.runner().interrupt_run(run).await.unwrap();
        assert_eq!(run.state().name(), "skipped");
    }
}

#[tokio::test]
async fn an_error_that_the_tag_announces_ends_nothing() {
    let ended =
        series(&[("raise", &["raises-exception"]), ("2", &[]), ("raise", &[]), ("4", &[])], true).await;
    assert_eq!(ended.states, ["error", "done", "error", "skipped"]);
    assert_eq!(ended.failed, [false, false, true, true]);
    assert_eq!(ended.ran, ["raise", "2", "raise"]);
    assert!(ended.notes[3].contains("a cell before it failed"), "{:?}", ended.notes);
}

#[tokio::test]
async fn the_tag_announces_no_death_of_the_kernel() {
    let ended = series(&[("die", &["raises-exception"]), ("2", &[])], false).await;
    assert_eq!((&*ended.ran, ended.failed), (&["die".to_owned()][..], vec![true, true]));
}

#[tokio::test]
async fn nothing_runs_after_code_that_asks_to_exit() {
    for (code, says) in [("exit()", "asked the kernel to exit"), ("exit(keep_kernel=True)", "asked to exit")]
    {
        let ended = series(&[("1", &[]), (code, &[]), ("3", &[]), ("4", &[])], false).await;
        assert_eq!(ended.ran, ["1", code]);
        assert_eq!(ended.states, ["done", "done", "skipped", "skipped"]);
        for note in &ended.notes[2..] {
            assert!(note.contains("did not run: cell 1") && note.contains(says), "{note}");
        }
        assert!(ended.notes[1].contains("exit"), "{:?}", ended.notes);
    }
}

#[tokio::test]
async fn nothing_runs_after_the_death_or_restart_of_the_kernel_whatever_is_wanted_after_errors() {
    let ended = series(&[("die", &[]), ("2", &[]), ("3", &[])], false).await;
    assert_eq!(ended.ran, ["die"]);
    assert!(ended.notes[2].contains("cell 0 ended because the kernel died (killed)"), "{:?}", ended.notes);
    let ended = series(&[("1", &[]), ("restart later", &[]), ("3", &[]), ("4", &[])], false).await;
    assert_eq!(ended.ran, ["1", "restart later"], "{:?}", ended.notes);
    assert_eq!(ended.states[2..], ["skipped"; 2]);
    for note in &ended.notes[2..] {
        assert!(note.contains("kernel was restarted") && note.contains("variables are gone"), "{note}");
    }
}

#[tokio::test]
async fn after_an_error_the_rest_runs_if_that_is_wanted() {
    let ended = series(&[("raise", &[]), ("2", &[])], false).await;
    assert_eq!(ended.ran, ["raise", "2"]);
    assert!(matches!(ended.states[..], ["error", "done"]));
}

/// Deletes the second of three cells while the first one runs. Returns what ran and the state of each run.
async fn deleting_the_second(is_own: bool) -> (Vec<String>, Vec<&'static str>, String) {
    let (memory, workspace) = memory();
    let (session, other) = (Session::new(workspace.clone()), Session::new(workspace));
    let (scripted, opened) = scripted_notebook(&memory, &session).await;
    let insert =
        |(index, source): (usize, &str)| Edit::Insert { index, cell: NewCell::new(CellType::Code, source) };
    let edits = ["hold", "second", "third"].into_iter().enumerate().map(insert).collect();
    let before = opened.document().apply(edits, Vec::new()).await.unwrap().notebook;
    let cells = before.cells().iter().map(|cell| (cell.id().clone(), cell.source().into_owned())).collect();
    let runs = session.run_in_order(&opened, cells, true).unwrap();
    while scripted.held.lock().unwrap().is_none() {
        tokio::task::yield_now().await;
    }
    let delete = vec![Edit::Delete { ids: vec![before.cells()[1].id().clone()] }];
    let deleting = if is_own { &session } else { &other };
    deleting.edit(&opened, &before, delete, Vec::new()).await.unwrap();
    let mut held = scripted.held.lock().unwrap().take().unwrap();
    held(Event::Finished(Outcome::Done { execution_count: Some(1), next_input: None }));
    for run in &runs {
        run.ended().await;
    }
    let ran = scripted.ran.lock().unwrap().clone();
    (ran, runs.iter().map(|run| run.state().name()).collect(), said(&runs[1]))
}

#[tokio::test]
async fn a_cell_that_is_changed_while_it_runs_says_so() {
    let (memory, workspace) = memory();
    let session = Session::new(workspace);
    let (scripted, opened) = scripted_notebook(&memory, &session).await;
    let cell = NewCell::new(CellType::Code, "hold");
    let id = cell.id.clone();
    let insert = vec![Edit::Insert { index: 0, cell }];
    let before = opened.document().apply(insert, Vec::new()).await.unwrap().notebook;
    let run = session.run(opened.clone(), Some(id.clone()), "hold".to_owned()).unwrap();
    while scripted.held.lock().unwrap().is_none() {
        tokio::task::yield_now().await;
    }
    let edit = vec![Edit::SetSource { id, source: "other".to_owned() }];
    session.edit(&opened, &before, edit, Vec::new()).await.unwrap();
    let mut held = scripted.held.lock().unwrap().take().unwrap();
    held(Event::Finished(Outcome::Done { execution_count: Some(1), next_input: None }));
    run.ended().await;
    assert!(said(&run).contains("changed after this run was requested"), "{}", said(&run));
}

#[tokio::test]
async fn a_cell_that_its_own_session_deletes_later_runs_in_its_turn() {
    let (ran, states, note) = deleting_the_second(true).await;
    assert_eq!(ran, ["hold", "second", "third"]);
    assert_eq!(states, ["done"; 3]);
    assert!(note.contains("deleted after this run was requested"), "{note}");
    assert!(!note.contains("outputs"), "nothing was to be stored: {note}");
    let (ran, states, note) = deleting_the_second(false).await;
    assert_eq!(ran, ["hold", "third"]);
    assert_eq!(states, ["done", "skipped", "done"]);
    assert!(note.contains("deleted before its turn"), "{note}");
}

/// A later call of the same turn may choose another kernel before the task of the run has begun.
#[tokio::test]
async fn a_run_is_in_the_kernel_that_its_notebook_had_when_it_was_requested() {
    let (memory, workspace) = memory();
    let session = Session::new(workspace);
    for id in ["first", "second"] {
        let executor = Some(Arc::new(Scripted::default()) as Arc<dyn Executor>);
        memory.kernels.lock().unwrap().push(Arc::new(Idle { executor, ..Idle::new(id) }));
    }
    let opened = session.use_notebook("a", &"a.ipynb".into(), Mode::Connect).await.unwrap();
    let mut runs = Vec::new();
    for id in ["first", "second"] {
        let choice = session.choose_kernel(&opened, KernelSelector::Existing(id.into())).await.unwrap();
        assert!(matches!(choice, KernelChoice::Kernel { .. }));
        runs.push(session.run(opened.clone(), None, "1".to_owned()).unwrap());
    }
    for (run, id) in runs.iter().zip(["first", "second"]) {
        run.ended().await;
        assert_eq!(&**run.kernel().unwrap().id(), id);
    }
}

/// A kernel that takes requests and does not begin with them.
struct Silent;

impl Execution for Silent {}

impl Executor for Silent {
    fn execute(&self, _: &RunDetails, sink: Sink) -> Arc<dyn Execution> {
        // It never ends.
        std::mem::forget(sink);
        Arc::new(Self)
    }

    fn status(&self) -> watch::Receiver<Status> {
        watch::Sender::new(Status::Busy).subscribe()
    }

    fn language_info(&self) -> Json {
        Json::empty_object()
    }
}

#[tokio::test]
async fn a_run_behind_that_of_another_server_is_queued_and_says_behind_whose() {
    let (memory, workspace) = memory();
    let session = Session::new(workspace.clone());
    let (opened, notebook) = with_cells(&session, "a.ipynb", 3).await;
    let kernel = Arc::new(Idle { executor: Some(Arc::new(Silent)), ..Idle::new("kept") });
    memory.kernels.lock().unwrap().push(kernel.clone());
    session.choose_kernel(&opened, KernelSelector::Existing("kept".into())).await.unwrap();
    let cell = |index: usize| notebook.cells()[index].id().clone();
    let requested = session.acting("execute_cell", async {
        session.run(opened.clone(), Some(cell(0)), "0".to_owned()).unwrap()
    });
    let run = requested.await;
    while !run.is_sent() {
        tokio::task::yield_now().await;
    }
    assert_eq!(run.state(), RunState::Queued, "the kernel has not begun with it");
    let silent = session.reason_to_wait(&run).await.unwrap();
    assert!(silent.starts_with("The kernel has not answered for 0 s"), "{silent}");
    assert_eq!(session.runs_of_others(&*kernel).await.len(), 0, "it is our own");
    let other = place::RunDetails {
        run: "r7-other".into(),
        notebook: Some("a.ipynb".into()),
        cell: Some(cell(2)),
        agent: "claude-code".to_owned(),
        ..place::RunDetails::default()
    };
    kernel.others.lock().unwrap().push(other);
    let behind = "Queued behind cell 2 of claude-code (run r7-other).";
    assert_eq!(session.reason_to_wait(&run).await.as_deref(), Some(behind));
    assert_eq!(session.runs_of_others(&*kernel).await.len(), 1);
    workspace.look_at_kernel(&opened).await;
    let states = workspace.cell_states(&opened, &notebook, &|_| String::new());
    let planned = workspace.cells_to_run(&opened, &notebook, 0..3, false).cells;
    assert!(!planned.contains(&2), "another server runs it now: {planned:?}");
    let known = [0, 2].map(|index| states.get(index).unwrap()).map(|it| (it.state.name(), it.evidence));
    let queued = format!("run {} is queued", run.id());
    let running = "run r7-other of claude-code".to_owned();
    assert_eq!(known, [("queued", queued), ("running", running)]);
    // The kernel is interrupted, and our run stays in the queue.
    runs::interrupt_kernel(&*kernel).await.unwrap();
    assert_eq!(run.state(), RunState::Queued);
    // A signal would reach the other run.
    let refused = workspace.runner().interrupt_run(&run).await.unwrap_err();
    assert!(refused.cause.contains("behind run r7-other of another server"), "{refused}");
    let another = Session::new(workspace.clone());
    assert_eq!(
        another.runs_of_others(&*kernel).await.len(),
        2,
        "of a session that is there, and of a server"
    );
    drop(session);
    assert_eq!(another.runs_of_others(&*kernel).await.len(), 1, "no agent is behind the other any longer");
}

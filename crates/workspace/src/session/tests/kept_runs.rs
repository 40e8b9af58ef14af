//! What is stale, as a later server knows it: on a kernel that outlives its servers.

mod arranged;
mod cached;
mod without_ids;

use std::path::Path;
use std::sync::atomic::AtomicU64;

use kernel::{Event, Outcome, Sink, Status};
use notebook::Json;
use place::{Execution, Executor, RunDetails};
use recorder::Actor;
use recorder::actor::acting;
use runs::Run;
use tokio::sync::watch;

use super::fakes::{Idle, Memory};
use super::*;
use crate::StaleState;

/// A kernel that runs everything at once, but for what takes forever, and counts.
#[derive(Default)]
struct Counting {
    count: AtomicU64,
    /// The last run that takes forever.
    forever: std::sync::Mutex<Option<Sink>>,
}

struct Over;

impl Execution for Over {}

impl Executor for Counting {
    fn execute(&self, code: &RunDetails, mut sink: Sink) -> Arc<dyn Execution> {
        let execution_count = Some(self.count.fetch_add(1, Ordering::Relaxed) + 1);
        sink(Event::Started { execution_count });
        if code.source.contains("forever") {
            *self.forever.lock().unwrap() = Some(sink);
            return Arc::new(Over);
        }
        sink(Event::Finished(if code.source.contains("raise") {
            let (name, value) = ("E".to_owned(), String::new());
            Outcome::Error { name, value, execution_count }
        } else {
            Outcome::Done { execution_count, next_input: None }
        }));
        Arc::new(Over)
    }

    fn status(&self) -> watch::Receiver<Status> {
        watch::Sender::new(Status::Idle).subscribe()
    }

    fn language_info(&self) -> Json {
        Json::parse("{}".into()).unwrap()
    }
}

/// A notebook and a kernel that stay while servers come and go.
struct Machine {
    memory: Arc<Memory>,
    kernel: Arc<Idle>,
    executor: Arc<Counting>,
    state: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let executor = Arc::<Counting>::default();
        let kernel = Idle { executor: Some(executor.clone()), language: "python", ..Idle::new("kept") };
        kernel.outlives_us.store(true, Ordering::Relaxed);
        *kernel.instance.lock().unwrap() = Some("process 1".to_owned());
        let memory = Arc::new(Memory::default());
        let kernel = Arc::new(kernel);
        memory.kernels.lock().unwrap().push(kernel.clone());
        Self { memory, kernel, executor, state: tempfile::tempdir().unwrap() }
    }

    async fn server(&self) -> Server {
        Server::new(self.memory.clone(), self.state.path()).await
    }

    fn restarts(&self) {
        let mut instance = self.kernel.instance.lock().unwrap();
        *instance = Some(format!("{} and on", instance.as_deref().unwrap()));
    }
}

struct Server {
    session: Session,
    opened: Arc<OpenNotebook>,
}

impl Server {
    async fn new(memory: Arc<Memory>, state: &Path) -> Self {
        let workspace = Workspace::new(memory, Settings::default());
        workspace.record_history(state.to_path_buf());
        let session = Session::new(workspace);
        let opened = session.use_notebook("a", &"a.ipynb".into(), Mode::Connect).await.unwrap();
        session.choose_kernel(&opened, KernelSelector::Existing("kept".into())).await.unwrap();
        Self { session, opened }
    }

    async fn snapshot(&self) -> Notebook {
        self.opened.document().snapshot().await.unwrap()
    }

    async fn edit(&self, edits: Vec<Edit>) {
        let before = self.snapshot().await;
        self.session.edit(&self.opened, &before, edits, Vec::new()).await.unwrap();
    }

    async fn write(&self, sources: &[&str]) {
        let cells = sources.iter().map(|source| NewCell::new(CellType::Code, *source));
        self.edit(cells.enumerate().map(|(index, cell)| Edit::Insert { index, cell }).collect()).await;
    }

    async fn set(&self, index: usize, source: &str) {
        let id = self.snapshot().await.cells()[index].id().clone();
        self.edit(vec![Edit::SetSource { id, source: source.to_owned() }]).await;
    }

    async fn start(&self, index: usize) -> Arc<Run> {
        let notebook = self.snapshot().await;
        let cell = &notebook.cells()[index];
        let (id, source) = (cell.id().clone(), cell.source().into_owned());
        self.session.run(self.opened.clone(), Some(id), source).unwrap()
    }

    async fn run(&self, index: usize) -> Arc<Run> {
        let run = self.start(index).await;
        run.ended().await;
        // Until what it has left for later servers is written.
        self.session.workspace().recorder().unwrap().drain(std::time::Duration::from_secs(10)).await;
        run
    }

    async fn run_all(&self) {
        for index in 0..self.snapshot().await.cells().len() {
            self.run(index).await;
        }
    }

    async fn states(&self) -> Vec<StaleState> {
        let notebook = self.snapshot().await;
        let states = self.session.workspace().cell_states(&self.opened, &notebook, &|_| String::new());
        (0..notebook.cells().len()).filter_map(|index| states.get(index).map(|it| it.state)).collect()
    }
}

#[tokio::test]
async fn what_is_stale_survives_the_server() {
    let machine = Machine::new();
    let first = machine.server().await;
    first.write(&["x = 1", "y = x + 1", "print(y)"]).await;
    first.run_all().await;
    first.set(1, "y = x + 2").await;
    let expected = [StaleState::UpToDate, StaleState::Edited, StaleState::InputChanged];
    assert_eq!(first.states().await, expected);
    drop(first);
    let second = machine.server().await;
    assert_eq!(second.states().await, expected);
    second.run(1).await;
    second.run(2).await;
    assert_eq!(second.states().await, [StaleState::UpToDate; 3]);
    assert_eq!(machine.server().await.states().await, [StaleState::UpToDate; 3]);
}

#[tokio::test]
async fn runs_of_other_servers_count_while_both_work() {
    let machine = Machine::new();
    let (one, other) = (machine.server().await, machine.server().await);
    one.write(&["import time\nx = time.time()", "print(x)"]).await;
    one.run_all().await;
    assert_eq!(other.states().await, [StaleState::UpToDate; 2]);
    other.run(0).await;
    assert_eq!(one.states().await, [StaleState::UpToDate, StaleState::InputChanged]);
    one.run(1).await;
    assert_eq!(other.states().await, [StaleState::UpToDate; 2]);
}

#[tokio::test]
async fn a_restart_between_two_servers_is_seen_and_said_once() {
    let machine = Machine::new();
    let first = machine.server().await;
    first.write(&["x = 1", "print(x)"]).await;
    first.run_all().await;
    drop(first);
    machine.restarts();
    let second = machine.server().await;
    assert_eq!(second.states().await, [StaleState::OtherKernel; 2]);
    let notes = second.run(0).await.view().notes;
    assert!(notes.iter().any(|note| note.contains("earlier variables are gone")), "{notes:?}");
    assert_eq!(second.run(1).await.view().notes, [""; 0]);
}

#[tokio::test]
async fn a_restart_behind_our_back_is_said_with_the_first_run_and_one_on_request_is_not() {
    let machine = Machine::new();
    let server = machine.server().await;
    server.write(&["x = 1"]).await;
    assert_eq!(server.run(0).await.view().notes, [""; 0]);
    machine.restarts();
    let notes = server.run(0).await.view().notes;
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("not by this server") && notes[0].contains("gone"), "{notes:?}");
    let kernel = server.opened.kernel().unwrap();
    server.session.workspace().runner().restart(&*kernel).await.unwrap();
    machine.restarts();
    assert_eq!(server.states().await, [StaleState::OtherKernel]);
    assert_eq!(server.run(0).await.view().notes, [""; 0]);
    assert_eq!(server.states().await, [StaleState::UpToDate]);
    // The other server's agent was not asked.
    machine.server().await;
}

#[tokio::test]
async fn what_ran_on_a_process_that_has_ended_is_stale_before_the_next_one_is_known() {
    let machine = Machine::new();
    let server = machine.server().await;
    server.write(&["x = 1", "print(x)"]).await;
    server.run_all().await;
    let before = machine.kernel.instance.lock().unwrap().take();
    assert_eq!(server.states().await, [StaleState::UpToDate; 2], "no connection says which process it is");
    machine.kernel.ended_instance.lock().unwrap().clone_from(&before);
    assert_eq!(server.states().await, [StaleState::OtherKernel; 2]);
    *machine.kernel.ended_instance.lock().unwrap() = None;
    *machine.kernel.instance.lock().unwrap() = Some("process 2".to_owned());
    assert_eq!(server.states().await, [StaleState::OtherKernel; 2]);
    let notes = server.run(0).await.view().notes;
    assert!(notes.iter().any(|note| note.contains("earlier variables are gone")), "{notes:?}");
    assert_eq!(server.states().await, [StaleState::UpToDate, StaleState::OtherKernel]);
}

#[tokio::test]
async fn a_kernel_that_has_run_something_is_identified_when_it_is_chosen() {
    let machine = Machine::new();
    let first = machine.server().await;
    first.write(&["x = 1"]).await;
    let now = machine.kernel.instance.lock().unwrap().take();
    *machine.kernel.unidentified.lock().unwrap() = now;
    drop(machine.server().await);
    let now = machine.kernel.unidentified.lock().unwrap().take();
    assert!(now.is_some(), "nothing has run");
    *machine.kernel.instance.lock().unwrap() = now;
    first.run_all().await;
    *machine.kernel.instance.lock().unwrap() = None;
    *machine.kernel.unidentified.lock().unwrap() = Some("process 2".to_owned());
    assert_eq!(machine.server().await.states().await, [StaleState::OtherKernel]);
}

#[tokio::test]
async fn failures_survive_too() {
    let machine = Machine::new();
    let first = machine.server().await;
    first.write(&["x = 1", "print(x)"]).await;
    first.run_all().await;
    first.set(0, "x = 1\nraise E").await;
    first.run_all().await;
    let states = first.states().await;
    assert_eq!(states[1], StaleState::InputChanged);
    assert_eq!(machine.server().await.states().await, states);
}

#[tokio::test]
async fn a_name_that_no_cell_defines_is_known_before_a_run() {
    let machine = Machine::new();
    let server = machine.server().await;
    server.write(&["x = 1", "print(x, dff)", "print(later)", "later = 2"]).await;
    let undefined = async || {
        let notebook = server.snapshot().await;
        let states = server.session.workspace().cell_states(&server.opened, &notebook, &|_| String::new());
        let names = (0..4).flat_map(|index| states.undefined(index));
        names.map(|it| (it.index, it.name.clone(), it.defined_in)).collect::<Vec<_>>()
    };
    let later = (2, "later".to_owned(), Some(3));
    assert_eq!(undefined().await, [(1, "dff".to_owned(), None), later.clone()]);
    // What has run well got the name from somewhere.
    server.run(1).await;
    assert_eq!(undefined().await, std::slice::from_ref(&later));
    server.set(1, "print(x, dfff)").await;
    assert_eq!(undefined().await, [(1, "dfff".to_owned(), None), later]);
}

#[tokio::test]
async fn a_cell_that_is_never_run_with_others_is_not_run_because_it_is_stale() {
    let machine = Machine::new();
    let server = machine.server().await;
    server.write(&["x = 1", "x + 1"]).await;
    let id = server.snapshot().await.cells()[1].id().clone();
    let patch = Json::from_value(&serde_json::json!({ "tags": ["skip-execution"] }));
    server.edit(vec![Edit::MergeMetadata { id, patch }]).await;
    let notebook = server.snapshot().await;
    let workspace = server.session.workspace();
    assert!(workspace.cell_states(&server.opened, &notebook, &|_| String::new()).is_stale(1));
    assert_eq!(workspace.cells_to_run(&server.opened, &notebook, 0..2, true).cells, [0]);
}

#[tokio::test]
async fn a_cell_that_is_running_is_not_run_again() {
    let machine = Machine::new();
    let server = machine.server().await;
    server.write(&["x = forever()", "x"]).await;
    let run = server.start(0).await;
    run.started().await;
    let notebook = server.snapshot().await;
    let workspace = server.session.workspace();
    let states = workspace.cell_states(&server.opened, &notebook, &|_| String::new());
    let to_run = workspace.cells_to_run(&server.opened, &notebook, 0..2, true).cells;
    let running = states.get(0).unwrap();
    assert_eq!(
        (running.state, &*running.evidence),
        (StaleState::Running, &*format!("run {} is running", run.id()))
    );
    assert_eq!((states.is_stale(0), to_run, states.has_runs()), (false, vec![1], true));
    // What is edited meanwhile is not what runs.
    server.set(0, "x = 1").await;
    assert_eq!(server.states().await[0], StaleState::NeverRun);
}

#[tokio::test]
async fn a_server_is_told_once_what_another_ran_and_that_it_restarted_the_kernel() {
    let machine = Machine::new();
    let (one, other) = (machine.server().await, machine.server().await);
    one.write(&["x = 1", "x", "forever"]).await;
    for server in [&one, &other] {
        server.run(1).await;
    }
    let (ran, skipped) =
        (one.run(0).await, one.session.run(one.opened.clone(), None, "1".to_owned()).unwrap());
    one.session.workspace().runner().interrupt_run(&skipped).await.unwrap();
    let told = other.run(1).await.view().notes;
    let cell = &ran.cell().unwrap().id;
    let expected =
        format!("Another server has used this kernel since: cell {cell}. Its variables may have changed.");
    assert_eq!(told, [expected]);
    assert_eq!(other.run(1).await.view().notes, [""; 0]);
    let restarting = acting(
        Actor { agent: "claude".to_owned(), ..Actor::default() },
        one.session.workspace().runner().restart(&*machine.kernel),
    );
    restarting.await.unwrap();
    machine.restarts();
    one.session.workspace().recorder().unwrap().drain(std::time::Duration::from_secs(10)).await;
    let told = other.run(1).await.view().notes;
    let expected = "Another server (claude) has restarted this kernel since your last run: its earlier variables are gone.";
    assert_eq!(told, [expected]);
}

/// The kernel of a Jupyter server does not say why another process takes its place.
#[tokio::test]
async fn a_run_that_another_server_ends_by_a_restart_says_so() {
    let machine = Machine::new();
    let (one, other) = (machine.server().await, machine.server().await);
    one.write(&["x = 1", "forever"]).await;
    for server in [&other, &one] {
        server.run(0).await;
    }
    let run = one.start(1).await;
    run.started().await;
    let actor = Actor { agent: "claude".to_owned(), ..Actor::default() };
    acting(actor, other.session.workspace().runner().restart(&*machine.kernel)).await.unwrap();
    other.session.workspace().recorder().unwrap().drain(std::time::Duration::from_secs(10)).await;
    machine.restarts();
    let mut sink = machine.executor.forever.lock().unwrap().take().unwrap();
    sink(Event::Finished(Outcome::KernelDied { how: place::Death::Replaced }));
    run.ended().await;
    assert_eq!(run.state(), place::RunState::KernelDied { how: place::Death::Restarted });
    let expected = "Another server (claude) has restarted this kernel since your last run: its earlier variables are gone.";
    assert_eq!(run.view().notes, [expected]);
    assert_eq!(one.run(0).await.view().notes, [""; 0], "it is said once");
}

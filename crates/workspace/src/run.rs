//! One run: what was asked of a kernel, how far it is, and everything it has put out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use kernel::{Client, Event, ExecutionId, Outcome, OutputArea};
use notebook::Output;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use crate::Error;
use crate::place::Kernel;

/// The bytes that one run may print and show; streams beyond are not kept. A loop that prints without end must not
/// take the machine's memory.
const MOST_OUTPUT: usize = 256 * 1024 * 1024;
const CUT: &str = "It put out more than 256 MiB; what it printed after that was not kept.";

/// How far a run is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunState {
    /// It waits for its kernel to start, or for other runs of that kernel.
    Queued,
    /// The kernel works on it.
    Running,
    /// The kernel waits for a line from a person.
    WaitingForInput {
        /// What the kernel asks.
        prompt: String,
        /// Whether the answer must not be shown.
        is_password: bool,
    },
    /// It ended well.
    Done,
    /// It ended with an error of the code.
    Error {
        /// The exception's name.
        name: String,
        /// What it says.
        value: String,
    },
    /// It was stopped on request.
    Interrupted,
    /// The kernel ended under it, and how.
    KernelDied(String),
    /// It could not be started.
    Failed(Error),
}

impl RunState {
    /// Whether nothing more will come, but for late output of threads.
    pub fn is_over(&self) -> bool {
        !matches!(self, Self::Queued | Self::Running | Self::WaitingForInput { .. })
    }

    /// Whether it is over and did not end well.
    pub fn is_failure(&self) -> bool {
        self.is_over() && *self != Self::Done
    }
}

/// Whether somebody asked for the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    NotAsked,
    Interrupt,
    /// The kernel is started anew.
    Restart,
}

/// The cell that a run belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunCell {
    /// The notebook's path.
    pub path: String,
    /// The cell's id.
    pub id: String,
}

/// A run as it stands at one moment.
#[derive(Debug, Clone)]
pub struct RunView {
    /// How far it is.
    pub state: RunState,
    /// What it has put out so far. Large contents are shared, not copied.
    pub outputs: Arc<[Output]>,
    /// The number in `In[n]`, once the kernel has told it.
    pub execution_count: Option<u64>,
    /// What else an agent should know, a sentence each.
    pub notes: Vec<String>,
    /// From the request to the end, or to now.
    pub elapsed: Duration,
}

/// One run, from the request on. A task of the journal owns its progress; whoever asked may come and go.
pub struct Run {
    id: String,
    cell: Option<RunCell>,
    source: String,
    source_hash: String,
    asked_at: SystemTime,
    asked: Instant,
    record: Mutex<Record>,
    version: watch::Sender<u64>,
    /// Whether output that came after the end is about to be written.
    is_late: AtomicBool,
}

struct Record {
    state: RunState,
    area: OutputArea,
    execution_count: Option<u64>,
    notes: Vec<String>,
    ended: Option<Instant>,
    /// Whether the end has been written down where it belongs.
    is_closed: bool,
    stop: Stop,
    /// Whether nothing of it may be stored any more.
    is_superseded: bool,
    /// What is being prepared while the run is queued.
    stage: String,
    execution: Option<(Client, ExecutionId)>,
    kernel: Option<Arc<dyn Kernel>>,
}

impl Run {
    pub(crate) fn new(id: String, cell: Option<RunCell>, source: String) -> Self {
        let record = Record {
            state: RunState::Queued,
            area: OutputArea::default(),
            execution_count: None,
            notes: Vec::new(),
            ended: None,
            is_closed: false,
            stop: Stop::NotAsked,
            is_superseded: false,
            stage: String::new(),
            execution: None,
            kernel: None,
        };
        Self {
            id,
            cell,
            source_hash: hash(&source),
            source,
            asked_at: SystemTime::now(),
            asked: Instant::now(),
            record: Mutex::new(record),
            version: watch::Sender::new(0),
            is_late: AtomicBool::new(false),
        }
    }

    /// The id by which agents ask for it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The cell it belongs to; `None` for code that is in no notebook.
    pub fn cell(&self) -> Option<&RunCell> {
        self.cell.as_ref()
    }

    /// The code.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// A hash of the code: tells whether a cell is still what ran.
    pub fn source_hash(&self) -> &str {
        &self.source_hash
    }

    /// When it was asked for.
    pub fn asked_at(&self) -> SystemTime {
        self.asked_at
    }

    /// A counter that moves whenever [`Run::view`] may answer differently.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// The state alone.
    pub fn state(&self) -> RunState {
        self.record().state.clone()
    }

    /// The run as it stands now.
    pub fn view(&self) -> RunView {
        let record = self.record();
        RunView {
            state: record.state.clone(),
            outputs: record.area.outputs().into(),
            execution_count: record.execution_count,
            notes: record.notes.clone(),
            elapsed: record.ended.unwrap_or_else(Instant::now) - self.asked,
        }
    }

    /// From the request to the end, or to now.
    pub fn elapsed(&self) -> Duration {
        self.record().ended.unwrap_or_else(Instant::now) - self.asked
    }

    /// The kernel, once one has been chosen.
    pub fn kernel(&self) -> Option<Arc<dyn Kernel>> {
        self.record().kernel.clone()
    }

    /// What it does now, for progress messages: the last line that it has printed, or what is being prepared.
    pub fn activity(&self) -> String {
        let record = self.record();
        if record.state == RunState::Queued {
            return record.stage.clone();
        }
        let last = record.area.outputs().iter().rev().find_map(|output| match output {
            Output::Stream { text, .. } => Some(render::last_line(text)).filter(|line| !line.is_empty()),
            _ => None,
        });
        last.unwrap_or_default()
    }

    /// Waits until it is over and its outputs are stored, or until it waits for input.
    pub async fn settled(&self) {
        let mut changes = self.changes();
        while !self.is_settled() {
            // The sender lives in `self`.
            let _ = changes.changed().await;
        }
    }

    /// Waits until it is over and its outputs are stored.
    pub async fn ended(&self) {
        let mut changes = self.changes();
        while !self.record().is_closed {
            // The sender lives in `self`.
            let _ = changes.changed().await;
        }
    }

    /// Whether it is over and stored, or waits for input.
    pub fn is_settled(&self) -> bool {
        let record = self.record();
        record.is_closed || matches!(record.state, RunState::WaitingForInput { .. })
    }

    /// Gives the kernel the line that it waits for. `false` if it waits for none.
    pub fn answer_input(&self, line: String) -> bool {
        let mut record = self.record();
        if !matches!(record.state, RunState::WaitingForInput { .. }) {
            return false;
        }
        record.state = RunState::Running;
        let execution = record.execution.clone();
        drop(record);
        self.moved();
        execution.is_some_and(|(client, id)| client.answer_input(&id, line))
    }

    pub(crate) fn on(&self, kernel: Arc<dyn Kernel>) {
        self.record().kernel = Some(kernel);
    }

    /// Says that whatever ends the run from now on was asked for.
    pub(crate) fn expect_interruption(&self) {
        self.record().stop = Stop::Interrupt;
    }

    /// Says that the kernel is about to be started anew on request.
    pub(crate) fn expect_restart(&self) {
        self.record().stop = Stop::Restart;
    }

    pub(crate) fn note(&self, note: impl Into<String>) {
        self.record().notes.push(note.into());
        self.moved();
    }

    /// Says what is being prepared.
    pub(crate) fn stage(&self, stage: impl Into<String>) {
        self.record().stage = stage.into();
        self.moved();
    }

    /// Says that the end is where it belongs.
    pub(crate) fn close(&self) {
        self.record().is_closed = true;
        self.moved();
    }

    /// Claims the writing of late output. `false` if somebody has claimed it.
    pub(crate) fn claim_late(&self) -> bool {
        !self.is_late.swap(true, Ordering::AcqRel)
    }

    /// Gives the claim back, before the writing.
    pub(crate) fn unclaim_late(&self) {
        self.is_late.store(false, Ordering::Release);
    }

    pub(crate) fn executing(&self, client: Client, id: ExecutionId) {
        let mut record = self.record();
        if record.state.is_over() {
            return;
        }
        if record.state == RunState::Queued {
            // The kernel has it: from here on only an interrupt stops it.
            record.state = RunState::Running;
        }
        record.execution = Some((client, id));
        drop(record);
        self.moved();
    }

    /// Ends a run that never reached its kernel.
    pub(crate) fn end(&self, state: RunState) {
        let mut record = self.record();
        if !record.state.is_over() {
            record.state = state;
            record.ended = Some(Instant::now());
        }
        record.is_closed = true;
        drop(record);
        self.moved();
    }

    /// Takes what the kernel tells. Comes in order; output may follow the end.
    pub(crate) fn take(&self, event: Event) {
        let mut record = self.record();
        match event {
            Event::Started { execution_count } => {
                record.state = RunState::Running;
                record.execution_count = execution_count.or(record.execution_count);
            }
            Event::InputWanted { prompt, password } => {
                record.state = RunState::WaitingForInput { prompt, is_password: password };
            }
            Event::Finished(outcome) => {
                let (is_interrupted, is_restarted) =
                    (record.stop != Stop::NotAsked, record.stop == Stop::Restart);
                record.state =
                    match outcome {
                        Outcome::Done { execution_count, next_input } => {
                            record.execution_count = execution_count.or(record.execution_count);
                            record.notes.extend(next_input.map(|code| {
                                format!("The kernel proposes this code for the next cell:\n{code}")
                            }));
                            RunState::Done
                        }
                        Outcome::Error { execution_count, name, .. }
                            if is_interrupted && is_interruption(&name) =>
                        {
                            record.execution_count = execution_count.or(record.execution_count);
                            RunState::Interrupted
                        }
                        Outcome::KernelDied(_) if is_restarted => RunState::Interrupted,
                        Outcome::Error { execution_count, name, value } => {
                            record.execution_count = execution_count.or(record.execution_count);
                            RunState::Error { name, value }
                        }
                        Outcome::Aborted | Outcome::Restarted => RunState::Interrupted,
                        Outcome::KernelDied(how) => RunState::KernelDied(how),
                    };
                record.ended = Some(Instant::now());
                record.execution = None;
            }
            Event::Output { output: Output::Stream { .. }, .. } if record.area.size() > MOST_OUTPUT => {
                if !record.notes.iter().any(|note| note == CUT) {
                    record.notes.push(CUT.to_owned());
                }
            }
            output => {
                record.area.take(output);
            }
        }
        drop(record);
        self.moved();
    }

    /// Says that what it puts out from now on belongs to no cell any more: the cell was cleared, or runs again.
    pub fn supersede(&self) {
        self.record().is_superseded = true;
    }

    pub(crate) fn is_superseded(&self) -> bool {
        self.record().is_superseded
    }

    /// Whether the end is where it belongs.
    pub(crate) fn is_closed(&self) -> bool {
        self.record().is_closed
    }

    /// Waits until it waits for no input, at the latest until it is over.
    pub async fn answered(&self) {
        let mut changes = self.changes();
        while matches!(self.state(), RunState::WaitingForInput { .. }) {
            // The sender lives in `self`.
            let _ = changes.changed().await;
        }
    }

    /// Lets go of the outputs of a run that is over, and says so in its notes. They are never stored again.
    pub(crate) fn forget_outputs(&self) {
        let mut record = self.record();
        record.is_superseded = true;
        record.area = OutputArea::default();
        record.notes.push("Its outputs were left out of memory to make room.".to_owned());
    }

    pub(crate) fn output_size(&self) -> usize {
        self.record().area.size()
    }

    fn moved(&self) {
        self.version.send_modify(|version| *version += 1);
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an error of this name is what an interrupt makes. Some kernels give none.
fn is_interruption(name: &str) -> bool {
    name.is_empty() || name.to_lowercase().contains("interrupt")
}

/// The SHA-256 of a text, in hexadecimal digits.
fn hash(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |digits, byte| format!("{digits}{byte:02x}"))
}

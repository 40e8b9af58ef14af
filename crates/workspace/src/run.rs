//! One run: what was asked of a kernel, how far it is, and everything it has put out.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use kernel::{Client, Event, ExecutionId, Outcome, OutputArea};
use notebook::Output;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use tracing::Span;

use crate::ids::RunId;
use crate::place::{Kernel, SaveStatus};
use crate::run_state::{RunCell, RunState, RunView, is_interruption};
use crate::trace::{self, TRACED};

/// The bytes that one run may print and show; streams beyond are not kept. A loop that prints without end must not
/// take the machine's memory.
const MOST_OUTPUT: usize = 256 * 1024 * 1024;
const CUT: &str = "It put out more than 256 MiB; what it printed after that was not kept.";

const REPLACED: &str = "it ended, or somebody restarted it, and a new process has taken its place";

/// Whether somebody asked for the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    NotAsked,
    Interrupt,
    /// The kernel is started anew.
    Restart,
}

/// One run, from the request on. A task of the journal owns its progress; whoever asked may come and go.
pub struct Run {
    id: RunId,
    cell: Option<RunCell>,
    source: String,
    source_hash: String,
    asked_at: SystemTime,
    asked: Instant,
    record: Mutex<Record>,
    version: watch::Sender<u64>,
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
    /// How the last attempt to store the outputs ended.
    saved: Option<SaveStatus>,
    /// Whether output that came after the end is about to be written.
    is_late: bool,
    /// Whether nothing of it may be stored any more.
    is_superseded: bool,
    /// What is being prepared while the run is queued.
    stage: String,
    execution: Option<(Client, ExecutionId)>,
    kernel: Option<Arc<dyn Kernel>>,
    /// None once it has ended.
    span: Span,
}

impl Record {
    fn is_waiting(&self) -> bool {
        matches!(self.state, RunState::WaitingForInput { .. })
    }

    fn is_settled(&self) -> bool {
        self.is_closed || self.is_waiting()
    }

    /// How an outcome leaves the run.
    fn finish(&mut self, outcome: Outcome) {
        let count = match &outcome {
            Outcome::Done { execution_count, .. } | Outcome::Error { execution_count, .. } => {
                *execution_count
            }
            _ => None,
        };
        self.execution_count = count.or(self.execution_count);
        self.state = match (outcome, self.stop) {
            (Outcome::Done { next_input, .. }, _) => {
                let proposed = |code| format!("The kernel proposes this code for the next cell:\n{code}");
                self.notes.extend(next_input.map(proposed));
                RunState::Done
            }
            (Outcome::Error { name, .. }, Stop::Interrupt | Stop::Restart) if is_interruption(&name) => {
                RunState::Interrupted
            }
            (Outcome::Error { name, value, .. }, _) => RunState::Error { name, value },
            (Outcome::Aborted, _) | (Outcome::Restarted | Outcome::KernelDied(_), Stop::Restart) => {
                RunState::Interrupted
            }
            (Outcome::Restarted, _) => RunState::KernelDied(REPLACED.to_owned()),
            (Outcome::KernelDied(how), _) => RunState::KernelDied(how),
        };
        self.ended = Some(Instant::now());
        self.execution = None;
    }
}

impl Run {
    pub(crate) fn new(id: RunId, cell: Option<RunCell>, source: String) -> Self {
        let record = Record {
            state: RunState::Queued,
            area: OutputArea::default(),
            execution_count: None,
            notes: Vec::new(),
            ended: None,
            is_closed: false,
            stop: Stop::NotAsked,
            saved: None,
            is_late: false,
            is_superseded: false,
            stage: String::new(),
            execution: None,
            kernel: None,
            span: trace::run(&id, cell.as_ref()),
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
        }
    }

    /// The id by which agents ask for it.
    pub fn id(&self) -> &RunId {
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
            saved: record.saved.clone(),
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
        self.until(Record::is_settled).await;
    }

    /// Waits until it is over and its outputs are stored.
    pub async fn ended(&self) {
        self.until(|record| record.is_closed).await;
    }

    /// Waits until it is over; its outputs may still have to be stored.
    pub(crate) async fn over(&self) {
        self.until(|record| record.state.is_over()).await;
    }

    /// Waits until it waits for no input, at the latest until it is over.
    pub async fn answered(&self) {
        self.until(|record| !record.is_waiting()).await;
    }

    /// Whether it is over and stored, or waits for input.
    pub fn is_settled(&self) -> bool {
        self.record().is_settled()
    }

    /// Gives the kernel the line that it waits for. `false` if it waits for none.
    pub fn answer_input(&self, line: String) -> bool {
        let mut record = self.record();
        if !record.is_waiting() {
            return false;
        }
        record.state = RunState::Running;
        let execution = record.execution.clone();
        drop(record);
        self.moved();
        execution.is_some_and(|(client, id)| client.answer_input(&id, line))
    }

    pub(crate) fn on(&self, kernel: Arc<dyn Kernel>) {
        let mut record = self.record();
        record.span.record("cellbridge.kernel.id", kernel.id().as_str());
        record.kernel = Some(kernel);
    }

    /// Says that whatever ends the run from now on was asked for.
    pub(crate) fn expect_interruption(&self) {
        self.record().stop = Stop::Interrupt;
    }

    /// Says that the kernel is about to be started anew on request.
    pub(crate) fn expect_restart(&self) {
        self.record().stop = Stop::Restart;
    }

    /// Remembers how storing the outputs went.
    pub(crate) fn stored(&self, saved: SaveStatus) {
        self.record().saved = Some(saved);
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
        self.end_span();
        self.moved();
    }

    /// What is done for it is done in this.
    pub(crate) fn span(&self) -> Span {
        self.record().span.clone()
    }

    /// Ends its span, however far it has come.
    pub(crate) fn end_span(&self) {
        let mut record = self.record();
        let span = std::mem::replace(&mut record.span, Span::none());
        trace::run_ended(&span, &record.state, record.execution_count);
    }

    /// Claims the writing of late output. `false` if somebody has claimed it.
    pub(crate) fn claim_late(&self) -> bool {
        !std::mem::replace(&mut self.record().is_late, true)
    }

    /// Gives the claim back, before the writing.
    pub(crate) fn unclaim_late(&self) {
        self.record().is_late = false;
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
        tracing::info!(target: TRACED, parent: &record.span, "run.started");
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
        drop(record);
        self.close();
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
            Event::Finished(outcome) => record.finish(outcome),
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

    async fn until(&self, is_so: impl Fn(&Record) -> bool) {
        let mut changes = self.changes();
        while !is_so(&self.record()) {
            // The sender lives in `self`.
            let _ = changes.changed().await;
        }
    }

    fn moved(&self) {
        self.version.send_modify(|version| *version += 1);
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The SHA-256 of a text, in hexadecimal digits.
fn hash(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |digits, byte| format!("{digits}{byte:02x}"))
}

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, SecondsFormat, Utc};
use kernel::{Event, OutputArea};
use notebook::{Output, one_line};
use parking_lot::Mutex;
use place::{Execution, Kernel, RunDetails, RunId, RunState, SessionId, SkipReason};
use recorder::{Actor, actor};
use serde_json::Value;
use tokio::sync::watch;
use tracing::Span;

use crate::open_notebook::OpenNotebook;
use crate::telemetry;
use crate::view::{RunCell, RunView};

mod announced;
mod progress;
mod waiting;

pub(crate) use progress::RunProgress;
use progress::Stop;

/// One request to run code, from the call to its end. A task of the [`Runner`](crate::Runner) drives it, so it goes on
/// if the agent disconnects.
pub struct Run {
    id: RunId,
    cell: Option<RunCell>,
    source: String,
    requested_at: Instant,
    requested: SystemTime,
    /// The agent that requested it.
    actor: Actor,
    progress: Mutex<RunProgress>,
    version: watch::Sender<u64>,
}

impl Run {
    pub(crate) fn new(id: RunId, cell: Option<RunCell>, source: String) -> Self {
        let requested_at = Instant::now();
        let (stage, span) = (Some((String::new(), requested_at)), Some(telemetry::run(&id, cell.as_ref())));
        let progress = RunProgress { stage, span, ..RunProgress::default() };
        Self {
            id,
            cell,
            source,
            requested_at,
            requested: SystemTime::now(),
            actor: actor::current(),
            progress: Mutex::new(progress),
            version: watch::Sender::new(0),
        }
    }

    /// A run of an earlier server.
    pub(crate) fn adopted(details: RunDetails, requested: SystemTime) -> Self {
        let cell = details.notebook.zip(details.cell).map(|(path, id)| RunCell { path, id });
        let actor = Actor { agent: details.agent, ..Actor::default() };
        let age = SystemTime::now().duration_since(requested).unwrap_or_default();
        let now = Instant::now();
        let run = Self::new(details.run, cell, details.source);
        // The clock of this machine may have begun later.
        Self { requested_at: now.checked_sub(age).unwrap_or(now), requested, actor, ..run }
    }

    pub(crate) fn requested_at(&self) -> Instant {
        self.requested_at
    }

    /// How often its code has asked for input: a later server counts the same.
    pub fn inputs(&self) -> u32 {
        self.progress.lock().inputs
    }

    /// When it was requested.
    pub fn requested(&self) -> SystemTime {
        self.requested
    }

    /// When the kernel began with it, or it was requested.
    pub fn since(&self) -> SystemTime {
        self.progress.lock().began.unwrap_or(self.requested)
    }

    /// When it ended.
    pub fn ended_at(&self) -> Option<Instant> {
        self.progress.lock().ended_at
    }

    pub fn execution_count(&self) -> Option<u64> {
        self.progress.lock().execution_count
    }

    /// What a later server should know about it.
    pub(crate) fn details(&self) -> RunDetails {
        let cell = self.cell.clone();
        let (notebook, cell) = cell.map_or((None, None), |cell| (Some(cell.path), Some(cell.id)));
        let (run, source, agent) = (self.id.clone(), self.source.clone(), self.actor.agent.clone());
        RunDetails { run, notebook, cell, source, agent, ..RunDetails::default() }
    }

    /// Whether the kernel, or its connection, has ended it.
    pub(crate) fn is_finished(&self) -> bool {
        self.progress.lock().finished_at.is_some()
    }

    pub fn id(&self) -> &RunId {
        &self.id
    }

    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// `None` for code that is in no notebook.
    pub fn cell(&self) -> Option<&RunCell> {
        self.cell.as_ref()
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    /// A counter that changes whenever [`Run::view`] may.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    pub fn state(&self) -> RunState {
        self.progress.lock().state.clone()
    }

    pub fn view(&self) -> RunView {
        let progress = self.progress.lock();
        RunView {
            state: progress.state.clone(),
            outputs: progress.shown().into(),
            bytes: progress.area.size_bytes(),
            execution_count: progress.execution_count,
            notes: progress.notes.clone(),
            notices: progress.notices.clone(),
            elapsed: progress.elapsed(self.requested_at),
            queued: progress.queued(self.requested_at),
            may_fail: progress.may_fail,
            saved: progress.saved.clone(),
            changes: progress.changes.clone(),
        }
    }

    /// See [`RunView::elapsed`].
    pub fn elapsed(&self) -> Duration {
        self.progress.lock().elapsed(self.requested_at)
    }

    /// See [`RunView::queued`].
    pub fn queued(&self) -> Duration {
        self.progress.lock().queued(self.requested_at)
    }

    /// Whether it has failed, and its cell is not tagged as one that may.
    pub fn has_failed(&self) -> bool {
        let progress = self.progress.lock();
        let is_expected = progress.may_fail && matches!(progress.state, RunState::Error { .. });
        progress.state.is_failure() && !is_expected
    }

    /// A session has deleted its cell. If it is the one that requested the run, the source still runs: its calls take effect in their
    /// order.
    pub fn cell_deleted_by(&self, session: SessionId) {
        self.progress.lock().deleted_by = Some(session);
    }

    /// Whether its code has called `exit()` or `quit()`: nothing of a series runs after that.
    pub fn asks_to_exit(&self) -> bool {
        self.progress.lock().exit.is_some()
    }

    /// Says once that the kernel was restarted since the last run, unless another reason was given.
    pub(crate) fn mark_restarted(&self) {
        self.update(RunProgress::mark_restarted);
    }

    /// Says that another process of the kernel, or another kernel, runs it.
    pub(crate) fn note_restart(&self, note: &str) {
        self.progress.lock().is_restart_said = true;
        self.note(note);
    }

    /// Reads or sets facts about it that change, of which nobody waits for news.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut RunProgress) -> T) -> T {
        look(&mut self.progress.lock())
    }

    /// The kernel, once one has been chosen.
    pub fn kernel(&self) -> Option<Arc<dyn Kernel>> {
        self.progress.lock().kernel.clone()
    }

    /// What it does now, for progress: the last line that it printed, or what is being prepared.
    pub fn activity(&self) -> String {
        let progress = self.progress.lock();
        if progress.state == RunState::Queued || progress.began_at.is_none() {
            return progress.stage.as_ref().map(|(stage, _)| stage.clone()).unwrap_or_default();
        }
        let last = progress.area.outputs().iter().rev().find_map(|output| match output {
            Output::Stream { text, .. } => Some(render::last_line(text)).filter(|line| !line.is_empty()),
            _ => None,
        });
        last.unwrap_or_default()
    }

    /// Time since a queued run started its current wait.
    pub fn waited(&self) -> Duration {
        self.progress.lock().stage.as_ref().map(|(_, since)| since.elapsed()).unwrap_or_default()
    }

    /// Whether the kernel, or its keeper, has it: from then on only an interrupt stops it.
    pub fn is_sent(&self) -> bool {
        self.progress.lock().execution.is_some()
    }

    /// Whether it is over and stored, or waits for input.
    pub fn is_settled(&self) -> bool {
        self.progress.lock().is_settled()
    }

    /// Sends the kernel the line that it waits for. `false` if it does not wait for one.
    pub fn answer_input(&self, line: String) -> bool {
        let execution = self.update(|it| {
            let execution = it.execution.clone().filter(|_| it.is_waiting())?;
            it.state = RunState::Running;
            Some(execution)
        });
        execution.is_some_and(|execution| execution.answer_input(line))
    }

    pub(crate) fn set_kernel(&self, kernel: Arc<dyn Kernel>) {
        let mut progress = self.progress.lock();
        if let Some(span) = &progress.span {
            span.record("cellbridge.kernel.id", kernel.id().as_str());
        }
        progress.kernel = Some(kernel);
    }

    /// It will run in the notebook's kernel if there is one by now: an interrupt of that kernel may come before the run's task.
    pub(crate) fn expects_kernel_of(&self, notebook: &OpenNotebook) {
        if let Some(kernel) = notebook.kernel().filter(|kernel| !kernel.is_gone()) {
            self.set_kernel(kernel);
        }
    }

    /// An interrupt is about to be sent.
    pub(crate) fn expect_interruption(&self) {
        self.progress.lock().stop = Stop::Interrupt;
    }

    /// The kernel is about to be restarted on request.
    pub(crate) fn expect_restart(&self) {
        self.progress.lock().stop = Stop::Restart;
    }

    /// Says what became of the kernel that its code has asked to exit.
    pub(crate) fn exited(&self, has_ended: bool) {
        self.update(|it| it.exited(has_ended));
    }

    /// Adds a sentence for agents.
    pub fn note(&self, note: impl Into<String>) {
        self.update(|it| it.note_once(note));
    }

    /// Adds sentences about its kernel for agents, with names that others have given.
    pub(crate) fn add_notices(&self, notices: Vec<String>) {
        let notices = notices.into_iter().map(|notice| one_line(&notice).into_owned());
        self.update(|it| it.notices.extend(notices));
    }

    /// Reports what is being prepared.
    pub(crate) fn set_stage(&self, stage: impl Into<String>) {
        self.update(|it| it.stage = Some((stage.into(), Instant::now())));
    }

    /// The end is stored where it belongs.
    pub fn close(&self) {
        self.end_span();
        self.update(|it| it.is_closed = true);
    }

    /// The parent of everything that is done for the run.
    pub fn span(&self) -> Span {
        self.progress.lock().span.clone().unwrap_or_else(Span::none)
    }

    /// Ends its span with the current state.
    pub(crate) fn end_span(&self) {
        let mut progress = self.progress.lock();
        let span = progress.span.take().unwrap_or_else(Span::none);
        let queued = progress.queued(self.requested_at);
        telemetry::run_ended(&span, &progress.state, progress.execution_count, queued);
    }

    /// Whether its cell is in this notebook.
    pub(crate) fn is_in(&self, path: &place::NotebookPath) -> bool {
        self.cell().is_some_and(|cell| cell.path == *path)
    }

    pub(crate) fn executing(&self, execution: Arc<dyn Execution>) {
        self.update(|it| {
            if !it.state.is_over() {
                it.notes.extend(execution.notice().map(str::to_owned));
                it.execution = Some(execution);
            }
        });
    }

    /// Ends a run that did not reach its kernel.
    pub fn end(&self, state: RunState) {
        self.with(|it| {
            if !it.state.is_over() {
                (it.state, it.ended_at) = (state, Some(Instant::now()));
            }
        });
        self.retract();
        self.close();
    }

    /// Ends a run that never ran.
    pub(crate) fn skip(&self, reason: SkipReason) {
        self.end(RunState::Skipped { reason });
    }

    /// An event of a run that was adopted, which happened at another time.
    pub(crate) fn on_event_at(&self, time: SystemTime, event: Event) {
        let (age, now) = (SystemTime::now().duration_since(time).unwrap_or_default(), Instant::now());
        let at = now.checked_sub(age).map_or(now, |at| at.max(self.requested_at));
        self.update(|it| it.on_event(event, at));
    }

    /// What the kernel has reported, at this moment.
    pub fn on_event(&self, event: Event) {
        self.update(|it| it.on_event(event, Instant::now()));
    }

    /// From now on its outputs no longer belong to the cell: the cell was cleared or deleted.
    pub fn detach_outputs(&self) {
        self.progress.lock().is_detached = true;
    }

    pub fn is_closed(&self) -> bool {
        self.progress.lock().is_closed
    }

    /// Drops the outputs of a run that is over, with a note. They are never stored again.
    pub(crate) fn drop_outputs(&self) {
        let mut progress = self.progress.lock();
        progress.is_detached = true;
        progress.area = OutputArea::default();
        progress.notes.push("Its outputs were dropped to free memory.".to_owned());
    }

    /// The outputs of its cell.
    pub fn cell_outputs(&self) -> Arc<[Output]> {
        self.progress.lock().area.outputs().into()
    }

    /// The models of the `Output` widgets of other cells that have taken outputs, and whether its own cell has outputs.
    pub(crate) fn captured_by(&self) -> (Vec<String>, bool) {
        let area = &self.progress.lock().area;
        (area.captured().map(|(model, _)| model.to_owned()).collect(), !area.outputs().is_empty())
    }

    /// When the kernel did what with it, as `JupyterLab` writes that into the metadata of its cell.
    pub(crate) fn times(&self) -> Value {
        let progress = self.progress.lock();
        let (now, clock) = (Instant::now(), SystemTime::now());
        let text = |at: Instant| {
            let at = clock.checked_sub(now.saturating_duration_since(at)).unwrap_or(clock);
            DateTime::<Utc>::from(at).to_rfc3339_opts(SecondsFormat::Micros, true)
        };
        let started = progress.started_at.or(progress.began_at);
        let ended = progress.idle_at.or(progress.finished_at);
        let times = [
            ("iopub.status.busy", progress.began_at),
            ("iopub.execute_input", started),
            ("shell.execute_reply.started", started),
            ("shell.execute_reply", ended),
            ("iopub.status.idle", ended),
        ];
        let times = times.into_iter().filter_map(|(name, at)| Some((name.to_owned(), text(at?).into())));
        times.collect::<serde_json::Map<_, _>>().into()
    }

    /// Changes facts about it of which others wait for news.
    fn update<T>(&self, change: impl FnOnce(&mut RunProgress) -> T) -> T {
        let changed = change(&mut self.progress.lock());
        self.version.send_modify(|version| *version += 1);
        changed
    }
}

#[cfg(test)]
mod tests;

//! What is known of a run, and what the kernel's events change in it.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use kernel::{Event, Outcome, OutputArea};
use notebook::{Output, visible};
use place::{Death, Execution, Kernel, RunState, SaveStatus, SessionId, SkipReason};
use tracing::Span;

use super::announced::Announced;
use crate::memory_changes::MemoryChanges;
use crate::telemetry::TRACED;

/// How many bytes one run may print and show; streams beyond that are not kept. A loop that prints without end must not
/// take the machine's memory.
const MAX_OUTPUT_BYTES: usize = 256 * 1024 * 1024;
const CUT: &str = "The output exceeded 256 MiB; later output was dropped.";
pub(super) const LATE_OUTPUT: &str = "More output arrived after the end of the run; it is included.";
pub(super) const RESTARTED: &str = "The kernel was restarted after the last run, not by this server: its earlier \
 variables are gone. Run \
     the cells that this one needs first.";
const EXIT: &str = "The code asked the kernel to exit: the kernel ended, and its variables are gone.";
const EXIT_NOT_SEEN: &str = "The code asked the kernel to exit, and the kernel has not ended: until it does, its variables are there.";
const EXIT_OF_FRONTEND: &str =
    "The code requested an exit that leaves the kernel running: the variables stay.";
/// Beginning of the note about a lost connection.
const RECONNECTING: &str = "The connection to the kernel is lost; reconnecting: ";

/// Whether an agent or a person requested to end the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Stop {
    #[default]
    NotRequested,
    Interrupt,
    /// The kernel is being restarted.
    Restart,
}

/// Everything about a run that changes.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct RunProgress {
    pub(super) state: RunState,
    pub(crate) area: OutputArea,
    pub(crate) execution_count: Option<u64>,
    pub(super) notes: Vec<String>,
    /// Sentences about the kernel.
    pub(super) notices: Vec<String>,
    /// When the kernel began with it, and was done with it, as far as it says so.
    pub(crate) began_at: Option<Instant>,
    pub(super) began: Option<SystemTime>,
    /// When the kernel began with the code itself.
    pub(super) started_at: Option<Instant>,
    pub(super) idle_at: Option<Instant>,
    pub(super) ended_at: Option<Instant>,
    /// When its execution ended; `None` if this program ends the run, and the kernel continues it.
    pub(super) finished_at: Option<Instant>,
    /// The kernel has said how it ended.
    pub(crate) has_reply: bool,
    /// The end is stored where it belongs.
    pub(super) is_closed: bool,
    pub(super) stop: Stop,
    /// How often the code has asked for input.
    pub(super) inputs: u32,
    /// How the last attempt to store the outputs ended.
    pub(crate) saved: Option<SaveStatus>,
    /// A digest of the outputs that were stored last.
    pub(crate) stored_outputs: Option<u64>,
    /// What it has changed in memory, once that is known.
    pub(crate) changes: Option<MemoryChanges>,
    /// Output that came after the end is about to be stored.
    pub(crate) is_late_write_pending: bool,
    /// Its outputs no longer belong to the cell and must not be stored.
    pub(crate) is_detached: bool,
    /// The session that has deleted its cell since the run was requested.
    pub(crate) deleted_by: Option<SessionId>,
    /// The preparation that a queued run waits for, and its start.
    pub(super) stage: Option<(String, Instant)>,
    pub(crate) execution: Option<Arc<dyn Execution>>,
    pub(super) kernel: Option<Arc<dyn Kernel>>,
    /// An error does not fail it: the cell is tagged so.
    pub(crate) may_fail: bool,
    /// It relies on the run before it in a series: in another process of the kernel it must not run.
    pub(crate) is_in_series: bool,
    /// Another process of the kernel runs it than the one before.
    pub(crate) was_restarted: bool,
    /// It was said, perhaps by the run before it.
    pub(crate) is_restart_said: bool,
    /// The code has asked for the end of the kernel.
    pub(crate) exit: Option<Exit>,
    pub(super) announced: Announced,
    /// `None` once the run has ended.
    pub(super) span: Option<Span>,
}

/// Code has called `exit()` or `quit()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit {
    /// The kernel goes on.
    pub(crate) keeps_kernel: bool,
}

impl RunProgress {
    /// Outputs that the cell shows, then outputs that `Output` widgets of other cells have taken.
    pub(super) fn shown(&self) -> Vec<Output> {
        let captured = self.area.captured().flat_map(|(_, outputs)| outputs);
        self.area.outputs().iter().chain(captured).cloned().collect()
    }

    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.state, RunState::WaitingForInput { .. })
    }

    pub(super) fn is_settled(&self) -> bool {
        self.is_closed || self.is_waiting()
    }

    /// The kernel works on it, from this time on.
    fn begin(&mut self, at: Instant) {
        if self.began_at.is_none() && !self.state.is_over() {
            (self.began_at, self.began) = (Some(at), SystemTime::now().checked_sub(at.elapsed()));
            if self.state == RunState::Queued {
                self.state = RunState::Running;
            }
            tracing::info!(target: TRACED, parent: self.span.as_ref().and_then(Span::id), "run.started");
        }
    }

    /// Events come in order, each with its time. Output may follow the end.
    pub(super) fn on_event(&mut self, event: Event, at: Instant) {
        match event {
            Event::Busy => self.begin(at),
            Event::Started { execution_count } => {
                self.begin(at);
                self.started_at.get_or_insert(at);
                self.state = RunState::Running;
                self.execution_count = execution_count.or(self.execution_count);
            }
            Event::Disconnected { cause } => {
                self.notes.retain(|note| !note.starts_with(RECONNECTING));
                let cause = cause.filter(|_| !self.state.is_over());
                self.notes.extend(cause.map(|cause| format!("{RECONNECTING}{}", visible(&cause))));
            }
            Event::Idle => self.idle_at = Some(at),
            Event::Restarted => {
                self.was_restarted = true;
                self.mark_restarted();
            }
            Event::ExitRequested { keeps_kernel } => {
                self.exit = Some(Exit { keeps_kernel });
                if keeps_kernel {
                    self.note_once(EXIT_OF_FRONTEND);
                }
            }
            Event::InputWanted { prompt, password } => {
                self.inputs += 1;
                self.state = RunState::WaitingForInput { prompt, is_password: password };
            }
            Event::InputAnswered => {
                if self.is_waiting() {
                    self.state = RunState::Running;
                }
            }
            Event::Changed(answer) => self.changes = Some(MemoryChanges::read(&answer)),
            Event::Finished(outcome) => self.on_outcome(outcome, at),
            Event::Output { output: Output::Stream { .. }, .. }
                if self.area.size_bytes() > MAX_OUTPUT_BYTES =>
            {
                self.note_once(CUT);
            }
            widget @ (Event::Widget { .. } | Event::WidgetState(_)) => _ = self.area.apply(widget),
            output => {
                self.begin(at);
                let is_late = self.state.is_over();
                if self.area.apply(output) && is_late {
                    self.note_once(LATE_OUTPUT);
                }
            }
        }
    }

    /// Says that the kernel was restarted, unless that was said.
    pub(super) fn mark_restarted(&mut self) {
        if !std::mem::replace(&mut self.is_restart_said, true) {
            self.notes.push(RESTARTED.to_owned());
        }
    }

    /// Another server has said that it restarted the kernel: that is why a process that was replaced has ended.
    pub(crate) fn restarted_by_others(&mut self) {
        self.is_restart_said = true;
        if self.state == (RunState::KernelDied { how: Death::Replaced }) {
            self.state = RunState::KernelDied { how: Death::Restarted };
        }
    }

    /// Says what became of a kernel that was asked to exit.
    pub(super) fn exited(&mut self, has_ended: bool) {
        if has_ended {
            // With the kernel, its variables go.
            self.changes = None;
        }
        self.note_once(if has_ended { EXIT } else { EXIT_NOT_SEEN });
    }

    pub(super) fn note_once(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Until it is over, or now.
    fn until(&self) -> Instant {
        self.idle_at.or(self.ended_at).unwrap_or_else(Instant::now)
    }

    /// How long the kernel has worked on it. One with which it has not begun has waited so long.
    pub(super) fn elapsed(&self, requested_at: Instant) -> Duration {
        self.until().saturating_duration_since(self.began_at.unwrap_or(requested_at))
    }

    /// How long it has waited for its kernel: for the start, for other runs, and for what others run there.
    pub(super) fn queued(&self, requested_at: Instant) -> Duration {
        self.began_at.unwrap_or_else(|| self.until()).saturating_duration_since(requested_at)
    }

    fn on_outcome(&mut self, outcome: Outcome, at: Instant) {
        let count = match &outcome {
            Outcome::Done { execution_count, .. } | Outcome::Error { execution_count, .. } => {
                *execution_count
            }
            _ => None,
        };
        self.execution_count = count.or(self.execution_count);
        self.has_reply = matches!(
            outcome,
            Outcome::Done { .. } | Outcome::Error { .. } | Outcome::Interrupted { is_started: true }
        );
        let is_stopped = self.stop != Stop::NotRequested;
        self.state = match outcome {
            Outcome::Done { next_input, .. } => {
                let proposed = |code: String| {
                    let lines: Vec<_> = code.lines().map(|line| format!("    {}", visible(line))).collect();
                    format!("The kernel proposes this code for the next cell:\n{}", lines.join("\n"))
                };
                self.notes.extend(next_input.map(proposed));
                RunState::Done
            }
            // Some kernels give no name. Any other error after an interrupt is one of the code, for example of a `finally`.
            Outcome::Error { name, .. } if is_stopped && name.is_empty() => RunState::Interrupted,
            Outcome::Aborted if self.stop == Stop::Interrupt => {
                RunState::Skipped { reason: SkipReason::Cancelled }
            }
            Outcome::Aborted if self.stop == Stop::Restart => {
                RunState::Skipped { reason: SkipReason::Restarted }
            }
            Outcome::KernelDied { .. } | Outcome::Lost { .. } if self.stop == Stop::Restart => {
                RunState::Interrupted
            }
            outcome => RunState::of_outcome(outcome),
        };
        self.notes.retain(|note| !note.starts_with(RECONNECTING));
        self.ended_at = Some(at);
        self.finished_at = self.ended_at;
        self.execution = None;
    }
}

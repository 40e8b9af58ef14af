use std::collections::HashSet;
use std::time::Instant;

use notebook::Output;

use crate::messages::{Reply, UNNAMED};
use crate::widgets::{shown_in, shown_widget};
use crate::{Event, LossCause, Outcome, Sink};

/// One execution, from its request to its end.
#[expect(clippy::struct_excessive_bools, reason = "they are independent facts")]
pub(super) struct Request {
    pub(super) sink: Sink,
    /// Its place among our requests on the shell channel.
    pub(super) number: u64,
    pub(super) stage: Stage,
    /// The kernel published `idle` for it.
    pub(super) is_idle: bool,
    /// The kernel published outputs for it.
    pub(super) has_outputs: bool,
    /// It has its reply and its `idle`; outputs until then are late.
    pub(super) late_until: Option<Instant>,
    /// The error that the kernel published: name and value.
    pub(super) error: Option<(String, String)>,
    /// An `Output` widget takes what is published.
    is_captured: bool,
    pub(super) reply: Option<Reply>,
    /// The number in `In[n]` that the kernel reported as it started.
    count: Option<u64>,
    /// The ids of the displays that it made.
    pub(super) displays: HashSet<String>,
    /// The models of the widgets that its outputs show, with the text that was passed on last.
    pub(super) widgets: Vec<(String, Option<String>)>,
    is_busy: bool,
    /// Our session, as the kernel knows it; empty if it has not said so.
    session: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Queued,
    Started,
    Finished,
}

impl Request {
    pub(super) fn new(number: u64, sink: Sink) -> Self {
        Self {
            sink,
            number,
            stage: Stage::Queued,
            is_idle: false,
            has_outputs: false,
            late_until: None,
            error: None,
            is_captured: false,
            reply: None,
            count: None,
            displays: HashSet::new(),
            widgets: Vec::new(),
            is_busy: false,
            session: String::new(),
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.stage == Stage::Finished
    }

    pub(super) fn waits_for_idle(&self) -> bool {
        !self.is_finished() && self.reply.is_some() && !self.is_idle
    }

    pub(super) fn waits_for_reply(&self) -> bool {
        !self.is_finished() && self.is_idle && self.reply.is_none()
    }

    pub(super) fn start(&mut self, execution_count: Option<u64>) {
        if self.stage == Stage::Queued {
            self.stage = Stage::Started;
            self.count = execution_count;
            (self.sink)(Event::Started { execution_count });
        }
    }

    /// Whether the kernel works on it.
    pub(super) fn is_running(&self) -> bool {
        let has_begun = self.is_busy || self.stage == Stage::Started;
        has_begun && !self.is_finished() && !self.is_idle && self.reply.is_none()
    }

    /// Whether it can be a request of this session; an empty one says nothing.
    pub(super) fn is_of(&self, session: &str) -> bool {
        session.is_empty() || self.session.is_empty() || session == self.session
    }

    /// The kernel begins with it, a request of this session.
    pub(super) fn busy(&mut self, session: &str) {
        session.clone_into(&mut self.session);
        if !self.is_finished() && !std::mem::replace(&mut self.is_busy, true) {
            (self.sink)(Event::Busy);
        }
    }

    /// The kernel is done with it.
    pub(super) fn idle(&mut self) {
        if !std::mem::replace(&mut self.is_idle, true) && !self.is_finished() {
            (self.sink)(Event::Idle);
        }
    }

    /// Passes on what the kernel published.
    pub(super) fn publish(&mut self, event: Event) {
        self.has_outputs = true;
        self.emit(event);
    }

    /// Sends an event that says nothing about the execution itself.
    pub(super) fn notify(&mut self, event: Event) {
        (self.sink)(event);
    }

    pub(super) fn emit(&mut self, event: Event) {
        self.start(None);
        if let Event::Output { output, display_id } = &event {
            // An error that an `Output` widget shows has ended what ran in the widget, and not the cell.
            if let Output::Error { name, value, .. } = output
                && !self.is_captured
            {
                self.error = Some((name.clone(), value.clone()));
            }
            self.displays.extend(display_id.clone());
        }
        if let Event::Captured(by) = &event {
            self.is_captured = by.is_some();
        }
        let shown = match &event {
            Event::Output { output, .. } => shown_widget(output),
            Event::UpdateDisplay { bundle, .. } => shown_in(bundle),
            _ => None,
        };
        if let Some(model_id) = shown {
            // Its text is that of before, whatever was passed on.
            self.widgets.retain(|(known, _)| *known != model_id);
            self.widgets.push((model_id, None));
        }
        (self.sink)(event);
    }

    /// Reports on stderr that the outputs are missing if the code ran and nothing that the kernel published about it
    /// arrived. After a restart of the kernel the `IOPub` channel can be back later than the shell channel.
    pub(super) fn report_missing_outputs(&mut self) {
        let Some(reply) = self.reply.as_ref().filter(|reply| reply.is_done()) else { return };
        if self.stage == Stage::Queued {
            self.start(reply.execution_count());
            self.emit(notice(
                "The kernel ran this, but its messages did not arrive: outputs may be missing.",
            ));
        }
    }

    /// It ended as its reply says.
    pub(super) fn conclude(&mut self) -> (Vec<Event>, Outcome) {
        let mut reply = self.reply.take().unwrap_or_default();
        if !reply.is_aborted() {
            self.start(reply.execution_count());
        } else if self.stage == Stage::Started {
            // `IRkernel` and `bash_kernel` reply so after an interrupt.
            return (Vec::new(), self.interrupted());
        }
        let may_show_error = self.error.is_none();
        let exit = reply.exit.map(|keeps_kernel| Event::ExitRequested { keeps_kernel });
        let changes = reply.changes.take().map(Event::Changed);
        let (outputs, outcome) = reply.into_end(may_show_error);
        let outputs =
            outputs.into_iter().map(|shown| output(shown, None)).chain(exit).chain(changes).collect();
        // `%run` of a script that fails shows the error, and replies that all is well.
        let outcome = match outcome {
            done @ Outcome::Done { .. } => self.published_error().unwrap_or(done),
            Outcome::Error { execution_count, name, value } if name == UNNAMED && value.is_empty() => {
                let (name, value) = self.error.clone().unwrap_or((name, value));
                Outcome::Error { execution_count, name, value }
            }
            other => other,
        };
        (outputs, outcome)
    }

    /// It is over, everything that the kernel published about it is here, and its reply went to another client.
    pub(super) fn conclude_without_reply(&mut self) -> (Vec<Event>, Outcome) {
        if self.stage == Stage::Queued {
            return (Vec::new(), self.interrupted());
        }
        let done = Outcome::Done { execution_count: self.count, next_input: None };
        (Vec::new(), self.published_error().unwrap_or(done))
    }

    /// It is over, and messages about it may be lost.
    pub(super) fn conclude_after_loss(&mut self, cause: LossCause) -> (Vec<Event>, Outcome) {
        if self.reply.is_some() {
            return self.conclude();
        }
        // After an error nothing of the code runs.
        if let Some(error) = self.published_error() {
            return (Vec::new(), error);
        }
        let is_started = self.stage == Stage::Started;
        let shown =
            is_started.then(|| notice(&format!("The result is unknown: {cause}. Outputs may be missing.")));
        (shown.into_iter().collect(), Outcome::Lost { is_started, cause })
    }

    /// An interrupt ended it, without an error that was published.
    pub(super) fn interrupted(&self) -> Outcome {
        Outcome::Interrupted { is_started: self.stage == Stage::Started }
    }

    fn published_error(&self) -> Option<Outcome> {
        let (name, value) = self.error.clone()?;
        Some(Outcome::Error { execution_count: self.count, name, value })
    }
}

/// A line of Cellbridge on stderr.
fn notice(text: &str) -> Event {
    output(Output::Stream { name: "stderr".to_owned(), text: (&*format!("[{text}]\n")).into() }, None)
}

pub(super) fn output(output: Output, display_id: Option<String>) -> Event {
    Event::Output { output, display_id }
}

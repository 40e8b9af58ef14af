//! One execution: what it was told, and how it ends.

use std::collections::HashSet;

use notebook::Output;

use crate::reply::Reply;
use crate::{Event, Outcome, Sink};

/// An execution, and where its events go.
pub(super) struct Execution {
    pub(super) sink: Sink,
    pub(super) number: u64,
    pub(super) stage: Stage,
    pub(super) is_silent: bool,
    /// The kernel turned to other things.
    pub(super) is_idle: bool,
    /// It published an error.
    pub(super) has_error: bool,
    pub(super) reply: Option<Reply>,
    /// The displays that it made.
    pub(super) displays: HashSet<String>,
}

/// How far it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Queued,
    Started,
    Finished,
}

impl Execution {
    /// One that was not begun; `number` is its place among our requests.
    pub(super) fn new(number: u64, is_silent: bool, sink: Sink) -> Self {
        Self {
            sink,
            number,
            stage: Stage::Queued,
            is_silent,
            is_idle: false,
            has_error: false,
            reply: None,
            displays: HashSet::new(),
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.stage == Stage::Finished
    }

    /// Whether all that is missing is the kernel's word that nothing more comes.
    pub(super) fn waits_for_idle(&self) -> bool {
        !self.is_finished() && self.reply.is_some()
    }

    /// Whether the kernel has turned to other things and not said how this ended.
    pub(super) fn waits_for_reply(&self) -> bool {
        !self.is_finished() && self.is_idle && self.reply.is_none()
    }

    pub(super) fn start(&mut self, execution_count: Option<u64>) {
        if self.stage == Stage::Queued {
            self.stage = Stage::Started;
            (self.sink)(Event::Started { execution_count });
        }
    }

    pub(super) fn tell(&mut self, event: Event) {
        self.start(None);
        if let Event::Output { output, display_id } = &event {
            self.has_error |= matches!(output, Output::Error { .. });
            self.displays.extend(display_id.clone());
        }
        (self.sink)(event);
    }

    /// Tells on stderr that what the kernel published of it is missing, if it ran and nothing of that came. The channel
    /// for it can be back later than the one for requests when a kernel is started anew.
    pub(super) fn mind_losses(&mut self) {
        let Some(reply) = self.reply.as_ref().filter(|reply| reply.is_done()) else { return };
        if self.stage == Stage::Queued && !self.is_silent {
            self.start(reply.execution_count());
            let text =
                "[The kernel ran this, and what it published did not arrive: outputs may be missing.]\n";
            self.tell(output(Output::Stream { name: "stderr".to_owned(), text: text.into() }, None));
        }
    }

    /// What its reply shows, and how it ended.
    pub(super) fn conclude(&mut self) -> (Vec<Event>, Outcome) {
        let reply = self.reply.take().unwrap_or_default();
        if !reply.is_aborted() {
            self.start(reply.execution_count());
        }
        let may_show_error = !self.has_error && !self.is_silent;
        let (outputs, outcome) = reply.into_end(may_show_error);
        (outputs.into_iter().map(|shown| output(shown, None)).collect(), outcome)
    }

    /// It is over, and the kernel does not say how it ended. `ipykernel` gives no reply where it is interrupted in its own
    /// lines before the code.
    pub(super) fn unanswered() -> (Vec<Event>, Outcome) {
        let value = "The kernel turned to other things without a word of how this ended: it was interrupted as it began.";
        let (name, value) = ("Interrupted".to_owned(), value.to_owned());
        (Vec::new(), Outcome::Error { execution_count: None, name, value })
    }

    /// It is over, and how it ended was lost with the connection.
    pub(super) fn lose(&mut self) -> (Vec<Event>, Outcome) {
        let (name, value) = ("ConnectionLost".to_owned(), match self.stage {
            Stage::Queued => {
                "The connection to the kernel was lost when this was about to run, and the kernel says nothing of it. \
                 It is not known whether it ran."
            }
            _ => {
                "The connection to the kernel was lost while this ran. It is over; how it ended is not known, and \
                 outputs may be missing."
            }
        }
        .to_owned());
        let shown =
            Output::Error { name: name.clone(), value: value.clone(), traceback: vec![value.clone()] };
        let shown = if self.stage == Stage::Queued { Vec::new() } else { vec![output(shown, None)] };
        (shown, Outcome::Error { execution_count: None, name, value })
    }
}

/// An output as an event.
pub(super) fn output(output: Output, display_id: Option<String>) -> Event {
    Event::Output { output, display_id }
}

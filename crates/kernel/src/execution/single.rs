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
    /// The error that it published: name and value.
    pub(super) error: Option<(String, String)>,
    pub(super) reply: Option<Reply>,
    /// What it said of the number in `In[n]` as it began.
    count: Option<u64>,
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
            error: None,
            reply: None,
            count: None,
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
            self.count = execution_count;
            (self.sink)(Event::Started { execution_count });
        }
    }

    pub(super) fn tell(&mut self, event: Event) {
        self.start(None);
        if let Event::Output { output, display_id } = &event {
            if let Output::Error { name, value, .. } = output {
                self.error = Some((name.clone(), value.clone()));
            }
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
        let may_show_error = self.error.is_none() && !self.is_silent;
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

    /// It is over, all that the kernel told everybody of it is here, and the reply is not.
    pub(super) fn conclude_unheard(&mut self) -> (Vec<Event>, Outcome) {
        if self.stage == Stage::Queued {
            return Self::unanswered();
        }
        let done = Outcome::Done { execution_count: self.count, next_input: None };
        (Vec::new(), self.failure().unwrap_or(done))
    }

    /// It is over, and messages of it may be lost. `is_replaced`: the kernel it was asked of is no more; a process can
    /// end before it says that it began.
    pub(super) fn conclude_in_doubt(&mut self, is_replaced: bool) -> (Vec<Event>, Outcome) {
        match (&self.reply, self.failure()) {
            (Some(_), _) => self.conclude(),
            // After an error nothing runs on.
            (None, Some(failure)) => (Vec::new(), failure),
            (None, None) if is_replaced => (Vec::new(), Outcome::Restarted),
            (None, None) => self.lose(),
        }
    }

    /// The error that it published, as its end.
    fn failure(&self) -> Option<Outcome> {
        let (name, value) = self.error.clone()?;
        Some(Outcome::Error { execution_count: self.count, name, value })
    }

    /// It is over, and how it ended was lost on the way.
    fn lose(&mut self) -> (Vec<Event>, Outcome) {
        let (name, value) = ("ConnectionLost".to_owned(), match self.stage {
            Stage::Queued => {
                "The request or what the kernel said of it was lost on the way, with the connection or by the server. \
                 It is not known whether this ran."
            }
            _ => {
                "What the kernel said of this was lost on the way, with the connection or by the server. It is over; how \
                 it ended is not known, and outputs may be missing."
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

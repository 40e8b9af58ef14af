//! The runs in a log, and the progress of each: the one reader of records. `owners` adds what only the writer of a log knows.

use std::collections::HashMap;
use std::time::SystemTime;

use bytes::Bytes;
use notebook::{Output, RunId};
use serde::{Deserialize, Serialize};

use super::owners::Bookkeeping;
use super::peek::Peek;
use super::record::{Announcement, LogEvent, LogRecord};
use crate::messages::{Channel, Message, MessageId, Reply, content};
use crate::{Event, Outcome, OutputArea};

/// Outputs of a run beyond this are not followed, in bytes. They are in the notebook when it has ended.
const MAX_SHOWN: usize = 8 * 1024 * 1024;
/// The most ended runs that keep their outputs, which they do until these are in the notebook.
const KEPT: usize = 4;

/// A run as a log and its keeper tell of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    #[serde(rename = "note")]
    pub announcement: Announcement,
    /// When its client announced it.
    #[serde(rename = "noted_at")]
    pub announced_at: SystemTime,
    /// Its outputs are in its cell already.
    #[serde(default)]
    pub is_stored: bool,
    /// It was acknowledged: it is shown on request, and nothing remains to be done.
    #[serde(default)]
    pub is_acknowledged: bool,
}

/// The progress of a run, as far as a log tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RunStage {
    #[default]
    Queued,
    Running,
    WaitingForInput {
        prompt: String,
        is_password: bool,
    },
    /// Its request was withdrawn before the kernel got it.
    Withdrawn,
    Over(Outcome),
}

impl RunStage {
    pub fn is_over(&self) -> bool {
        matches!(self, Self::Withdrawn | Self::Over(_))
    }
}

/// A run in a log.
#[derive(Debug)]
pub struct LoggedRun {
    pub record: RunRecord,
    pub stage: RunStage,
    /// When the kernel began with it.
    pub started_at: Option<SystemTime>,
    /// When its last message came.
    pub changed_at: Option<SystemTime>,
    pub execution_count: Option<u64>,
    /// The header of the kernel's last `input_request`.
    pub input_request: Option<Bytes>,
    /// Counts the changes of its outputs.
    pub version: u64,
    area: OutputArea,
    is_dropped: bool,
    reply: Option<Outcome>,
    is_idle: bool,
    /// The kernel has published something else than its status.
    has_published: bool,
    pub(super) kept: Bookkeeping,
}

impl LoggedRun {
    fn new(announcement: Announcement, announced_at: SystemTime, kept: Bookkeeping) -> Self {
        Self {
            record: RunRecord { announcement, announced_at, is_stored: false, is_acknowledged: false },
            stage: RunStage::Queued,
            started_at: None,
            changed_at: None,
            execution_count: None,
            input_request: None,
            version: 0,
            area: OutputArea::default(),
            is_dropped: false,
            reply: None,
            is_idle: false,
            has_published: false,
            kept,
        }
    }

    pub fn id(&self) -> &RunId {
        &self.record.announcement.run
    }

    /// The id of its request; `None` if its server has not sent it. Otherwise the kernel runs it, whatever becomes of the server.
    pub fn request(&self) -> Option<&MessageId> {
        self.record.announcement.message.as_ref()
    }

    /// Whether the kernel has its request and has not ended it.
    pub fn is_running(&self) -> bool {
        self.request().is_some() && !self.stage.is_over()
    }

    /// Whether the kernel works on it, or has still to.
    pub fn is_unfinished(&self) -> bool {
        !self.record.is_acknowledged && !self.stage.is_over()
    }

    /// Its outputs so far, if the reader keeps outputs.
    pub fn outputs(&self) -> &[Output] {
        self.area.outputs()
    }

    /// Whether these are all of its outputs.
    pub fn is_whole(&self) -> bool {
        !self.is_dropped
    }

    /// The kernel is done with it.
    fn end(&mut self) {
        self.stage = RunStage::Over(match self.reply.take() {
            Some(Outcome::Aborted) if !self.has_published => Outcome::Aborted,
            // `IRkernel` says that it has aborted what an interrupt has stopped.
            Some(Outcome::Aborted) | None => Outcome::Interrupted { is_started: true },
            Some(outcome) => outcome,
        });
    }

    fn show(&mut self, event: Event) {
        if let Event::Started { execution_count } = event {
            self.execution_count = execution_count;
        } else if self.area.size_bytes() > MAX_SHOWN {
            self.is_dropped = true;
            return;
        }
        self.area.apply(event);
        self.version += 1;
    }
}

/// Reads the records of a log. Without outputs, unless [`RunsInLog::with_outputs`] is used.
#[derive(Debug, Default)]
pub struct RunsInLog {
    /// The oldest first.
    pub(super) runs: Vec<LoggedRun>,
    /// Indexes in `runs`, by the id of the request.
    requests: HashMap<MessageId, usize>,
    /// The same, by the id of the kernel's `input_request`, which the answer names as its parent.
    questions: HashMap<String, usize>,
    keeps_outputs: bool,
}

impl RunsInLog {
    /// Keeps the outputs of the runs that are not over, and of the last ones that are.
    pub fn with_outputs() -> Self {
        Self { keeps_outputs: true, ..Self::default() }
    }

    /// The runs, the oldest first.
    pub fn all(&self) -> &[LoggedRun] {
        &self.runs
    }

    pub fn into_all(self) -> Vec<LoggedRun> {
        self.runs
    }

    /// The runs that nobody has acknowledged.
    pub fn unacknowledged(&self) -> impl Iterator<Item = &LoggedRun> {
        self.runs.iter().filter(|run| !run.record.is_acknowledged)
    }

    /// Reads the record at `offset`. Returns the run that it is about, if that is one.
    pub fn read(&mut self, at: SystemTime, offset: u64, record: &LogRecord) -> Option<&LoggedRun> {
        let index = match record {
            LogRecord::Announced(announcement) => Some(self.announce(announcement.clone(), at, offset, None)),
            LogRecord::FromKernel { channel, parts } => {
                self.on_message(at, *channel, &Peek::of(*channel, parts), parts)
            }
            LogRecord::ToKernel { channel: Channel::Stdin, parts } => {
                let index = self.questions.remove(&Peek::of(Channel::Stdin, parts).parent)?;
                self.runs[index].stage = RunStage::Running;
                Some(index)
            }
            LogRecord::ToKernel { .. } => None,
            LogRecord::Stored { run } => {
                let index = self.position(run)?;
                self.runs[index].record.is_stored = true;
                Some(index)
            }
            LogRecord::Acknowledged { run } => {
                let index = self.position(run)?;
                let record = &mut self.runs[index].record;
                (record.is_stored, record.is_acknowledged) = (false, true);
                Some(index)
            }
            LogRecord::Event(event) => self.on_event(event),
        };
        index.map(|index| &self.runs[index])
    }

    /// A run is announced at `offset`. A second announcement of it says what has changed: that its request is sent now.
    pub(super) fn announce(
        &mut self,
        announcement: Announcement,
        at: SystemTime,
        offset: u64,
        owner: Option<super::ClientId>,
    ) -> usize {
        let message = announcement.message.clone();
        let known = self.position(&announcement.run);
        let index = known.unwrap_or_else(|| {
            let kept = Bookkeeping { offset, owner, ..Bookkeeping::default() };
            self.runs.push(LoggedRun::new(announcement.clone(), at, kept));
            self.runs.len() - 1
        });
        let run = &mut self.runs[index];
        // Announcements and requests come to the keeper in any order.
        if known.is_some() && (message.is_some() || run.request().is_none()) {
            (run.record.announcement, run.kept.owner) = (announcement, owner);
        }
        self.requests.extend(message.map(|message| (message, index)));
        index
    }

    /// Reads a message of the kernel.
    pub fn on_message(
        &mut self,
        at: SystemTime,
        channel: Channel,
        peek: &Peek,
        parts: &[Bytes],
    ) -> Option<usize> {
        let index = self.index_of(&peek.parent)?;
        let run = &mut self.runs[index];
        run.changed_at = Some(at);
        let message = || Message::of_parts(channel, parts.to_vec());
        match (channel, &*peek.kind) {
            (Channel::Shell, "execute_reply") => {
                let reply = message().map(|message| Reply::read(&message.content)).unwrap_or_default();
                run.reply = Some(reply.into_end(false).1);
            }
            (Channel::Iopub, "status") => {
                run.is_idle |= peek.state.as_deref() == Some("idle");
                if peek.state.as_deref() == Some("busy") {
                    run.started_at.get_or_insert(at);
                    self.drop_earlier(index);
                }
            }
            (Channel::Iopub, _) => {
                run.has_published = true;
                if self.keeps_outputs {
                    message()
                        .and_then(|message| message.published())
                        .into_iter()
                        .for_each(|event| run.show(event));
                }
            }
            (Channel::Stdin, "input_request") => {
                let asked =
                    message().and_then(|message| message.content.decode::<content::InputRequest>().ok());
                let content::InputRequest { prompt, password } = asked.unwrap_or_default();
                run.stage = RunStage::WaitingForInput { prompt: prompt.0, is_password: password.0 };
                run.input_request = parts.first().cloned();
                self.questions.insert(peek.id.clone(), index);
            }
            _ => {}
        }
        let run = &mut self.runs[index];
        if channel == Channel::Iopub && run.stage == RunStage::Queued {
            run.stage = RunStage::Running;
        }
        // Output may come after the reply.
        if run.is_idle && run.reply.is_some() && !run.stage.is_over() {
            run.end();
        }
        Some(index)
    }

    fn on_event(&mut self, event: &LogEvent) -> Option<usize> {
        if let Some(outcome) = event.end_of_all() {
            for run in self.runs.iter_mut().filter(|run| run.is_running()) {
                run.stage = RunStage::Over(outcome.clone());
            }
        }
        let (LogEvent::Cut { message } | LogEvent::Withdrawn { message } | LogEvent::Ended { message }) =
            event
        else {
            return None;
        };
        let index = self.index_of(message)?;
        match event {
            LogEvent::Withdrawn { .. } => self.runs[index].stage = RunStage::Withdrawn,
            LogEvent::Ended { .. } => self.runs[index].end(),
            _ => {}
        }
        Some(index)
    }

    /// Drops the outputs of runs that ended long ago.
    fn drop_earlier(&mut self, index: usize) {
        let over = self.runs[..index].iter_mut().filter(|run| run.stage.is_over());
        for run in over.rev().skip(KEPT).take_while(|run| !run.is_dropped) {
            (run.area, run.is_dropped) = (OutputArea::default(), true);
        }
    }

    pub(super) fn index_of(&self, message: &str) -> Option<usize> {
        self.requests.get(message).copied()
    }

    fn position(&self, run: &RunId) -> Option<usize> {
        self.runs.iter().rposition(|logged| logged.id() == run)
    }

    /// The run with this id.
    pub fn run(&self, run: &RunId) -> Option<&LoggedRun> {
        self.position(run).map(|index| &self.runs[index])
    }

    /// Forgets the runs for which `is_kept` is `false`.
    pub(super) fn retain(&mut self, is_kept: impl FnMut(&LoggedRun) -> bool) {
        self.runs.retain(is_kept);
        self.questions.clear();
        let requests = self.runs.iter().enumerate();
        self.requests = requests.filter_map(|(index, run)| Some((run.request()?.clone(), index))).collect();
    }
}

#[cfg(test)]
pub(super) mod tests;

//! What the log of a keeper says about runs, read without a connection to it.

use std::collections::HashMap;
use std::path::Path;
use std::time::SystemTime;

use bytes::Bytes;
use kernel::log::{Announcement, Channel, LogEvent, LogRecord, Peek};
use kernel::{Death, Event, LossCause, MessageId, OutputArea};
use notebook::{Output, RunId};
use place::{RunDetails, RunState, SkipReason};
use serde_json::Value;

use super::files::read_records;

/// Outputs of a run beyond this are not followed, in bytes. They are in the notebook when it has ended.
const MAX_SHOWN: usize = 8 * 1024 * 1024;

/// A run in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedRun {
    pub run: RunId,
    /// The path of its notebook begins at the root of the file system.
    pub data: RunDetails,
    /// As far as the log says.
    pub state: RunState,
    /// Its server has sent its request: whatever becomes of the server, the kernel runs it.
    pub is_sent: bool,
    /// Its outcome is stored, and an agent knows it.
    pub is_acknowledged: bool,
}

impl LoggedRun {
    /// Whether the kernel works on it, or has still to.
    pub fn is_unfinished(&self) -> bool {
        !self.is_acknowledged && !self.state.is_over()
    }
}

/// The runs in the log in `folder`, the oldest first.
pub fn logged_runs(folder: &Path) -> Vec<LoggedRun> {
    let mut runs = LoggedRuns::default();
    // Parts that are removed during the reading are left out.
    let _ = read_records(folder, |_, record| {
        runs.on_record(&record);
        Ok(())
    });
    runs.runs.into_iter().map(|progress| progress.run).collect()
}

/// Outputs of a run so far.
#[derive(Debug, Default)]
pub struct Shown {
    /// When its server first announced it.
    pub requested_at: Option<SystemTime>,
    /// When the kernel began with it.
    pub started_at: Option<SystemTime>,
    /// When its last message came.
    pub changed_at: Option<SystemTime>,
    pub execution_count: Option<u64>,
    /// The id of its request.
    pub(crate) message: Option<MessageId>,
    /// The header of the kernel's last `input_request`.
    pub(crate) input_request: Option<Bytes>,
    /// Counts the changes of its outputs.
    pub version: u64,
    area: OutputArea,
    pub(super) is_dropped: bool,
}

impl Shown {
    pub fn outputs(&self) -> &[Output] {
        self.area.outputs()
    }

    /// Whether these are all of its outputs.
    pub fn is_whole(&self) -> bool {
        !self.is_dropped
    }

    pub(super) fn apply(&mut self, event: Event) {
        if let Event::Started { execution_count } = event {
            self.execution_count = execution_count;
        } else if self.area.size_bytes() > MAX_SHOWN {
            self.is_dropped = true;
            return;
        }
        self.area.apply(event);
        self.version += 1;
    }

    pub(super) fn drop_outputs(&mut self) {
        self.area = OutputArea::default();
        self.is_dropped = true;
    }
}

/// Follows the runs through the records.
#[derive(Default)]
pub(super) struct LoggedRuns {
    /// The oldest first.
    pub(super) runs: Vec<Progress>,
    /// Indexes in `runs`, by the `msg_id` of the request.
    requests: HashMap<MessageId, usize>,
}

pub(super) struct Progress {
    pub(super) run: LoggedRun,
    reply: Option<Value>,
    is_idle: bool,
    /// The kernel has published something else than its status.
    is_started: bool,
    /// Kept up by whoever follows the log.
    pub(super) shown: Shown,
}

impl Progress {
    /// The kernel is done with it.
    fn end(&mut self) {
        self.run.state = match self.reply.take() {
            Some(reply) if reply["status"] == "ok" => RunState::Done,
            Some(reply) if reply["status"] == "error" => {
                RunState::of_error(text_of(&reply["ename"]), text_of(&reply["evalue"]))
            }
            Some(_) if !self.is_started => RunState::Skipped { reason: SkipReason::Aborted },
            // `IRkernel` says that it has aborted what an interrupt has stopped.
            _ => RunState::Interrupted,
        };
    }
}

impl LoggedRuns {
    /// The place in `runs` of the run with this request.
    pub(super) fn index_of(&self, message: &str) -> Option<usize> {
        self.requests.get(message).copied()
    }

    /// The place in `runs` of a run.
    pub(super) fn position(&self, run: &RunId) -> Option<usize> {
        self.runs.iter().rposition(|progress| progress.run.run == *run)
    }

    pub(super) fn on_record(&mut self, record: &LogRecord) {
        match record {
            LogRecord::Announced(announcement) => self.on_announcement(announcement),
            LogRecord::FromKernel { channel, parts } => self.on_message(*channel, parts),
            LogRecord::ToKernel { channel: Channel::Stdin, parts } => {
                if let Some(progress) = self.of_request(&Peek::of(Channel::Stdin, parts).parent) {
                    progress.run.state = RunState::Running;
                }
            }
            LogRecord::Event(LogEvent::Died { how }) => {
                self.end_all(&RunState::KernelDied { how: how.clone().into() });
            }
            LogRecord::Event(LogEvent::Restarting) => {
                self.end_all(&RunState::KernelDied { how: Death::Restarted });
            }
            LogRecord::Event(LogEvent::Ended { message }) => {
                if let Some(progress) = self.of_request(message) {
                    progress.end();
                }
            }
            LogRecord::Event(LogEvent::LogFailed { os_error }) => {
                let cause = LossCause::LogFailed { os_error: *os_error };
                self.end_all(&RunState::Lost { is_started: true, cause });
            }
            LogRecord::Event(LogEvent::Withdrawn { message }) => {
                if let Some(progress) = self.of_request(message) {
                    progress.run.state = RunState::Skipped { reason: SkipReason::Withdrawn };
                }
            }
            LogRecord::Acknowledged { run } => {
                if let Some(at) = self.position(run) {
                    self.runs[at].run.is_acknowledged = true;
                }
            }
            LogRecord::Event(_) | LogRecord::ToKernel { .. } | LogRecord::Stored { .. } => {}
        }
    }

    fn on_announcement(&mut self, announcement: &Announcement) {
        let at = self.position(&announcement.run).unwrap_or_else(|| {
            let run = LoggedRun {
                run: announcement.run.clone(),
                data: serde_json::from_value(announcement.data.clone()).unwrap_or_default(),
                state: RunState::Queued,
                is_sent: false,
                is_acknowledged: false,
            };
            let shown = Shown::default();
            self.runs.push(Progress { run, reply: None, is_idle: false, is_started: false, shown });
            self.runs.len() - 1
        });
        if let Some(message) = &announcement.message {
            self.runs[at].run.is_sent = true;
            self.requests.insert(message.clone(), at);
        }
    }

    fn on_message(&mut self, channel: Channel, parts: &[Bytes]) {
        let peek = Peek::of(channel, parts);
        if (channel, &*peek.kind) == (Channel::Stdin, "input_request")
            && let Some(at) = self.index_of(&peek.parent)
        {
            // The answer names it as its parent.
            self.requests.insert(peek.id.as_str().into(), at);
        }
        let Some(progress) = self.of_request(&peek.parent) else { return };
        match (channel, &*peek.kind) {
            (Channel::Shell, "execute_reply") => progress.reply = Some(content(parts)),
            (Channel::Iopub, kind) => {
                progress.is_started |= kind != "status";
                progress.is_idle |= peek.state.as_deref() == Some("idle");
                if progress.run.state == RunState::Queued {
                    progress.run.state = RunState::Running;
                }
            }
            (Channel::Stdin, "input_request") => {
                let content = content(parts);
                progress.run.state = RunState::WaitingForInput {
                    prompt: text_of(&content["prompt"]),
                    is_password: content["password"] == true,
                };
            }
            _ => {}
        }
        // Output may come after the reply.
        if progress.is_idle && progress.reply.is_some() {
            progress.end();
        }
    }

    /// Whatever the kernel was sent is over.
    fn end_all(&mut self, state: &RunState) {
        for progress in &mut self.runs {
            if progress.run.is_sent && !progress.run.state.is_over() {
                progress.run.state = state.clone();
            }
        }
    }

    fn of_request(&mut self, message: &str) -> Option<&mut Progress> {
        self.requests.get(message).and_then(|at| self.runs.get_mut(*at))
    }
}

/// The content of a message; null if it cannot be read, since kernels send anything.
pub(super) fn content(parts: &[Bytes]) -> Value {
    parts.get(3).and_then(|content| serde_json::from_slice(content).ok()).unwrap_or_default()
}

pub(super) fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn announcement(run: &str, message: Option<&str>) -> LogRecord {
        let data = json!({ "notebook": "/n.ipynb", "cell": "c", "source": "1" });
        LogRecord::Announced(Announcement { run: run.into(), message: message.map(Into::into), data })
    }

    fn message(channel: Channel, kind: &str, parent: &str, content: &Value) -> LogRecord {
        let header = json!({ "msg_id": "1", "msg_type": kind });
        let parts = [&header, &json!({ "msg_id": parent }), &json!({}), content];
        LogRecord::FromKernel { channel, parts: parts.map(|part| Bytes::from(part.to_string())).into() }
    }

    fn idle(parent: &str) -> LogRecord {
        message(Channel::Iopub, "status", parent, &json!({ "execution_state": "idle" }))
    }

    /// The states of the runs after these records, and whether each is acknowledged.
    fn states(records: &[LogRecord]) -> Vec<(RunState, bool)> {
        let mut runs = LoggedRuns::default();
        for record in records {
            runs.on_record(record);
        }
        runs.runs.into_iter().map(|it| (it.run.state, it.run.is_acknowledged)).collect()
    }

    #[test]
    fn a_run_is_over_once_the_kernel_has_replied_and_is_idle() {
        let failed = json!({ "status": "error", "ename": "E", "evalue": "v" });
        let mut records = vec![announcement("r1", None), announcement("r1", Some("m"))];
        assert_eq!(states(&records[..1]), [(RunState::Queued, false)]);
        assert_eq!(states(&records), [(RunState::Queued, false)], "another run may have the kernel");
        records.push(message(Channel::Iopub, "status", "m", &json!({ "execution_state": "busy" })));
        assert_eq!(states(&records), [(RunState::Running, false)]);
        records.push(message(Channel::Shell, "execute_reply", "m", &failed));
        assert_eq!(states(&records), [(RunState::Running, false)]);
        records.push(idle("m"));
        let over = RunState::Error { name: "E".to_owned(), value: "v".to_owned() };
        assert_eq!(states(&records), [(over.clone(), false)]);
        records.push(LogRecord::Acknowledged { run: "r1".into() });
        records.push(LogRecord::Event(LogEvent::Died { how: "killed".to_owned() }));
        assert_eq!(states(&records), [(over, true)]);
    }

    #[test]
    fn an_interrupt_ends_what_has_started_whatever_the_kernel_calls_it() {
        let end = |reply: &Value, is_started: bool| {
            let mut records = vec![announcement("r1", Some("m"))];
            records.extend(is_started.then(|| message(Channel::Iopub, "execute_input", "m", &json!({}))));
            records.extend([message(Channel::Shell, "execute_reply", "m", reply), idle("m")]);
            states(&records).remove(0).0
        };
        let aborted = RunState::Skipped { reason: SkipReason::Aborted };
        assert_eq!(
            end(&json!({ "status": "error", "ename": "InterruptException" }), true),
            RunState::Interrupted
        );
        for status in ["abort", "aborted"] {
            assert_eq!(end(&json!({ "status": status }), true), RunState::Interrupted);
            assert_eq!(end(&json!({ "status": status }), false), aborted);
        }
    }

    #[test]
    fn the_death_of_a_kernel_ends_what_it_was_sent_and_nothing_else() {
        let asks = json!({ "prompt": "name", "password": false });
        let records = [
            announcement("r1", Some("m1")),
            message(Channel::Stdin, "input_request", "m1", &asks),
            announcement("r2", Some("m2")),
            LogRecord::Event(LogEvent::Withdrawn { message: "m2".into() }),
            announcement("r3", None),
            LogRecord::Event(LogEvent::Died { how: "killed".to_owned() }),
        ];
        let waits = RunState::WaitingForInput { prompt: "name".to_owned(), is_password: false };
        assert_eq!(states(&records[..2]), [(waits, false)]);
        let parts =
            [json!({ "msg_id": "2", "msg_type": "input_reply" }), json!({ "msg_id": "1" }), json!({})];
        let parts = parts.map(|part| Bytes::from(part.to_string())).into();
        let answer = LogRecord::ToKernel { channel: Channel::Stdin, parts };
        let answered =
            [announcement("r1", Some("m1")), message(Channel::Stdin, "input_request", "m1", &asks), answer];
        assert_eq!(states(&answered), [(RunState::Running, false)]);
        let died = RunState::KernelDied { how: "killed".into() };
        assert_eq!(
            states(&records),
            [
                (died, false),
                (RunState::Skipped { reason: SkipReason::Withdrawn }, false),
                (RunState::Queued, false)
            ]
        );
    }
}

//! What the log of a keeper says about runs, read without a connection to it.

use std::collections::HashMap;
use std::path::Path;

use bytes::Bytes;
use kernel::LossCause;
use kernel::MessageId;
use kernel::log::{Announcement, Channel, LogEvent, LogRecord, Peek};
use notebook::RunId;
use place::{RunState, SkipReason};
use serde::Deserialize;

use super::announced_data::AnnouncedData;
use super::entries::{Entries, LogEntryKind};
use super::files::read_records;

const RESTARTED: &str = "it was restarted";

/// A run in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedRun {
    pub run: RunId,
    pub data: AnnouncedData,
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

/// A run in the log in `folder`, and what it printed and returned; `None` if that does not tell of it.
pub fn logged_run(folder: &Path, run: &RunId) -> Option<(LoggedRun, String)> {
    let (mut runs, mut entries, mut text) = (LoggedRuns::default(), Entries::default(), String::new());
    let _ = read_records(folder, |at, record| {
        runs.on_record(&record);
        if let Some(entry) = entries.of(at, record).filter(|entry| entry.run.as_ref() == Some(run)) {
            match entry.kind {
                LogEntryKind::Event => {}
                LogEntryKind::Stdout | LogEntryKind::Stderr => text.push_str(&entry.text),
                LogEntryKind::Result | LogEntryKind::Error => {
                    text.push_str(&entry.text);
                    text.push('\n');
                }
            }
        }
        Ok(())
    });
    let found = runs.runs.into_iter().find(|progress| progress.run.run == *run)?;
    Some((found.run, text))
}

/// Follows the runs through the records.
#[derive(Default)]
pub(super) struct LoggedRuns {
    runs: Vec<Progress>,
    /// Indexes in `runs`, by the `msg_id` of the request.
    requests: HashMap<MessageId, usize>,
}

struct Progress {
    run: LoggedRun,
    reply: Option<Reply>,
    is_idle: bool,
    /// The kernel has published something else than its status.
    is_started: bool,
}

impl Progress {
    /// The kernel is done with it.
    fn end(&mut self) {
        self.run.state = match self.reply.take() {
            Some(Reply { status, .. }) if status == "ok" => RunState::Done,
            Some(Reply { status, ename, evalue }) if status == "error" => RunState::of_error(ename, evalue),
            Some(_) if !self.is_started => RunState::Skipped { reason: SkipReason::Aborted },
            // `IRkernel` says that it has aborted what an interrupt has stopped.
            _ => RunState::Interrupted,
        };
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Reply {
    status: String,
    ename: String,
    evalue: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct InputRequest {
    prompt: String,
    password: bool,
}

impl LoggedRuns {
    /// The runs, the oldest first.
    pub(super) fn runs(&self) -> impl ExactSizeIterator<Item = &LoggedRun> + DoubleEndedIterator {
        self.runs.iter().map(|progress| &progress.run)
    }

    /// The place in [`LoggedRuns::runs`] of the run with this request.
    pub(super) fn index_of(&self, message: &str) -> Option<usize> {
        self.requests.get(message).copied()
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
                self.end_all(&RunState::KernelDied { how: how.clone() });
            }
            LogRecord::Event(LogEvent::Restarting) => {
                self.end_all(&RunState::KernelDied { how: RESTARTED.to_owned() });
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
                if let Some(progress) = self.runs.iter_mut().find(|progress| progress.run.run == *run) {
                    progress.run.is_acknowledged = true;
                }
            }
            LogRecord::Event(_) | LogRecord::ToKernel { .. } | LogRecord::Stored { .. } => {}
        }
    }

    fn on_announcement(&mut self, announcement: &Announcement) {
        let at = self.runs.iter().rposition(|progress| progress.run.run == announcement.run).unwrap_or_else(
            || {
                let run = LoggedRun {
                    run: announcement.run.clone(),
                    data: serde_json::from_value(announcement.data.clone()).unwrap_or_default(),
                    state: RunState::Queued,
                    is_sent: false,
                    is_acknowledged: false,
                };
                self.runs.push(Progress { run, reply: None, is_idle: false, is_started: false });
                self.runs.len() - 1
            },
        );
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
            (Channel::Shell, "execute_reply") => progress.reply = Some(read(parts)),
            (Channel::Iopub, kind) => {
                progress.is_started |= kind != "status";
                progress.is_idle |= peek.state.as_deref() == Some("idle");
                if progress.run.state == RunState::Queued {
                    progress.run.state = RunState::Running;
                }
            }
            (Channel::Stdin, "input_request") => {
                let InputRequest { prompt, password } = read(parts);
                progress.run.state = RunState::WaitingForInput { prompt, is_password: password };
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

/// What can be read of the content of a message; kernels send anything.
fn read<T: for<'de> Deserialize<'de> + Default>(parts: &[Bytes]) -> T {
    parts.get(3).and_then(|content| serde_json::from_slice(content).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

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
        let died = RunState::KernelDied { how: "killed".to_owned() };
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

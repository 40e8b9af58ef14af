//! What a keeper's log says, for people: what the kernel printed, and what happened to it and to its runs.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use bytes::Bytes;
use kernel::log::{Channel, LogEvent, LogRecord, Peek};
use kernel::{LossCause, MessageId};
use notebook::{CellId, RunId};
use serde::Serialize;

use super::files::read_records;
use super::logged_runs::{LoggedRun, LoggedRuns, content, text_of};

/// What the kernel printed at once, or one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// When the keeper logged it.
    pub at: SystemTime,
    /// The run that it belongs to; `None` for output of the kernel itself, and for what concerns all runs.
    pub run: Option<RunId>,
    /// The cell of the run.
    pub cell: Option<CellId>,
    pub kind: LogEntryKind,
    pub text: String,
}

/// What a [`LogEntry`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogEntryKind {
    /// A piece of standard output, which need not end where a line does.
    Stdout,
    /// The same of standard error.
    Stderr,
    /// A result, or what was displayed, as plain text.
    Result,
    /// The traceback of an error.
    Error,
    /// Not printed by the code.
    Event,
}

/// Passes the entries of the log in `folder` on, the oldest first, until `each` fails.
pub(crate) fn read_entries(
    folder: &Path,
    mut each: impl FnMut(LogEntry) -> io::Result<()>,
) -> io::Result<()> {
    let mut entries = Entries::default();
    read_records(folder, |at, record| match entries.of(at, &record) {
        Some(entry) => each(entry),
        None => Ok(()),
    })
}

/// A run in the log in `folder`, and what it printed and returned; `None` if that does not tell of it.
pub fn logged_run(folder: &Path, run: &RunId) -> Option<(LoggedRun, String)> {
    let (mut entries, mut text) = (Entries::default(), String::new());
    let _ = read_records(folder, |at, record| {
        if let Some(entry) = entries.of(at, &record).filter(|entry| entry.run.as_ref() == Some(run)) {
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
    let found = entries.runs.runs.into_iter().find(|progress| progress.run.run == *run)?;
    Some((found.run, text))
}

/// Turns records into entries.
#[derive(Default)]
pub(crate) struct Entries {
    pub(super) runs: LoggedRuns,
}

impl Entries {
    pub(crate) fn of(&mut self, at: SystemTime, record: &LogRecord) -> Option<LogEntry> {
        self.runs.on_record(record);
        let (run, kind, text) = match record {
            LogRecord::FromKernel { channel, parts } => self.of_message(*channel, parts)?,
            LogRecord::Announced(announcement) => {
                let run = self.runs.position(&announcement.run);
                let source = run.map(|run| &*self.runs.runs[run].run.data.source).unwrap_or_default();
                let first = source.lines().next().unwrap_or_default();
                let is_sent = announcement.message.is_some();
                let event = if is_sent { "was requested" } else { "waits for its turn" };
                (run, LogEntryKind::Event, format!("{event}: {first}"))
            }
            LogRecord::Event(event) => {
                let (message, text) = described(event)?;
                (message.and_then(|message| self.runs.index_of(message)), LogEntryKind::Event, text)
            }
            LogRecord::ToKernel { .. } | LogRecord::Stored { .. } | LogRecord::Acknowledged { .. } => {
                return None;
            }
        };
        let run = run.map(|run| &self.runs.runs[run].run);
        let (run, cell) = (run.map(|run| run.run.clone()), run.and_then(|run| run.data.cell.clone()));
        Some(LogEntry { at, run, cell, kind, text })
    }

    fn of_message(&self, channel: Channel, parts: &[Bytes]) -> Option<(Option<usize>, LogEntryKind, String)> {
        let peek = Peek::of(channel, parts);
        let run = self.runs.index_of(&peek.parent);
        let (kind, text) = match (channel, &*peek.kind) {
            (Channel::Iopub, "stream") => {
                let content = content(parts);
                let is_error = content["name"] == "stderr";
                let text = content["text"].as_str().filter(|text| !text.is_empty())?;
                (if is_error { LogEntryKind::Stderr } else { LogEntryKind::Stdout }, text.to_owned())
            }
            (Channel::Iopub, "execute_result" | "display_data") => {
                (LogEntryKind::Result, content(parts)["data"]["text/plain"].as_str()?.to_owned())
            }
            (Channel::Iopub, "error") => {
                let content = content(parts);
                let lines = content["traceback"].as_array().into_iter().flatten();
                let lines: Vec<_> = lines.filter_map(|line| line.as_str()).collect();
                let short = || format!("{}: {}", text_of(&content["ename"]), text_of(&content["evalue"]));
                (LogEntryKind::Error, if lines.is_empty() { short() } else { lines.join("\n") })
            }
            (Channel::Shell, "execute_reply") if run.is_some() => {
                (LogEntryKind::Event, format!("ended: {}", text_of(&content(parts)["status"])))
            }
            _ => return None,
        };
        Some((run, kind, text))
    }
}

/// An event in words, with the request that it is about.
fn described(event: &LogEvent) -> Option<(Option<&MessageId>, String)> {
    Some(match event {
        LogEvent::Ready { .. } => (None, "the kernel is ready".to_owned()),
        LogEvent::Restarting => (None, "the kernel is restarted".to_owned()),
        LogEvent::Died { how } => (None, format!("the kernel ended: {how}")),
        LogEvent::Orphaned => (None, "a server ended before its runs were stored".to_owned()),
        LogEvent::Cut { message } => (Some(message), "exceeds the log's output limit".to_owned()),
        LogEvent::Withdrawn { message } => (Some(message), "was withdrawn before it ran".to_owned()),
        LogEvent::LogFailed { os_error } => {
            (None, format!("records are missing here: {}", LossCause::LogFailed { os_error: *os_error }))
        }
        LogEvent::Ended { .. } | LogEvent::Unknown => return None,
    })
}

#[cfg(test)]
mod tests {
    use kernel::log::Announcement;
    use serde_json::{Value, json};

    use super::*;

    fn message(channel: Channel, kind: &str, parent: &str, content: &Value) -> LogRecord {
        let header = json!({ "msg_id": "1", "msg_type": kind });
        let parts = [&header, &json!({ "msg_id": parent }), &json!({}), content];
        LogRecord::FromKernel { channel, parts: parts.map(|part| Bytes::from(part.to_string())).into() }
    }

    fn announcement(message: Option<&str>) -> LogRecord {
        let data = json!({ "notebook": "/n.ipynb", "cell": "c", "source": "first\nsecond" });
        LogRecord::Announced(Announcement { run: "r1".into(), message: message.map(Into::into), data })
    }

    /// The entries of these records, as kind, run and text.
    fn entries(records: Vec<LogRecord>) -> Vec<(LogEntryKind, Option<String>, String)> {
        let mut entries = Entries::default();
        let found = records.into_iter().filter_map(|record| entries.of(SystemTime::UNIX_EPOCH, &record));
        found.map(|entry| (entry.kind, entry.run.map(|run| run.to_string()), entry.text)).collect()
    }

    #[test]
    fn outputs_and_events_are_those_of_their_runs() {
        let run = Some("r1".to_owned());
        let traceback = json!({ "ename": "E", "evalue": "v", "traceback": ["one", "two"] });
        let shown = json!({ "data": { "image/png": "xx", "text/plain": "<Figure>" } });
        let found = entries(vec![
            LogRecord::Event(LogEvent::Ready { language_info: Value::Null }),
            announcement(None),
            announcement(Some("m")),
            message(Channel::Iopub, "status", "m", &json!({ "execution_state": "busy" })),
            message(Channel::Iopub, "stream", "m", &json!({ "name": "stdout", "text": "a line\n" })),
            message(Channel::Iopub, "stream", "other", &json!({ "name": "stderr", "text": "!" })),
            message(Channel::Iopub, "display_data", "m", &shown),
            message(Channel::Iopub, "error", "m", &traceback),
            message(Channel::Shell, "execute_reply", "m", &json!({ "status": "error" })),
            message(Channel::Shell, "execute_reply", "other", &json!({ "status": "ok" })),
            LogRecord::Acknowledged { run: "r1".into() },
            LogRecord::Event(LogEvent::Withdrawn { message: "m".into() }),
        ]);
        let expected = [
            (LogEntryKind::Event, None, "the kernel is ready"),
            (LogEntryKind::Event, run.clone(), "waits for its turn: first"),
            (LogEntryKind::Event, run.clone(), "was requested: first"),
            (LogEntryKind::Stdout, run.clone(), "a line\n"),
            (LogEntryKind::Stderr, None, "!"),
            (LogEntryKind::Result, run.clone(), "<Figure>"),
            (LogEntryKind::Error, run.clone(), "one\ntwo"),
            (LogEntryKind::Event, run.clone(), "ended: error"),
            (LogEntryKind::Event, run, "was withdrawn before it ran"),
        ];
        assert_eq!(found, expected.map(|(kind, run, text)| (kind, run, text.to_owned())));
    }

    #[test]
    fn malformed_contents_are_left_out() {
        let found = entries(vec![
            message(Channel::Iopub, "stream", "m", &json!({ "text": 3 })),
            message(Channel::Iopub, "display_data", "m", &json!([])),
            message(Channel::Iopub, "execute_result", "m", &json!({ "data": { "text/plain": null } })),
        ]);
        assert_eq!(found, []);
    }
}

//! What a keeper's log says, for people: what the kernel printed, and what happened to it and to its runs.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use bytes::Bytes;
use kernel::LossCause;
use kernel::MessageId;
use kernel::log::{Announcement, Channel, LogEvent, LogRecord, Peek};
use notebook::{CellId, RunId};
use serde::Deserialize;
use serde_json::Value;

use super::announced_data::AnnouncedData;
use super::files::read_records;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    read_records(folder, |at, record| match entries.of(at, record) {
        Some(entry) => each(entry),
        None => Ok(()),
    })
}

/// The run of a request.
#[derive(Clone)]
struct Origin {
    run: RunId,
    cell: Option<CellId>,
}

/// Turns records into entries.
#[derive(Default)]
pub(crate) struct Entries {
    /// By the `msg_id` of its request.
    runs: HashMap<MessageId, Origin>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Stream {
    name: String,
    text: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Display {
    data: Plain,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Plain {
    #[serde(rename = "text/plain")]
    text: Value,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Failure {
    ename: String,
    evalue: String,
    traceback: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Reply {
    status: String,
}

impl Entries {
    pub(crate) fn of(&mut self, at: SystemTime, record: LogRecord) -> Option<LogEntry> {
        let (origin, kind, text) = match record {
            LogRecord::FromKernel { channel, parts } => self.of_message(channel, &parts)?,
            LogRecord::Announced(announcement) => self.of_announcement(announcement),
            LogRecord::Event(event) => {
                let (message, text) = described(event)?;
                let origin = message.and_then(|message| self.runs.get(&message)).cloned();
                (origin, LogEntryKind::Event, text)
            }
            LogRecord::ToKernel { .. } | LogRecord::Stored { .. } | LogRecord::Acknowledged { .. } => {
                return None;
            }
        };
        let (run, cell) = origin.map_or((None, None), |origin| (Some(origin.run), origin.cell));
        Some(LogEntry { at, run, cell, kind, text })
    }

    fn of_announcement(&mut self, announcement: Announcement) -> (Option<Origin>, LogEntryKind, String) {
        let data: AnnouncedData = serde_json::from_value(announcement.data).unwrap_or_default();
        let origin = Origin { run: announcement.run, cell: data.cell };
        let first = data.source.lines().next().unwrap_or_default();
        let text = match announcement.message {
            Some(message) => {
                self.runs.insert(message, origin.clone());
                format!("was requested: {first}")
            }
            None => format!("waits for its turn: {first}"),
        };
        (Some(origin), LogEntryKind::Event, text)
    }

    fn of_message(
        &self,
        channel: Channel,
        parts: &[Bytes],
    ) -> Option<(Option<Origin>, LogEntryKind, String)> {
        let peek = Peek::of(channel, parts);
        let origin = self.runs.get(&*peek.parent).cloned();
        let content = parts.get(3)?;
        let (kind, text) = match (channel, &*peek.kind) {
            (Channel::Iopub, "stream") => {
                let Stream { name, text } = read(content);
                let is_error = name == "stderr";
                if text.is_empty() {
                    return None;
                }
                (if is_error { LogEntryKind::Stderr } else { LogEntryKind::Stdout }, text)
            }
            (Channel::Iopub, "execute_result" | "display_data") => {
                let Display { data } = read(content);
                (LogEntryKind::Result, data.text.as_str()?.to_owned())
            }
            (Channel::Iopub, "error") => {
                let Failure { ename, evalue, traceback } = read(content);
                let short = format!("{ename}: {evalue}");
                let text = if traceback.is_empty() { short } else { traceback.join("\n") };
                (LogEntryKind::Error, text)
            }
            (Channel::Shell, "execute_reply") if origin.is_some() => {
                let Reply { status } = read(content);
                (LogEntryKind::Event, format!("ended: {status}"))
            }
            _ => return None,
        };
        Some((origin, kind, text))
    }
}

/// An event in words, with the request that it is about.
fn described(event: LogEvent) -> Option<(Option<MessageId>, String)> {
    Some(match event {
        LogEvent::Ready { .. } => (None, "the kernel is ready".to_owned()),
        LogEvent::Restarting => (None, "the kernel is restarted".to_owned()),
        LogEvent::Died { how } => (None, format!("the kernel ended: {how}")),
        LogEvent::Orphaned => (None, "a server ended before its runs were stored".to_owned()),
        LogEvent::Cut { message } => (Some(message), "exceeds the log's output limit".to_owned()),
        LogEvent::Withdrawn { message } => (Some(message), "was withdrawn before it ran".to_owned()),
        LogEvent::LogFailed { os_error } => {
            (None, format!("records are missing here: {}", LossCause::LogFailed { os_error }))
        }
        LogEvent::Ended { .. } | LogEvent::Unknown => return None,
    })
}

/// What can be read of a content; kernels send anything.
fn read<'a, T: Deserialize<'a> + Default>(content: &'a Bytes) -> T {
    serde_json::from_slice(content).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
        let found = records.into_iter().filter_map(|record| entries.of(SystemTime::UNIX_EPOCH, record));
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

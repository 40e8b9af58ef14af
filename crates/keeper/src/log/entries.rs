//! What a keeper's log says, for people: what the kernel printed, and what happened to it and to its runs.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use bytes::Bytes;
use kernel::log::{Channel, LogEvent, LogRecord, LoggedRun, RunsInLog};
use kernel::{Event, LossCause, Message};
use notebook::{CellId, Output, RunId};
use serde::Serialize;

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
    let mut runs = RunsInLog::default();
    read_records(folder, |at, record| {
        let run = runs.read(at, 0, &record);
        entry(at, &record, run).map_or(Ok(()), &mut each)
    })
}

/// The runs in the log in `folder`, the oldest first.
pub fn logged_runs(folder: &Path) -> Vec<LoggedRun> {
    let mut runs = RunsInLog::default();
    // Parts that are removed during the reading are left out.
    let _ = read_records(folder, |at, record| {
        runs.read(at, 0, &record);
        Ok(())
    });
    runs.into_all()
}

/// A run in the log in `folder`, and what it printed and returned; `None` if that does not tell of it.
pub fn logged_run(folder: &Path, run: &RunId) -> Option<(LoggedRun, String)> {
    let (mut runs, mut text) = (RunsInLog::default(), String::new());
    let _ = read_records(folder, |at, record| {
        let about = runs.read(at, 0, &record).filter(|about| about.id() == run);
        let entry = about.and_then(|about| entry(at, &record, Some(about)));
        if let Some(entry) = entry.filter(|entry| entry.kind != LogEntryKind::Event) {
            text.push_str(&entry.text);
            let is_stream = matches!(entry.kind, LogEntryKind::Stdout | LogEntryKind::Stderr);
            text.push_str(if is_stream { "" } else { "\n" });
        }
        Ok(())
    });
    Some((runs.into_all().into_iter().find(|logged| logged.id() == run)?, text))
}

/// The entry for people that a record about this run makes.
fn entry(at: SystemTime, record: &LogRecord, run: Option<&LoggedRun>) -> Option<LogEntry> {
    let announced = |name: &str| run.and_then(|run| run.record.announcement.data[name].as_str());
    let (kind, text) = match record {
        LogRecord::FromKernel { channel, parts } => of_message(*channel, parts, run)?,
        LogRecord::Announced(announcement) => {
            let first = announced("source").and_then(|source| source.lines().next()).unwrap_or_default();
            let is_sent = announcement.message.is_some();
            let event = if is_sent { "was requested" } else { "waits for its turn" };
            (LogEntryKind::Event, format!("{event}: {first}"))
        }
        LogRecord::Event(event) => (LogEntryKind::Event, described(event)?),
        LogRecord::ToKernel { .. } | LogRecord::Stored { .. } | LogRecord::Acknowledged { .. } => {
            return None;
        }
    };
    Some(LogEntry {
        at,
        run: run.map(|run| run.id().clone()),
        cell: announced("cell").map(CellId::new),
        kind,
        text,
    })
}

fn of_message(channel: Channel, parts: &[Bytes], run: Option<&LoggedRun>) -> Option<(LogEntryKind, String)> {
    let message = Message::of_parts(channel, parts.to_vec())?;
    if channel == Channel::Shell && message.header.kind == "execute_reply" && run.is_some() {
        let status = message.content.to_value()["status"].as_str().unwrap_or_default().to_owned();
        return Some((LogEntryKind::Event, format!("ended: {status}")));
    }
    let Some(Event::Output { output, .. }) = message.published() else { return None };
    Some(match output {
        Output::Stream { name, text } => (
            if name == "stderr" { LogEntryKind::Stderr } else { LogEntryKind::Stdout },
            text.as_str().into_owned(),
        ),
        Output::Display(bundle) | Output::Result { bundle, .. } => {
            (LogEntryKind::Result, bundle.text("text/plain")?)
        }
        Output::Error { name, value, traceback } => (
            LogEntryKind::Error,
            if traceback.is_empty() { format!("{name}: {value}") } else { traceback.join("\n") },
        ),
        Output::Other(_) => return None,
    })
}

/// An event in words.
fn described(event: &LogEvent) -> Option<String> {
    Some(match event {
        LogEvent::Ready { .. } => "the kernel is ready".to_owned(),
        LogEvent::Restarting => "the kernel is restarted".to_owned(),
        LogEvent::Died { how } => format!("the kernel ended: {how}"),
        LogEvent::Orphaned => "a server ended before its runs were stored".to_owned(),
        LogEvent::Cut { .. } => "exceeds the log's output limit".to_owned(),
        LogEvent::Withdrawn { .. } => "was withdrawn before it ran".to_owned(),
        LogEvent::LogFailed { os_error } => {
            format!("records are missing here: {}", LossCause::LogFailed { os_error: *os_error })
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
        let (mut runs, at) = (RunsInLog::default(), SystemTime::UNIX_EPOCH);
        let found = records.into_iter().filter_map(|record| entry(at, &record, runs.read(at, 0, &record)));
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

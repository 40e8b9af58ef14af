//! What a log of runs says. No I/O.

use kernel::MessageId;
use kernel::log::{LogRecord, RecordReader, RunRecord, RunsInLog};
use serde::{Deserialize, Serialize};

/// A log of a later version is left alone.
const VERSION: u32 = 1;

/// The first line of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    version: u32,
    /// The base URL of the server.
    pub server: String,
    pub kernel: String,
    /// The session of our connection, for which the server keeps messages.
    pub session: String,
}

impl Header {
    pub fn new(server: &str, kernel: &str, session: String) -> Self {
        Self { version: VERSION, server: server.to_owned(), kernel: kernel.to_owned(), session }
    }

    /// The line.
    pub fn write(&self) -> Vec<u8> {
        // Strings and a number: writing them to memory does not fail.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// Reads the line, which may have more behind it. `None` if it is none, or of a later version.
    pub fn read(text: &[u8]) -> Option<Self> {
        let end = text.iter().position(|byte| *byte == b'\n')?;
        serde_json::from_slice(&text[..end]).ok().filter(|header: &Self| header.version <= VERSION)
    }
}

/// A log that another server has written.
#[derive(Debug, Clone)]
pub struct Past {
    pub header: Header,
    pub records: Vec<LogRecord>,
    /// The runs whose outcome is not known to be stored, in the order of their requests.
    pub open: Vec<RunRecord>,
    /// The runs among them that the kernel has been sent and has not ended.
    pub running: Vec<RunRecord>,
    /// Where the last whole record ends. What follows was being written when the server ended.
    pub length: u64,
}

impl Past {
    /// `None` for what is no log, or one of a later version.
    pub fn read(text: &[u8]) -> Option<Self> {
        let header = Header::read(text)?;
        let begin = header_length(text);
        let (mut reader, mut records, mut runs) =
            (RecordReader::at(begin as u64), Vec::new(), RunsInLog::default());
        reader.push(&text[begin..]);
        while let Ok(Some((time, record))) = reader.next_record() {
            runs.read(time, 0, &record);
            records.push(record);
        }
        let open = runs.unacknowledged().map(|run| run.record.clone()).collect();
        let running = runs.unacknowledged().filter(|run| run.is_running());
        let running = running.map(|run| run.record.clone()).collect();
        Some(Self { header, records, open, running, length: reader.offset() })
    }

    /// The requests of the open runs that have one.
    pub fn requests(&self) -> Vec<MessageId> {
        let messages = self.open.iter().filter_map(|run| run.announcement.message.clone());
        messages.collect()
    }
}

fn header_length(text: &[u8]) -> usize {
    text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| end + 1)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use bytes::BytesMut;
    use kernel::log::Announcement;
    use serde_json::Value;

    use super::*;

    fn announcement(run: &str, message: Option<&str>) -> LogRecord {
        LogRecord::Announced(Announcement {
            run: run.into(),
            message: message.map(Into::into),
            data: Value::Null,
        })
    }

    fn acknowledged(run: &str) -> LogRecord {
        LogRecord::Acknowledged { run: run.into() }
    }

    fn time(second: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(second)
    }

    /// A log in which the first record was written at second 0, the next at second 1, and so on.
    fn log(records: &[LogRecord]) -> Vec<u8> {
        let mut text = BytesMut::from(&*Header::new("http://s/", "k", "session".to_owned()).write());
        for (second, record) in (0..).zip(records) {
            record.write(time(second), &mut text);
        }
        text.to_vec()
    }

    fn open(past: &Past) -> Vec<(&str, Option<&str>)> {
        past.open.iter().map(|run| (&*run.announcement.run, run.announcement.message.as_deref())).collect()
    }

    #[test]
    fn runs_are_open_from_their_announcement_until_they_are_acknowledged() {
        let records = [
            announcement("r1", None),
            announcement("r2", None),
            announcement("r1", Some("m1")),
            acknowledged("r1"),
            announcement("r3", None),
        ];
        let expected: [&[(&str, Option<&str>)]; 6] = [
            &[],
            &[("r1", None)],
            &[("r1", None), ("r2", None)],
            &[("r1", Some("m1")), ("r2", None)],
            &[("r2", None)],
            &[("r2", None), ("r3", None)],
        ];
        for (count, expected) in expected.into_iter().enumerate() {
            let past = Past::read(&log(&records[..count])).unwrap();
            assert_eq!(open(&past), expected, "after {count} records");
        }
        let past = Past::read(&log(&records[..3])).unwrap();
        assert_eq!(past.requests(), [MessageId::new("m1")]);
        assert_eq!(past.open[0].announced_at, time(0), "the time of the announcement");
    }

    #[test]
    fn what_the_kernel_has_been_sent_runs_until_it_has_replied_and_is_idle() {
        use kernel::log::Channel;
        let from_kernel = |channel, kind: &str, content: &str| {
            let header = format!(r#"{{"msg_id": "1", "msg_type": "{kind}"}}"#);
            let parts = [header, r#"{"msg_id": "m1"}"#.to_owned(), "{}".to_owned(), content.to_owned()];
            LogRecord::FromKernel { channel, parts: parts.map(Into::into).into() }
        };
        let records = [
            announcement("r1", Some("m1")),
            announcement("r2", None),
            from_kernel(Channel::Shell, "execute_reply", "{}"),
            from_kernel(Channel::Iopub, "status", r#"{"execution_state": "idle"}"#),
        ];
        for (count, running) in [(1, 1), (2, 1), (3, 1), (4, 0)] {
            assert_eq!(Past::read(&log(&records[..count])).unwrap().running.len(), running, "{count}");
        }
    }

    #[test]
    fn a_torn_record_at_the_end_does_no_harm() {
        let whole = log(&[announcement("r1", Some("m1"))]);
        let text = log(&[announcement("r1", Some("m1")), acknowledged("r1")]);
        for length in whole.len()..text.len() {
            let past = Past::read(&text[..length]).unwrap();
            assert_eq!(open(&past), [("r1", Some("m1"))], "{length} of {} bytes", text.len());
            assert_eq!(past.length, whole.len() as u64);
        }
        assert!(Past::read(&text).unwrap().open.is_empty());
    }

    #[test]
    fn what_is_no_log_or_one_of_a_later_version_is_not_read() {
        let whole = log(&[announcement("r1", None)]);
        let header = header_length(&whole);
        for length in 0..header {
            assert!(Past::read(&whole[..length]).is_none(), "{length} bytes of the header");
        }
        let later = String::from_utf8_lossy(&whole[..header]).replace("\"version\":1", "\"version\":2");
        assert!(Past::read(later.as_bytes()).is_none());
        assert!(Past::read(b"{}\n").is_none());
    }
}

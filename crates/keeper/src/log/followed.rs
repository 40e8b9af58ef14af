//! Follows a log without a connection to its kernel: which runs it tells of, and what they have shown so far.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use kernel::log::{LoggedRun, RecordReader, RunsInLog};

use super::files::{oldest, read_from, read_on, read_piece};

/// Reads a log from its beginning, and then what is added.
pub struct LogFollower {
    source: Source,
    /// `None` before the first reading, and when what was to be read is forgotten.
    records: Option<RecordReader>,
    runs: RunsInLog,
}

/// Where a log is.
enum Source {
    /// In the files of a keeper's folder.
    Folder(PathBuf),
    /// In one file, from this offset on.
    File(PathBuf, u64),
}

impl Source {
    fn oldest(&self) -> io::Result<u64> {
        match self {
            Self::Folder(folder) => oldest(folder),
            Self::File(_, start) => Ok(*start),
        }
    }

    /// What follows `offset`, at least in part; empty at the end.
    fn read_piece(&self, offset: u64) -> io::Result<Vec<u8>> {
        match self {
            Self::Folder(folder) => read_piece(folder, offset),
            Self::File(file, _) => {
                let file = File::open(file)?;
                if file.metadata()?.len() < offset {
                    // It was written again without what is no longer needed.
                    return Err(io::ErrorKind::NotFound.into());
                }
                read_from(&file, offset)
            }
        }
    }
}

impl LogFollower {
    /// Follows the log in the folder of a keeper. Reads nothing yet.
    pub fn new(folder: &Path) -> Self {
        Self::of(Source::Folder(folder.to_path_buf()))
    }

    /// Follows the log in a file, whose first record is at `start`. Reads nothing yet.
    pub fn of_file(file: PathBuf, start: u64) -> Self {
        Self::of(Source::File(file, start))
    }

    fn of(source: Source) -> Self {
        Self { source, records: None, runs: RunsInLog::default() }
    }

    /// Reads what was added, up to the end. Returns whether that was anything.
    pub fn read(&mut self) -> io::Result<bool> {
        let mut records = if let Some(records) = self.records.take() {
            records
        } else {
            self.runs = RunsInLog::with_outputs();
            RecordReader::at(self.source.oldest()?)
        };
        // If the keeper has forgotten it, the next reading begins with what is there.
        let is_changed = read_on(
            |offset| self.source.read_piece(offset),
            &mut records,
            |_, at, record| {
                self.runs.read(at, 0, &record);
                Ok(())
            },
        )?;
        self.records = Some(records);
        Ok(is_changed)
    }

    /// The runs, the oldest first, with what each has shown.
    pub fn runs(&self) -> impl DoubleEndedIterator<Item = &LoggedRun> {
        self.runs.all().iter()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::SystemTime;

    use bytes::{Bytes, BytesMut};
    use kernel::log::{Announcement, Channel, LogRecord};
    use notebook::Output;
    use serde_json::{Value, json};

    use super::*;

    fn message(channel: Channel, kind: &str, parent: &str, content: &Value) -> LogRecord {
        let header = json!({ "msg_id": "1", "msg_type": kind, "session": "s" });
        let parts = [&header, &json!({ "msg_id": parent }), &json!({}), content];
        LogRecord::FromKernel { channel, parts: parts.map(|part| Bytes::from(part.to_string())).into() }
    }

    fn announcement(run: &str, message: &str) -> LogRecord {
        let data = json!({ "notebook": "/n.ipynb", "cell": "c", "source": "1" });
        LogRecord::Announced(Announcement { run: run.into(), message: Some(message.into()), data })
    }

    fn print(parent: &str, text: &str) -> LogRecord {
        message(Channel::Iopub, "stream", parent, &json!({ "name": "stdout", "text": text }))
    }

    fn busy(parent: &str) -> LogRecord {
        message(Channel::Iopub, "status", parent, &json!({ "execution_state": "busy" }))
    }

    fn bytes(records: &[LogRecord]) -> BytesMut {
        let mut bytes = BytesMut::new();
        for record in records {
            record.write(SystemTime::UNIX_EPOCH, &mut bytes);
        }
        bytes
    }

    /// The text of the only output of a run.
    fn text(follower: &LogFollower, run: usize) -> String {
        let shown = follower.runs().nth(run).unwrap();
        let [Output::Stream { text, .. }] = shown.outputs() else { return format!("{:?}", shown.outputs()) };
        text.as_str().into_owned()
    }

    #[test]
    fn what_is_added_is_read_once_however_it_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log.00000000000000000000");
        let all = bytes(&[announcement("r1", "m"), busy("m"), print("m", "one\n"), print("m", "two\n")]);
        let mut follower = LogFollower::new(folder.path());
        assert!(follower.read().is_err(), "there is no log yet");
        for end in [10, all.len() - 30, all.len()] {
            fs::write(&file, &all[..end]).unwrap();
            assert!(follower.read().unwrap());
            assert!(!follower.read().unwrap());
        }
        let run = follower.runs().next().unwrap();
        assert_eq!((run.id().as_str(), run.version), ("r1", 2));
        assert!(run.started_at.is_some() && run.is_whole());
        assert_eq!(text(&follower, 0), "one\ntwo\n");
    }

    #[test]
    fn a_log_in_a_file_is_read_behind_its_header_and_again_when_it_was_rewritten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.log");
        let all = bytes(&[announcement("r1", "m"), busy("m"), print("m", "one\n")]);
        fs::write(&file, [b"header\n", &*all].concat()).unwrap();
        let mut follower = LogFollower::of_file(file.clone(), 7);
        follower.read().unwrap();
        assert_eq!(text(&follower, 0), "one\n");
        fs::write(&file, [b"header\n", &*bytes(&[announcement("r2", "n")])].concat()).unwrap();
        assert!(follower.read().is_err());
        follower.read().unwrap();
        let runs: Vec<_> = follower.runs().map(|run| run.id().clone()).collect();
        assert_eq!(runs, ["r2"]);
    }

    #[test]
    fn outputs_of_runs_that_ended_long_ago_are_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let mut records = Vec::new();
        for number in 0..8 {
            let id = format!("m{number}");
            records.extend([announcement(&format!("r{number}"), &id), busy(&id), print(&id, "text")]);
            records.push(message(Channel::Shell, "execute_reply", &id, &json!({ "status": "ok" })));
            records.push(message(Channel::Iopub, "status", &id, &json!({ "execution_state": "idle" })));
        }
        fs::write(folder.path().join("log.00000000000000000000"), bytes(&records)).unwrap();
        let mut follower = LogFollower::new(folder.path());
        follower.read().unwrap();
        let whole: Vec<_> = follower.runs().map(LoggedRun::is_whole).collect();
        assert_eq!(whole, [false, false, false, true, true, true, true, true]);
    }

    #[test]
    fn the_request_of_a_run_is_known_when_it_is_announced_late_as_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let waiting =
            Announcement { run: "r1".into(), message: None, data: json!({ "cell": "c", "source": "1" }) };
        let records = [announcement("r1", "m"), LogRecord::Announced(waiting)];
        fs::write(folder.path().join("log.00000000000000000000"), bytes(&records)).unwrap();
        let mut follower = LogFollower::new(folder.path());
        follower.read().unwrap();
        assert_eq!(follower.runs().next().unwrap().request(), Some(&"m".into()));
    }

    #[test]
    fn a_question_of_the_code_is_kept_for_its_answer() {
        let folder = tempfile::tempdir().unwrap();
        let asks = message(Channel::Stdin, "input_request", "m", &json!({ "prompt": "name" }));
        fs::write(folder.path().join("log.00000000000000000000"), bytes(&[announcement("r1", "m"), asks]))
            .unwrap();
        let mut follower = LogFollower::new(folder.path());
        follower.read().unwrap();
        let run = follower.runs().next().unwrap();
        assert!(run.input_request.as_ref().is_some_and(|header| header.starts_with(b"{")));
    }
}

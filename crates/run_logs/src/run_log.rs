//! The log of one connection.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bytes::BytesMut;
use kernel::MessageId;
use kernel::log::{Announcement, LogEvent, LogRecord, Peek, RunId};
use parking_lot::Mutex;

use crate::past::{Header, Past};
use transports::RecordLog;

/// How much a log keeps of what is published for its runs.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// From this length on, what is no longer needed is removed from a log that is still needed.
const COMPACT_BYTES: u64 = 1024 * 1024;

/// The log of one connection: see the crate.
pub struct RunLog {
    pub(crate) path: PathBuf,
    pub header: Header,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Locked. `None` while there is no open run.
    file: Option<File>,
    open: Vec<Announcement>,
    length: u64,
    /// The last request of which outputs were left out.
    cut: Option<MessageId>,
    /// The last record could not be written.
    is_failing: bool,
    /// Another server has taken it over: nothing more is written.
    is_released: bool,
}

impl RunLog {
    /// A log without a file, which is made with the first run.
    pub(crate) fn new(path: PathBuf, header: Header) -> Self {
        Self { path, header, state: Mutex::default() }
    }

    /// Takes over the log of a server that has ended. `None` if that lives, or nothing is left to do.
    pub(crate) fn claim(path: &Path) -> Option<(Self, Past)> {
        let mut file = File::options().read(true).write(true).open(path).ok()?;
        // Where locks are not supported, no server is known to have ended.
        file.try_lock().ok()?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).ok()?;
        // The previous owner has acknowledged all runs before it removed a file that was opened above.
        let past = Past::read(&text).filter(|past| !past.open.is_empty())?;
        file.set_len(past.length).ok()?;
        let open = past.open.iter().map(|run| run.announcement.clone()).collect();
        let state = State { file: Some(file), open, length: past.length, ..State::default() };
        let log = Self { path: path.to_owned(), header: past.header.clone(), state: Mutex::new(state) };
        Some((log, past))
    }

    /// The outcome of a run is stored where it belongs, or the run will never begin.
    pub fn acknowledge(&self, run: &RunId) {
        let mut state = self.state.lock();
        let count = state.open.len();
        state.open.retain(|announcement| announcement.run != *run);
        if state.open.len() == count {
            return;
        }
        self.write(&mut state, &LogRecord::Acknowledged { run: run.clone() });
        if state.open.is_empty() {
            if let Err(error) = fs::remove_file(&self.path) {
                tracing::warn!(%error, "a log of runs that is no longer needed cannot be removed");
            }
            *state = State::default();
        } else if state.length > COMPACT_BYTES && !state.has_requests() {
            self.compact(&mut state);
        }
    }

    /// Leaves the log to another server.
    pub fn release(&self) {
        *self.state.lock() = State { is_released: true, ..State::default() };
    }

    /// The kernel is gone: what has not been sent to it never is.
    pub fn retract_waiting(&self) {
        let waiting: Vec<RunId> = {
            let state = self.state.lock();
            state
                .open
                .iter()
                .filter(|announcement| announcement.message.is_none())
                .map(|announcement| announcement.run.clone())
                .collect()
        };
        for run in waiting {
            self.acknowledge(&run);
        }
    }

    fn write(&self, state: &mut State, record: &LogRecord) {
        let mut bytes = BytesMut::new();
        record.write(SystemTime::now(), &mut bytes);
        let written = self.append_bytes(state, &bytes);
        if let Err(error) = &written
            && !state.is_failing
        {
            tracing::warn!(%error, "a later server may miss some runs of a kernel");
        }
        state.is_failing = written.is_err();
    }

    fn append_bytes(&self, state: &mut State, bytes: &[u8]) -> io::Result<()> {
        if state.file.is_none() {
            let line = self.header.write();
            state.file = Some(self.create(&line)?);
            state.length = line.len() as u64;
        }
        let Some(file) = &mut state.file else { return Ok(()) };
        file.seek(SeekFrom::Start(state.length))?;
        if let Err(error) = file.write_all(bytes) {
            // A part of it may be there, behind which nothing could be read.
            file.set_len(state.length)?;
            return Err(error);
        }
        state.length += bytes.len() as u64;
        Ok(())
    }

    /// Nobody can claim a file before it is locked, because it gets its name afterwards.
    fn create(&self, header: &[u8]) -> io::Result<File> {
        if let Some(folder) = self.path.parent() {
            state::create_folder(folder)?;
        }
        let unnamed = self.path.with_extension("new");
        // Windows can't shorten a file that was opened to append to it.
        let mut file = state::options().read(true).create_new(true).open(&unnamed)?;
        let made = file.try_lock().map_err(io::Error::from).and_then(|()| {
            file.write_all(header)?;
            fs::rename(&unnamed, &self.path)
        });
        if let Err(error) = made {
            let _ = fs::remove_file(&unnamed);
            return Err(error);
        }
        Ok(file)
    }

    /// Removes everything but the runs that wait for their turn.
    fn compact(&self, state: &mut State) {
        let mut bytes = BytesMut::from(&*self.header.write());
        for announcement in &state.open {
            LogRecord::Announced(announcement.clone()).write(SystemTime::now(), &mut bytes);
        }
        let Some(file) = &mut state.file else { return };
        let rewritten = file.set_len(0).and_then(|()| {
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&bytes)
        });
        match rewritten {
            Ok(()) => (state.length, state.cut) = (bytes.len() as u64, None),
            Err(error) => tracing::warn!(%error, "a later server will not know of the runs that wait"),
        }
    }
}

impl State {
    /// Whether the kernel was sent one of the runs.
    fn has_requests(&self) -> bool {
        self.open.iter().any(|announcement| announcement.message.is_some())
    }

    /// The request that a message belongs to, if the log is too long for the message.
    fn left_out(&self, record: &LogRecord) -> Option<MessageId> {
        let LogRecord::FromKernel { channel, parts } = record else { return None };
        if self.length < MAX_BYTES {
            return None;
        }
        let peek = Peek::of(*channel, parts);
        let limit = peek.limit(*channel, MAX_BYTES)?;
        (self.length >= limit).then(|| peek.parent.into())
    }
}

impl RecordLog for RunLog {
    fn has_runs(&self) -> bool {
        self.state.lock().has_requests()
    }

    fn append(&self, record: &LogRecord) {
        let mut state = self.state.lock();
        if state.is_released {
            return;
        }
        if let LogRecord::Announced(announcement) = record {
            match state.open.iter_mut().find(|known| known.run == announcement.run) {
                // Announced, and now sent.
                Some(known) => *known = announcement.clone(),
                None => state.open.push(announcement.clone()),
            }
        }
        let Some(message) = state.left_out(record) else { return self.write(&mut state, record) };
        if state.cut.as_ref() != Some(&message) {
            state.cut = Some(message.clone());
            self.write(&mut state, &LogRecord::Event(LogEvent::Cut { message }));
        }
    }
}

#[cfg(test)]
mod tests;

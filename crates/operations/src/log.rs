//! The operations of one notebook in a folder: a log of JSON lines, and the contents beside it.

mod activity;
mod blobs;
mod limits;
mod sessions;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::line_file::{LockedLines, read_from};
use crate::{BlobId, Blobs, Operation, OperationId};

pub use activity::{Activities, Activity};
pub use limits::prune;
pub use sessions::SessionLock;

const LOCK: &str = "lock";
/// The version of the log that this program writes.
const VERSION: u32 = 1;
const LOG: &str = "log";

/// The first line of a log.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    version: u32,
    /// The identity of the notebook.
    notebook: String,
}

/// The reason why operations cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    /// A newer program has written it. It is left alone.
    #[error("{path} was written by a newer version of this program ({version}); it was not changed")]
    Newer { path: PathBuf, version: u32 },
}

/// The operations of one notebook.
#[derive(Debug)]
pub struct OperationLog {
    folder: PathBuf,
    notebook: String,
    known: Mutex<Known>,
}

/// The state of the log when it was last written or read.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    length: u64,
    last_id: OperationId,
    operations: usize,
    /// The number of operations that were left when it was last trimmed here.
    kept: usize,
    /// Of the contents beside it.
    bytes: u64,
}

impl OperationLog {
    /// The log of the notebook with this identity, in a folder of its own below `root`. Touches no file yet.
    pub fn new(root: &Path, notebook: &str) -> Self {
        let folder = root.join(BlobId::of(notebook.as_bytes()).as_str());
        Self { folder, notebook: notebook.to_owned(), known: Mutex::default() }
    }

    /// Shows other programs that the session is connected. Returns the name of the session.
    pub fn hold(&self, session: &SessionLock) -> String {
        session.hold(self.root());
        session.name().to_owned()
    }

    /// Whether the session of this name is connected, to whichever program.
    pub fn is_connected(&self, session: &str) -> bool {
        sessions::is_connected(self.root(), session)
    }

    fn root(&self) -> &Path {
        self.folder.parent().unwrap_or(&self.folder)
    }

    /// Adds an operation and the contents that it names. Returns its id.
    pub fn append(&self, mut operation: Operation, blobs: &Blobs) -> Result<OperationId, LogError> {
        let mut known = self.known.lock();
        let failed = |error| self.failed(error);
        let lines = LockedLines::open(&self.folder.join(LOG), &self.folder.join(LOCK));
        let mut lines = lines.map_err(failed)?;
        if lines.length == 0 {
            let header = Header { version: VERSION, notebook: self.notebook.clone() };
            lines.append(&header).map_err(failed)?;
            *known = Known::default();
        } else if lines.length != known.length {
            *known = Known { kept: known.kept, ..self.scan()? };
        }
        let written = blobs::write(&self.folder, blobs).map_err(failed)?;
        operation.id = known.last_id.next();
        lines.append(&operation).map_err(failed)?;
        known.last_id = operation.id;
        known.operations += 1;
        known.bytes += written;
        known.length = lines.length;
        if limits::is_exceeded(known.operations, known.bytes, known.kept) {
            known.kept = limits::trim(&self.folder, lines, operation.time).map_err(failed)?;
            // Read again before the next line.
            known.length = 0;
        }
        Ok(operation.id)
    }

    /// All operations that are kept, in order. None if nothing was recorded.
    pub fn read(&self) -> Result<Vec<Operation>, LogError> {
        let text = match fs::read(self.folder.join(LOG)) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Vec::new());
            }
            Err(error) => return Err(self.failed(error)),
        };
        self.check_version(&text)?;
        Ok(operations(&text).collect())
    }

    /// The size of the log in bytes, which differs after each change: whether it must be read again.
    pub fn size(&self) -> u64 {
        fs::metadata(self.folder.join(LOG)).map_or(0, |log| log.len())
    }

    /// The operations that were added since the log had `length` bytes, which are then as many as it has. Nothing if it was trimmed since.
    pub fn read_since(&self, length: &mut u64) -> Vec<Operation> {
        let size = self.size();
        let before = std::mem::replace(length, size);
        if size <= before {
            return Vec::new();
        }
        let lines = read_from(&self.folder.join(LOG), before).unwrap_or_default();
        *length = before + lines.len() as u64;
        operations(&lines).collect()
    }

    /// A content, if it is still kept and whole.
    pub fn content(&self, id: &BlobId) -> Option<Bytes> {
        blobs::read(&self.folder, id)
    }

    fn scan(&self) -> Result<Known, LogError> {
        let text = fs::read(self.folder.join(LOG)).map_err(|error| self.failed(error))?;
        self.check_version(&text)?;
        let (last_id, operations) = operations(&text)
            .fold((OperationId::default(), 0), |(last, count), operation| {
                (operation.id.max(last), count + 1)
            });
        Ok(Known {
            length: text.len() as u64,
            last_id,
            operations,
            kept: 0,
            bytes: blobs::size(&self.folder),
        })
    }

    fn check_version(&self, text: &[u8]) -> Result<(), LogError> {
        let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        match serde_json::from_slice::<Header>(first) {
            Ok(header) if header.version > VERSION => {
                Err(LogError::Newer { path: self.folder.join(LOG), version: header.version })
            }
            _ => Ok(()),
        }
    }

    fn failed(&self, source: io::Error) -> LogError {
        LogError::Io { path: self.folder.clone(), source }
    }
}

/// The operations in the text of a log. What is no operation is skipped.
fn operations(text: &[u8]) -> impl Iterator<Item = Operation> {
    text.split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Operation>(line).ok())
        .filter(|operation| operation.id > OperationId::default())
}

#[cfg(test)]
mod tests;

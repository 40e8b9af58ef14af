//! Files of lines, to which several programs append, one after the other by a lock on a file of its own. A line that was torn by a crash
//! is skipped: the next one begins on a new line. Nothing is forced to the disk: a record is worth less than the time.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;

/// A file of lines that nobody else writes until this is dropped.
pub(crate) struct LockedLines {
    path: PathBuf,
    pub(crate) file: File,
    pub(crate) length: u64,
    _lock: File,
}

impl LockedLines {
    /// Opens a file, which is made if needed, as soon as nobody else has it.
    pub(crate) fn open(path: &Path, lock: &Path) -> io::Result<Self> {
        state::create_folder(path.parent().ok_or(io::ErrorKind::NotFound)?)?;
        let lock = wait_for(lock)?;
        let file = state::options().read(true).append(true).create(true).open(path)?;
        let length = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, length, _lock: lock })
    }

    /// Adds a line in one piece.
    pub(crate) fn append(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut line = Vec::new();
        if self.length > 0 {
            let mut last = [0];
            self.file.seek(SeekFrom::End(-1))?;
            self.file.read_exact(&mut last)?;
            line.extend((last != *b"\n").then_some(b'\n'));
        }
        serde_json::to_writer(&mut line, value)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.length += line.len() as u64;
        Ok(())
    }

    /// Replaces all lines.
    pub(crate) fn replace(self, text: &[u8]) -> io::Result<()> {
        let Self { path, file, _lock, .. } = self;
        drop(file);
        state::replace_unsynced(&path, text)
    }
}

/// The whole lines from a position on: somebody may still be writing the last one.
pub(crate) fn read_from(path: &Path, position: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(position))?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    text.truncate(text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
    Ok(text)
}

/// Waits until nobody else has the lock.
pub(crate) fn wait_for(path: &Path) -> io::Result<File> {
    let lock = state::open_lock(path)?;
    lock.lock()?;
    Ok(lock)
}

/// Removes the files of a folder that have not changed for longer than `max_age`, unless one `is_used`.
pub(crate) fn remove_old(folder: &Path, now: SystemTime, max_age: Duration, is_used: impl Fn(&Path) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let changed_at = entry.metadata().and_then(|it| it.modified()).unwrap_or(now);
        if now.duration_since(changed_at).is_ok_and(|age| age > max_age) && !is_used(&entry.path()) {
            // A file that stays is removed another time.
            let _ = fs::remove_file(entry.path());
        }
    }
}

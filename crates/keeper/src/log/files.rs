//! A keeper's log: files of records, each named by the offset at which it begins.
//!
//! It is written by one task and read by many, each at an offset of its own. What is written survives the end of any process;
//! nothing is forced to the disk, so a power cut may take the last seconds.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bytes::BytesMut;
use kernel::log::{LogRecord, RecordReader};
use tokio::sync::watch;

/// The length at which another file is begun.
const SEGMENT_BYTES: u64 = 16 * 1024 * 1024;
/// The size of one read, in bytes.
const READ_BYTES: usize = 256 * 1024;
const PREFIX: &str = "log.";

pub(crate) struct Log {
    folder: PathBuf,
    segment_bytes: u64,
    /// The offsets at which the files begin, the oldest first. Never empty.
    segments: VecDeque<u64>,
    file: File,
    /// Whether a part of a record is at the end of the file.
    is_torn: bool,
    /// The offset behind the last record.
    end: watch::Sender<u64>,
    buffer: BytesMut,
}

/// Reads a log at any offset, in the process that writes it.
#[derive(Clone)]
pub(crate) struct LogReader {
    folder: PathBuf,
    pub(crate) end: watch::Receiver<u64>,
}

impl Log {
    /// A new log in `folder`.
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        Self::create_with(folder, SEGMENT_BYTES)
    }

    fn create_with(folder: &Path, segment_bytes: u64) -> io::Result<Self> {
        let file = create_segment(folder, 0)?;
        Ok(Self::of(folder, segment_bytes, VecDeque::from([0]), file, 0))
    }

    /// The log of a keeper that no longer runs. What it was writing when it ended is cut off.
    pub(crate) fn reopen(
        folder: &Path,
        mut each: impl FnMut(u64, SystemTime, LogRecord),
    ) -> io::Result<Self> {
        let bases = bases(folder)?;
        let (Some(first), Some(last)) = (bases.front().copied(), bases.back().copied()) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let mut records = RecordReader::at(first);
        let read = read_on(
            |offset| read_piece(folder, offset),
            &mut records,
            |offset, time, record| {
                each(offset, time, record);
                Ok(())
            },
        );
        if let Err(error) = read
            && error.kind() != io::ErrorKind::InvalidData
        {
            return Err(error);
        }
        let file = File::options().append(true).open(path(folder, last))?;
        file.set_len(records.offset().saturating_sub(last))?;
        Ok(Self::of(folder, SEGMENT_BYTES, bases, file, records.offset()))
    }

    fn of(folder: &Path, segment_bytes: u64, segments: VecDeque<u64>, file: File, end: u64) -> Self {
        let (folder, end, buffer) = (folder.to_path_buf(), watch::Sender::new(end), BytesMut::new());
        Self { folder, segment_bytes, segments, file, is_torn: false, end, buffer }
    }

    /// Appends a record. Returns the offset at which it begins.
    pub(crate) fn append(&mut self, record: &LogRecord, time: SystemTime) -> io::Result<u64> {
        let start = self.end();
        self.cut_torn()?;
        self.buffer.clear();
        record.write(time, &mut self.buffer);
        if let Err(error) = self.file.write_all(&self.buffer) {
            self.is_torn = true;
            // Otherwise before the next record.
            let _ = self.cut_torn();
            return Err(error);
        }
        let end = start + self.buffer.len() as u64;
        self.end.send_replace(end);
        if self.buffer.capacity() > 1024 * 1024 {
            self.buffer = BytesMut::new();
        }
        if end - self.newest() >= self.segment_bytes {
            // Without another file this one grows; the record is written.
            match create_segment(&self.folder, end) {
                Ok(file) => {
                    self.file = file;
                    self.segments.push_back(end);
                }
                Err(error) => tracing::warn!(%error, "the log goes on in one file"),
            }
        }
        Ok(start)
    }

    /// Removes what is there of a record that could not be written. Behind it, nothing could be read.
    fn cut_torn(&mut self) -> io::Result<()> {
        if self.is_torn {
            self.file.set_len(self.end().saturating_sub(self.newest()))?;
            self.is_torn = false;
        }
        Ok(())
    }

    /// Lets the disk be full, or no longer.
    #[cfg(test)]
    #[cfg(target_os = "linux")]
    pub(crate) fn set_full(&mut self, is_full: bool) -> io::Result<()> {
        let path = if is_full { PathBuf::from("/dev/full") } else { path(&self.folder, self.newest()) };
        self.file = File::options().append(true).open(path)?;
        Ok(())
    }

    /// The offset behind the last record.
    pub(crate) fn end(&self) -> u64 {
        *self.end.borrow()
    }

    /// How many bytes are kept.
    pub(crate) fn size(&self) -> u64 {
        self.end() - self.segments.front().copied().unwrap_or_default()
    }

    /// Removes the files that hold nothing from `offset` on.
    pub(crate) fn forget_before(&mut self, offset: u64) {
        while self.segments.get(1).is_some_and(|next| *next <= offset) {
            let Some(oldest) = self.segments.pop_front() else { return };
            if let Err(error) = fs::remove_file(path(&self.folder, oldest)) {
                tracing::warn!(%error, "a part of the log cannot be removed");
            }
        }
    }

    pub(crate) fn reader(&self) -> LogReader {
        LogReader { folder: self.folder.clone(), end: self.end.subscribe() }
    }

    /// The offset at which the newest file begins.
    fn newest(&self) -> u64 {
        self.segments.back().copied().unwrap_or_default()
    }
}

impl LogReader {
    /// A piece of the log from `offset` on, where there is more. Fails if that is forgotten.
    pub(crate) fn read(&self, offset: u64) -> io::Result<Vec<u8>> {
        let mut bytes = read_piece(&self.folder, offset)?;
        // Behind it may be a part of a record that could not be written.
        bytes.truncate(usize::try_from(self.end.borrow().saturating_sub(offset)).unwrap_or(usize::MAX));
        if bytes.is_empty() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
    }
}

/// Reads the log in `folder` from its beginning, while its keeper may be writing, until `each` fails. What the keeper writes and
/// forgets during that time may be left out.
pub(crate) fn read_records(
    folder: &Path,
    mut each: impl FnMut(SystemTime, LogRecord) -> io::Result<()>,
) -> io::Result<()> {
    let mut records = RecordReader::at(oldest(folder)?);
    loop {
        match read_on(|offset| read_piece(folder, offset), &mut records, |_, at, record| each(at, record)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && oldest(folder)? > records.offset() => {
                records = RecordReader::at(oldest(folder)?);
            }
            read => return read.map(drop),
        }
    }
}

/// Reads the records that follow, each with its offset, until there are no more or `each` fails. Returns whether there was anything.
pub(super) fn read_on(
    read_piece: impl Fn(u64) -> io::Result<Vec<u8>>,
    records: &mut RecordReader,
    mut each: impl FnMut(u64, SystemTime, LogRecord) -> io::Result<()>,
) -> io::Result<bool> {
    let begin = records.end();
    loop {
        let piece = read_piece(records.end())?;
        if piece.is_empty() {
            return Ok(records.end() > begin);
        }
        records.push(&piece);
        let mut offset = records.offset();
        let malformed = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        while let Some((time, record)) = records.next_record().map_err(malformed)? {
            each(offset, time, record)?;
            offset = records.offset();
        }
    }
}

/// Reads a piece of the log in `folder` from `offset` on; nothing at its end. Fails if that is forgotten.
pub(crate) fn read_piece(folder: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let mut piece = Err(io::ErrorKind::NotFound.into());
    // The last of them has it, unless that was made and could not be used.
    for base in bases(folder)?.into_iter().rev().filter(|base| *base <= offset) {
        piece = Ok(read_from(&File::open(path(folder, base))?, offset - base)?);
        if piece.as_ref().is_ok_and(|piece| !piece.is_empty()) {
            break;
        }
    }
    piece
}

/// The bytes of a file from `offset` on, at most [`READ_BYTES`].
pub(super) fn read_from(file: &File, offset: u64) -> io::Result<Vec<u8>> {
    let left = file.metadata()?.len().saturating_sub(offset);
    let mut bytes = vec![0; usize::try_from(left).unwrap_or(READ_BYTES).min(READ_BYTES)];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}

/// The offset at which the log in `folder` begins. Fails if there is none.
pub(super) fn oldest(folder: &Path) -> io::Result<u64> {
    Ok(*bases(folder)?.front().ok_or(io::ErrorKind::NotFound)?)
}

/// The offsets at which the files of a log begin, the oldest first.
fn bases(folder: &Path) -> io::Result<VecDeque<u64>> {
    let mut bases: Vec<u64> =
        fs::read_dir(folder)?.flatten().filter_map(|entry| base(&entry.path())).collect();
    bases.sort_unstable();
    Ok(bases.into())
}

fn path(folder: &Path, base: u64) -> PathBuf {
    folder.join(format!("{PREFIX}{base:020}"))
}

fn base(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_prefix(PREFIX)?.parse().ok()
}

fn create_segment(folder: &Path, base: u64) -> io::Result<File> {
    File::options().append(true).create_new(true).mode(0o600).open(path(folder, base))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn record(number: usize) -> LogRecord {
        LogRecord::Acknowledged { run: format!("r{number} {}", "x".repeat(90)).into() }
    }

    /// The numbers of the records from an offset on.
    fn read(log: &Log, from: u64) -> Vec<LogRecord> {
        let (reader, mut records, mut all) = (log.reader(), RecordReader::at(from), Vec::new());
        while records.end() < log.end() {
            let bytes = reader.read(records.end()).unwrap();
            for part in bytes.chunks(77) {
                records.push(part);
                while let Some((_, record)) = records.next_record().unwrap() {
                    all.push(record);
                }
            }
        }
        all
    }

    fn files(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn everything_is_read_from_any_offset_over_all_files() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = Log::create_with(folder.path(), 500).unwrap();
        let offsets: Vec<u64> =
            (0..30).map(|it| log.append(&record(it), SystemTime::now()).unwrap()).collect();
        assert!(files(folder.path()) > 4);
        for first in [0, 7, 29] {
            let expected: Vec<_> = (first..30).map(record).collect();
            assert_eq!(read(&log, offsets[first]), expected);
        }
        assert!(log.reader().read(log.end()).is_err());
        for entry in fs::read_dir(folder.path()).unwrap() {
            assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_record_is_written_though_no_other_file_can_be_begun() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = Log::create_with(folder.path(), 500).unwrap();
        let mut number = 0;
        // Something is there already where the second file would be.
        while log.end() < 1000 {
            log.append(&record(number), SystemTime::now()).unwrap();
            number += 1;
            let _ = create_segment(folder.path(), log.end() + (log.end() / number as u64));
        }
        assert_eq!(read(&log, 0), (0..number).map(record).collect::<Vec<_>>());
    }

    #[test]
    fn only_whole_files_before_the_offset_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = Log::create_with(folder.path(), 500).unwrap();
        let offsets: Vec<u64> =
            (0..30).map(|it| log.append(&record(it), SystemTime::now()).unwrap()).collect();
        let (before, size) = (files(folder.path()), log.size());
        log.forget_before(offsets[20]);
        assert!(files(folder.path()) < before && log.size() < size);
        assert_eq!(read(&log, offsets[20]).len(), 10);
        assert_eq!(log.reader().read(0).unwrap_err().kind(), io::ErrorKind::NotFound);
        log.forget_before(log.end());
        assert_eq!(files(folder.path()), 1);
        log.append(&record(30), SystemTime::now()).unwrap();
    }

    #[test]
    fn a_torn_record_at_the_end_is_cut_off_when_the_log_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = Log::create_with(folder.path(), 500).unwrap();
        for number in 0..10 {
            log.append(&record(number), SystemTime::now()).unwrap();
        }
        let (end, newest) = (log.end(), path(folder.path(), log.newest()));
        drop(log);
        File::options().append(true).open(newest).unwrap().write_all(&[0, 0, 1]).unwrap();
        let mut seen = Vec::new();
        let mut log = Log::reopen(folder.path(), |_, _, record| seen.push(record)).unwrap();
        assert_eq!(seen, (0..10).map(record).collect::<Vec<_>>());
        assert_eq!(log.end(), end);
        log.append(&record(10), SystemTime::now()).unwrap();
        assert_eq!(read(&log, end), [record(10)]);
    }

    #[test]
    fn a_log_is_read_from_its_beginning_while_it_is_written_and_until_the_reader_has_enough() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = Log::create_with(folder.path(), 500).unwrap();
        for number in 0..10 {
            log.append(&record(number), SystemTime::now()).unwrap();
        }
        File::options()
            .append(true)
            .open(path(folder.path(), log.newest()))
            .unwrap()
            .write_all(&[0, 0, 1])
            .unwrap();
        let mut seen = Vec::new();
        read_records(folder.path(), |_, record| {
            seen.push(record);
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, (0..10).map(record).collect::<Vec<_>>());
        let enough = read_records(folder.path(), |_, _| Err(io::ErrorKind::BrokenPipe.into()));
        assert_eq!(enough.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn readers_are_notified() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = Log::create(folder.path()).unwrap();
        let reader = log.reader();
        assert!(!reader.end.has_changed().unwrap());
        log.append(&record(0), SystemTime::now()).unwrap();
        assert!(reader.end.has_changed().unwrap());
    }
}

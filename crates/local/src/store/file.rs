//! Reads and atomically replaces one file.

use std::fs::{self, File};
use std::hash::Hasher as _;
use std::io::{self, BufWriter, Read as _, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use notebook::Notebook;

use crate::replacement;
use crate::stamp::Stamp;

const MAX_BYTES: u64 = 1 << 30;

/// File systems record the time of a change in steps of a few milliseconds.
const TIME_RESOLUTION: Duration = Duration::from_millis(50);

pub(crate) struct Contents {
    pub(crate) bytes: Bytes,
    pub(crate) digest: u64,
    pub(crate) stamp: Stamp,
    /// Whether the next change is certain to change the stamp.
    pub(crate) is_settled: bool,
}

/// Reads a file. `None` if it changed during the reading.
pub(crate) fn read(path: &Path) -> io::Result<Option<Contents>> {
    // Checked first: opening a named pipe would block.
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let size = metadata.len();
    if size > MAX_BYTES {
        return Err(io::Error::other(format!("it has {size} bytes, and the limit is {MAX_BYTES}")));
    }
    let (now, before) = (SystemTime::now(), Stamp::of(path)?);
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    File::open(path)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
    let stamp = Stamp::of(path)?;
    if stamp != before {
        return Ok(None);
    }
    let digest = digest_of(&bytes);
    Ok(Some(Contents {
        bytes: bytes.into(),
        digest,
        stamp,
        is_settled: stamp.is_settled(now, TIME_RESOLUTION),
    }))
}

/// Writes a new file; fails if there is one already.
pub(crate) fn create(path: &Path, notebook: &Notebook) -> io::Result<()> {
    let mut file = replacement::temporary(path, replacement::NEW)?;
    let mut writer = BufWriter::new(file.as_file_mut());
    notebook.write(&mut writer)?;
    writer.flush()?;
    drop(writer);
    replacement::create(file, path)
}

pub(crate) enum Replaced {
    /// The file contains the notebook now.
    Written { stamp: Stamp, digest: u64 },
    /// The file had this content already.
    Same,
    /// Somebody else changed the file; it was left alone.
    Changed,
}

/// Atomically replaces the file, if it still has the stamp `current`. `digest` is that of its content.
pub(crate) fn replace(path: &Path, notebook: &Notebook, current: Stamp, digest: u64) -> io::Result<Replaced> {
    let old = replacement::check_writable(path)?;
    let mut file = replacement::temporary(path, replacement::REPLACING)?;
    let new_digest = {
        let mut writer =
            DigestWriter { inner: BufWriter::with_capacity(1 << 16, file.as_file_mut()), hash: hasher() };
        notebook.write(&mut writer)?;
        writer.inner.flush()?;
        writer.hash.finish()
    };
    if new_digest == digest {
        return Ok(if Stamp::of(path)? == current { Replaced::Same } else { Replaced::Changed });
    }
    replacement::prepare(file.as_file(), &old)?;
    if Stamp::of(path)? != current {
        return Ok(Replaced::Changed);
    }
    let stamp = replacement::replace(file, path)?;
    Ok(Replaced::Written { stamp, digest: new_digest })
}

/// Computes a digest of all that is written.
struct DigestWriter<W> {
    inner: W,
    hash: std::hash::DefaultHasher,
}

impl<W: Write> Write for DigestWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.hash.write(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn hasher() -> std::hash::DefaultHasher {
    std::hash::DefaultHasher::new()
}

fn digest_of(bytes: &[u8]) -> u64 {
    let mut hash = hasher();
    hash.write(bytes);
    hash.finish()
}

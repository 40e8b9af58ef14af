//! Reads and atomically replaces one file.

use std::fs::{self, File};
use std::hash::Hasher as _;
use std::io::{self, BufWriter, Read as _, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use notebook::Notebook;
use twox_hash::XxHash3_64;

use crate::replacement;
use crate::stamp::Stamp;

const MAX_BYTES: u64 = 1 << 30;

/// File systems record the time of a change in steps of a few milliseconds.
const TIME_RESOLUTION: Duration = Duration::from_millis(50);

/// One content of a file. The stamp alone shows most changes; the digest shows that a rewritten file is the same.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Version {
    pub(crate) stamp: Stamp,
    pub(crate) digest: u64,
    /// Whether the next change is certain to change the stamp.
    pub(crate) is_settled: bool,
}

pub(crate) struct Contents {
    pub(crate) bytes: Bytes,
    pub(crate) version: Version,
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
    let version = Version { stamp, digest, is_settled: stamp.is_settled(now, TIME_RESOLUTION) };
    Ok(Some(Contents { bytes: bytes.into(), version }))
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

/// The new version of a file, and the file that had the name before, if that is another one.
pub(crate) type Replacement = (Version, Option<File>);

/// Atomically replaces the file, if it still has the content `current`. `None` if somebody else has changed it: then it is left alone.
pub(crate) fn replace(
    path: &Path,
    notebook: &Notebook,
    current: &Version,
) -> io::Result<Option<Replacement>> {
    replace_while(path, notebook, current, || ())
}

/// The same; `others` is what happens right before the file is replaced, after its last comparison.
pub(super) fn replace_while(
    path: &Path,
    notebook: &Notebook,
    current: &Version,
    others: impl FnOnce(),
) -> io::Result<Option<Replacement>> {
    let old = replacement::check_writable(path)?;
    let mut file = replacement::temporary(path, replacement::REPLACING)?;
    let new_digest = {
        let mut writer =
            DigestWriter { inner: BufWriter::with_capacity(1 << 16, file.as_file_mut()), hash: hasher() };
        notebook.write(&mut writer)?;
        writer.inner.flush()?;
        writer.hash.finish()
    };
    if new_digest == current.digest {
        let is_same = Stamp::of(path)? == current.stamp;
        return Ok(is_same.then_some((*current, None)));
    }
    replacement::prepare(file.as_file(), &old)?;
    put_in_place(file, path, current, new_digest, others)
}

fn put_in_place(
    new: tempfile::NamedTempFile,
    path: &Path,
    current: &Version,
    digest: u64,
    others: impl FnOnce(),
) -> io::Result<Option<Replacement>> {
    // On Windows, a file that is open, here or in an editor, is not replaced.
    let old = if cfg!(unix) { Some(File::open(path)?) } else { None };
    let is_current = |stamp: io::Result<Stamp>| stamp.map(|stamp| stamp == current.stamp);
    if !old.as_ref().map_or(Ok(true), |old| is_current(Stamp::of_file(old)))? || !is_current(Stamp::of(path))?
    {
        return Ok(None);
    }
    others();
    #[cfg(unix)]
    let Some(stamp) = replacement::replace_if(new, path, |displaced| {
        let old = old.as_ref().map(Stamp::of_file).transpose()?;
        Ok(old == Some(Stamp::of(displaced)?) && !is_written(displaced, current)?)
    })?
    else {
        return Ok(None);
    };
    #[cfg(windows)]
    let stamp = replacement::replace(new, path)?;
    // Nobody can have changed the new file within the resolution of its modification time: before, the path named another file, with
    // another stamp.
    Ok(Some((Version { stamp, digest, is_settled: true }, old)))
}

/// Whether somebody has written a file since it had this content.
#[cfg(unix)]
fn is_written(path: &Path, version: &Version) -> io::Result<bool> {
    if !Stamp::of(path)?.has_same_content(&version.stamp) {
        return Ok(true);
    }
    Ok(!version.is_settled && digest_of(&fs::read(path)?) != version.digest)
}

/// Computes a digest of all that is written.
struct DigestWriter<W> {
    inner: W,
    hash: XxHash3_64,
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

fn hasher() -> XxHash3_64 {
    XxHash3_64::new()
}

pub(super) fn digest_of(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

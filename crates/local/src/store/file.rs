//! One file on disk: what tells that it changed, reading it, and replacing it at one stroke.

use std::fs::{self, File, Metadata};
use std::hash::Hasher as _;
use std::io::{self, BufWriter, Read as _, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use notebook::Notebook;
use tempfile::NamedTempFile;

use crate::stamp::Stamp;

/// The largest file that is read, in bytes.
const LARGEST: u64 = 1 << 30;

/// Within this time after a change, a further one need not show in the time of the file: clocks of file systems
/// tick every few milliseconds.
const TICK: Duration = Duration::from_millis(50);

/// What a file held.
pub(crate) struct Contents {
    pub(crate) bytes: Bytes,
    pub(crate) digest: u64,
    pub(crate) stamp: Stamp,
    /// Whether the stamp can be trusted to tell of the next change.
    pub(crate) is_settled: bool,
}

/// Reads a file. `None` if it changed meanwhile.
pub(crate) fn read(path: &Path) -> io::Result<Option<Contents>> {
    // Opening a pipe would wait for its writer.
    let before = fs::metadata(path)?;
    if !before.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if before.len() > LARGEST {
        return Err(io::Error::other(format!("it has {} bytes, and the limit is {LARGEST}", before.len())));
    }
    let now = SystemTime::now();
    let mut bytes = Vec::with_capacity(usize::try_from(before.len()).unwrap_or_default());
    File::open(path)?.take(LARGEST).read_to_end(&mut bytes)?;
    let stamp = Stamp::of(path)?;
    if stamp != Stamp::from(&before) {
        return Ok(None);
    }
    let digest = digest_of(&bytes);
    Ok(Some(Contents { bytes: bytes.into(), digest, stamp, is_settled: stamp.is_settled(now, TICK) }))
}

/// Writes a file that must not exist.
pub(crate) fn create(path: &Path, notebook: &Notebook) -> io::Result<()> {
    // For whom the umask says, as any other new file.
    let mut file = temporary(path, 0o666)?;
    let mut writer = BufWriter::new(file.as_file_mut());
    notebook.write(&mut writer)?;
    writer.flush()?;
    drop(writer);
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    sync_folder(path);
    Ok(())
}

/// How replacing a file ended.
pub(crate) enum Replaced {
    /// The file holds the notebook now.
    Written { stamp: Stamp, digest: u64 },
    /// The file held exactly that already.
    Same,
    /// The file is no longer the one with the stamp; it was left alone.
    Changed,
}

/// Replaces the file that has the stamp `current` by `notebook`, at one stroke.
pub(crate) fn replace(path: &Path, notebook: &Notebook, current: Stamp, digest: u64) -> io::Result<Replaced> {
    let old = fs::metadata(path)?;
    // Renaming would replace what nobody may write.
    if old.permissions().readonly() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    drop(File::options().write(true).open(path)?);
    let mut file = temporary(path, 0o600)?;
    let new_digest = {
        let mut writer =
            Digesting { inner: BufWriter::with_capacity(1 << 16, file.as_file_mut()), hash: hasher() };
        notebook.write(&mut writer)?;
        writer.inner.flush()?;
        writer.hash.finish()
    };
    if new_digest == digest {
        return Ok(if Stamp::of(path)? == current { Replaced::Same } else { Replaced::Changed });
    }
    take_over(file.as_file(), &old)?;
    file.as_file().sync_all()?;
    if Stamp::of(path)? != current {
        return Ok(Replaced::Changed);
    }
    file.persist(path).map_err(|error| error.error)?;
    let stamp = Stamp::of(path)?;
    sync_folder(path);
    Ok(Replaced::Written { stamp, digest: new_digest })
}

/// Takes the lock of a file for as long as the answer lives, if nobody else has it. It keeps two of our kind from
/// overwriting each other; other programs need not heed it.
#[cfg(unix)]
pub(crate) fn try_lock(path: &Path) -> io::Result<Option<File>> {
    use rustix::fs::{FlockOperation, flock};
    let file = File::open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        // Whoever had the lock before may have put another file there.
        Ok(()) if Stamp::from(&file.metadata()?) != Stamp::of(path)? => Ok(None),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        // Some network file systems have no locks.
        Ok(()) | Err(_) => Ok(Some(file)),
    }
}

/// There is no lock to take.
#[cfg(not(unix))]
pub(crate) fn try_lock(path: &Path) -> io::Result<Option<File>> {
    File::open(path).map(Some)
}

fn temporary(path: &Path, mode: u32) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    // Hidden, and not a notebook: nobody lists or opens it.
    builder.prefix(".cellbridge-").suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    let _ = mode;
    builder.tempfile_in(folder_of(path))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// Gives `file` the owner and the permissions of the one that it replaces, as far as we may.
fn take_over(file: &File, old: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        let new = file.metadata()?;
        if (new.uid(), new.gid()) != (old.uid(), old.gid())
            && fchown(file, Some(old.uid()), Some(old.gid())).is_err()
        {
            // Somebody else's file in a shared folder becomes ours, but stays with its group.
            let _ = fchown(file, None, Some(old.gid()));
        }
    }
    file.set_permissions(old.permissions())
}

/// Makes a rename survive a loss of power. The file is complete in any case, so a failure is no failure of ours.
fn sync_folder(path: &Path) {
    if cfg!(unix)
        && let Err(error) = File::open(folder_of(path)).and_then(|folder| folder.sync_all())
    {
        tracing::debug!("{} cannot be synced: {error}", folder_of(path).display());
    }
}

/// Takes a digest of what passes through.
struct Digesting<W> {
    inner: W,
    hash: std::hash::DefaultHasher,
}

impl<W: Write> Write for Digesting<W> {
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

//! Files that only this user can have written.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::time::SystemTime;

use super::Refusal;
use super::file::MALFORMED;
pub(super) use system::is_own_socket;

/// A connection file has some three hundred bytes.
const MAX_BYTES: u64 = 64 << 10;

const LINK: &str = "it is a symbolic link";

fn unreadable(error: &io::Error) -> Refusal {
    format!("it cannot be read ({error})")
}

/// Why files in the folder are not used. `None` if only this user can write to it, or if there is no such folder.
pub(super) fn refusal_of_folder(folder: &Path) -> Option<Refusal> {
    system::refusal_of(&fs::metadata(folder).ok()?)
}

/// The content of a file that only this user can have written, and when that was. `None` if there is none.
pub(super) fn read_own(path: &Path) -> Result<Option<(Vec<u8>, SystemTime)>, Refusal> {
    let Some(file) = system::open(path)? else { return Ok(None) };
    // Of what was opened, not of what has that name by now.
    let metadata = file.metadata().map_err(|error| unreadable(&error))?;
    if !metadata.is_file() {
        return Err("it is not a file".into());
    }
    if let Some(refusal) = system::refusal_of(&metadata) {
        return Err(refusal);
    }
    if metadata.len() > MAX_BYTES {
        return Err(MALFORMED.into());
    }
    let mut text = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut text).map_err(|error| unreadable(&error))?;
    Ok(Some((text, metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH))))
}

#[cfg(unix)]
mod system {
    use std::fs::{self, File};
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    use std::path::Path;

    use rustix::fs::{Mode, OFlags};
    use rustix::io::Errno;
    use state::is_own;

    use super::{LINK, Refusal, unreadable};

    /// The permission of everybody but the owner to write.
    const OTHERS_WRITE: u32 = 0o022;

    /// Opens a file that is no link; `None` if there is none.
    pub(super) fn open(path: &Path) -> Result<Option<File>, Refusal> {
        // A pipe that somebody has put there would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(file) => Ok(Some(File::from(file))),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP) => Err(LINK.into()),
            Err(error) => Err(unreadable(&error.into())),
        }
    }

    /// Why a file or folder is not used that another user could have written.
    pub(super) fn refusal_of(metadata: &fs::Metadata) -> Option<Refusal> {
        if !is_own(metadata) {
            return Some("it belongs to another user".into());
        }
        (metadata.mode() & OTHERS_WRITE != 0).then(|| "other users can write to it".into())
    }

    /// Whether this is a socket of this user, or nothing at all: then nobody listens.
    pub(crate) fn is_own_socket(path: &Path) -> bool {
        match fs::symlink_metadata(path) {
            Ok(metadata) => metadata.file_type().is_socket() && is_own(&metadata),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        }
    }
}

/// Who can write a file is in its access control list, which a folder hands down. That of Jupyter is below `%APPDATA%`, which
/// others cannot write; where a person has named another folder, that is their choice.
#[cfg(windows)]
mod system {
    use std::fs::{self, File};
    use std::path::Path;

    use super::{LINK, Refusal, unreadable};

    pub(super) fn open(path: &Path) -> Result<Option<File>, Refusal> {
        if path.is_symlink() {
            return Err(LINK.into());
        }
        match File::open(path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unreadable(&error)),
        }
    }

    pub(super) fn refusal_of(_metadata: &fs::Metadata) -> Option<Refusal> {
        None
    }

    /// ZeroMQ has no such sockets here.
    pub(crate) fn is_own_socket(_path: &Path) -> bool {
        false
    }
}

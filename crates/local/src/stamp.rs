//! What tells cheaply that a file or folder has changed.

use std::fs::{self, Metadata};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The state of a file as its metadata show it. Two stamps of one path differ if it changed in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    modified: Option<SystemTime>,
    size: u64,
    /// Device, inode and the time of its last change (seconds, nanoseconds), on Unix.
    identity: (u64, u64, i64, i64),
}

impl Stamp {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|meta| Self::from(&meta))
    }

    /// Whether a change after `now` is certain to give another stamp.
    ///
    /// File systems round the time of a change, so two changes within `resolution` can have the same stamp. With a
    /// resolution of 50 ms, a file modified at 12:00:00.000 is settled at 12:00:00.060, but not at 12:00:00.040: a
    /// second change at 12:00:00.045 may still be recorded as 12:00:00.000.
    pub(crate) fn is_settled(&self, now: SystemTime, resolution: Duration) -> bool {
        let age = self.modified.and_then(|modified| now.duration_since(modified).ok());
        age.is_some_and(|age| age > resolution)
    }
}

impl From<&Metadata> for Stamp {
    fn from(meta: &Metadata) -> Self {
        #[cfg(unix)]
        let identity = {
            use std::os::unix::fs::MetadataExt as _;
            (meta.dev(), meta.ino(), meta.ctime(), meta.ctime_nsec())
        };
        #[cfg(not(unix))]
        let identity = (0, 0, 0, 0);
        Self { modified: meta.modified().ok(), size: meta.len(), identity }
    }
}

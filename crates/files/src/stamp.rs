//! The cheap signs that a file or folder has changed.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The state of a file as its metadata show it. Two stamps of one path differ if it changed in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    modified: Option<SystemTime>,
    size: u64,
    /// The identity of the file, and the time of the last change of anything of it.
    identity: Identity,
}

/// Device, inode and the time of the last change (seconds, nanoseconds).
#[cfg(unix)]
type Identity = (u64, u64, i64, i64);
#[cfg(windows)]
type Identity = windows::Identity;

impl Stamp {
    pub fn of(path: &Path) -> io::Result<Self> {
        #[cfg(unix)]
        return std::fs::metadata(path).map(|metadata| Self::from_metadata(&metadata));
        #[cfg(windows)]
        return Self::of_file(&windows::open_for_metadata(path)?);
    }

    /// Of an open file, whatever its path is by now.
    pub fn of_file(file: &File) -> io::Result<Self> {
        #[cfg(unix)]
        return file.metadata().map(|metadata| Self::from_metadata(&metadata));
        #[cfg(windows)]
        {
            let (metadata, identity) = (file.metadata()?, windows::identity(file)?);
            Ok(Self { modified: metadata.modified().ok(), size: metadata.len(), identity })
        }
    }

    #[cfg(unix)]
    fn from_metadata(metadata: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let identity = (metadata.dev(), metadata.ino(), metadata.ctime(), metadata.ctime_nsec());
        Self { modified: metadata.modified().ok(), size: metadata.len(), identity }
    }

    /// Whether the size and the time of the last change of the content are the same, whatever became of the name.
    #[cfg(unix)]
    pub(crate) fn has_same_content(&self, other: &Self) -> bool {
        (self.size, self.modified) == (other.size, other.modified)
    }

    /// Whether both are of one file, which may have changed.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        #[cfg(unix)]
        return (self.identity.0, self.identity.1) == (other.identity.0, other.identity.1);
        #[cfg(windows)]
        return (self.identity.volume, self.identity.index) == (other.identity.volume, other.identity.index);
    }

    /// Whether a change after `now` is certain to give another stamp.
    ///
    /// File systems round the time of a change, so two changes within `resolution` can have the same stamp. With a
    /// resolution of 50 ms, a file modified at 12:00:00.000 is settled at 12:00:00.060, but not at 12:00:00.040: a
    /// second change at 12:00:00.045 may still be recorded as 12:00:00.000.
    pub fn is_settled(&self, now: SystemTime, resolution: Duration) -> bool {
        let age = self.modified.and_then(|modified| now.duration_since(modified).ok());
        age.is_some_and(|age| age > resolution)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn another_file_of_the_same_size_and_time_has_another_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        for path in [&one, &other] {
            fs::write(path, "1").unwrap();
            File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        }
        let before = Stamp::of(&one).unwrap();
        assert_eq!(before, Stamp::of(&one).unwrap());
        assert_eq!(before, Stamp::of_file(&File::open(&one).unwrap()).unwrap());
        fs::rename(&other, &one).unwrap();
        assert_ne!(before, Stamp::of(&one).unwrap());
        assert!(Stamp::of(folder.path()).is_ok(), "folders have one, too");
    }
}

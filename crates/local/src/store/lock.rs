//! Keeps two processes of this program from replacing one notebook at the same time. It is no protection from others.

use std::io;
use std::path::Path;

#[cfg(unix)]
pub(super) use self::unix::try_lock;
#[cfg(windows)]
pub(super) use self::windows::try_lock;

#[cfg(unix)]
mod unix {
    use std::fs::{File, TryLockError};

    use super::{Path, io};
    use crate::stamp::Stamp;

    /// Locks a file until the result is dropped; `None` if another process of this program holds the lock.
    pub(in crate::store) fn try_lock(path: &Path) -> io::Result<Option<File>> {
        let file = File::open(path)?;
        match file.try_lock() {
            // The previous holder may have replaced the file that was opened above.
            Ok(()) if Stamp::of_file(&file)? != Stamp::of(path)? => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(None),
            // Some network file systems do not support locks.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(file)),
        }
    }
}

#[cfg(windows)]
mod windows {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};

    use ::windows::Name;

    use super::{Path, io};

    /// Takes a name that stands for the file, until the result is dropped; `None` if another process has it.
    ///
    /// The file itself is not locked: that would keep editors from reading it, and a file that is open is not replaced.
    pub(in crate::store) fn try_lock(path: &Path) -> io::Result<Option<Name>> {
        // All spellings of a path are one file. Two files rarely have one hash; then one waits for the other.
        let mut hash = DefaultHasher::new();
        path.to_string_lossy().to_uppercase().hash(&mut hash);
        Name::take(&format!("cellbridge-{:016x}", hash.finish()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn one_has_the_lock_while_others_read_and_replace_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let [path, new] = ["x.ipynb", "new"].map(|name| folder.path().join(name));
        fs::write(&path, "1").unwrap();
        fs::write(&new, "2").unwrap();
        let lock = try_lock(&path).unwrap();
        assert!(lock.is_some());
        assert!(try_lock(&path).unwrap().is_none());
        assert_eq!(fs::read(&path).unwrap(), b"1");
        fs::rename(&new, &path).unwrap();
        drop(lock);
        assert!(try_lock(&path).unwrap().is_some());
    }
}

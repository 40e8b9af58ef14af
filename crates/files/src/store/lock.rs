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
    use ::windows::Name;

    use super::{Path, io, name_of};

    /// Takes a name that stands for the file, until the result is dropped; `None` if another process has it.
    ///
    /// The file itself is not locked: that would keep editors from reading it, and a file that is open is not replaced.
    pub(in crate::store) fn try_lock(path: &Path) -> io::Result<Option<Name>> {
        Name::take(&name_of(path))
    }
}

/// The same in all versions of this program. All spellings of a path are one file. Two files rarely have one name; then one waits
/// for the other.
#[cfg(any(windows, test))]
fn name_of(path: &Path) -> String {
    use sha2::{Digest as _, Sha256};
    let hash = Sha256::digest(path.to_string_lossy().to_uppercase());
    format!("cellbridge-{}", const_hex::encode(&hash[..8]))
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

    #[test]
    fn a_name_stands_for_a_file_in_all_versions() {
        let name = name_of(Path::new(r"C:\work\x.ipynb"));
        assert_eq!(name, "cellbridge-276009fb23ac4525");
        assert_eq!(name, name_of(Path::new(r"c:\Work\X.ipynb")));
        assert_ne!(name, name_of(Path::new(r"C:\work\y.ipynb")));
    }
}

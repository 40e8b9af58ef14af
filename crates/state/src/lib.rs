//! Files and folders for this user alone: nobody else reads what this program remembers. On Windows, they get their access control
//! list from the folder above, which is the person's own.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::{NamedTempFile, TempDir};

#[cfg(unix)]
mod owner;

#[cfg(unix)]
pub use owner::{is_own, is_private, is_private_below_ours, only_we_write};

/// Makes a folder, and those above it, where there are none.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Makes the folder of `path`. On Unix, it fails if others can write to the folder around it, or look into it.
pub fn create_folder_of(path: &Path) -> io::Result<()> {
    let parent = path.parent().ok_or(io::ErrorKind::NotFound)?;
    create_folder(parent)?;
    #[cfg(unix)]
    if !is_private_below_ours(parent) {
        let cause = format!("others can write to {}, or it belongs to somebody else", parent.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, cause));
    }
    Ok(())
}

/// A new folder in `parent`, removed when it is dropped.
pub fn temporary_folder(prefix: &str, parent: &Path) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    // Without it, the umask decides.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir_in(parent)
}

/// Options to write a file, which is for this user alone if it is created.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Opens a file, which is made if needed, to append to it.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    options().append(true).create(true).open(path)
}

/// Opens a file, which is made if needed, to lock it.
pub fn open_lock(path: &Path) -> io::Result<File> {
    options().read(true).create(true).truncate(false).open(path)
}

/// `false` if another process holds the lock.
pub fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Err(TryLockError::Error(error)) => Err(error),
        locked => Ok(locked.is_ok()),
    }
}

/// Whether another process holds the lock alone. Two that look at the same time do not see each other.
pub fn is_locked(file: &File) -> bool {
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// Writes a new file. Fails if it is there.
pub fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    options().create_new(true).open(path)?.write_all(content)
}

/// Replaces a file, so that it is whole or as it was, even after a power cut. Its folder is made if needed.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    create_folder(folder)?;
    // Only its owner can read it.
    let mut new = NamedTempFile::new_in(folder)?;
    new.write_all(content)?;
    new.as_file().sync_all()?;
    new.persist(path)?;
    Ok(())
}

/// The same where a power cut may lose it, and nobody else writes the file.
pub fn replace_unsynced(path: &Path, content: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("new");
    options().create(true).truncate(true).open(&temporary)?.write_all(content)?;
    fs::rename(temporary, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        replace(&path, b"one").unwrap();
        assert_eq!(write_new(&path, b"two").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        replace(&path, b"three").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"three");
        replace_unsynced(&path, b"four").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"four");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_lock_has_one_holder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let (one, other) = (open_lock(&path).unwrap(), open_lock(&path).unwrap());
        assert!(try_lock(&one).unwrap() && !try_lock(&other).unwrap() && is_locked(&other));
        drop(one);
        assert!(!is_locked(&other));
    }

    #[cfg(unix)]
    #[test]
    fn others_have_no_permissions() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("deep/er");
        create_folder_of(&folder.join("file")).unwrap();
        let temporary = temporary_folder("prefix", &folder).unwrap();
        open_lock(&folder.join("lock")).unwrap();
        open_to_append(&folder.join("lines")).unwrap();
        write_new(&folder.join("new"), b"").unwrap();
        replace(&folder.join("replaced"), b"").unwrap();
        replace_unsynced(&folder.join("unsynced"), b"").unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(temporary.path())), (0o700, 0o700));
        for file in ["lock", "lines", "new", "replaced", "unsynced"] {
            assert_eq!(mode(&folder.join(file)), 0o600, "{file}");
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o750)).unwrap();
        let error = create_folder_of(&folder.join("file")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }
}

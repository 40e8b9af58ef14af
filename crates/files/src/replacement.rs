//! Puts a new file, written under a temporary name, in the place of an old one or of none.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::stamp::Stamp;

/// The mode of a file that replaces none: the umask decides, as for any new file.
pub(crate) const NEW: u32 = 0o666;
/// The mode of a file that gets the permissions of another when it is complete.
pub(crate) const REPLACING: u32 = 0o600;

// Hidden and without `.ipynb`, so that nobody lists or opens it.
const PREFIX: &str = ".cellbridge-";
const SUFFIX: &str = ".tmp";
/// How old a temporary file must be to be taken for one that a killed program has left.
const LEFTOVER_AGE: Duration = Duration::from_secs(60);
/// A temporary file beside `path`, locked while it is written.
pub(crate) fn temporary(path: &Path, mode: u32) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    let _ = mode;
    let file = builder.tempfile_in(folder_of(path))?;
    // Where the file system has no locks, nobody can hold one, and nothing is removed.
    let _ = file.as_file().try_lock();
    Ok(file)
}

/// Removes the temporary files beside `path` that killed programs have left, as far as that is possible.
pub(crate) fn remove_leftovers(path: &Path) {
    for entry in fs::read_dir(folder_of(path)).into_iter().flatten().flatten() {
        let is_temporary =
            entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if is_temporary
            && is_left(&entry.path()).unwrap_or(false)
            && let Err(error) = fs::remove_file(entry.path())
        {
            tracing::debug!("{} cannot be removed: {error}", entry.path().display());
        }
    }
}

fn is_left(path: &Path) -> io::Result<bool> {
    let metadata = fs::symlink_metadata(path)?;
    let is_old = metadata.modified()?.elapsed().is_ok_and(|age| age >= LEFTOVER_AGE);
    Ok(metadata.is_file() && is_old && File::open(path)?.try_lock().is_ok())
}

/// Names the complete file `path`; fails if there is one already.
pub(crate) fn create(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.as_file().sync_all()?;
    unlock(&file);
    #[cfg(unix)]
    file.persist_noclobber(path).map_err(|error| error.error)?;
    // `persist_noclobber` takes no long paths here.
    #[cfg(windows)]
    windows::move_new(&file.into_temp_path(), path)?;
    sync_folder(path);
    Ok(())
}

/// The metadata of a file that may be replaced. A rename would replace even a read-only one.
pub(crate) fn check_writable(path: &Path) -> io::Result<Metadata> {
    let old = fs::metadata(path)?;
    if old.permissions().readonly() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let open = || File::options().write(true).open(path);
    #[cfg(windows)]
    let open = || windows::while_busy(open);
    drop(open()?);
    Ok(old)
}

/// Makes the complete file ready to replace an old one.
pub(crate) fn prepare(file: &File, old: &Metadata) -> io::Result<()> {
    copy_permissions(file, old)?;
    file.sync_all()
}

/// Names the prepared file `path`, in place of the file there, in one step: whatever fails, the path names one of the two. Returns
/// its stamp, since the path may be another's by now.
#[cfg(unix)]
pub(crate) fn replace(file: NamedTempFile, path: &Path) -> io::Result<Stamp> {
    unlock(&file);
    let file = file.persist(path).map_err(|error| error.error)?;
    sync_folder(path);
    Stamp::of_file(&file)
}

/// Another name for the file `path`, for a moment.
#[cfg(unix)]
pub(crate) fn second_name(path: &Path) -> io::Result<tempfile::TempPath> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    let named = builder.make_in(folder_of(path), |name| fs::hard_link(path, name))?;
    Ok(named.into_temp_path())
}

/// The same on Windows, where the access control list is copied as well.
#[cfg(windows)]
pub(crate) fn replace(file: NamedTempFile, path: &Path) -> io::Result<Stamp> {
    unlock(&file);
    let before = Stamp::of_file(file.as_file())?;
    // Closed, since that may change its times.
    windows::replace(&file.into_temp_path(), path)?;
    // If it is another file, somebody else has replaced ours. With the stamp of ours, it is read again.
    Ok(Stamp::of(path).ok().filter(|now| now.is_same_file(&before)).unwrap_or(before))
}

/// Under its new name, a lock would keep others from writing it.
fn unlock(file: &NamedTempFile) {
    let _ = file.as_file().unlock();
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// Copies the owner and the permissions of the replaced file to `file`, as far as this user may.
fn copy_permissions(file: &File, old: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        let new = file.metadata()?;
        if (new.uid(), new.gid()) != (old.uid(), old.gid())
            && fchown(file, Some(old.uid()), Some(old.gid())).is_err()
        {
            // The owner of a file in a shared folder changes, but its group stays.
            let _ = fchown(file, None, Some(old.gid()));
        }
    }
    file.set_permissions(old.permissions())
}

/// Makes a rename survive a power failure. Errors are ignored: the file is complete in any case.
fn sync_folder(path: &Path) {
    if cfg!(unix)
        && let Err(error) = File::open(folder_of(path)).and_then(|folder| folder.sync_all())
    {
        tracing::debug!("{} cannot be synced: {error}", folder_of(path).display());
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_file_is_replaced_while_others_read_it() {
        use std::io::Write as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ipynb");
        fs::write(&path, "old").unwrap();
        // Wine replaces no file that is open.
        let reader = (!crate::is_wine()).then(|| File::open(&path).unwrap());
        let mut file = temporary(&path, REPLACING).unwrap();
        file.write_all(b"new").unwrap();
        prepare(file.as_file(), &check_writable(&path).unwrap()).unwrap();
        let replaced = replace(file, &path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(replaced, Stamp::of(&path).unwrap());
        drop(reader);
        let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["x.ipynb"]);
    }

    #[test]
    fn only_what_a_killed_program_has_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ipynb");
        let old = SystemTime::now() - LEFTOVER_AGE;
        let write = |name: &str, time| {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(time).unwrap();
        };
        write(".cellbridge-left.tmp", old);
        write(".cellbridge-fresh.tmp", SystemTime::now());
        write(".cellbridge-theirs", old);
        write("x.tmp", old);
        let slow = temporary(&path, NEW).unwrap();
        slow.as_file().set_modified(old).unwrap();
        remove_leftovers(&path);
        let mut names: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.retain(|name| slow.path().file_name().unwrap() != name.as_str());
        names.sort();
        assert_eq!(names, [".cellbridge-fresh.tmp", ".cellbridge-theirs", "x.tmp"]);
        assert!(slow.path().exists(), "it is being written");
        create(slow, &path).unwrap();
        assert!(File::open(&path).unwrap().try_lock().is_ok());
    }
}

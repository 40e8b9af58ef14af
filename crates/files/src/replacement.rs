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
/// The age from which a temporary file is taken for one that a killed program has left.
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
    // Nobody can hold a lock that the file system does not have, and then nothing is removed.
    let _ = file.as_file().try_lock();
    Ok(file)
}

/// Removes the temporary files beside `path` that killed programs have left, as far as that is possible.
pub(crate) fn remove_leftovers(path: &Path) {
    for entry in fs::read_dir(folder_of(path)).into_iter().flatten().flatten() {
        let is_temporary =
            entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if is_temporary
            && is_leftover(&entry.path()).unwrap_or(false)
            && let Err(error) = fs::remove_file(entry.path())
        {
            tracing::debug!("{} cannot be removed: {error}", entry.path().display());
        }
    }
}

fn is_leftover(path: &Path) -> io::Result<bool> {
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
    let written = Stamp::of_file(file.as_file())?;
    let file = file.persist(path).map_err(|error| error.error)?;
    let stamp = stamp_of(&file, written);
    sync_folder(path);
    stamp
}

/// The stamp of a file of ours under its new name, where an editor may write it at once. With the stamp `written` from before, which is
/// no longer right, it is read again.
#[cfg(unix)]
fn stamp_of(file: &File, written: Stamp) -> io::Result<Stamp> {
    let now = Stamp::of_file(file)?;
    Ok(if now.has_same_content(&written) { now } else { written })
}

/// The same, but only if the file that loses its name `is_expected`: `is_expected` gets the temporary name that it has then. Otherwise all
/// names are as they were, with `None`. Where the file system cannot exchange names, nothing is asked.
///
/// A comparison before a rename leaves a moment in which an editor's own rename would be lost.
#[cfg(unix)]
pub(crate) fn replace_if(
    file: NamedTempFile,
    path: &Path,
    is_expected: impl FnOnce(&Path) -> io::Result<bool>,
) -> io::Result<Option<Stamp>> {
    unlock(&file);
    let written = Stamp::of_file(file.as_file())?;
    match exchange(path, file.path()) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if cannot_exchange(&error) => return replace(file, path).map(Some),
        Err(error) => return Err(error),
    }
    let (file, name) = file.into_parts();
    if !is_expected(&name).unwrap_or(false) {
        return put_back(&file, name, path).map(|()| None);
    }
    name.close()?;
    let stamp = stamp_of(&file, written)?;
    sync_folder(path);
    Ok(Some(stamp))
}

/// Undoes the exchange of `ours` for the file that is called `name` now. Somebody may have renamed a newer file to `path` since: the
/// newest stays.
#[cfg(unix)]
fn put_back(ours: &File, name: tempfile::TempPath, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let inode = |metadata: Metadata| (metadata.dev(), metadata.ino());
    let mut placed = inode(ours.metadata()?);
    // Each turn but the first needs another program's rename between two calls.
    loop {
        let next = inode(fs::symlink_metadata(&name)?);
        match exchange(path, &name) {
            Ok(()) => {}
            Err(_) => return name.persist(path).map_err(|error| error.error),
        }
        if inode(fs::symlink_metadata(&name)?) == placed {
            return Ok(());
        }
        placed = next;
    }
}

/// The order is not the same to programs that watch the folder: inotify reports last that `path` got a file. In the other order, it
/// reports last that `path` lost one, and VS Code shows the old notebook for ever.
#[cfg(unix)]
fn exchange(path: &Path, temporary: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, path, CWD, temporary, RenameFlags::EXCHANGE)?)
}

#[cfg(unix)]
fn cannot_exchange(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let unknown = [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP];
    Errno::from_io_error(error).is_some_and(|errno| unknown.contains(&errno))
}

/// Names the prepared file `path` as on Unix; the access control list is copied as well.
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

    /// Of several files that others rename to the path while ours loses it again, the newest stays.
    #[cfg(unix)]
    #[test]
    fn the_newest_of_several_files_stays() {
        use std::io::Write as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ipynb");
        let save = |text: &str| {
            fs::write(folder.path().join("new"), text).unwrap();
            fs::rename(folder.path().join("new"), &path).unwrap();
        };
        save("first");
        let mut file = temporary(&path, REPLACING).unwrap();
        file.write_all(b"ours").unwrap();
        let replaced = replace_if(file, &path, |displaced| {
            assert_eq!(fs::read(displaced).unwrap(), b"first");
            save("second");
            Ok(false)
        });
        assert!(replaced.unwrap().is_none());
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    /// The change of an editor that opens our file as soon as it has its name is not taken for ours.
    #[cfg(unix)]
    #[test]
    fn what_others_write_into_a_new_file_at_once_is_not_ours() {
        use std::io::Write as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ipynb");
        fs::write(&path, "old").unwrap();
        let mut file = temporary(&path, REPLACING).unwrap();
        file.write_all(b"ours").unwrap();
        let stamp = replace_if(file, &path, |_| {
            fs::write(&path, "a person's").unwrap();
            Ok(true)
        });
        assert_ne!(stamp.unwrap().unwrap(), Stamp::of(&path).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"a person's");
    }

    /// What editors that watch the folder rely on.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_watcher_is_told_last_that_the_path_got_a_file() {
        use notify::Watcher as _;
        use notify::event::{EventKind, ModifyKind, RenameMode};
        let folder = tempfile::tempdir().unwrap();
        let [path, marker] = ["x.ipynb", "marker"].map(|name| folder.path().join(name));
        fs::write(&path, "old").unwrap();
        let (sender, events) = std::sync::mpsc::channel();
        let mut watcher = notify::recommended_watcher(sender).unwrap();
        watcher.watch(folder.path(), notify::RecursiveMode::NonRecursive).unwrap();
        replace_if(temporary(&path, REPLACING).unwrap(), &path, |_| Ok(true)).unwrap().unwrap();
        fs::write(&marker, "").unwrap();
        let renames = std::iter::from_fn(|| events.recv_timeout(Duration::from_secs(30)).ok())
            .map(Result::unwrap)
            .take_while(|event| event.paths != [marker.clone()])
            .filter(|event| event.paths == [path.clone()])
            .filter_map(|event| match event.kind {
                EventKind::Modify(ModifyKind::Name(mode)) => Some(mode),
                _ => None,
            });
        assert_eq!(renames.collect::<Vec<_>>(), [RenameMode::From, RenameMode::To]);
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

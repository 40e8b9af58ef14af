//! Puts a new file, written under a temporary name, in the place of an old one or of none.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

/// The mode of a file that replaces none: the umask decides, as for any new file.
pub(crate) const NEW: u32 = 0o666;
/// The mode of a file that gets the permissions of another when it is complete.
pub(crate) const REPLACING: u32 = 0o600;

/// A temporary file beside `path`.
pub(crate) fn temporary(path: &Path, mode: u32) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    // Hidden and without `.ipynb`, so that nobody lists or opens it.
    builder.prefix(".cellbridge-").suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    let _ = mode;
    builder.tempfile_in(folder_of(path))
}

/// Names the complete file `path`; fails if there is one already.
pub(crate) fn create(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    sync_folder(path);
    Ok(())
}

/// The metadata of a file that may be replaced. A rename would replace even a read-only one.
pub(crate) fn check_writable(path: &Path) -> io::Result<Metadata> {
    let old = fs::metadata(path)?;
    if old.permissions().readonly() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    drop(File::options().write(true).open(path)?);
    Ok(old)
}

/// Makes the complete file ready to replace an old one.
pub(crate) fn prepare(file: &File, old: &Metadata) -> io::Result<()> {
    copy_permissions(file, old)?;
    file.sync_all()
}

/// Names the prepared file `path`, in place of the file there. Returns it, since the path may be another's by now.
pub(crate) fn replace(file: NamedTempFile, path: &Path) -> io::Result<File> {
    let file = file.persist(path).map_err(|error| error.error)?;
    sync_folder(path);
    Ok(file)
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

//! Temporary folders, which only this user may enter.

use std::io;
use std::path::Path;

use tempfile::TempDir;

/// A new folder in `parent`, removed when it is dropped.
pub fn private_folder(prefix: &str, parent: &Path) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    // Without it, the umask decides. On Windows, folders get their access control list from the one above.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir_in(parent)
}

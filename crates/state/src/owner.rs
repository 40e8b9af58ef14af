//! Files and folders that only this user can use.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The permissions of everybody but the owner.
const OTHERS: u32 = 0o077;
const OTHERS_WRITE: u32 = 0o002;

/// Whether a file or folder belongs to this user.
pub fn is_own(metadata: &fs::Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw()
}

/// Whether this is a folder of this user, no link, into which nobody else may look.
pub fn is_private(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|it| it.is_dir() && is_own(&it) && it.mode() & OTHERS == 0)
}

/// The same of a folder in one that only this user can change: a user who can rename a private folder could put another one in
/// its place.
pub fn is_private_below_ours(folder: &Path) -> bool {
    let above = folder.parent().and_then(|above| fs::metadata(above).ok());
    above.is_some_and(|above| only_we_write(&above)) && is_private(folder)
}

/// Whether only this user can change what is in a folder.
pub fn only_we_write(folder: &fs::Metadata) -> bool {
    is_own(folder) && folder.mode() & OTHERS_WRITE == 0
}

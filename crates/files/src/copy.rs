//! Copies the folder of a notebook, for code whose effects on files are not wanted.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::Path;

use place::{Error, ErrorKind, FolderCopy, NextStep};
use walkdir::WalkDir;

use crate::listing::is_generated;
use crate::real_path::canonicalize;

/// The maximum that is copied: a person waits for it.
const MAX: Extent = Extent { bytes: 1_000_000_000, files: 20_000 };

#[derive(Debug, Clone, Copy)]
struct Extent {
    bytes: u64,
    files: usize,
}

/// Copies a folder into a new one in `temp_dir` that only this user may read. Links are followed, unless they lead out of `root`: what
/// they lead to is left out. So are environments and caches, whose programs are used where they are.
pub fn copy_folder(folder: &Path, root: &Path, temp_dir: &Path) -> Result<FolderCopy, Error> {
    copy_within(folder, root, temp_dir, MAX)
}

fn copy_within(folder: &Path, root: &Path, temp_dir: &Path, max: Extent) -> Result<FolderCopy, Error> {
    let failed = |error: io::Error| {
        let cause = format!("{} was not copied: {error}.", folder.display());
        Error::new(ErrorKind::Internal, cause, NextStep::TryAgain).with_source(error)
    };
    let temporary = state::temporary_folder("cellbridge-", temp_dir).map_err(failed)?;
    // With its name, which code may look at.
    let copy = temporary.path().join(folder.file_name().unwrap_or("folder".as_ref()));
    let Some(left_out) = copy_files((folder, root), &copy, temporary.path(), max).map_err(failed)? else {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "{} is not copied: it has more than {} MB or {} files.",
                folder.display(),
                max.bytes / 1_000_000,
                max.files
            ),
            "Without copy, the code works in the folder itself.",
        ));
    };
    Ok(FolderCopy::new(folder.to_path_buf(), copy, left_out, temporary))
}

/// The links that were left out, because they lead out of the root; `None` if there is more than `max` to copy.
fn copy_files(
    (folder, root): (&Path, &Path),
    copy: &Path,
    temporary: &Path,
    max: Extent,
) -> io::Result<Option<Vec<String>>> {
    fs::create_dir(copy)?;
    let (mut bytes, mut files) = (0, 0);
    let walk = WalkDir::new(folder).min_depth(1).follow_links(true).into_iter();
    // Code misses the files that it needs and that cannot be read now.
    let is_copied = |folder: &Path| folder != temporary && !is_generated(folder);
    let left_out = RefCell::new(Vec::new());
    let leads_out = |path: &Path| canonicalize(path).is_ok_and(|real| !real.starts_with(root));
    let walk = walk.filter_entry(|entry| {
        if entry.path_is_symlink() && leads_out(entry.path()) {
            let path = entry.path().strip_prefix(folder).unwrap_or(entry.path());
            left_out.borrow_mut().push(path.display().to_string());
            return false;
        }
        !entry.file_type().is_dir() || is_copied(entry.path())
    });
    for entry in walk.flatten() {
        let Ok(path) = entry.path().strip_prefix(folder) else { continue };
        let target = copy.join(path);
        if entry.file_type().is_dir() {
            fs::create_dir_all(target)?;
        } else if entry.file_type().is_file() {
            bytes += entry.metadata()?.len();
            files += 1;
            if bytes > max.bytes || files > max.files {
                return Ok(None);
            }
            match fs::copy(entry.path(), &target) {
                Ok(_) => make_private(&target)?,
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(Some(left_out.into_inner()))
}

/// Takes away what others may do with a file; what runs, still runs.
fn make_private(file: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(file)?.permissions().mode();
        fs::set_permissions(file, fs::Permissions::from_mode(mode & 0o700))?;
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn folder() -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("work/data/empty")).unwrap();
        fs::write(folder.path().join("work/data/a.csv"), "1,2").unwrap();
        fs::create_dir_all(folder.path().join("work/.venv/bin")).unwrap();
        fs::write(folder.path().join("work/.venv/pyvenv.cfg"), "").unwrap();
        fs::write(folder.path().join("elsewhere.txt"), "there").unwrap();
        folder
    }

    fn copied(folder: &TempDir) -> Result<FolderCopy, Error> {
        let root = canonicalize(folder.path()).unwrap();
        copy_folder(&root.join("work"), &root, &std::env::temp_dir())
    }

    #[cfg(unix)]
    #[test]
    fn only_this_user_reads_a_copy_and_links_out_of_the_root_are_not_followed() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let (folder, outside) = (folder(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret"), "secret").unwrap();
        let work = folder.path().join("work");
        symlink(outside.path().join("secret"), work.join("file")).unwrap();
        symlink(outside.path(), work.join("folder")).unwrap();
        symlink(outside.path(), folder.path().join("inside")).unwrap();
        symlink("../../inside/secret", work.join("data/bent")).unwrap();
        fs::set_permissions(work.join("data/a.csv"), fs::Permissions::from_mode(0o754)).unwrap();
        let copy = copied(&folder).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(copy.path().parent().unwrap()), 0o700);
        assert_eq!(mode(&copy.path().join("data/a.csv")), 0o700);
        for left_out in ["file", "folder", "data/bent"] {
            assert!(copy.path().join(left_out).symlink_metadata().is_err(), "{left_out}");
        }
        let mut left_out = copy.left_out().to_vec();
        left_out.sort();
        assert_eq!(left_out, ["data/bent", "file", "folder"]);
    }

    #[test]
    fn a_copy_has_the_files_and_is_removed_when_it_is_dropped() {
        let folder = folder();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("../elsewhere.txt", folder.path().join("work/link")).unwrap();
            std::os::unix::fs::symlink("..", folder.path().join("work/data/loop")).unwrap();
        }
        let copy = copied(&folder).unwrap();
        let path = copy.path().to_path_buf();
        assert!(path.ends_with("work") && path.join("data/empty").is_dir());
        assert_eq!(fs::read_to_string(path.join("data/a.csv")).unwrap(), "1,2");
        assert!(!path.join(".venv").exists());
        #[cfg(unix)]
        {
            fs::write(path.join("link"), "changed").unwrap();
            assert_eq!(fs::read_to_string(folder.path().join("elsewhere.txt")).unwrap(), "there");
        }
        drop(copy);
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_that_is_too_large_is_refused() {
        let folder = folder();
        let root = canonicalize(folder.path()).unwrap();
        let copy = |max| copy_within(&root.join("work"), &root, &std::env::temp_dir(), max).map(drop);
        assert!(copy(Extent { bytes: 3, files: 1 }).is_ok());
        assert!(copy(Extent { bytes: 2, files: 1 }).unwrap_err().to_string().contains("is not copied"));
        assert!(copy(Extent { bytes: 3, files: 0 }).is_err());
    }
}

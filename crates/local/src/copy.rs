//! Copies the folder of a notebook, for code whose effects on files are not wanted.

use std::fs;
use std::io;
use std::path::Path;

use walkdir::WalkDir;
use workspace::{Error, ErrorKind, FolderCopy, NextStep};

use crate::listing::is_generated;

/// What is copied at most: a person waits for it.
const MAX: Extent = Extent { bytes: 1_000_000_000, files: 20_000 };

#[derive(Debug, Clone, Copy)]
struct Extent {
    bytes: u64,
    files: usize,
}

/// Copies a folder, links followed, into the folder for temporary files. Environments and caches are left out: their programs are
/// used where they are.
pub(crate) fn copy_folder(folder: &Path) -> Result<FolderCopy, Error> {
    copy_within(folder, MAX)
}

fn copy_within(folder: &Path, max: Extent) -> Result<FolderCopy, Error> {
    let failed = |error: io::Error| {
        let cause = format!("{} was not copied: {error}.", folder.display());
        Error::new(ErrorKind::Internal, cause, NextStep::TryAgain)
    };
    let temporary = tempfile::Builder::new().prefix("cellbridge-").tempdir().map_err(failed)?;
    // With its name, which code may look at.
    let copy = temporary.path().join(folder.file_name().unwrap_or("folder".as_ref()));
    if !copy_files(folder, &copy, temporary.path(), max).map_err(failed)? {
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
    }
    Ok(FolderCopy::new(folder.to_path_buf(), copy, temporary))
}

/// Whether everything was copied, which is not more than `max`.
fn copy_files(folder: &Path, copy: &Path, temporary: &Path, max: Extent) -> io::Result<bool> {
    fs::create_dir(copy)?;
    let (mut bytes, mut files) = (0, 0);
    let walk = WalkDir::new(folder).min_depth(1).follow_links(true).into_iter();
    // What cannot be read now is missed by code that needs it.
    let is_copied = |folder: &Path| folder != temporary && !is_generated(folder);
    for entry in walk.filter_entry(|entry| !entry.file_type().is_dir() || is_copied(entry.path())).flatten() {
        let Ok(path) = entry.path().strip_prefix(folder) else { continue };
        let target = copy.join(path);
        if entry.file_type().is_dir() {
            fs::create_dir_all(target)?;
        } else if entry.file_type().is_file() {
            bytes += entry.metadata()?.len();
            files += 1;
            if bytes > max.bytes || files > max.files {
                return Ok(false);
            }
            match fs::copy(entry.path(), target) {
                Err(error) if error.kind() != io::ErrorKind::PermissionDenied => return Err(error),
                _ => {}
            }
        }
    }
    Ok(true)
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

    #[test]
    fn a_copy_has_the_files_and_is_removed_when_it_is_dropped() {
        let folder = folder();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("../elsewhere.txt", folder.path().join("work/link")).unwrap();
            std::os::unix::fs::symlink("..", folder.path().join("work/data/loop")).unwrap();
        }
        let copy = copy_folder(&folder.path().join("work")).unwrap();
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
        let copy = |max| copy_within(&folder.path().join("work"), max).map(drop);
        assert!(copy(Extent { bytes: 3, files: 1 }).is_ok());
        assert!(copy(Extent { bytes: 2, files: 1 }).unwrap_err().to_string().contains("is not copied"));
        assert!(copy(Extent { bytes: 3, files: 0 }).is_err());
    }
}

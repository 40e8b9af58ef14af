//! Real paths: without links, and spelled as the file system spells them and as people write them.

use std::path::{Path, PathBuf};
use std::{fs, io};

#[cfg(any(windows, test))]
use crate::windows_path::check_name;

/// Only paths that are longer need the prefix for calls of the system.
const MAX_PLAIN_PATH: usize = 247;

/// The path without links. On Windows without the prefix `\\?\` as well, however long it is: the standard library puts it where a
/// call needs it.
pub fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path).map(from_watcher)
}

/// The folder as the watcher of files takes it, which does not put the prefix there itself.
pub(crate) fn for_watcher(folder: &Path) -> PathBuf {
    let is_long = cfg!(windows) && folder.as_os_str().len() > MAX_PLAIN_PATH;
    let verbatim = if is_long { fs::canonicalize(folder).ok() } else { None };
    verbatim.unwrap_or_else(|| folder.to_path_buf())
}

/// The path as it is elsewhere in this program.
pub(crate) fn from_watcher(path: PathBuf) -> PathBuf {
    #[cfg(windows)]
    if let Some(plain) = path.to_str().and_then(plain) {
        return plain.into();
    }
    path
}

/// Without the prefix. `None` for a path that means something else without it, or has none.
#[cfg(any(windows, test))]
fn plain(path: &str) -> Option<String> {
    let rest = path.strip_prefix(r"\\?\")?;
    let (start, names) = match rest.strip_prefix(r"UNC\") {
        Some(share) => (r"\\", share),
        None => ("", rest),
    };
    let mut parts = names.split('\\');
    let drive = parts.next()?;
    let is_drive = drive.len() == 2 && drive.ends_with(':') && start.is_empty();
    let means_the_same = |name: &str| name.is_empty() || check_name(name).is_ok();
    // A volume without a letter, for example, can be named with the prefix only.
    let is_known = is_drive || (!start.is_empty() && means_the_same(drive));
    (is_known && parts.all(means_the_same)).then(|| format!("{start}{names}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_is_dropped_from_paths_that_need_none() {
        let long = "a".repeat(300);
        for (path, expected) in [
            (r"\\?\C:\work\x".to_owned(), r"C:\work\x".to_owned()),
            (r"\\?\C:\".to_owned(), r"C:\".to_owned()),
            (format!(r"\\?\C:\{long}\x"), format!(r"C:\{long}\x")),
            (r"\\?\UNC\server\share\x".to_owned(), r"\\server\share\x".to_owned()),
        ] {
            assert_eq!(plain(&path).as_deref(), Some(&*expected));
        }
        for path in [
            r"C:\work",
            r"\\?\Volume{1}\x",
            r"\\?\C:\nul",
            r"\\?\C:\x.",
            r"\\?\C:\a\b \c",
            r"\\?\UNC\server\share\com1",
        ] {
            assert_eq!(plain(path), None, "{path}");
        }
    }

    #[test]
    fn a_real_path_of_any_length_is_plain() {
        if crate::is_wine() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let root = canonicalize(folder.path()).unwrap();
        let deep = ["a", "b", "c"].iter().fold(root.clone(), |path, name| path.join(name.repeat(100)));
        fs::create_dir_all(&deep).unwrap();
        assert_eq!(canonicalize(&deep).unwrap(), deep);
        assert!(!root.display().to_string().contains('?'));
    }
}

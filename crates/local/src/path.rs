//! Paths as agents write them, confined to one folder.

use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

use workspace::{Error, Side};

/// The folder that nothing leaves.
#[derive(Debug, Clone)]
pub(crate) struct Root {
    /// As it was given.
    given: PathBuf,
    /// Without links.
    real: PathBuf,
}

impl Root {
    /// Takes `folder`; its links are followed now if it exists, else when it does.
    pub(crate) fn new(folder: PathBuf) -> Self {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        Self { given: folder, real }
    }

    /// The folder, without links.
    pub(crate) fn real(&self) -> &Path {
        &self.real
    }

    /// The real path of `path`, whose last parts need not exist. Touches the disk.
    ///
    /// `path` is taken from the root, also if it begins with `/`, unless it is the absolute path of something
    /// inside. It fails if it leads out of the root, by `..` or by a link, and if it looks like the absolute path of
    /// something outside: `/home/x.ipynb` where the root has no folder `home`.
    pub(crate) fn resolve(&self, path: &str) -> Result<PathBuf, Error> {
        if path.contains('\0') {
            return Err(refused(path, "it holds a NUL character."));
        }
        let literal = self.place(path);
        if self.looks_foreign(path, &literal) {
            return Err(refused(path, "it is not inside."));
        }
        match real_path(&literal) {
            // Separators of Windows, unless there is a file whose name holds them.
            Ok(found) if path.contains('\\') && !found.exists() => {
                self.confine(path, &self.place(&path.replace('\\', "/")))
            }
            _ => self.confine(path, &literal),
        }
    }

    /// The path by which agents know `real`, a path below the root: from the root, with `/`.
    pub(crate) fn relative(&self, real: &Path) -> Option<String> {
        let parts: Option<Vec<&str>> =
            real.strip_prefix(&self.real).ok()?.components().map(|part| part.as_os_str().to_str()).collect();
        Some(parts?.join("/"))
    }

    fn place(&self, path: &str) -> PathBuf {
        let absolute = Path::new(path);
        for root in [&self.real, &self.given] {
            if root.is_absolute() && absolute.starts_with(root) {
                return absolute.to_path_buf();
            }
        }
        self.real.join(path.trim_start_matches('/'))
    }

    fn looks_foreign(&self, path: &str, place: &Path) -> bool {
        let Some((first, _)) =
            path.strip_prefix('/').and_then(|rest| rest.trim_start_matches('/').split_once('/'))
        else {
            return false;
        };
        place.starts_with(&self.real) && Path::new(path) != place && !self.real.join(first).exists()
    }

    fn confine(&self, path: &str, place: &Path) -> Result<PathBuf, Error> {
        // A drive or a share of Windows; joining it has left the root already.
        if !place.starts_with(&self.real) && !place.starts_with(&self.given) {
            return Err(refused(path, "it is not inside."));
        }
        let real =
            real_path(place).map_err(|error| refused(path, &format!("it cannot be followed: {error}.")))?;
        if real.starts_with(&self.real) { Ok(real) } else { Err(refused(path, "it leads out of it.")) }
    }
}

/// Follows the links of what exists of `path`; the rest must be plain names.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    let mut missing: Vec<&OsStr> = Vec::new();
    let mut existing = path;
    loop {
        match existing.canonicalize() {
            Ok(mut real) => {
                real.extend(missing.iter().rev());
                return Ok(real);
            }
            // A link to nothing is not a name that is free: writing there would make what it points to.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !existing.is_symlink() => {}
            Err(error) => return Err(error),
        }
        match (existing.components().next_back(), existing.parent()) {
            (Some(Component::Normal(name)), Some(parent)) => {
                missing.push(name);
                existing = parent;
            }
            _ => {
                return Err(io::Error::new(
                    io::ErrorKind::NotFound,
                    "it goes up from a folder that does not exist",
                ));
            }
        }
    }
}

fn refused(path: &str, why: &str) -> Error {
    Error::new(
        Side::Agent,
        format!("the path {path:?} cannot be used in this folder: {why}"),
        "Give a path from the root folder, such as \"analysis/plot.ipynb\"; list_files shows what there is.",
    )
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;
    use tempfile::TempDir;

    use super::*;

    fn folder() -> (TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(folder.path().join("outside")).unwrap();
        fs::write(root.join("a/x.ipynb"), "").unwrap();
        symlink(folder.path().join("outside"), root.join("out")).unwrap();
        symlink("a/b", root.join("in")).unwrap();
        symlink("/nowhere", root.join("broken")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        (folder, Root::new(root))
    }

    #[test]
    fn paths_are_taken_from_the_root_however_they_are_written() {
        let (_folder, root) = folder();
        let absolute = root.real().join("a/x.ipynb");
        for path in [
            "a/x.ipynb",
            "/a/x.ipynb",
            "./a//x.ipynb",
            "a/b/../x.ipynb",
            "in/../x.ipynb",
            "a\\x.ipynb",
            absolute.to_str().unwrap(),
        ] {
            assert_eq!(root.resolve(path).unwrap(), absolute, "{path}");
        }
        assert_eq!(root.resolve("").unwrap(), root.real());
        assert_eq!(root.resolve("in/new/y.ipynb").unwrap(), root.real().join("a/b/new/y.ipynb"));
        assert_eq!(root.resolve("new\\y.ipynb").unwrap(), root.real().join("new/y.ipynb"));
        assert_eq!(root.relative(&absolute).as_deref(), Some("a/x.ipynb"));
    }

    #[test]
    fn nothing_leaves_the_root() {
        let (_folder, root) = folder();
        for path in [
            "..",
            "../outside",
            "a/../../outside/y.ipynb",
            "out",
            "out/y.ipynb",
            "broken",
            "loop",
            "loop/x",
            "a\0",
            "new/../../..",
            "/etc/passwd",
            "/missing/x.ipynb",
        ] {
            let error = root.resolve(path).unwrap_err();
            assert_eq!(error.side, Side::Agent, "{path}");
        }
    }

    #[test]
    fn a_name_may_hold_a_backslash_if_there_is_such_a_file() {
        let (_folder, root) = folder();
        fs::write(root.real().join("a\\y.ipynb"), "").unwrap();
        assert_eq!(root.resolve("a\\y.ipynb").unwrap(), root.real().join("a\\y.ipynb"));
    }

    #[test]
    fn a_root_behind_a_link_takes_absolute_paths_in_both_forms() {
        let (folder, root) = folder();
        let link = folder.path().join("link");
        symlink(root.real(), &link).unwrap();
        let linked = Root::new(link.clone());
        assert_eq!(
            linked.resolve(link.join("a/x.ipynb").to_str().unwrap()).unwrap(),
            root.real().join("a/x.ipynb")
        );
        let real = root.real().join("a");
        assert_eq!(linked.resolve(real.to_str().unwrap()).unwrap(), real);
    }

    proptest! {
        #[test]
        fn whatever_is_asked_for_stays_inside(parts in prop::collection::vec("a|b|in|out|loop|broken|\\.|\\.\\.|/|new|\\\\|x.ipynb", 0..8)) {
            let (_folder, root) = folder();
            if let Ok(found) = root.resolve(&parts.join("/")) {
                prop_assert!(found.starts_with(root.real()));
                prop_assert!(root.relative(&found).is_some());
            }
        }
    }
}

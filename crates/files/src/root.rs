//! Resolves the paths that agents pass, and keeps them inside one folder.

use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

use place::{Error, ErrorKind, NextStep};

use crate::real_path::canonicalize;

mod contains;
#[cfg(any(windows, test))]
mod windows_path;

pub use contains::lies_in;

#[cfg(any(windows, test))]
pub(crate) use windows_path::check_name;

/// Letter by letter, as Windows does: `ß` stays one letter.
pub fn uppercase(name: &str) -> String {
    let upper = |letter: char| {
        let mut upper = letter.to_uppercase();
        if upper.len() == 1 { upper.next().unwrap_or(letter) } else { letter }
    };
    name.chars().map(upper).collect()
}

/// A folder that no resolved path leaves.
#[derive(Debug, Clone)]
pub struct Root {
    given: PathBuf,
    /// Without symbolic links.
    real: PathBuf,
    /// What begins its paths where they are shown; resolved paths may omit it.
    prefix: &'static str,
}

impl Root {
    pub fn new(folder: PathBuf) -> Self {
        let real = canonicalize(&folder).unwrap_or_else(|_| folder.clone());
        Self { given: folder, real, prefix: "" }
    }

    #[must_use]
    pub fn with_prefix(self, prefix: &'static str) -> Self {
        Self { prefix, ..self }
    }

    pub fn prefix(&self) -> &'static str {
        self.prefix
    }

    /// The folder, without symbolic links.
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// The path on disk, without symbolic links. Its last components need not exist. Reads the disk.
    ///
    /// `path` is relative to the root, even if it begins with `/`, unless it is the absolute path of something
    /// inside. Fails for a path that leads out of the root, by `..` or by a link, and for one that looks like an
    /// absolute path to something outside.
    ///
    /// Examples for the root `/home/ada/work`, which contains the folder `data`:
    /// - `data/x.ipynb`, `/data/x.ipynb`, `data\\x.ipynb` and `/home/ada/work/data/x.ipynb` are the same file.
    /// - `new/y.ipynb` is accepted, although there is no `new`.
    /// - `/home/ada/link/x.ipynb` is `x.ipynb` if `link` points to the root.
    /// - `/home/ada/z.ipynb` is refused: it is absolute, and the root has no folder `home`.
    /// - `data/../../z.ipynb` is refused, and so is `link/z.ipynb` if `link` points out of the root.
    ///
    /// `windows_path` has the rules and examples for Windows.
    pub fn resolve(&self, path: &str) -> Result<PathBuf, Error> {
        let path = path.strip_prefix(self.prefix).unwrap_or(path);
        if path.contains('\0') {
            return Err(refused(path, "it contains a NUL character."));
        }
        #[cfg(windows)]
        return self.confine(path, &self.join(path)?);
        #[cfg(not(windows))]
        self.resolve_on_unix(path)
    }

    #[cfg(not(windows))]
    fn resolve_on_unix(&self, path: &str) -> Result<PathBuf, Error> {
        let literal = self.join(path);
        if self.looks_absolute(path, &literal) {
            // The root may have another spelling: through a link, or, on macOS, in another case or form of Unicode.
            let inside = real_path(Path::new(path)).ok().filter(|real| real.starts_with(&self.real));
            return inside.ok_or_else(|| refused(path, "it is outside."));
        }
        match real_path(&literal) {
            // Windows separators, unless there is a file with backslashes in its name.
            Ok(found) if path.contains('\\') && !found.exists() => {
                self.confine(path, &self.join(&path.replace('\\', "/")))
            }
            _ => self.confine(path, &literal),
        }
    }

    /// The path of `real` as agents see it: relative to the root, with `/`, after the prefix. `None` if it is not UTF-8 or
    /// outside.
    pub fn relative(&self, real: &Path) -> Option<String> {
        let parts: Option<Vec<&str>> =
            real.strip_prefix(&self.real).ok()?.components().map(|part| part.as_os_str().to_str()).collect();
        let path = parts?.join("/");
        // The file `local:x.ipynb` of the root is `./local:x.ipynb`, since `local:` names a place.
        let is_like_a_name = path.split_once(':').is_some_and(|(word, _)| {
            !word.is_empty() && word.bytes().all(|letter| letter.is_ascii_lowercase())
        });
        let prefix = if self.prefix.is_empty() && is_like_a_name { "./" } else { self.prefix };
        Some(format!("{prefix}{path}"))
    }

    #[cfg(windows)]
    fn join(&self, path: &str) -> Result<PathBuf, Error> {
        let roots: Vec<&str> =
            [&self.real, &self.given].into_iter().filter_map(|root| root.to_str()).collect();
        let parts = windows_path::parts(path, &roots).map_err(|why| refused(path, why))?;
        let joined = self.real.join(parts.iter().collect::<PathBuf>());
        if self.looks_absolute(path, &joined) {
            return Err(refused(path, windows_path::OUTSIDE));
        }
        Ok(joined)
    }

    #[cfg(not(windows))]
    fn join(&self, path: &str) -> PathBuf {
        let absolute = Path::new(path);
        for root in [&self.real, &self.given] {
            if root.is_absolute() && absolute.starts_with(root) {
                return absolute.to_path_buf();
            }
        }
        self.real.join(path.trim_start_matches('/'))
    }

    /// Whether an agent most likely means a path outside: `path` begins with a folder that the root does not have.
    fn looks_absolute(&self, path: &str, joined: &Path) -> bool {
        let Some((first, _)) =
            path.strip_prefix('/').and_then(|rest| rest.trim_start_matches('/').split_once('/'))
        else {
            return false;
        };
        joined.starts_with(&self.real) && Path::new(path) != joined && !self.real.join(first).exists()
    }

    fn confine(&self, path: &str, joined: &Path) -> Result<PathBuf, Error> {
        if !joined.starts_with(&self.real) && !joined.starts_with(&self.given) {
            return Err(refused(path, "it is outside."));
        }
        let real =
            real_path(joined).map_err(|error| refused(path, &format!("it cannot be followed: {error}.")))?;
        if real.starts_with(&self.real) { Ok(real) } else { Err(refused(path, "it leads out of it.")) }
    }
}

/// Follows the links in the part of `path` that exists; the rest must be plain names.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    let mut missing: Vec<&OsStr> = Vec::new();
    let mut existing = path;
    loop {
        match canonicalize(existing) {
            Ok(mut real) => {
                real.extend(missing.iter().rev());
                return Ok(real);
            }
            // A broken link is not a free name: writing there would create its target.
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
        ErrorKind::InvalidArgument,
        format!("The path {path:?} cannot be used in this folder: {why}"),
        NextStep::ListFiles,
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
    fn all_spellings_of_a_path_are_relative_to_the_root() {
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
    fn paths_out_of_the_root_are_refused() {
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
            assert_eq!(error.fault, place::Fault::Agent, "{path}");
        }
    }

    #[test]
    fn shown_paths_have_the_prefix_and_resolve_with_and_without_it() {
        let (_folder, root) = folder();
        let root = root.with_prefix("local:");
        let file = root.real().join("a/x.ipynb");
        assert_eq!(root.relative(&file).as_deref(), Some("local:a/x.ipynb"));
        for path in ["local:a/x.ipynb", "local:/a/x.ipynb", "a/x.ipynb"] {
            assert_eq!(root.resolve(path).unwrap(), file, "{path}");
        }
        assert!(root.resolve("local:../x.ipynb").is_err());
    }

    #[test]
    fn files_that_are_called_like_places_can_be_named() {
        let (_folder, root) = folder();
        let file = root.real().join("local:x.ipynb");
        fs::write(&file, "").unwrap();
        for (root, shown) in
            [(root.clone(), "./local:x.ipynb"), (root.with_prefix("local:"), "local:local:x.ipynb")]
        {
            assert_eq!(root.relative(&file).as_deref(), Some(shown));
            assert_eq!(root.resolve(shown).unwrap(), file);
        }
    }

    #[test]
    fn a_backslash_is_kept_if_a_file_has_it_in_its_name() {
        let (_folder, root) = folder();
        fs::write(root.real().join("a\\y.ipynb"), "").unwrap();
        assert_eq!(root.resolve("a\\y.ipynb").unwrap(), root.real().join("a\\y.ipynb"));
    }

    #[test]
    fn a_linked_root_accepts_absolute_paths_with_and_without_the_link() {
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

    #[test]
    fn other_spellings_of_the_root_are_known_by_where_they_lead() {
        let (folder, root) = folder();
        let alias = folder.path().join("alias");
        symlink(root.real(), &alias).unwrap();
        let expected = root.real().join("a/x.ipynb");
        assert_eq!(root.resolve(alias.join("a/x.ipynb").to_str().unwrap()).unwrap(), expected);
        assert_eq!(
            root.resolve(alias.join("new.ipynb").to_str().unwrap()).unwrap(),
            root.real().join("new.ipynb")
        );
        assert!(root.resolve(alias.join("out/x").to_str().unwrap()).is_err());
        assert!(root.resolve(alias.join("../outside/x").to_str().unwrap()).is_err());
    }

    proptest! {
        #[test]
        fn every_resolved_path_is_inside(parts in prop::collection::vec("a|b|in|out|loop|broken|\\.|\\.\\.|/|new|\\\\|x.ipynb", 0..8)) {
            let (_folder, root) = folder();
            if let Ok(found) = root.resolve(&parts.join("/")) {
                prop_assert!(found.starts_with(root.real()));
                prop_assert!(root.relative(&found).is_some());
            }
        }
    }
}

#[cfg(test)]
#[cfg(windows)]
mod windows_tests {
    use std::fs;
    use std::process::Command;

    use proptest::prelude::*;
    use tempfile::TempDir;

    use super::*;

    fn folder() -> (TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("root/a/b")).unwrap();
        fs::create_dir_all(folder.path().join("outside")).unwrap();
        fs::write(folder.path().join("root/a/x.ipynb"), "").unwrap();
        let root = Root::new(folder.path().join("root"));
        (folder, root)
    }

    #[test]
    fn all_spellings_of_a_path_are_one_file() {
        let (_folder, root) = folder();
        let file = root.real().join("a").join("x.ipynb");
        let absolute = file.to_str().unwrap();
        assert!(!absolute.contains('?'));
        for path in [
            "a/x.ipynb",
            r"A\X.IPYNB",
            "/a/b/../x.ipynb",
            absolute,
            &absolute.to_uppercase(),
            &absolute.replace('\\', "/"),
        ] {
            assert_eq!(root.resolve(path).unwrap(), file, "{path}");
        }
        assert_eq!(root.relative(&file).as_deref(), Some("a/x.ipynb"));
        assert_eq!(root.resolve(r"new\y.ipynb").unwrap(), root.real().join("new").join("y.ipynb"));
        for path in [r"..\outside\x", "nul", r"C:x", r"\x", "x.ipynb:y", "missing/x/../../../outside"] {
            assert!(root.resolve(path).is_err(), "{path}");
        }
    }

    #[test]
    fn a_junction_that_leads_out_is_refused() {
        let (folder, root) = folder();
        let mut command = Command::new("cmd.exe");
        command
            .args(["/d", "/c", "mklink", "/J"])
            .arg(root.real().join("out"))
            .arg(folder.path().join("outside"));
        let made = command.output().unwrap();
        // Nothing to see where there are none: wine has none.
        if made.status.success() && root.real().join("out").exists() {
            assert!(root.resolve("out/x.ipynb").is_err());
        }
    }

    proptest! {
        #[test]
        fn every_resolved_path_is_inside(parts in prop::collection::vec("a|B|\\.|\\.\\.|/|\\\\|new|C:|nul|x.ipynb", 0..8)) {
            let (_folder, root) = folder();
            if let Ok(found) = root.resolve(&parts.join("/")) {
                prop_assert!(found.starts_with(root.real()));
                prop_assert!(root.relative(&found).is_some());
            }
        }
    }
}

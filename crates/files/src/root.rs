//! Resolves the paths that agents pass, and keeps them inside one folder.

use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

use place::{Error, ErrorKind, NextStep};

use crate::real_path::canonicalize;
#[cfg(windows)]
use crate::windows_path;

mod contains;

pub use contains::lies_in;

/// A folder that no resolved path leaves.
#[derive(Debug, Clone)]
pub struct Root {
    spelled: PathBuf,
    /// Without symbolic links.
    real: PathBuf,
    /// The prefix of its paths where they are shown; resolved paths may omit it.
    prefix: &'static str,
}

impl Root {
    pub fn new(folder: PathBuf) -> Self {
        let real = canonicalize(&folder).unwrap_or_else(|_| folder.clone());
        Self { spelled: folder, real, prefix: "" }
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
    /// `path` is relative to the root, even if it starts with `/`, unless it is the absolute path of something
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
            Ok(real) if path.contains('\\') && !real.exists() => {
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
            [&self.real, &self.spelled].into_iter().filter_map(|root| root.to_str()).collect();
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
        for root in [&self.real, &self.spelled] {
            if root.is_absolute() && absolute.starts_with(root) {
                return absolute.to_path_buf();
            }
        }
        self.real.join(path.trim_start_matches('/'))
    }

    /// Whether an agent most likely means a path outside: `path` starts with a folder that the root does not have.
    fn looks_absolute(&self, path: &str, joined: &Path) -> bool {
        let Some((first, _)) =
            path.strip_prefix('/').and_then(|rest| rest.trim_start_matches('/').split_once('/'))
        else {
            return false;
        };
        joined.starts_with(&self.real) && Path::new(path) != joined && !self.real.join(first).exists()
    }

    fn confine(&self, path: &str, joined: &Path) -> Result<PathBuf, Error> {
        if !joined.starts_with(&self.real) && !joined.starts_with(&self.spelled) {
            return Err(refused(path, "it is outside."));
        }
        let real = real_path(joined)
            .map_err(|error| refused(path, &format!("it cannot be followed: {error}.")).with_source(error))?;
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
mod tests;

#[cfg(test)]
#[cfg(windows)]
#[path = "root/tests/windows.rs"]
mod windows_tests;

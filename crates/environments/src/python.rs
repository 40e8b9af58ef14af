//! A Python: its version, where it looks for packages, and what is known of its interpreter.

use std::fs;
use std::path::{Path, PathBuf};

use crate::ProcessEnv;

/// A version of Python, without its last number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(pub(crate) u32, pub(crate) u32);

impl Version {
    /// Of `3.12`, and of what starts with it: `3.12.1.final.0`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.trim().split('.').map(str::parse);
        Some(Self(numbers.next()?.ok()?, numbers.next()?.ok()?))
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::parse(name.strip_prefix("python")?)
    }
}

/// The folders in which a Python looks for packages.
pub(crate) struct Packages(pub(crate) Vec<PathBuf>);

impl Packages {
    /// Those below a prefix: of one version, or of all.
    pub(crate) fn below(prefix: &Path, version: Option<Version>) -> Self {
        let libs = ["lib", "lib64", "local/lib"].map(|lib| prefix.join(lib));
        let versions = libs.iter().flat_map(|lib| versions_in(lib));
        let versions = versions.filter(|(found, _)| version.is_none_or(|version| version == *found));
        let mut folders: Vec<PathBuf> = versions
            .flat_map(|(_, folder)| ["site-packages", "dist-packages"].map(|name| folder.join(name)))
            .collect();
        // Debian's own, and Windows.
        folders.extend(["lib/python3/dist-packages", "Lib/site-packages"].map(|folder| prefix.join(folder)));
        Self(folders)
    }

    /// Those that `pip install --user` fills.
    pub(crate) fn of_user(process_env: &ProcessEnv, version: Option<Version>) -> Self {
        if process_env.get("PYTHONNOUSERSITE").is_some() {
            return Self(Vec::new());
        }
        let of = |base: PathBuf| {
            let mut folders = Self::below(&base, version).0;
            if cfg!(windows) {
                let entries = fs::read_dir(&base).into_iter().flatten().flatten();
                let name = version.map(|Version(major, minor)| format!("Python{major}{minor}"));
                let fits = |found: &str| name.as_ref().is_none_or(|name| found == name);
                let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(fits));
                folders.extend(named.map(|entry| entry.path().join("site-packages")));
            } else {
                // That of a framework on macOS, which has the version above it.
                folders.push(base.join("lib/python/site-packages"));
            }
            folders
        };
        Self(user_bases(process_env).into_iter().flat_map(of).collect())
    }

    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    pub(crate) fn folders(&self) -> &[PathBuf] {
        &self.0
    }

    pub(crate) fn contain(&self, package: &str) -> bool {
        self.0.iter().any(|folder| folder.join(package).join("__init__.py").is_file())
    }

    /// The version of the Python below a prefix, if there is one only.
    pub(crate) fn version_below(prefix: &Path) -> Option<Version> {
        let mut found: Vec<Version> = versions_in(&prefix.join("lib")).map(|(version, _)| version).collect();
        found.dedup();
        if let [version] = *found { Some(version) } else { None }
    }
}

/// Where `pip install --user` installs: Python's `site.getuserbase()`, for any Python that there is.
pub(crate) fn user_bases(process_env: &ProcessEnv) -> Vec<PathBuf> {
    if let Some(base) = process_env.path("PYTHONUSERBASE") {
        return vec![base];
    }
    if cfg!(windows) {
        return process_env.path("APPDATA").map(|folder| folder.join("Python")).into_iter().collect();
    }
    let Some(home) = &process_env.home else { return Vec::new() };
    let mut bases = vec![home.join(".local")];
    if cfg!(target_os = "macos") {
        // Those of python.org have a folder for each version.
        let versions = fs::read_dir(home.join("Library/Python")).into_iter().flatten().flatten();
        bases.extend(versions.map(|entry| entry.path()));
    }
    bases
}

fn versions_in(lib: &Path) -> impl Iterator<Item = (Version, PathBuf)> + use<> {
    let entries = fs::read_dir(lib).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((Version::of_name(entry.file_name().to_str()?)?, entry.path())))
}

/// What a Python interpreter reports about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InterpreterInfo {
    /// `sys.executable`: the interpreter behind a wrapper such as those of pyenv.
    pub(crate) executable: PathBuf,
    pub(crate) version: Version,
    pub(crate) has_kernel: bool,
}

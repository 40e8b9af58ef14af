//! A Python environment, as its files show it.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Where an environment of conda has its programs and their DLLs on Windows, besides its own folder.
const CONDA_ON_WINDOWS: [&str; 5] =
    ["Library/mingw-w64/bin", "Library/usr/bin", "Library/bin", "Scripts", "bin"];

/// A folder with its own interpreter and packages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Environment {
    /// Python's `sys.prefix`.
    pub(crate) prefix: PathBuf,
    pub(crate) interpreter: PathBuf,
}

impl Environment {
    /// The environment in `prefix`: one of `venv`, `virtualenv` or uv, or one of conda or pixi.
    pub(crate) fn at(prefix: &Path) -> Option<Self> {
        if !prefix.join("pyvenv.cfg").is_file() && !prefix.join("conda-meta").is_dir() {
            return None;
        }
        // Names are joined with `/` here, which people on Windows should not see.
        let uniform = |path: &Path| path.components().collect();
        Some(Self { prefix: uniform(prefix), interpreter: uniform(&interpreter_in(prefix)?) })
    }

    /// The environment of an interpreter, which is in a folder of it, or, with conda on Windows, in itself.
    pub(crate) fn of(interpreter: &Path) -> Option<Self> {
        interpreter.ancestors().skip(1).take(2).find_map(Self::at)
    }

    /// Whether it was made by `venv`, `virtualenv` or uv, not by conda.
    pub(crate) fn is_venv(&self) -> bool {
        self.prefix.join("pyvenv.cfg").is_file()
    }

    /// The folders of its programs, as its activation would put them on `PATH`.
    pub(crate) fn program_folders(&self) -> Vec<PathBuf> {
        let conda = CONDA_ON_WINDOWS.iter().filter(|_| cfg!(windows) && !self.is_venv());
        let further = conda.map(|folder| self.prefix.join(folder));
        self.interpreter.parent().map(Path::to_path_buf).into_iter().chain(further).collect()
    }

    /// Whether ipykernel is installed in it. Reads files only: starting Python would take a hundred times as long.
    pub(crate) fn has_kernel(&self) -> bool {
        site_packages(&self.prefix).any(|folder| folder.join("ipykernel/__init__.py").is_file())
    }

    /// Whether pip is installed in it; environments of uv have none.
    pub(crate) fn has_pip(&self) -> bool {
        site_packages(&self.prefix).any(|folder| folder.join("pip/__init__.py").is_file())
    }

    /// Whether it also uses the packages of the Python that it was made from.
    pub(crate) fn sees_system(&self) -> bool {
        let settings = fs::read_to_string(self.prefix.join("pyvenv.cfg")).unwrap_or_default();
        settings.lines().filter_map(|line| line.split_once('=')).any(|(key, value)| {
            key.trim() == "include-system-site-packages" && value.trim().eq_ignore_ascii_case("true")
        })
    }
}

/// The interpreter of the environment in `prefix`, if there is one.
pub(crate) fn interpreter_in(prefix: &Path) -> Option<PathBuf> {
    let names: &[&str] =
        if cfg!(windows) { &["Scripts/python.exe", "python.exe"] } else { &["bin/python", "bin/python3"] };
    // `is_file` follows links, so an environment whose Python was removed has no interpreter.
    names.iter().map(|name| prefix.join(name)).find(|path| path.is_file())
}

fn site_packages(prefix: &Path) -> impl Iterator<Item = PathBuf> {
    let versions = ["lib", "lib64"].into_iter().flat_map({
        let prefix = prefix.to_path_buf();
        move |lib| fs::read_dir(prefix.join(lib)).into_iter().flatten().flatten()
    });
    let versions = versions.filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"));
    versions.map(|entry| entry.path().join("site-packages")).chain([prefix.join("Lib/site-packages")])
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::tests::program;

    /// Where a virtual environment has its programs.
    pub(in crate::environment) const PROGRAMS: &str = if cfg!(windows) { "Scripts" } else { "bin" };

    /// Where it has its packages.
    pub(in crate::environment) const PACKAGES: &str =
        if cfg!(windows) { "Lib/site-packages" } else { "lib/python3.12/site-packages" };

    /// Creates the files of a virtual environment.
    pub(in crate::environment) fn venv(prefix: &Path, has_kernel: bool) -> Environment {
        program(&prefix.join(PROGRAMS).join("python"), &["exit 1"]);
        fs::write(prefix.join("pyvenv.cfg"), "home = /usr/bin\ninclude-system-site-packages = false\n")
            .unwrap();
        let packages = prefix.join(PACKAGES);
        fs::create_dir_all(packages.join("ipykernel")).unwrap();
        if has_kernel {
            fs::write(packages.join("ipykernel/__init__.py"), "").unwrap();
        }
        Environment::at(prefix).unwrap()
    }

    #[test]
    fn an_environment_is_recognised_by_its_files() {
        let folder = tempfile::tempdir().unwrap();
        assert!(venv(&folder.path().join("with"), true).has_kernel());
        let without = venv(&folder.path().join("without"), false);
        assert!(!without.has_kernel() && without.is_venv() && !without.sees_system());
        fs::write(without.prefix.join("pyvenv.cfg"), "include-system-site-packages = True").unwrap();
        assert!(without.sees_system());
        assert_eq!(Environment::at(folder.path()), None);
    }

    #[test]
    fn the_environment_of_an_interpreter_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let environment = venv(&folder.path().join("v"), true);
        assert_eq!(Environment::of(&environment.interpreter), Some(environment.clone()));
        // As conda on Windows has it.
        assert_eq!(Environment::of(&environment.prefix.join("python.exe")), Some(environment));
        assert_eq!(Environment::of(Path::new("python")), None);
    }

    #[test]
    fn an_environment_without_its_python_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let environment = venv(folder.path(), true);
        fs::remove_file(&environment.interpreter).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/nowhere/python", &environment.interpreter).unwrap();
        assert_eq!(Environment::at(folder.path()), None);
    }
}

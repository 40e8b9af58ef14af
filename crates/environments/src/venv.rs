//! A Python environment, as its files show it.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::ProcessEnv;
use crate::python::{Packages, Version};

/// Where an environment of conda has its programs and their DLLs on Windows, besides its own folder.
const CONDA_ON_WINDOWS: [&str; 5] =
    ["Library/mingw-w64/bin", "Library/usr/bin", "Library/bin", "Scripts", "bin"];

/// A folder with its own interpreter and packages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Python's `sys.prefix`.
    pub prefix: PathBuf,
    pub interpreter: PathBuf,
}

impl Environment {
    /// The environment in `prefix`: one of `venv`, `virtualenv` or uv, or one of conda or pixi.
    pub fn at(prefix: &Path) -> Option<Self> {
        if !prefix.join("pyvenv.cfg").is_file() && !prefix.join("conda-meta").is_dir() {
            return None;
        }
        // Names are joined with `/` here, which people on Windows should not see.
        let uniform = |path: &Path| path.components().collect();
        Some(Self { prefix: uniform(prefix), interpreter: uniform(&interpreter_in(prefix)?) })
    }

    /// The environment of an interpreter, which is in a folder of it, or, with conda on Windows, in itself.
    pub fn of(interpreter: &Path) -> Option<Self> {
        interpreter.ancestors().skip(1).take(2).find_map(Self::at)
    }

    /// Whether it was made by `venv`, `virtualenv` or uv, not by conda.
    pub fn is_venv(&self) -> bool {
        self.prefix.join("pyvenv.cfg").is_file()
    }

    /// The folders of its programs, as its activation would put them on `PATH`.
    pub fn program_folders(&self) -> Vec<PathBuf> {
        let conda = CONDA_ON_WINDOWS.iter().filter(|_| cfg!(windows) && !self.is_venv());
        let further = conda.map(|folder| self.prefix.join(folder));
        self.interpreter.parent().map(Path::to_path_buf).into_iter().chain(further).collect()
    }

    /// Whether ipykernel is installed in it. Reads files only: starting Python would take a hundred times as long, and what is in a
    /// folder is not started before a run.
    pub fn has_kernel(&self) -> bool {
        Packages::below(&self.prefix, None).contain("ipykernel")
    }

    /// Whether pip is installed in it; environments of uv have none.
    pub fn has_pip(&self) -> bool {
        Packages::below(&self.prefix, None).contain("pip")
    }

    /// Whether ipykernel is installed in it, or where its Python also looks. Reads files only.
    pub(crate) fn runs_kernel(&self, process_env: &ProcessEnv) -> bool {
        self.all_packages(process_env).contain("ipykernel")
    }

    /// Folders in which its Python looks for packages: in it, in the Python that it was made from, and in the user's own folder.
    pub(crate) fn all_packages(&self, process_env: &ProcessEnv) -> Packages {
        let settings = self.settings();
        let version = settings.version.or_else(|| Packages::version_below(&self.prefix));
        let mut packages = Packages::below(&self.prefix, None);
        if let Some(base) = settings.base.filter(|_| settings.sees_system) {
            packages.extend(Packages::below(&base, version));
        }
        // An environment of conda looks there, too.
        if settings.sees_system || !self.is_venv() {
            packages.extend(Packages::of_user(process_env, version));
        }
        packages
    }

    /// Its version, if its files say so.
    pub(super) fn version(&self) -> Option<Version> {
        self.settings().version.or_else(|| Packages::version_below(&self.prefix))
    }

    fn settings(&self) -> Settings {
        Settings::parse(&fs::read_to_string(self.prefix.join("pyvenv.cfg")).unwrap_or_default())
    }
}

/// The reason why an environment's folder cannot run code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Defect {
    #[error("it is a file")]
    File,
    #[error("it is a link to a folder that does not exist")]
    DanglingLink,
    #[error("its Python no longer exists")]
    NoPython,
    #[error("it is not a Python environment")]
    NoEnvironment,
}

impl Defect {
    /// That of a path. `None` if there is nothing, or something else may rightly have the name: `env` is often a file with settings.
    pub(crate) fn of(prefix: &Path) -> Option<Self> {
        let is_venv = prefix.join("pyvenv.cfg").is_file();
        let is_named_so = prefix.file_name().is_some_and(|name| name == ".venv" || name == "venv");
        let found = prefix.symlink_metadata().ok()?;
        match prefix.metadata() {
            Err(_) => found.is_symlink().then_some(Self::DanglingLink),
            Ok(_) if Environment::at(prefix).is_some() => None,
            Ok(_) if is_venv => Some(Self::NoPython),
            Ok(_) if !is_named_so => None,
            Ok(metadata) if metadata.is_dir() => Some(Self::NoEnvironment),
            Ok(_) => Some(Self::File),
        }
    }
}

/// What `pyvenv.cfg` says.
#[derive(Default)]
struct Settings {
    /// Whether the packages of the Python that it was made from are used as well.
    sees_system: bool,
    /// The prefix of that Python.
    base: Option<PathBuf>,
    version: Option<Version>,
}

impl Settings {
    fn parse(text: &str) -> Self {
        let mut settings = Self::default();
        for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
            let value = value.trim();
            match key.trim() {
                "include-system-site-packages" => settings.sees_system = value.eq_ignore_ascii_case("true"),
                "home" => settings.base = base_of(Path::new(value)),
                // `venv` writes the one, `virtualenv` and uv the other.
                "version" | "version_info" => settings.version = Version::parse(value),
                _ => {}
            }
        }
        settings
    }
}

/// The prefix of the Python whose programs are in `home`.
fn base_of(home: &Path) -> Option<PathBuf> {
    // Looking at a share of Windows would log in to whatever server the file names.
    let is_share = home.as_os_str().as_encoded_bytes().starts_with(b"\\\\");
    if !home.is_absolute() || is_share {
        return None;
    }
    if cfg!(windows) { Some(home.to_path_buf()) } else { home.parent().map(Path::to_path_buf) }
}

/// The interpreter of the environment in `prefix`, if there is one.
pub(crate) fn interpreter_in(prefix: &Path) -> Option<PathBuf> {
    let names: &[&str] =
        if cfg!(windows) { &["Scripts/python.exe", "python.exe"] } else { &["bin/python", "bin/python3"] };
    // `is_file` follows links, so an environment whose Python was removed has no interpreter.
    names.iter().map(|name| prefix.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::test_program::program;

    /// Where a virtual environment has its programs.
    pub(crate) const PROGRAMS: &str = if cfg!(windows) { "Scripts" } else { "bin" };

    /// Where it has its packages.
    pub(crate) const PACKAGES: &str =
        if cfg!(windows) { "Lib/site-packages" } else { "lib/python3.12/site-packages" };

    /// Creates the files of a virtual environment.
    pub(crate) fn venv(prefix: &Path, has_kernel: bool) -> Environment {
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
        assert!(!without.has_kernel() && without.is_venv());
        assert_eq!(Environment::at(folder.path()), None);
    }

    #[test]
    fn packages_of_the_base_and_of_the_user_count_where_python_uses_them() {
        let folder = tempfile::tempdir().unwrap();
        let inheriting = venv(&folder.path().join("v"), false);
        let base = folder.path().join("base");
        let home = if cfg!(windows) { base.clone() } else { base.join("bin") };
        let process_env = ProcessEnv { home: Some(folder.path().join("home")), ..ProcessEnv::default() };
        let write = |settings: &str| {
            let text = format!("home = {}\nversion_info = 3.12.3.final.0\n{settings}", home.display());
            fs::write(inheriting.prefix.join("pyvenv.cfg"), text).unwrap();
        };
        write("include-system-site-packages = True");
        assert_eq!(inheriting.version(), Some(Version(3, 12)));
        assert!(!inheriting.runs_kernel(&process_env));
        let folders = [base.join(PACKAGES), folder.path().join("home/.local").join(PACKAGES)];
        for packages in folders.iter().take(if cfg!(unix) { 2 } else { 1 }) {
            let module = packages.join("ipykernel");
            fs::create_dir_all(&module).unwrap();
            fs::write(module.join("__init__.py"), "").unwrap();
            assert!(inheriting.runs_kernel(&process_env), "{}", packages.display());
            write("include-system-site-packages = false");
            assert!(!inheriting.runs_kernel(&process_env), "{}", packages.display());
            write("include-system-site-packages = true");
            fs::remove_dir_all(module).unwrap();
        }
        for home in ["bin", "", "../bin"] {
            assert_eq!(base_of(Path::new(home)), None);
        }
        assert_eq!(base_of(Path::new(r"\\server\share")), None);
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
        assert_eq!(Defect::of(folder.path()), Some(Defect::NoPython));
        #[cfg(unix)]
        {
            let link = folder.path().join("env");
            std::os::unix::fs::symlink("/nowhere", &link).unwrap();
            assert_eq!(Defect::of(&link), Some(Defect::DanglingLink));
        }
        assert_eq!(Defect::of(&folder.path().join(".venv")), None);
    }
}

//! What is known of a Python by looking at its files, and, where that does not tell, by asking it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::Surroundings;

/// How long a Python may take to say what it has. A first start from a cold disk takes seconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// A Python environment: a folder with an interpreter and packages of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Environment {
    /// The folder, Python's `sys.prefix`.
    pub(crate) prefix: PathBuf,
    pub(crate) interpreter: PathBuf,
}

impl Environment {
    /// The environment in `prefix`: one of `venv`, `virtualenv` or uv, or one of conda or pixi.
    pub(crate) fn at(prefix: &Path) -> Option<Self> {
        if !prefix.join("pyvenv.cfg").is_file() && !prefix.join("conda-meta").is_dir() {
            return None;
        }
        Some(Self { prefix: prefix.to_path_buf(), interpreter: interpreter_in(prefix)? })
    }

    /// Whether it is one of `venv`'s kind, whose activation is nothing but two variables.
    pub(crate) fn is_venv(&self) -> bool {
        self.prefix.join("pyvenv.cfg").is_file()
    }

    /// Whether a notebook can run in it. Looks at files only: starting Python would take a hundred times as long.
    pub(crate) fn has_kernel(&self) -> bool {
        site_packages(&self.prefix).any(|folder| folder.join("ipykernel/__init__.py").is_file())
    }

    /// Whether it also sees the packages of the Python that it was made from.
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
    // `is_file` follows links: a virtual environment whose Python was removed is none.
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

/// What a Python says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    /// `sys.executable`: the interpreter behind wrappers such as those of pyenv.
    pub(crate) interpreter: PathBuf,
    pub(crate) version: (u32, u32),
    pub(crate) has_kernel: bool,
}

/// Asks a Python what it is. `None` if it does not run, or takes too long.
pub(crate) async fn ask(interpreter: &Path, surroundings: &Surroundings) -> Option<Answer> {
    const QUESTION: &str = "import sys, importlib.util as u; \
        print('%d.%d' % sys.version_info[:2], int(u.find_spec('ipykernel') is not None)); print(sys.executable)";
    let output = Command::new(interpreter)
        // Not `-I`: packages of the person's own folder count, as they do for the kernel.
        .args(["-c", QUESTION])
        .env_clear()
        .envs(&surroundings.variables)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(PATIENCE, output).await.ok()?.ok()?;
    read_answer(&output.stdout)
}

fn read_answer(stdout: &[u8]) -> Option<Answer> {
    let text = str::from_utf8(stdout).ok()?;
    let (facts, rest) = text.split_once('\n')?;
    let (version, has_kernel) = facts.trim().split_once(' ')?;
    let (major, minor) = version.split_once('.')?;
    let interpreter = PathBuf::from(rest.trim_end_matches(['\n', '\r']));
    (interpreter.as_os_str() != OsStr::new("")).then_some(())?;
    Some(Answer {
        interpreter,
        version: (major.parse().ok()?, minor.parse().ok()?),
        has_kernel: has_kernel == "1",
    })
}

#[cfg(test)]
#[cfg(unix)]
pub(super) mod tests {
    use super::*;
    use crate::tests::script;

    /// Makes what looks like a virtual environment.
    pub(in crate::environment) fn venv(prefix: &Path, has_kernel: bool) -> Environment {
        script(&prefix.join("bin/python"), "exit 1");
        fs::write(prefix.join("pyvenv.cfg"), "home = /usr/bin\ninclude-system-site-packages = false\n")
            .unwrap();
        let packages = prefix.join("lib/python3.12/site-packages");
        fs::create_dir_all(packages.join("ipykernel")).unwrap();
        if has_kernel {
            fs::write(packages.join("ipykernel/__init__.py"), "").unwrap();
        }
        Environment::at(prefix).unwrap()
    }

    #[test]
    fn an_environment_is_known_by_its_files() {
        let folder = tempfile::tempdir().unwrap();
        assert!(venv(&folder.path().join("with"), true).has_kernel());
        let without = venv(&folder.path().join("without"), false);
        assert!(!without.has_kernel() && without.is_venv() && !without.sees_system());
        fs::write(without.prefix.join("pyvenv.cfg"), "include-system-site-packages = True").unwrap();
        assert!(without.sees_system());
        assert_eq!(Environment::at(folder.path()), None);
    }

    #[test]
    fn an_environment_whose_python_is_gone_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let environment = venv(folder.path(), true);
        fs::remove_file(&environment.interpreter).unwrap();
        std::os::unix::fs::symlink("/nowhere/python", &environment.interpreter).unwrap();
        assert_eq!(Environment::at(folder.path()), None);
    }

    #[test]
    fn answers_are_read() {
        let answer = read_answer(b"3.12 1\n/opt/a b/python\n").unwrap();
        assert_eq!(
            answer,
            Answer { interpreter: "/opt/a b/python".into(), version: (3, 12), has_kernel: true }
        );
        for odd in [&b""[..], b"3.12 1\n", b"hello\nthere", b"3.x 1\n/p", b"\xff\n"] {
            assert_eq!(read_answer(odd), None);
        }
    }

    #[tokio::test]
    async fn a_python_that_does_not_run_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("python3");
        script(&path, "echo '3.9 0'; echo /usr/bin/python3.9");
        let answer = ask(&path, &Surroundings::default()).await.unwrap();
        assert_eq!((answer.version, answer.has_kernel), ((3, 9), false));
        script(&path, "exit 3");
        assert_eq!(ask(&path, &Surroundings::default()).await, None);
        assert_eq!(ask(&folder.path().join("none"), &Surroundings::default()).await, None);
    }
}

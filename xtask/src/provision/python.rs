//! The virtual environments: that of the end-to-end tests, whose packages bring Node along, too, one for each kind of Jupyter
//! server they start, that of the site, and those for packages.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::apt;
use super::stamp::{self, Stamp};
use crate::command;
use crate::project::Project;

/// The tests use `asyncio.timeout`.
const OLDEST: (u32, u32) = (3, 11);

/// A virtual environment.
pub(crate) struct Environment {
    /// Its folder.
    pub(crate) home: PathBuf,
    /// Its interpreter.
    pub(crate) python: PathBuf,
    /// The folder of its programs.
    pub(crate) programs: PathBuf,
}

impl Environment {
    /// A module that is started at the project's root, with the environment's programs on `PATH`.
    pub(crate) fn module(&self, project: &Project, name: &str) -> Result<Command> {
        let mut command = project.command(&self.python);
        command.args(["-m", name]);
        // Python leaves nothing in the source tree.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        // Whatever the locale, it reads and writes UTF-8.
        command.env("PYTHONUTF8", "1");
        command.env("PATH", command::path_with(&self.programs)?);
        Ok(command)
    }
}

/// What an environment is for. Servers get environments of their own: what is installed beside a Jupyter server
/// becomes a part of it.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// The tests themselves.
    Tests,
    /// A Jupyter server without anything for working together.
    PlainServer,
    /// A server with jupyter-collaboration; `JupyterHub`, too.
    CollaborationServer,
    /// A server with jupyter-server-documents.
    DocumentsServer,
    /// uv, apart: what the other tests start must not find it.
    Uv,
    /// The program that `cellbridge jupyter` replaces, to be measured beside it.
    Original,
    /// What makes the site of the documents.
    Site,
    /// The tools that make packages and judge them.
    Packaging,
    /// A Python kernel and nothing else.
    PackagingKernel,
    /// The packages of the notebooks whose judgement is measured, and nbclient.
    Judgement,
}

impl Purpose {
    /// The list of packages, below the root.
    fn requirements(self) -> &'static str {
        match self {
            Self::Tests => "e2e/requirements/tests.txt",
            Self::PlainServer => "e2e/requirements/plain.txt",
            Self::CollaborationServer => "e2e/requirements/rtc.txt",
            Self::DocumentsServer => "e2e/requirements/jsd.txt",
            Self::Uv => "e2e/requirements/uv.txt",
            Self::Original => "e2e/requirements/original.txt",
            Self::Site => "docs/requirements.txt",
            Self::Packaging => "packaging/requirements.txt",
            Self::PackagingKernel => "packaging/kernel.txt",
            Self::Judgement => "bench/judgement/requirements.txt",
        }
    }

    /// The environment's folder, below the target folder.
    fn folder(self) -> &'static str {
        match self {
            Self::Tests => "e2e/venv",
            Self::PlainServer => "e2e/jupyter-plain",
            Self::CollaborationServer => "e2e/jupyter-rtc",
            Self::DocumentsServer => "e2e/jupyter-jsd",
            Self::Uv => "e2e/uv",
            Self::Original => "e2e/original",
            Self::Site => "site/venv",
            Self::Packaging => "packaging/tools",
            Self::PackagingKernel => "packaging/kernel",
            Self::Judgement => "judgement/venv",
        }
    }
}

/// Creates an environment and installs its packages if the list of them changed.
pub(crate) fn provide(project: &Project, purpose: Purpose) -> Result<Environment> {
    let home = project.target.join(purpose.folder());
    let programs = home.join(if cfg!(windows) { "Scripts" } else { "bin" });
    let python = programs.join(format!("python{}", std::env::consts::EXE_SUFFIX));
    let requirements = project.root.join(purpose.requirements());
    let stamp = Stamp::new(home.join("requirements.stamp"), stamp::source(&requirements)?);
    // The link to the interpreter breaks when the machine's Python is replaced.
    if !(stamp.is_fresh() && python.exists()) {
        let is_uv = matches!(purpose, Purpose::Uv);
        let uv = if is_uv { None } else { Some(provide(project, Purpose::Uv)?.programs.join("uv")) };
        stamp.clear()?;
        create(&home)?;
        println!("xtask: installing {}", purpose.requirements());
        install(project, uv.as_deref(), &python, &requirements)?;
        stamp.set()?;
    }
    Ok(Environment { home, python, programs })
}

/// Installs what a list names, with what makes it start fast. uv takes a fifth of pip's time; pip also knows the machine's own
/// settings of an index.
fn install(project: &Project, uv: Option<&Path>, python: &Path, requirements: &Path) -> Result<()> {
    if let Some(uv) = uv {
        let mut command = project.command(uv);
        command.args(["pip", "install", "--quiet", "--compile-bytecode", "--python"]).arg(python);
        command.arg("-r").arg(requirements).env("UV_CACHE_DIR", project.target.join("e2e/cache/uv"));
        if command::run(command.stdin(Stdio::null())).is_ok() {
            return Ok(());
        }
    }
    let mut pip = project.command(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]).arg(requirements);
    command::run(pip.stdin(Stdio::null()))
}

fn create(home: &Path) -> Result<()> {
    let python = interpreter()?;
    println!("xtask: creating a virtual environment with {python}");
    // `--clear`, so that no package of older requirements is left.
    let venv = || -> Result<String> {
        command::read(Command::new(&python).args(["-m", "venv", "--clear"]).arg(home))
    };
    if venv().is_err() {
        // Debian ships `venv` without the `ensurepip` it needs; its message about that goes to standard output.
        if command::read(Command::new(&python).args(["-c", "import ensurepip"])).is_err() {
            apt::install(&["python3-venv"])?;
        }
        venv()?;
    }
    Ok(())
}

/// The machine's Python, if it is new enough.
fn interpreter() -> Result<String> {
    let question = "import sys; print(*sys.version_info[:2])";
    for name in ["python3", "python"] {
        let Ok(answer) = command::read(Command::new(name).args(["-c", question])) else { continue };
        let version = parse(&answer).with_context(|| format!("{name} has the version {answer}"))?;
        if version >= OLDEST {
            return Ok(name.to_owned());
        }
    }
    bail!("the end-to-end tests need Python {}.{} or newer as python3 on PATH", OLDEST.0, OLDEST.1)
}

fn parse(answer: &str) -> Option<(u32, u32)> {
    let (major, minor) = answer.split_once(' ')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{OLDEST, parse};

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(parse("3 11"), Some((3, 11)));
        assert!(parse("3 9") < Some(OLDEST));
        assert!(parse("3 11") >= Some(OLDEST));
        assert_eq!(parse("Python 3"), None);
    }
}

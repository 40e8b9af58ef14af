//! Makes a Python environment with uv, or with `venv` and pip.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use place::{Error, ErrorKind};

use super::venv::interpreter_in;
use super::{interpreter, registered};
use crate::ProcessEnv;
use crate::output_capture::OutputCapture;
use crate::python::Version;
use files::lies_in;

/// A kernel, and what a first plot imports. `pip` is for `%pip` in a cell.
const PACKAGES: [&str; 4] = ["ipykernel", "matplotlib", "pandas", "pip"];

/// The oldest Python that the packages still support.
pub(super) const OLDEST: Version = Version(3, 9);

/// The programs to try; `python3` may be too old.
const NAMES: [&str; 8] =
    ["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10", "python3.9"];

/// As in [`interpreter`]: nothing but the standard library is used.
const VENV: [&str; 2] = ["-ISm", "venv"];

/// As many as Debian's `venv` needs to say that a package of the system is missing, and one more.
const LAST_LINES: usize = 8;

/// Receives progress lines.
pub(super) type Progress = Arc<dyn Fn(&str) + Send + Sync>;

/// Makes the environment in `folder`, which must not exist.
pub(super) struct Installer<'a> {
    pub(super) folder: &'a Path,
    pub(super) process_env: &'a ProcessEnv,
    /// What lies in this folder is not started.
    pub(super) spared: Option<&'a Path>,
    pub(super) progress: Progress,
}

impl Installer<'_> {
    pub(super) async fn install(&self) -> Result<(), Error> {
        if let Some(uv) = find_uv(self.process_env, self.spared) {
            (self.progress)("Creating a Python environment with uv");
            let made = self.run(&uv, [OsStr::new("venv"), self.folder.as_os_str()]).await;
            match made {
                Ok(()) => return self.install_with_uv(&uv).await,
                // uv is old or broken; a Python may still work.
                Err(failure) => tracing::warn!("uv could not create an environment: {}", failure.output),
            }
        }
        let python = find_python(self.process_env, self.spared).await?;
        (self.progress)("Creating a Python environment");
        let with_pip =
            self.run(&python, VENV.map(OsStr::new).into_iter().chain([self.folder.as_os_str()])).await;
        let Err(failure) = with_pip else {
            return self.install_with_pip(&self.interpreter()?, &[]).await;
        };
        tracing::info!("venv with pip failed, trying without: {}", failure.output);
        let _ = std::fs::remove_dir_all(self.folder);
        self.make_without_pip(&python, &failure).await
    }

    /// Debian splits Python: without `python3-venv` an environment comes without pip, if at all.
    async fn make_without_pip(&self, python: &Path, first: &Failure) -> Result<(), Error> {
        let arguments = VENV.into_iter().chain(["--without-pip"]).map(OsStr::new);
        let made = self.run(python, arguments.chain([self.folder.as_os_str()])).await;
        let pip = self.run(python, ["-m", "pip", "--version"].map(OsStr::new)).await;
        if made.is_err() || pip.is_err() {
            return Err(Error::new(
                ErrorKind::Unavailable,
                format!("{} cannot create a Python environment: {}", python.display(), first.output),
                "Install what is missing (on Debian and Ubuntu: apt install python3-venv), or install uv; \
                 then try again.",
            ));
        }
        let interpreter = self.interpreter()?;
        self.install_with_pip(python, &[OsStr::new("--python"), interpreter.as_os_str()]).await
    }

    async fn install_with_uv(&self, uv: &Path) -> Result<(), Error> {
        let interpreter = self.interpreter()?;
        let arguments =
            [OsStr::new("pip"), OsStr::new("install"), OsStr::new("--python"), interpreter.as_os_str()];
        let arguments = arguments.into_iter().chain(PACKAGES.map(OsStr::new));
        self.run(uv, arguments).await.map_err(|failure| no_packages(&failure))
    }

    async fn install_with_pip(&self, python: &Path, options: &[&OsStr]) -> Result<(), Error> {
        // As with uv, Python compiles what it imports: a first cell imports a small part of these packages.
        const INSTALL: [&str; 10] = [
            "install",
            "--no-compile",
            "--no-input",
            "--disable-pip-version-check",
            "--no-warn-script-location",
            "--progress-bar=off",
            "--retries=2",
            "--timeout=20",
            "--prefer-binary",
            "--upgrade",
        ];
        let arguments = ["-m", "pip"].map(OsStr::new).into_iter().chain(options.iter().copied());
        let arguments = arguments.chain(INSTALL.map(OsStr::new)).chain(PACKAGES.map(OsStr::new));
        self.run(python, arguments).await.map_err(|failure| no_packages(&failure))
    }

    fn interpreter(&self) -> Result<PathBuf, Error> {
        interpreter_in(self.folder).ok_or_else(|| {
            Error::new(
                ErrorKind::Internal,
                format!("The new Python environment in {} contains no Python.", self.folder.display()),
                "Remove that folder and try again, or install ipykernel in the project's own environment.",
            )
        })
    }

    async fn run(&self, program: &Path, arguments: impl IntoIterator<Item = &OsStr>) -> Result<(), Failure> {
        let mut command = crate::subprocess::command(program, self.process_env);
        command.args(arguments);
        // These variables would install the packages elsewhere, or make pip refuse.
        for name in
            ["PIP_TARGET", "PIP_PREFIX", "PIP_USER", "PIP_REQUIRE_VIRTUALENV", "PYTHONHOME", "PYTHONPATH"]
        {
            command.env_remove(name);
        }
        command.env("PYTHONUNBUFFERED", "1").env("PYTHONIOENCODING", "utf-8");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |output: String| Failure { program: program.display().to_string(), output };
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let progress = self.progress.clone();
        let mut capture = OutputCapture::start(&mut child, move |line| {
            if is_progress(line) {
                progress(line);
            }
        });
        let status = child.wait().await.map_err(|error| failed(error.to_string()))?;
        capture.finish(Duration::from_secs(1)).await;
        if status.success() { Ok(()) } else { Err(failed(capture.last_lines(LAST_LINES))) }
    }
}

/// The Pythons that may be new enough, the preferred first.
pub(super) fn candidates(process_env: &ProcessEnv) -> impl Iterator<Item = PathBuf> {
    NAMES.iter().filter_map(|name| process_env.find_program(name)).chain(registered::pythons(process_env))
}

/// uv, unless it lies in the folder `spared`.
pub(super) fn find_uv(process_env: &ProcessEnv, spared: Option<&Path>) -> Option<PathBuf> {
    process_env.find_program("uv").filter(|uv| spared.is_none_or(|folder| !lies_in(folder, uv)))
}

/// The first Python that is new enough. What lies in the folder `spared` is not started.
pub(super) async fn find_python(process_env: &ProcessEnv, spared: Option<&Path>) -> Result<PathBuf, Error> {
    let is_spared = |path: &Path| spared.is_some_and(|folder| lies_in(folder, path));
    for path in candidates(process_env).filter(|path| !is_spared(path)) {
        match interpreter::query(&path, process_env).await {
            Some(reply) if reply.info.version >= OLDEST && !is_spared(&reply.info.executable) => {
                return Ok(reply.info.executable);
            }
            _ => {}
        }
    }
    Err(Error::new(
        ErrorKind::Unavailable,
        format!("There is no Python {}.{} or newer on PATH, and no uv.", OLDEST.0, OLDEST.1),
        "Install Python (python.org, or the system's package manager) or uv, then try again.",
    ))
}

/// A program that failed, with the end of its output.
struct Failure {
    program: String,
    output: String,
}

fn no_packages(failure: &Failure) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!("The packages for a kernel could not be installed ({}): {}", failure.program, failure.output),
        "Check the network and the package index (proxy, PIP_INDEX_URL, UV_INDEX_URL), then try again; or install \
         ipykernel in the project's own environment.",
    )
}

/// Whether a line of pip or uv reports progress.
fn is_progress(line: &str) -> bool {
    ["Downloading", "Installing", "Resolved", "Prepared", "Installed", "Building"]
        .iter()
        .any(|word| line.starts_with(word))
}

//! Starts a chosen kernel and waits until it answers.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use kernel::{Client, ConnectionInfo, KernelError};
use place::{Error, ErrorKind, KernelId};
use tokio::sync::Notify;

use super::connection_file::ConnectionFile;
use super::process::{Process, ProcessExit, ProcessSpec};
use environments::{KernelChoice, ProcessEnv, Variables, arguments, prepend_paths, variables};

/// How often a kernel is started because another program took one of its ports.
const MAX_ATTEMPTS: usize = 3;

/// How long a kernel that has printed that a port is taken may take until it answers all the same. `ipykernel` prints it and then
/// waits forever for its own sockets.
const PORT_GRACE: Duration = Duration::from_secs(3);

/// How many connection files one kernel may have.
const MAX_FILES: usize = 9;

/// All that is needed to start one kernel, as often as necessary.
#[derive(Debug)]
pub(crate) struct KernelLauncher {
    pub(crate) id: KernelId,
    pub(crate) choice: KernelChoice,
    /// The working directory.
    pub(crate) folder: PathBuf,
    /// The notebook's path, passed on in `JPY_SESSION_NAME`.
    pub(crate) notebook: Option<PathBuf>,
    pub(crate) process_env: Arc<ProcessEnv>,
    /// How long the kernel may take until it answers.
    pub(crate) start_timeout: Duration,
}

/// A process that answers, and what its user holds of the connection. The process is ended when this is dropped.
pub(crate) struct Started<C> {
    pub(crate) connection: C,
    pub(crate) process: Process,
    /// Removed after the process has ended.
    pub(super) connection_file: ConnectionFile,
}

/// Before anybody's code runs. Without it, runs work all the same.
pub(crate) async fn install_memory_handler(client: &Client) {
    if let Err(error) = client.install_memory_handler().await {
        tracing::debug!(%error, "the kernel's memory cannot be asked about yet");
    }
}

/// Connects to a kernel that was just started, and waits until it answers. The last argument completes with how its process ended.
pub(crate) type Open<C> = for<'a> fn(
    &'a ConnectionInfo,
    Duration,
    BoxFuture<'static, String>,
) -> BoxFuture<'a, Result<C, KernelError>>;

impl KernelLauncher {
    /// Starts a kernel that ends with this program; see [`KernelLauncher::start`].
    pub(crate) async fn start_own(&self) -> Result<Started<Client>, Error> {
        let open: Open<Client> = |info, timeout, exit| {
            async move {
                let client = transports::connect(info, timeout, true, exit).await?;
                install_memory_handler(&client).await;
                Ok(client)
            }
            .boxed()
        };
        self.start(open).await
    }

    /// Starts the kernel and waits until it answers. Dropping the future ends the process.
    pub(crate) async fn start<C: Send>(&self, open: Open<C>) -> Result<Started<C>, Error> {
        let mut attempt = 1;
        loop {
            let is_last = attempt == MAX_ATTEMPTS;
            match self.try_start(open, is_last).await {
                Err(StartError::Kernel { exit, .. }) if !is_last && is_port_taken(&exit.output) => {
                    attempt += 1;
                }
                other => return other.map_err(|failure| self.explain(failure)),
            }
        }
    }

    /// The last attempt is not given up before the timeout: something else in the kernel may have wanted that port.
    async fn try_start<C: Send>(&self, open: Open<C>, is_last: bool) -> Result<Started<C>, StartError> {
        let kernelspec = &self.choice.kernelspec;
        let is_ipykernel = kernelspec.argv.iter().any(|argument| argument.contains("ipykernel"));
        let connection_file = self.connection_file(is_ipykernel).map_err(StartError::ConnectionFile)?;
        let spec = ProcessSpec {
            program: self.choice.program.clone(),
            arguments: arguments(kernelspec, &self.choice.program, &connection_file.path),
            variables: self.variables(),
            folder: self.folder.clone(),
            #[cfg(unix)]
            cleanup_paths: connection_file.cleanup_paths(),
        };
        let port_taken = Arc::new(Notify::new());
        let printed = port_taken.clone();
        let on_line = move |line: &str| {
            tracing::trace!("kernel: {line}");
            if !is_last && is_port_taken(line) {
                printed.notify_one();
            }
        };
        let process = Process::start(&spec, on_line).map_err(StartError::Process)?;
        let exit = process.wait();
        let exit = async move { exit.await.to_string() }.boxed();
        let without_port = async {
            port_taken.notified().await;
            tokio::time::sleep(PORT_GRACE).await;
            KernelError::NotReady { waited: PORT_GRACE, cause: "a port is taken".to_owned() }
        };
        let opened = tokio::select! {
            opened = open(&connection_file.info, self.start_timeout, exit) => opened,
            error = without_port => Err(error),
        };
        match opened {
            Ok(connection) => Ok(Started { connection, process, connection_file }),
            Err(error) => {
                let exit = process.exit();
                process.stop().await;
                let has_exited = exit.is_some();
                let exit = if let Some(exit) = exit {
                    exit
                } else {
                    // A kernel can print why it ends, and hang before its end.
                    ProcessExit { status: error.to_string(), output: process.wait().await.output }
                };
                Err(StartError::Kernel { has_exited, exit })
            }
        }
    }

    /// A new connection file, named by the kernel's id. The one of a process before may exist for a moment, until the
    /// watchdog of a keeper that was killed removes it; another process must not take its place.
    fn connection_file(&self, is_ipykernel: bool) -> io::Result<ConnectionFile> {
        let create = |id: &str| {
            ConnectionFile::create(id, &self.choice.kernelspec.name, is_ipykernel, &self.process_env)
        };
        let mut file = create(&self.id);
        for number in 2..=MAX_FILES {
            match &file {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    file = create(&format!("{}-{number}", &*self.id));
                }
                _ => break,
            }
        }
        file
    }

    /// The environment of the kernel: that of this program, its Python environment as if activated, the variables of
    /// its kernelspec, and those that ipykernel reads.
    fn variables(&self) -> Variables {
        let mut all = self.process_env.variables.clone();
        // Set by some launchers on macOS; it misleads another Python. jupyter_client removes it, too.
        all.remove("PYTHONEXECUTABLE");
        if let Some(environment) = &self.choice.environment {
            let programs = environment.program_folders();
            let programs = programs.iter().map(PathBuf::as_path);
            all.insert("PATH".into(), prepend_paths(programs, self.process_env.get("PATH")));
            let (set, unset) = if environment.is_venv() {
                ("VIRTUAL_ENV", "CONDA_PREFIX")
            } else {
                ("CONDA_PREFIX", "VIRTUAL_ENV")
            };
            all.insert(set.into(), environment.prefix.clone().into());
            all.remove(unset);
        }
        all.extend(variables(&self.choice.kernelspec, &self.process_env));
        // ipykernel exits when this is no longer its parent. On Windows, where it wants a handle, whoever starts it sets that.
        #[cfg(unix)]
        all.insert("JPY_PARENT_PID".into(), std::process::id().to_string().into());
        if let Some(notebook) = &self.notebook {
            all.insert("JPY_SESSION_NAME".into(), notebook.clone().into());
        }
        all
    }

    fn explain(&self, failure: StartError) -> Error {
        let name = &self.choice.kernelspec.display_name;
        let program = self.choice.program.display();
        match failure {
            StartError::ConnectionFile(error) => Error::new(
                ErrorKind::KernelStart,
                format!("The connection file of the kernel cannot be created: {error}."),
                "Make Jupyter's runtime folder writable (`jupyter --runtime-dir`), or set JUPYTER_RUNTIME_DIR.",
            )
            .with_source(error),
            StartError::Process(error) => Error::new(
                ErrorKind::KernelStart,
                format!(
                    "The kernel {name:?} ({program}) cannot be started in {}: {error}.",
                    self.folder.display()
                ),
                "Check that this folder exists and processes can be started, or choose another kernel.",
            )
            .with_source(error),
            StartError::Kernel { has_exited, exit } => {
                let cause = if has_exited {
                    format!("The kernel {name:?} ({program}) exited before it was ready: {exit}")
                } else {
                    format!("The kernel {name:?} ({program}) is not usable: {exit}")
                };
                Error::new(ErrorKind::KernelStart, cause, hint(&exit.output, &self.choice.program))
            }
        }
    }
}

enum StartError {
    ConnectionFile(io::Error),
    Process(io::Error),
    /// It has exited or does not answer, and how.
    Kernel {
        has_exited: bool,
        exit: ProcessExit,
    },
}

/// Whether a kernel has ended because another program has one of its ports. There is no exit code for this: libzmq and the
/// kernels print the system's text for the error, which on Windows is in the language of the person, with its number.
fn is_port_taken(output: &str) -> bool {
    let output = output.to_lowercase();
    ["address already in use", "10048", "wsaeaddrinuse", "eaddrinuse"]
        .iter()
        .any(|text| output.contains(text))
}

fn hint(output: &str, program: &Path) -> String {
    let program = program.display();
    if output.contains("No module named") && output.contains("ipykernel") {
        return format!("Install it: `{program} -m pip install ipykernel`. Or choose another kernel.");
    }
    "Fix the error above, or choose another kernel.".to_owned()
}

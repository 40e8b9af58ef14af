//! From a chosen kernel to one that answers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kernel::{Client, KernelError};
use workspace::{Error, Side};

use super::connection::Connection;
use super::process::{Ended, Plan, Process};
use crate::Surroundings;
use crate::environment::Choice;
use crate::kernelspec::{arguments, variables};
use crate::surroundings::before;

/// How often a kernel is started anew because another program took one of its ports.
const ATTEMPTS: usize = 3;

/// How long a kernel has to end by itself when it is asked to.
const POLITE: Duration = Duration::from_secs(2);

/// A kernel that can be started as often as need be.
#[derive(Debug)]
pub(crate) struct Recipe {
    pub(crate) id: String,
    pub(crate) choice: Choice,
    /// Where it runs.
    pub(crate) folder: PathBuf,
    /// The notebook's path, for programs that want to know it.
    pub(crate) notebook: Option<PathBuf>,
    pub(crate) surroundings: Arc<Surroundings>,
    /// How long it has until it answers.
    pub(crate) patience: Duration,
}

/// A kernel that answers. Its process ends when this is dropped.
pub(crate) struct Running {
    pub(crate) client: Client,
    pub(crate) process: Process,
    _connection: Connection,
}

impl Running {
    /// Asks it to end, and ends it if it does not.
    pub(crate) async fn stop(&self, for_restart: bool) {
        let politely = async {
            if self.client.shutdown_message(for_restart).await.is_ok() {
                self.process.end().await;
            }
        };
        let _ = tokio::time::timeout(POLITE, politely).await;
        self.process.stop().await;
    }
}

impl Recipe {
    /// Starts it and waits until it answers. Dropping the future ends the process.
    pub(crate) async fn start(&self) -> Result<Running, Error> {
        let mut attempt = 1;
        loop {
            match self.try_start().await {
                Err(Failure::PortTaken(_)) if attempt < ATTEMPTS => attempt += 1,
                other => return other.map_err(|failure| self.explain(failure)),
            }
        }
    }

    async fn try_start(&self) -> Result<Running, Failure> {
        let spec = &self.choice.spec;
        let is_ipykernel = spec.argv.iter().any(|argument| argument.contains("ipykernel"));
        let connection = Connection::make(&self.id, &spec.name, is_ipykernel, &self.surroundings)
            .map_err(Failure::Connection)?;
        let plan = Plan {
            program: self.choice.program.clone(),
            arguments: arguments(spec, &self.choice.program, &connection.file),
            variables: self.variables(),
            folder: self.folder.clone(),
            litter: connection.litter(),
        };
        let process = Process::start(&plan).map_err(Failure::Process)?;
        let gone = process.end();
        let gone = async move { gone.await.to_string() };
        match kernel::connect(&connection.info, self.patience, true, gone).await {
            Ok(client) => Ok(Running { client, process, _connection: connection }),
            Err(error) => {
                let ended = process.ended();
                process.stop().await;
                Err(match ended {
                    Some(ended) if ended.said.to_lowercase().contains("address already in use") => {
                        Failure::PortTaken(ended)
                    }
                    Some(ended) => Failure::Ended(ended),
                    None => Failure::Silent(error, process.end().await.said),
                })
            }
        }
    }

    /// The environment of the kernel: ours, that of its Python environment as if it were activated, that of its
    /// kernelspec, and what ipykernel wants to know.
    fn variables(&self) -> BTreeMap<OsString, OsString> {
        let mut all = self.surroundings.variables.clone();
        // Set by some launchers on macOS; it misleads another Python. jupyter_client removes it, too.
        all.remove(&OsString::from("PYTHONEXECUTABLE"));
        if let Some(environment) = &self.choice.environment
            && let Some(programs) = environment.interpreter.parent()
        {
            all.insert("PATH".into(), before(programs, self.surroundings.get("PATH")));
            let (set, unset) = if environment.is_venv() {
                ("VIRTUAL_ENV", "CONDA_PREFIX")
            } else {
                ("CONDA_PREFIX", "VIRTUAL_ENV")
            };
            all.insert(set.into(), environment.prefix.clone().into());
            all.remove(&OsString::from(unset));
        }
        all.extend(variables(&self.choice.spec, &self.surroundings));
        // ipykernel looks whether this is still its parent, and ends when it is not.
        all.insert("JPY_PARENT_PID".into(), std::process::id().to_string().into());
        if let Some(notebook) = &self.notebook {
            all.insert("JPY_SESSION_NAME".into(), notebook.clone().into());
        }
        all
    }

    fn explain(&self, failure: Failure) -> Error {
        let name = &self.choice.spec.display_name;
        let program = self.choice.program.display();
        match failure {
            Failure::Connection(error) => Error::new(
                Side::Person,
                format!("the files for a connection to the kernel cannot be made: {error}."),
                "Make Jupyter's runtime folder writable (`jupyter --runtime-dir`), or set JUPYTER_RUNTIME_DIR.",
            ),
            Failure::Process(error) => Error::new(
                Side::Person,
                format!("the kernel {name:?} cannot be started in {}: {error}.", self.folder.display()),
                "Check that this folder exists and processes can be started, or choose another kernel with `kernel_name`.",
            ),
            Failure::PortTaken(ended) | Failure::Ended(ended) => Error::new(
                Side::Person,
                format!("the kernel {name:?} ({program}) ended before it was ready: {ended}"),
                hint(&ended.said, &self.choice.program),
            ),
            Failure::Silent(error, said) => Error::new(
                Side::Person,
                format!("the kernel {name:?} ({program}) is not usable: {error}{}", printed(&said)),
                hint(&said, &self.choice.program),
            ),
        }
    }
}

enum Failure {
    Connection(io::Error),
    Process(io::Error),
    PortTaken(Ended),
    Ended(Ended),
    Silent(KernelError, String),
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.how, printed(&self.said))
    }
}

fn printed(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(". It printed:\n{said}") }
}

fn hint(said: &str, program: &Path) -> String {
    let program = program.display();
    if said.contains("No module named") && said.contains("ipykernel") {
        return format!(
            "Install it: `{program} -m pip install ipykernel`. Or choose another kernel with `kernel_name`; list_kernels shows those that there are."
        );
    }
    "Mend what it says, or choose another kernel: list_kernels shows those that there are, use_notebook takes `kernel_name`."
        .to_owned()
}

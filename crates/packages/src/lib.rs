//! Packages in the environment of a kernel, on whichever machine it runs: their names, plans and installations.
//!
//! The kernel answers on its control channel (`kernel/memory/handler/packages.py`): it describes its environment, and starts the
//! programs that install. So no cell is needed, the notebook does not change, and it works wherever the kernel does.

mod environment;
mod installer;
mod modules;
mod plan;
mod requirement;
mod script_block;
mod settings;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use place::{Error, ErrorKind, Fault, Kernel, KernelState, NextStep, ask_memory, progress};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::OwnedMutexGuard;
use tokio::time::{Instant, sleep, timeout_at};

use installer::Command;
use plan::Versions;

pub use environment::Environment;
pub use installer::{Installer, RecordIn};
pub use modules::package_of;
pub use plan::{Building, PackageChange, Plan};
pub use requirement::{NoRequirement, Requirement};
pub use script_block::{ScriptEdit, record_in_notebook};

/// How long the kernel may take for one question.
const QUESTION_LIMIT: Duration = Duration::from_secs(10);
/// How long a plan may take: versions are looked up in an index.
const PLAN_TIMEOUT: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(150);
/// How much of what an installer printed an error shows, in characters.
const SHOWN_OUTPUT: usize = 1500;

/// Environments into which something is being installed.
#[derive(Default)]
pub struct InstallationTurns(Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<()>>>>);

/// As long as it is held, nothing else is installed into an environment by this program.
pub type InstallationTurn = OwnedMutexGuard<()>;

impl InstallationTurns {
    /// Waits until nothing else is being installed into the environment. Most installers have a lock of their own against other
    /// programs.
    pub async fn enter(&self, prefix: &str) -> InstallationTurn {
        let lock = self.0.lock().entry(prefix.to_owned()).or_default().clone();
        lock.lock_owned().await
    }
}

/// What is asked to be installed, and into what.
pub struct Installation {
    kernel: Arc<dyn Kernel>,
    pub environment: Environment,
    pub installer: Installer,
    pub packages: Vec<Requirement>,
    builds: bool,
    /// Packages installed before.
    before: Versions,
}

/// Whether a plan would first start the kernel, which runs code of its environment.
pub fn plan_starts(kernel: &dyn Kernel) -> bool {
    matches!(kernel.description().state, KernelState::NotStarted | KernelState::Dead { .. })
}

/// A distribution that is installed.
#[derive(Debug, Clone, Deserialize)]
pub struct Installed {
    pub version: String,
    /// Modules that can be imported.
    pub importable: Vec<String>,
    /// Modules that the kernel has loaded.
    pub loaded: Vec<String>,
}

impl Installation {
    /// Asks the kernel for its environment, and chooses what installs into it. The kernel must run, and not be busy.
    ///
    /// `builds`: packages may be built, which runs their code. `folder`: no program that lies there is started.
    pub async fn prepare(
        kernel: Arc<dyn Kernel>,
        folder: Option<&Path>,
        packages: Vec<Requirement>,
        record: RecordIn,
        builds: bool,
    ) -> Result<Self, Error> {
        if kernel.description().state == KernelState::Busy {
            return Err(Error::new(
                ErrorKind::Busy,
                "A cell is running, and its packages could change during the run.",
                NextStep::WaitForRun,
            ));
        }
        kernel.executor().await?;
        let question = json!({ "what": "environment", "folder": folder });
        let environment: Environment = ask(&*kernel, question).await?;
        let installer = Installer::of(&environment, record)?;
        if !builds && installer.builds_project(&environment) {
            return Err(installer::refused(
                "uv would build the project or its workspace for their metadata, which runs code of the folder.",
                "Pass build=true, so that the person is asked about that, or record=\"no\".",
            ));
        }
        let before = ask(&*kernel, json!({ "what": "versions" })).await?;
        Ok(Self { kernel, environment, installer, packages, builds, before })
    }

    /// What would change; nothing is installed, and nothing is built. Fails as the installer does, for example if there is no such
    /// package.
    pub async fn plan(&self) -> Result<Plan, Error> {
        let mut plan = self.plan_of_all().await?;
        plan.settings = settings::of(&self.installer, &self.environment);
        if let Some(command) = self.installer.settings(&self.environment) {
            plan.settings.extend(settings::of_pip(&self.run(&command, PLAN_TIMEOUT).await?));
        }
        if !plan.pins.is_empty()
            && let Some(command) = self.installer.hashes(&self.environment, &plan.pins)
            && let Ok(output) = self.run(&command, PLAN_TIMEOUT).await
        {
            plan::add_hashes(&mut plan.pins, &output);
        }
        Ok(plan)
    }

    async fn plan_of_all(&self) -> Result<Plan, Error> {
        let planned = self.plan_of(&self.packages, false).await;
        let Err(error) = planned else { return planned };
        if !self.builds || !self.installer.takes_wheels() || error.kind != ErrorKind::Unavailable {
            return Err(error);
        }
        let mut without_wheel = Vec::new();
        for package in &self.packages {
            let alone = std::slice::from_ref(package);
            match self.plan_of(alone, true).await {
                Ok(_) => {}
                Err(error) if error.kind == ErrorKind::Unavailable => {
                    without_wheel.push(package.name().to_owned());
                }
                Err(error) => return Err(error),
            }
        }
        let building = match &without_wheel[..] {
            [] => Building::Dependencies,
            _ => Building::Packages(without_wheel),
        };
        Ok(Plan { building, ..Plan::default() })
    }

    /// The plan for wheels of these packages; with `is_alone`, without what they need.
    async fn plan_of(&self, packages: &[Requirement], is_alone: bool) -> Result<Plan, Error> {
        let Some(command) = self.installer.plan(&self.environment, packages, is_alone) else {
            return Ok(Plan::default());
        };
        let output = self.run(&command, PLAN_TIMEOUT).await?;
        let plan = plan::read(&self.installer, &output, &self.before);
        // What nobody could read would not be what is installed.
        if plan.changes.is_some() { Ok(plan) } else { Err(self.failed(&output)) }
    }

    /// Installs what was planned, and reports what is printed as progress. Where the plan needs no building, nothing is built. Each
    /// program that is needed may take as long as `limit`. Returns what has changed.
    pub async fn install(&self, plan: &Plan, limit: Duration) -> Result<Vec<PackageChange>, Error> {
        let needs_pip = matches!(self.installer, Installer::Pip { needs_pip: true });
        // Without pip, there was no plan.
        let builds = self.builds && (needs_pip || plan.building != Building::Nothing);
        let folder = match &self.installer {
            Installer::UvProject { folder, .. } => Some(folder),
            _ => None,
        };
        if let Some(folder) = folder {
            ask::<Value>(&*self.kernel, json!({ "what": "keep", "folder": folder })).await?;
        }
        for command in self.installer.install(&self.environment, &self.packages, plan, builds) {
            if let Err(mut error) = self.run(&command, limit).await {
                if folder.is_some()
                    && let Err(cause) = ask::<Value>(&*self.kernel, json!({ "what": "restore" })).await
                {
                    error.cause += &format!(" pyproject.toml and uv.lock may have changed: {}", cause.cause);
                }
                return Err(error);
            }
        }
        let after = ask(&*self.kernel, json!({ "what": "versions" })).await?;
        Ok(plan::difference(&self.before, &after))
    }

    /// Those of the distributions that are installed.
    pub async fn installed(&self, names: &[String]) -> Result<BTreeMap<String, Installed>, Error> {
        if names.is_empty() {
            return Ok(BTreeMap::new());
        }
        ask(&*self.kernel, json!({ "what": "distributions", "names": names })).await
    }

    /// Runs a program beside the kernel. Returns what it printed. If the caller goes away, it is ended.
    async fn run(&self, command: &Command, limit: Duration) -> Result<String, Error> {
        #[derive(Deserialize)]
        struct Job {
            job: u64,
        }
        #[derive(Deserialize)]
        struct State {
            status: Option<i32>,
            output: String,
        }
        let Command { command, requirements } = command;
        let seconds = limit.as_secs_f64();
        let question =
            json!({ "what": "start", "command": command, "requirements": requirements, "seconds": seconds });
        let Job { job } = ask(&*self.kernel, question).await?;
        let mut running = RunningJob { kernel: Some(self.kernel.clone()), job };
        let deadline = Instant::now() + limit + QUESTION_LIMIT;
        loop {
            let state = ask::<State>(&*self.kernel, json!({ "what": "poll", "job": job }));
            let State { status, output } = match timeout_at(deadline, state).await {
                // A cell in native code keeps the kernel from answering, and not the program from running.
                Ok(Err(error)) if error.kind == ErrorKind::Timeout && Instant::now() < deadline => {
                    sleep(POLL_INTERVAL).await;
                    continue;
                }
                Ok(state) => state?,
                Err(_) => return Err(self.took_too_long(limit)),
            };
            match status {
                None => {
                    if let Some(line) = output.lines().rev().find(|line| !line.trim().is_empty()) {
                        progress::report(line.trim().to_owned());
                    }
                    sleep(POLL_INTERVAL).await;
                }
                Some(status) => {
                    running.kernel = None;
                    return match status {
                        0 => Ok(output),
                        _ if Instant::now() + QUESTION_LIMIT >= deadline => Err(self.took_too_long(limit)),
                        _ => Err(self.failed(&output)),
                    };
                }
            }
        }
    }

    fn failed(&self, output: &str) -> Error {
        let message = match self.installer {
            Installer::Conda { .. } => plan::message_of_conda(output),
            _ => None,
        };
        let output = message.as_deref().unwrap_or(output);
        let characters = output.trim().chars().count();
        let shown: String = output.trim().chars().skip(characters.saturating_sub(SHOWN_OUTPUT)).collect();
        let cut = if characters > SHOWN_OUTPUT { "…" } else { "" };
        let wheels = if self.builds || !self.installer.takes_wheels() {
            ""
        } else {
            " Only wheels were considered; if a package has none, the person can allow building it."
        };
        Error::new(
            ErrorKind::Unavailable,
            format!(
                "The installation with {} failed with this output:\n{cut}{shown}\n",
                self.installer.name()
            ),
            NextStep::Say(format!("Nothing more was done. Check the names and versions.{wheels}").into()),
        )
        .with_fault(Fault::Agent)
    }

    fn took_too_long(&self, limit: Duration) -> Error {
        Error::new(
            ErrorKind::Timeout,
            format!(
                "The installation with {} took more than {} s and was stopped.",
                self.installer.name(),
                limit.as_secs()
            ),
            NextStep::TryAgain,
        )
    }
}

/// A program that runs beside a kernel, and is ended if nobody waits for it.
struct RunningJob {
    /// `None` once it is over.
    kernel: Option<Arc<dyn Kernel>>,
    job: u64,
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        let (Some(kernel), job) = (self.kernel.take(), self.job) else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // Ends with the answer, or the time limit of the question.
            runtime.spawn(async move {
                let _ = ask::<Value>(&*kernel, json!({ "what": "end", "job": job })).await;
            });
        }
    }
}

async fn ask<A: DeserializeOwned>(kernel: &dyn Kernel, question: Value) -> Result<A, Error> {
    let language = kernel.description().language;
    let answer =
        ask_memory(kernel, &json!({ "packages": question }), QUESTION_LIMIT).await.map_err(|mut error| {
            if error.kind == ErrorKind::Unsupported {
                error.cause = format!(
                    "Packages can be installed only for IPython kernels; this one is for {language}."
                );
                error.next = "Run the installation command of its language in a cell.".into();
            }
            error
        })?;
    answer.decode().map_err(|error| {
        Error::new(
            ErrorKind::RemoteFailure,
            format!("The kernel's answer cannot be read: {error}."),
            NextStep::TryAgain,
        )
        .with_source(error)
    })
}

#[cfg(test)]
mod tests;

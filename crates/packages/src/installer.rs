//! What installs packages into an environment, and by which commands.

use place::{Error, ErrorKind, Fault};

use crate::environment::Environment;
use crate::plan::Plan;
use crate::requirement::Requirement;
use crate::settings;

/// The word of a command that stands for the file with its requirements.
const FILE: &str = "{requirements}";

/// Where packages are recorded, besides being installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordIn {
    /// Where the project of the environment and the notebook record them already.
    Auto,
    /// In the files of the project.
    Project,
    /// In the notebook, as inline script metadata (PEP 723).
    Notebook,
    /// Nowhere.
    No,
}

/// The program that installs, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installer {
    Uv {
        uv: String,
    },
    /// `needs_pip`: pip is installed first.
    Pip {
        needs_pip: bool,
    },
    /// The environment of a uv project: the project's files change, too.
    UvProject {
        uv: String,
        folder: String,
    },
    Conda {
        conda: String,
        channels: Vec<String>,
    },
    Pixi {
        pixi: String,
        folder: String,
    },
}

/// A program with its arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) command: Vec<String>,
    /// The content of the file with requirements, if the arguments name it.
    pub(crate) requirements: Option<String>,
}

impl Installer {
    /// What installs into this environment.
    ///
    /// | environment | installer |
    /// |---|---|
    /// | of pixi | `pixi add` in its project |
    /// | of conda | the conda, mamba or micromamba that is there, from the channels of its packages |
    /// | `.venv` of a uv project | `uv add`, or `uv pip` if nothing must be recorded |
    /// | another | `uv pip`, else pip |
    pub fn of(environment: &Environment, record: RecordIn) -> Result<Self, Error> {
        let Environment { uv, conda, pixi, uv_project, pixi_project, channels, .. } = environment;
        if let Some(folder) = pixi_project {
            return of_pixi(environment, pixi.as_ref(), folder, record);
        }
        if record == RecordIn::Project && uv_project.is_none() {
            return Err(refused(
                &format!("{} belongs to no project that records packages.", environment.prefix),
                "Omit record, and report the installed packages to the person.",
            ));
        }
        if environment.is_conda {
            let conda = conda.clone().ok_or_else(|| {
                missing(
                    "The kernel runs in a conda environment, but conda, mamba and micromamba were not found outside the served folder.",
                )
            })?;
            return Ok(Self::Conda { conda, channels: channels.clone() });
        }
        if environment.is_externally_managed {
            return Err(refused(
                &format!("The system's package manager owns the Python of {}.", environment.prefix),
                "Create an environment for the project (`python -m venv .venv` in its folder, with ipykernel in it), \
                 or choose the kernel cellbridge-python.",
            ));
        }
        if !environment.is_writable {
            return Err(refused(
                &format!("{} is not writable by this user.", environment.prefix),
                "Choose a kernel with an environment of this user.",
            ));
        }
        match (uv, uv_project) {
            (Some(uv), Some(folder)) if matches!(record, RecordIn::Auto | RecordIn::Project) => {
                Ok(Self::UvProject { uv: uv.clone(), folder: folder.clone() })
            }
            (Some(uv), _) => Ok(Self::Uv { uv: uv.clone() }),
            (None, Some(_)) if record == RecordIn::Project => {
                Err(missing("This is a uv project, but uv was not found outside the served folder."))
            }
            (None, _) if environment.has_pip || environment.has_ensurepip => {
                Ok(Self::Pip { needs_pip: !environment.has_pip })
            }
            (None, _) => Err(missing(
                "The kernel's environment has no pip, and uv was not found outside the served folder.",
            )),
        }
    }

    /// Whether it builds the project in which it records packages, which runs code of the project's folder.
    pub fn builds_project(&self, environment: &Environment) -> bool {
        matches!(self, Self::UvProject { .. }) && settings::builds_project(environment)
    }

    /// How people call it.
    pub fn name(&self) -> &str {
        match self {
            Self::Uv { .. } => "uv pip",
            Self::Pip { .. } => "pip",
            Self::UvProject { .. } => "uv add",
            Self::Conda { conda, .. } => conda.rsplit(['/', '\\']).next().unwrap_or("conda"),
            Self::Pixi { .. } => "pixi add",
        }
    }

    /// Whether it installs wheels, which run no code during installation unless they must be built.
    pub fn takes_wheels(&self) -> bool {
        matches!(self, Self::Uv { .. } | Self::Pip { .. } | Self::UvProject { .. })
    }

    /// The files that it changes, besides the environment.
    pub fn records(&self) -> Option<String> {
        match self {
            Self::UvProject { folder, .. } => Some(format!("pyproject.toml and uv.lock in {folder}")),
            Self::Pixi { folder, .. } => Some(format!("the pixi manifest and pixi.lock in {folder}")),
            Self::Uv { .. } | Self::Pip { .. } | Self::Conda { .. } => None,
        }
    }

    /// The command that says what would be installed; it installs nothing and builds nothing. With `is_alone`, it looks for no
    /// dependencies, where the installer can do so. `None`: it cannot say.
    pub(crate) fn plan(
        &self,
        environment: &Environment,
        packages: &[Requirement],
        is_alone: bool,
    ) -> Option<Command> {
        let options: &[&str] = if is_alone { &["--dry-run", "--no-deps"] } else { &["--dry-run"] };
        let command = match self {
            Self::Uv { uv } | Self::UvProject { uv, .. } => uv_pip(uv, environment, "install", false),
            Self::Pip { needs_pip: false } => {
                [pip(environment, false), words(&["--quiet", "--report", "{report}"])].concat()
            }
            Self::Conda { conda, channels } => {
                [conda_install(conda, channels, environment), words(&["--json"])].concat()
            }
            Self::Pip { needs_pip: true } | Self::Pixi { .. } => return None,
        };
        Some(Command::of([command, words(options), texts(packages)].concat()))
    }

    /// The command that prints pins with their hashes. `None`: the plan has them, or there are none.
    pub(crate) fn hashes(&self, environment: &Environment, pins: &[String]) -> Option<Command> {
        let (Self::Uv { uv } | Self::UvProject { uv, .. }) = self else { return None };
        let options = ["--quiet", "--no-header", "--no-annotate", "--no-deps", "--generate-hashes", FILE];
        let command = [uv_pip(uv, environment, "compile", false), words(&options)].concat();
        Some(Command { command, requirements: Some(pins.join("\n")) })
    }

    /// The command that lists the settings in force. `None`: the environment has them.
    pub(crate) fn settings(&self, environment: &Environment) -> Option<Command> {
        let command = words(&[&environment.python, "-I", "-m", "pip", "config", "list"]);
        matches!(self, Self::Pip { needs_pip: false }).then(|| Command::of(command))
    }

    /// The commands that install, in their order: exactly what was planned, as far as there is a plan.
    pub(crate) fn install(
        &self,
        environment: &Environment,
        packages: &[Requirement],
        plan: &Plan,
        builds: bool,
    ) -> Vec<Command> {
        let pins = &plan.pins;
        let planned = |command: Vec<String>| {
            if pins.is_empty() {
                return Command::of([command, texts(packages)].concat());
            }
            let command = [command, words(&["--no-deps", "--requirement", FILE])].concat();
            Command { command, requirements: Some(pins.join("\n")) }
        };
        match self {
            Self::Uv { uv } => vec![planned(uv_pip(uv, environment, "install", builds))],
            Self::Pip { needs_pip } => {
                let ensure = words(&[&environment.python, "-I", "-m", "ensurepip", "--default-pip"]);
                let ensure = needs_pip.then(|| Command::of(ensure));
                ensure.into_iter().chain([planned(pip(environment, builds))]).collect()
            }
            // `uv sync` would also install and remove what was not planned.
            Self::UvProject { uv, folder } => {
                let no_build: &[&str] = if builds { &[] } else { &["--no-build"] };
                let add = words(&[&[uv, "add", "--project", folder, "--no-sync"], no_build].concat());
                let versions = pins.iter().filter_map(|pin| pin.split(' ').next());
                let versions = versions.collect::<Vec<_>>().join("\n");
                let constraints: &[&str] = if pins.is_empty() { &[] } else { &["--constraints", FILE] };
                let add = Command {
                    command: [add, words(constraints), texts(packages)].concat(),
                    requirements: Some(versions),
                };
                vec![add, planned(uv_pip(uv, environment, "install", builds))]
            }
            Self::Conda { conda, channels } => {
                // Only a solver knows whether a removed package leaves the others usable.
                let removes = plan.changes.iter().flatten().any(|change| change.new.is_none());
                let options: &[&str] =
                    if pins.is_empty() || removes { &["--yes"] } else { &["--yes", "--no-deps"] };
                let names = if pins.is_empty() { texts(packages) } else { pins.clone() };
                let command = [conda_install(conda, channels, environment), words(options), names].concat();
                vec![Command::of(command)]
            }
            Self::Pixi { pixi, folder } => {
                let add = words(&[pixi, "add", "--manifest-path", folder]);
                vec![Command::of([add, texts(packages)].concat())]
            }
        }
    }
}

impl Command {
    fn of(command: Vec<String>) -> Self {
        Self { command, requirements: None }
    }
}

fn of_pixi(
    environment: &Environment,
    pixi: Option<&String>,
    folder: &str,
    record: RecordIn,
) -> Result<Installer, Error> {
    if matches!(record, RecordIn::No | RecordIn::Notebook) {
        return Err(refused(
            "A pixi environment contains the packages of its project, so packages are always recorded there.",
            "Omit record.",
        ));
    }
    if let Some(name) = environment.pixi_environment.as_ref().filter(|name| *name != "default") {
        return Err(refused(
            &format!(
                "The kernel's environment is {name:?} of the pixi project {folder}, and its feature is unknown."
            ),
            "Ask the person to add the packages to the feature that they want.",
        ));
    }
    let pixi = pixi.cloned().ok_or_else(|| {
        missing("The kernel runs in a pixi environment, but pixi was not found outside the served folder.")
    })?;
    Ok(Installer::Pixi { pixi, folder: folder.to_owned() })
}

/// Of its settings, uv gets the person's own, and the indexes of the project.
fn uv_pip(uv: &str, environment: &Environment, verb: &str, builds: bool) -> Vec<String> {
    let config: &[&str] = match &environment.uv_config {
        Some(path) => &[uv, "--config-file", path],
        None => &[uv, "--no-config"],
    };
    let start = ["pip", verb, "--python", &environment.python];
    let indexes = settings::index_options(environment);
    [words(config), words(&start), indexes, words(wheels_unless(builds))].concat()
}

fn pip(environment: &Environment, builds: bool) -> Vec<String> {
    let start = [&*environment.python, "-I", "-m", "pip", "install", "--no-input"];
    let plain = ["--disable-pip-version-check", "--progress-bar", "off"];
    [words(&start), words(&plain), words(wheels_unless(builds))].concat()
}

fn wheels_unless(builds: bool) -> &'static [&'static str] {
    if builds { &[] } else { &["--only-binary", ":all:"] }
}

fn conda_install(conda: &str, channels: &[String], environment: &Environment) -> Vec<String> {
    let mut command = words(&[conda, "install", "--prefix", &environment.prefix]);
    // Others could come from settings beside the environment.
    command.extend((!channels.is_empty()).then(|| "--override-channels".to_owned()));
    for channel in channels {
        command.extend(words(&["--channel", channel]));
    }
    command
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn texts(packages: &[Requirement]) -> Vec<String> {
    packages.iter().map(Requirement::to_string).collect()
}

pub(crate) fn refused(cause: &str, next: &'static str) -> Error {
    Error::new(ErrorKind::Unsupported, cause.to_owned(), next).with_fault(Fault::Person)
}

fn missing(cause: &str) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        cause.to_owned(),
        "Ask the person to install the packages, or that program.",
    )
}

#[cfg(test)]
mod tests;

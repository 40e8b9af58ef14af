//! What installs packages into an environment, and by which commands.

use place::{Error, ErrorKind, Fault};

use crate::environment::Environment;
use crate::requirement::Requirement;

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
pub(crate) type Command = Vec<String>;

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
                    "The kernel runs in a conda environment, but conda, mamba and micromamba were not found.",
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
                Err(missing("This is a uv project, but uv was not found."))
            }
            (None, _) if environment.has_pip || environment.has_ensurepip => {
                Ok(Self::Pip { needs_pip: !environment.has_pip })
            }
            (None, _) => Err(missing("The kernel's environment has no pip, and uv was not found.")),
        }
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
        match self {
            Self::Uv { uv } | Self::UvProject { uv, .. } => {
                Some(uv_pip(uv, environment, packages, false, options))
            }
            Self::Pip { needs_pip: false } => Some(pip(environment, packages, false, options)),
            Self::Conda { conda, channels } => {
                Some(conda_install(conda, channels, environment, packages, &["--dry-run", "--json"]))
            }
            Self::Pip { needs_pip: true } | Self::Pixi { .. } => None,
        }
    }

    /// The commands that install, in their order.
    pub(crate) fn install(
        &self,
        environment: &Environment,
        packages: &[Requirement],
        builds: bool,
    ) -> Vec<Command> {
        match self {
            Self::Uv { uv } => vec![uv_pip(uv, environment, packages, builds, &[])],
            Self::Pip { needs_pip } => {
                let ensure = words(&[&environment.python, "-m", "ensurepip", "--default-pip"]);
                let install = pip(environment, packages, builds, &[]);
                if *needs_pip { vec![ensure, install] } else { vec![install] }
            }
            Self::UvProject { uv, folder } => {
                let no_build: &[&str] = if builds { &[] } else { &["--no-build"] };
                let add = [&[uv.as_str(), "add", "--project", folder, "--no-sync"], no_build].concat();
                // Without --inexact, what the project does not name would be removed, the kernel's own package first. The project
                // itself stays as it is: to install it would mean to build it.
                let sync = [uv.as_str(), "sync", "--project", folder, "--inexact", "--no-install-workspace"];
                let sync = [&sync[..], no_build].concat();
                vec![with_packages(words(&add), packages), words(&sync)]
            }
            Self::Conda { conda, channels } => {
                vec![conda_install(conda, channels, environment, packages, &["--yes"])]
            }
            Self::Pixi { pixi, folder } => {
                vec![with_packages(words(&[pixi, "add", "--manifest-path", folder]), packages)]
            }
        }
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
    let pixi = pixi
        .cloned()
        .ok_or_else(|| missing("The kernel runs in a pixi environment, but pixi was not found."))?;
    Ok(Installer::Pixi { pixi, folder: folder.to_owned() })
}

fn uv_pip(
    uv: &str,
    environment: &Environment,
    packages: &[Requirement],
    builds: bool,
    more: &[&str],
) -> Command {
    let wheels: &[&str] = if builds { &[] } else { &["--only-binary", ":all:"] };
    let start = ["pip", "install", "--python", &environment.python];
    with_packages(words(&[&[uv], &start[..], wheels, more].concat()), packages)
}

fn pip(environment: &Environment, packages: &[Requirement], builds: bool, more: &[&str]) -> Command {
    let wheels: &[&str] = if builds { &[] } else { &["--only-binary", ":all:"] };
    let start =
        ["-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"];
    with_packages(words(&[&[&*environment.python], &start[..], wheels, more].concat()), packages)
}

fn conda_install(
    conda: &str,
    channels: &[String],
    environment: &Environment,
    packages: &[Requirement],
    more: &[&str],
) -> Command {
    let mut command = words(&[conda, "install", "--prefix", &environment.prefix]);
    for channel in channels {
        command.extend(words(&["--channel", channel]));
    }
    command.extend(words(more));
    with_packages(command, packages)
}

fn words(words: &[&str]) -> Command {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn with_packages(mut command: Command, packages: &[Requirement]) -> Command {
    command.extend(packages.iter().map(Requirement::to_string));
    command
}

fn refused(cause: &str, next: &'static str) -> Error {
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
mod tests {
    use super::*;

    fn packages() -> Vec<Requirement> {
        ["six", "pandas[excel]>=2"].map(|text| text.parse().unwrap()).to_vec()
    }

    fn venv() -> Environment {
        Environment {
            python: "/e/bin/python".to_owned(),
            prefix: "/e".to_owned(),
            is_writable: true,
            ..Environment::default()
        }
    }

    /// The commands of the plan and of the installation, a line each.
    fn commands(environment: &Environment, record: RecordIn) -> Vec<String> {
        let installer = Installer::of(environment, record).unwrap();
        let plan = installer.plan(environment, &packages(), false);
        let install = installer.install(environment, &packages(), false);
        plan.into_iter().chain(install).map(|command| command.join(" ")).collect()
    }

    #[test]
    fn an_environment_without_a_project_takes_uv_and_then_pip() {
        let with_uv = Environment { uv: Some("/b/uv".to_owned()), has_pip: true, ..venv() };
        assert_eq!(
            commands(&with_uv, RecordIn::Auto),
            [
                "/b/uv pip install --python /e/bin/python --only-binary :all: --dry-run six pandas[excel]>=2",
                "/b/uv pip install --python /e/bin/python --only-binary :all: six pandas[excel]>=2",
            ]
        );
        let pip = "/e/bin/python -m pip install --no-input --disable-pip-version-check --progress-bar off --only-binary :all:";
        assert_eq!(
            commands(&Environment { has_pip: true, ..venv() }, RecordIn::No),
            [format!("{pip} --dry-run six pandas[excel]>=2"), format!("{pip} six pandas[excel]>=2")]
        );
        assert_eq!(
            commands(&Environment { has_ensurepip: true, ..venv() }, RecordIn::Auto),
            ["/e/bin/python -m ensurepip --default-pip".to_owned(), format!("{pip} six pandas[excel]>=2")]
        );
    }

    #[test]
    fn no_plan_builds_anything() {
        let with_uv = Environment { uv: Some("uv".to_owned()), ..venv() };
        let with_pip = Environment { has_pip: true, ..venv() };
        for environment in [with_uv, with_pip] {
            let installer = Installer::of(&environment, RecordIn::No).unwrap();
            for is_alone in [false, true] {
                let plan = installer.plan(&environment, &packages(), is_alone).unwrap().join(" ");
                assert!(plan.contains("--only-binary :all:") && plan.contains("--dry-run"), "{plan}");
                assert_eq!(plan.contains("--no-deps"), is_alone);
            }
            let installs = |builds| installer.install(&environment, &packages(), builds).concat().join(" ");
            assert!(!installs(true).contains("--only-binary") && installs(false).contains("--only-binary"));
        }
    }

    #[test]
    fn a_project_of_uv_records_and_keeps_what_it_does_not_name() {
        let project = Environment {
            uv: Some("uv".to_owned()),
            uv_project: Some("/p".to_owned()),
            has_pip: true,
            ..venv()
        };
        assert_eq!(
            commands(&project, RecordIn::Auto)[1..],
            [
                "uv add --project /p --no-sync --no-build six pandas[excel]>=2",
                "uv sync --project /p --inexact --no-install-workspace --no-build",
            ]
        );
        assert_eq!(Installer::of(&project, RecordIn::No).unwrap(), Installer::Uv { uv: "uv".to_owned() });
        let without_uv = Environment { uv: None, ..project };
        assert_eq!(Installer::of(&without_uv, RecordIn::Auto).unwrap(), Installer::Pip { needs_pip: false });
        assert_eq!(Installer::of(&without_uv, RecordIn::Project).unwrap_err().kind, ErrorKind::Unavailable);
    }

    #[test]
    fn conda_installs_from_the_channels_of_the_environment() {
        let conda = Environment {
            is_conda: true,
            conda: Some("/m/bin/micromamba".to_owned()),
            channels: vec!["https://c/conda-forge".to_owned()],
            has_pip: true,
            ..venv()
        };
        assert_eq!(
            commands(&conda, RecordIn::Auto)[1],
            "/m/bin/micromamba install --prefix /e --channel https://c/conda-forge --yes six pandas[excel]>=2"
        );
        assert_eq!(Installer::of(&conda, RecordIn::Auto).unwrap().name(), "micromamba");
        assert!(Installer::of(&Environment { conda: None, ..conda }, RecordIn::Auto).is_err());
    }

    #[test]
    fn pixi_adds_to_its_project() {
        let pixi = Environment {
            is_conda: true,
            pixi: Some("pixi".to_owned()),
            pixi_project: Some("/p".to_owned()),
            pixi_environment: Some("default".to_owned()),
            ..venv()
        };
        assert_eq!(commands(&pixi, RecordIn::Auto), ["pixi add --manifest-path /p six pandas[excel]>=2"]);
        assert!(Installer::of(&pixi, RecordIn::No).is_err());
        assert!(
            Installer::of(&Environment { pixi_environment: Some("test".to_owned()), ..pixi }, RecordIn::Auto)
                .is_err()
        );
    }

    #[test]
    fn what_nobody_may_change_is_refused_with_a_next_step() {
        for environment in [
            Environment { is_externally_managed: true, has_pip: true, ..venv() },
            Environment { is_writable: false, has_pip: true, ..venv() },
            venv(),
        ] {
            let error = Installer::of(&environment, RecordIn::Auto).unwrap_err();
            assert_eq!(error.fault, Fault::Person, "{error}");
        }
        assert!(Installer::of(&Environment { has_pip: true, ..venv() }, RecordIn::Project).is_err());
    }
}

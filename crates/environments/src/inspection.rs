//! What a person wants to know about the kernels of a folder: which were found, which one is next, and why another is not
//! used.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::install::{OLDEST, candidates};
use super::kernelspec_choice::KernelspecChooser;
use super::project::{ACTIVATED, prefixes};
use super::venv::{Defect, Environment};
use crate::ProcessEnv;
use crate::kernelspec::{self, InstalledKernelspec, program};
use crate::python::Packages;

/// Looks at the kernels that notebooks of one folder can get. Changes nothing, makes no environment, and starts nothing that lies in
/// the folder.
pub struct KernelInspection {
    root: PathBuf,
    process_env: Arc<ProcessEnv>,
    chooser: KernelspecChooser,
    query_timeout: Duration,
}

/// An installed kernelspec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundKernelspec {
    pub name: String,
    /// The folder of its `kernel.json`.
    pub folder: PathBuf,
    /// The program that it runs, or why it cannot be started.
    pub program: Result<PathBuf, BrokenKernelspec>,
}

/// Why a kernelspec cannot be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BrokenKernelspec {
    /// Its program, as it names it, does not exist.
    NoProgram(String),
    /// It needs ipykernel, which this Python lacks.
    NoKernel(PathBuf),
}

/// A Python environment of the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundEnvironment {
    pub prefix: PathBuf,
    pub state: EnvironmentState,
}

/// What a variable names as the activated environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivatedEnvironment {
    pub variable: &'static str,
    pub prefix: PathBuf,
    /// `None` if it is not an environment.
    pub state: Option<EnvironmentState>,
}

/// Whether notebooks can run in an environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvironmentState {
    /// With this interpreter.
    Ready(PathBuf),
    /// ipykernel is not installed.
    NoKernel {
        interpreter: PathBuf,
        has_pip: bool,
    },
    Defective(Defect),
}

/// The environment that this program makes if there is no kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManagedState {
    Ready(PathBuf),
    /// It was not completed; the next attempt replaces it.
    Unfinished(PathBuf),
    NotMade(PathBuf),
    /// There is no home folder to make it in.
    NoFolder,
}

/// What a new Python notebook gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextKernel {
    /// This interpreter, of a kernelspec with this name.
    Existing { name: String, program: PathBuf },
    /// An environment that is made with this program first.
    Made { with: PathBuf },
    /// There is none, and nothing to make one with.
    None,
}

impl KernelInspection {
    /// `query_timeout` is how long each Python may take to reply.
    pub fn new(root: PathBuf, process_env: ProcessEnv, query_timeout: Duration) -> Self {
        let process_env = Arc::new(process_env);
        let chooser =
            KernelspecChooser::new(root.clone(), process_env.clone()).with_query_timeout(query_timeout);
        Self { root, process_env, chooser, query_timeout }
    }

    /// The installed kernelspecs, and why others cannot be read.
    pub async fn kernelspecs(&self) -> (Vec<FoundKernelspec>, Vec<String>) {
        let prefixes: Vec<PathBuf> =
            self.chooser.project(&self.root).into_iter().map(|environment| environment.prefix).collect();
        let folders = kernelspec::data_folders(&self.process_env, &prefixes);
        let read = tokio::task::spawn_blocking(move || kernelspec::read_all(&folders)).await;
        let (specs, unreadable) = read.unwrap_or_default();
        let mut found = Vec::new();
        for spec in specs {
            let program = self.program(&spec).await;
            found.push(FoundKernelspec { name: spec.name, folder: spec.resources, program });
        }
        (found, unreadable)
    }

    async fn program(&self, spec: &InstalledKernelspec) -> Result<PathBuf, BrokenKernelspec> {
        let Some(program) = program(spec, &self.process_env) else {
            return Err(BrokenKernelspec::NoProgram(spec.argv.first().cloned().unwrap_or_default()));
        };
        let lacks_kernel = match environment_of(&program) {
            Some(environment) => spec.needs_ipykernel() && !environment.runs_kernel(&self.process_env),
            None => self.chooser.lacks_kernel(spec).await,
        };
        if lacks_kernel { Err(BrokenKernelspec::NoKernel(program)) } else { Ok(program) }
    }

    /// The environments in the folder, the preferred one first.
    pub fn environments(&self) -> Vec<FoundEnvironment> {
        let found = prefixes(&self.root, &self.root, &self.process_env);
        found.filter_map(|prefix| Some(FoundEnvironment { state: self.state(&prefix)?, prefix })).collect()
    }

    /// The environments that variables name.
    pub fn activated(&self) -> Vec<ActivatedEnvironment> {
        let named =
            ACTIVATED.into_iter().filter_map(|variable| Some((variable, self.process_env.path(variable)?)));
        let found = named.map(|(variable, prefix)| ActivatedEnvironment {
            variable,
            state: self.state(&prefix),
            prefix,
        });
        found.collect()
    }

    /// The environment whose Python comes first on `PATH`, as after its activation.
    pub fn on_path(&self) -> Option<FoundEnvironment> {
        let python =
            ["python", "python3"].into_iter().find_map(|name| self.process_env.find_program(name))?;
        let prefix = Environment::of(&python)?.prefix;
        let state = self.state(&prefix)?;
        Some(FoundEnvironment { prefix, state })
    }

    /// The folders with the packages of a notebook's kernel, whose kernelspec has this name, those of the most likely environment first.
    /// Reads files only.
    pub fn package_folders(&self, kernelspec: Option<&str>) -> Vec<PathBuf> {
        let mut prefixes: Vec<PathBuf> = self.environments().into_iter().map(|it| it.prefix).collect();
        prefixes.extend(self.activated().into_iter().map(|it| it.prefix));
        prefixes.extend(self.on_path().map(|it| it.prefix));
        let specs = kernelspec::list(&kernelspec::data_folders(&self.process_env, &prefixes));
        let spec =
            specs.iter().find(|spec| kernelspec.is_some_and(|name| spec.name.eq_ignore_ascii_case(name)));
        let program = spec.and_then(|spec| spec.argv.first()).map(Path::new);
        let of_spec = program.filter(|program| program.is_absolute()).and_then(|it| it.parent()?.parent());
        let all = of_spec.map(Path::to_path_buf).into_iter().chain(prefixes);
        all.flat_map(|prefix| Packages::below(&prefix, None).0).collect()
    }

    fn state(&self, prefix: &Path) -> Option<EnvironmentState> {
        let Some(environment) = Environment::at(prefix) else {
            return Defect::of(prefix).map(EnvironmentState::Defective);
        };
        let has_pip = environment.has_pip();
        Some(if environment.runs_kernel(&self.process_env) {
            EnvironmentState::Ready(environment.interpreter)
        } else {
            EnvironmentState::NoKernel { interpreter: environment.interpreter, has_pip }
        })
    }

    pub fn managed(&self) -> ManagedState {
        let managed = &self.chooser.managed;
        match (managed.made(), managed.folder()) {
            (Some(environment), _) => ManagedState::Ready(environment.interpreter),
            (None, Some(folder)) if folder.exists() => ManagedState::Unfinished(folder.to_path_buf()),
            (None, Some(folder)) => ManagedState::NotMade(folder.to_path_buf()),
            (None, None) => ManagedState::NoFolder,
        }
    }

    /// What a new Python notebook in the folder gets.
    pub async fn next(&self) -> NextKernel {
        if let Some(choice) = self.chooser.existing_python(&self.root).await {
            return NextKernel::Existing { name: choice.kernelspec.name, program: choice.program };
        }
        match self.managed() {
            ManagedState::Ready(program) => {
                NextKernel::Existing { name: super::kernelspec_choice::MANAGED.to_owned(), program }
            }
            ManagedState::NoFolder => NextKernel::None,
            ManagedState::NotMade(_) | ManagedState::Unfinished(_) => {
                self.maker().await.map_or(NextKernel::None, |with| NextKernel::Made { with })
            }
        }
    }

    /// The program that can make an environment. One that lies in the folder is started by the first run only.
    async fn maker(&self) -> Option<PathBuf> {
        if let Some(uv) = self.process_env.find_program("uv") {
            return Some(uv);
        }
        let look = async {
            for python in candidates(&self.process_env) {
                let info = self.chooser.interpreters.info(&python).await;
                if let Some(info) = info.filter(|info| info.version >= OLDEST) {
                    return Some(info.executable);
                }
            }
            None
        };
        tokio::time::timeout(self.query_timeout, look).await.ok()?
    }
}

/// The environment whose interpreter this is.
fn environment_of(program: &Path) -> Option<Environment> {
    let is_python = program.file_name()?.to_str()?.starts_with("python");
    is_python.then(|| Environment::of(program)).flatten()
}

#[cfg(test)]
mod tests;

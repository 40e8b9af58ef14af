//! Which kernel a notebook gets.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use notebook::Kernelspec;
use tokio::sync::mpsc;
use workspace::{Error, KernelspecInfo, Side};

use super::interpreter::{InterpreterInfo, Interpreters};
use super::managed::Managed;
use super::project::environments;
use super::python::Environment;
use crate::Surroundings;
use crate::kernelspec::{self, InterruptMode, Spec, is_bare_python, program};

/// The name under which the environment of our own is asked for.
pub(crate) const MANAGED: &str = "cellbridge-python";

/// The name that nearly every notebook of Python has, wherever it was made.
const GENERIC: &str = "python3";

/// What is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Wish<'a> {
    /// The notebook's folder.
    pub(crate) folder: &'a Path,
    /// A kernelspec asked for by name.
    pub(crate) name: Option<&'a str>,
    /// What the notebook says.
    pub(crate) preferred: Option<&'a Kernelspec>,
    pub(crate) progress: Option<&'a mpsc::Sender<String>>,
}

/// A kernel that can be started.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) spec: Spec,
    /// What it runs.
    pub(crate) program: PathBuf,
    /// The environment in which it runs, where one was chosen.
    pub(crate) environment: Option<Environment>,
}

/// Chooses kernels below one root folder.
pub(crate) struct Chooser {
    root: PathBuf,
    surroundings: Arc<Surroundings>,
    managed: Managed,
    interpreters: Interpreters,
}

impl Chooser {
    pub(crate) fn new(root: PathBuf, surroundings: Arc<Surroundings>) -> Self {
        let managed = Managed::new(surroundings.clone());
        let interpreters = Interpreters::new(surroundings.clone());
        Self { root, surroundings, managed, interpreters }
    }

    /// Ends what it has under way.
    pub(crate) fn stop(&self) {
        self.managed.stop();
    }

    /// The kernels that could be started for a notebook in `folder`.
    pub(crate) async fn list(&self, folder: &Path) -> Vec<KernelspecInfo> {
        let project = self.project(folder);
        let mut choices = self.installed(&project).await;
        if let Some(environment) = project.iter().find(|environment| environment.has_kernel()) {
            choices.retain(|choice| choice.spec.name != GENERIC);
            choices.push(in_environment(environment));
        }
        let mut list: Vec<KernelspecInfo> = choices.iter().map(Choice::info).collect();
        list.extend(self.managed_info());
        list.sort_by(|one, other| one.name.cmp(&other.name));
        list
    }

    /// Chooses. Makes the environment of our own if there is nothing else.
    pub(crate) async fn choose(&self, wish: &Wish<'_>) -> Result<Choice, Error> {
        let wanted = wish.name.or(wish.preferred.map(|preferred| &*preferred.name)).map(str::trim);
        let wanted = wanted.filter(|name| !name.is_empty());
        if wanted.is_some_and(|name| name.eq_ignore_ascii_case(MANAGED)) {
            return self.make(wish).await;
        }
        let project = self.project(wish.folder);
        let installed = self.installed(&project).await;
        if let Some(name) = wanted.filter(|name| !name.eq_ignore_ascii_case(GENERIC)) {
            let by_name = |choice: &&Choice| choice.spec.name.eq_ignore_ascii_case(name);
            if let Some(choice) = installed.iter().find(by_name) {
                return Ok(choice.clone());
            }
            let language = wish.preferred.filter(|_| wish.name.is_none()).map(language_of);
            match language.flatten() {
                Some(language) if language == "python" => {}
                language => {
                    let same = |choice: &&Choice| Some(&choice.spec.language) == language.as_ref();
                    let other = installed.iter().find(same).cloned();
                    return other.ok_or_else(|| self.unknown(name, language.as_deref(), wish, &installed));
                }
            }
        }
        self.choose_python(wish, &project, &installed).await
    }

    /// The project's environment, an installed kernelspec, the Python on `PATH`, or one made for the purpose.
    async fn choose_python(
        &self,
        wish: &Wish<'_>,
        project: &[Environment],
        installed: &[Choice],
    ) -> Result<Choice, Error> {
        for environment in project {
            if environment.has_kernel() || self.inherits_kernel(environment).await {
                return Ok(in_environment(environment));
            }
        }
        let generic = installed.iter().find(|choice| choice.spec.name == GENERIC);
        let choice = generic.or_else(|| installed.iter().find(|choice| choice.spec.language == "python"));
        let choice = match choice {
            Some(choice) => choice.clone(),
            None => match self.system().await {
                Some(python) if python.has_kernel => python_at(&python.executable),
                _ => self.make(wish).await?,
            },
        };
        if let (Some(environment), Some(progress)) = (project.first(), wish.progress) {
            let _ = progress.try_send(format!(
                "{} has no ipykernel, so the notebook runs in {}; to use it, install ipykernel there",
                environment.prefix.display(),
                choice.program.display()
            ));
        }
        Ok(choice)
    }

    async fn inherits_kernel(&self, environment: &Environment) -> bool {
        environment.sees_system()
            && self.interpreters.info(&environment.interpreter).await.is_some_and(|info| info.has_kernel)
    }

    async fn make(&self, wish: &Wish<'_>) -> Result<Choice, Error> {
        Ok(in_environment(&self.managed.make(wish.progress).await?))
    }

    /// The kernelspecs that are installed and whose program exists.
    async fn installed(&self, project: &[Environment]) -> Vec<Choice> {
        let prefixes: Vec<PathBuf> = project.iter().map(|environment| environment.prefix.clone()).collect();
        let folders = kernelspec::data_folders(&self.surroundings, &prefixes);
        let specs = tokio::task::spawn_blocking(move || kernelspec::list(&folders)).await.unwrap_or_default();
        let mut choices = Vec::new();
        for spec in specs {
            let Some(program) = program(&spec, &self.surroundings) else {
                tracing::debug!("kernelspec {} runs {:?}, which is not there", spec.name, spec.argv.first());
                continue;
            };
            let own = spec.resources.ancestors().nth(4).and_then(Environment::at);
            if own.is_none() && self.lacks_kernel(&spec).await {
                tracing::debug!(
                    "kernelspec {} needs ipykernel, which {} lacks",
                    spec.name,
                    program.display()
                );
                continue;
            }
            choices.push(Choice { spec, program, environment: own });
        }
        choices
    }

    /// Whether a kernelspec takes whatever Python is on `PATH`, and that one has no ipykernel.
    async fn lacks_kernel(&self, spec: &Spec) -> bool {
        let takes_any = spec.argv.first().is_some_and(|name| is_bare_python(name));
        let needs_kernel = spec.argv.iter().any(|argument| argument.starts_with("ipykernel"));
        takes_any && needs_kernel && !self.system().await.is_some_and(|python| python.has_kernel)
    }

    /// The Python on `PATH`.
    async fn system(&self) -> Option<InterpreterInfo> {
        let path = self.surroundings.program("python3").or_else(|| self.surroundings.program("python"))?;
        self.interpreters.info(&path).await
    }

    fn project(&self, folder: &Path) -> Vec<Environment> {
        environments(folder, &self.root, &self.surroundings)
    }

    fn managed_info(&self) -> Option<KernelspecInfo> {
        let folder = self.managed.folder()?.display().to_string();
        let made = self.managed.made();
        let display_name =
            if made.is_some() { "Python 3 (Cellbridge)" } else { "Python 3 (Cellbridge, not built yet)" };
        Some(KernelspecInfo {
            name: MANAGED.to_owned(),
            display_name: display_name.to_owned(),
            language: "python".to_owned(),
            environment: made.map_or(folder, |environment| environment.interpreter.display().to_string()),
        })
    }

    fn unknown(&self, name: &str, language: Option<&str>, wish: &Wish<'_>, installed: &[Choice]) -> Error {
        let who = if wish.name.is_some() { "" } else { ", for which the notebook asks," };
        let language = language.map(|language| format!(" (language {language})")).unwrap_or_default();
        let mut names: Vec<&str> = installed.iter().map(|choice| &*choice.spec.name).collect();
        names.extend(self.managed.folder().map(|_| MANAGED));
        Error::new(
            Side::Agent,
            format!("the kernel {name:?}{language}{who} is not installed."),
            format!(
                "Installed: {}. Pass one as `kernel_name` to use_notebook, or install {name:?} \
                 (`jupyter kernelspec list` has to show it).",
                if names.is_empty() { "none".to_owned() } else { names.join(", ") }
            ),
        )
    }
}

impl Choice {
    /// What agents are told of it.
    pub(crate) fn info(&self) -> KernelspecInfo {
        KernelspecInfo {
            name: self.spec.name.clone(),
            display_name: self.spec.display_name.clone(),
            language: self.spec.language.clone(),
            environment: self.program.display().to_string(),
        }
    }
}

fn in_environment(environment: &Environment) -> Choice {
    Choice { environment: Some(environment.clone()), ..python_at(&environment.interpreter) }
}

/// What ipykernel installs as kernelspec, for one interpreter. The name is that which other programs know.
fn python_at(interpreter: &Path) -> Choice {
    let argv = ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"].map(str::to_owned);
    let spec = Spec {
        name: GENERIC.to_owned(),
        resources: PathBuf::new(),
        argv: argv.to_vec(),
        display_name: "Python 3 (ipykernel)".to_owned(),
        language: "python".to_owned(),
        env: std::collections::BTreeMap::new(),
        interrupt_mode: InterruptMode::Signal,
    };
    Choice { spec, program: interpreter.to_path_buf(), environment: None }
}

/// The language a notebook wants, in lower case. Notebooks of Python often name an environment that exists on one
/// machine alone, and no language.
fn language_of(preferred: &Kernelspec) -> Option<String> {
    let said =
        preferred.language.as_ref().filter(|language| !language.is_empty()).map(|said| said.to_lowercase());
    said.or_else(|| {
        let texts = [Some(&preferred.name), preferred.display_name.as_ref()];
        let hints = texts.into_iter().flatten().map(|text| text.to_lowercase());
        let is_python =
            |text: &String| ["python", "conda", "venv", "-py"].iter().any(|hint| text.contains(hint));
        hints.into_iter().any(|text| is_python(&text)).then(|| "python".to_owned())
    })
}

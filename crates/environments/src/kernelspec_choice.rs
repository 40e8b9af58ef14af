//! Chooses the kernel of a notebook by name, language and project.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notebook::{Kernelspec, one_line};
use place::{Error, ErrorKind, KernelspecInfo, Near, NextStep};
use tokio::sync::mpsc;

use super::install::{candidates, find_python, find_uv};
use super::interpreter::Interpreters;
use super::managed::Managed;
use super::project::{environments, passed_over};
use super::registered;
use super::venv::Environment;
use crate::ProcessEnv;
use crate::kernel_choice::{GENERIC, GENERIC_DISPLAYED, KernelChoice, in_environment, python_at};
use crate::kernelspec::{self, InstalledKernelspec, is_bare_python, program};
use files::lies_in;

/// The kernelspec name of the [managed environment](Managed).
pub(crate) const MANAGED: &str = "cellbridge-python";

/// What a Python is called on `PATH`. On Windows, `python3` often is what opens the Store.
pub(super) const ON_PATH: [&str; 2] =
    if cfg!(windows) { ["python", "python3"] } else { ["python3", "python"] };

/// The purpose of choosing a kernel. Only a run may start programs in the served folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To show which kernel it would be: no environment is made.
    Preview,
    Opening,
    Run,
}

#[derive(Clone, Copy)]
pub struct KernelspecQuery<'a> {
    /// The notebook's folder.
    pub folder: &'a Path,
    /// The kernelspec that the agent named.
    pub name: Option<&'a str>,
    /// The kernelspec in the notebook's metadata.
    pub preferred: Option<&'a Kernelspec>,
    pub purpose: Purpose,
    pub progress: Option<&'a mpsc::Sender<String>>,
}

/// Chooses kernels below one root folder.
pub struct KernelspecChooser {
    root: PathBuf,
    process_env: Arc<ProcessEnv>,
    pub(super) managed: Managed,
    pub(super) interpreters: Interpreters,
}

impl KernelspecChooser {
    pub fn new(root: PathBuf, process_env: Arc<ProcessEnv>) -> Self {
        let managed = Managed::new(process_env.clone());
        let interpreters = Interpreters::new(root.clone(), process_env.clone());
        Self { root, process_env, managed, interpreters }
    }

    pub(super) fn with_query_timeout(self, query_timeout: Duration) -> Self {
        Self { interpreters: self.interpreters.with_query_timeout(query_timeout), ..self }
    }

    /// Stops making the managed environment.
    pub fn stop(&self) {
        self.managed.stop();
    }

    /// The kernels that could be started for a notebook in `folder`.
    pub async fn list(&self, folder: &Path) -> Vec<KernelspecInfo> {
        let project = self.project(folder);
        let mut choices = self.installed(&project).await;
        if let Some(choice) = self.in_project(&project) {
            choices.retain(|choice| choice.kernelspec.name != GENERIC);
            choices.push(choice);
        }
        let mut list: Vec<KernelspecInfo> = choices.iter().map(KernelChoice::info).collect();
        list.extend(self.managed_info());
        list.sort_by(|one, other| one.name.cmp(&other.name));
        list
    }

    /// Chooses a kernel; if there is none, makes the managed environment.
    ///
    /// Example: a notebook with the kernelspec `my-project` of language Python, from another machine. No kernelspec
    /// of that name is installed, so its language decides. Then, in this order: the nearest environment of the
    /// project with ipykernel (`.venv` beside the notebook or above it), the kernelspec `python3`, any other Python
    /// kernelspec, the Python on `PATH` or a registered one if it has ipykernel, and the managed environment. The same notebook in
    /// language R gets the first installed R kernelspec, or an error that lists what is installed.
    ///
    /// `None` if the environment has to be made with programs that only a run may start.
    pub async fn choose(&self, query: &KernelspecQuery<'_>) -> Result<Option<KernelChoice>, Error> {
        let wanted = query.name.or(query.preferred.map(|preferred| &*preferred.name)).map(str::trim);
        let wanted = wanted.filter(|name| !name.is_empty());
        if wanted.is_some_and(|name| name.eq_ignore_ascii_case(MANAGED)) {
            return self.make(query).await;
        }
        let project = self.project(query.folder);
        let installed = self.installed(&project).await;
        // Only what an agent wrote may be a display name: people read it in JupyterLab. A notebook's metadata has the real name.
        let displayed = match query.name.map(str::trim) {
            Some(name) => self.displayed_as(name, &installed),
            None => None,
        };
        let wanted = displayed.as_deref().or(wanted);
        if wanted == Some(MANAGED) {
            return self.make(query).await;
        }
        // Another language than Python never falls back to Python: its code could not run there.
        let other_language = query.preferred.filter(|_| wanted.is_none()).and_then(language_of);
        if let Some(language) = other_language.filter(|language| language != "python") {
            let same = |choice: &&KernelChoice| choice.kernelspec.is_of(&language);
            let found = installed.iter().find(same).cloned().map(Some);
            if found.is_none() {
                return Err(no_kernel_of(&language, self.names(query.folder, &installed).await));
            }
            return Ok(found.flatten());
        }
        let mut missing = None;
        if let Some(name) = wanted.filter(|name| !name.eq_ignore_ascii_case(GENERIC)) {
            missing = Some(name);
            let by_name = |choice: &&KernelChoice| choice.kernelspec.name.eq_ignore_ascii_case(name);
            if let Some(choice) = installed.iter().find(by_name) {
                return Ok(Some(choice.clone()));
            }
            // The name is often that of another machine's environment. If an agent named it, guessing would hide its mistake.
            let language = query.preferred.filter(|_| query.name.is_none()).map(language_of);
            match language.flatten() {
                Some(language) if language == "python" => {}
                language => {
                    let same = |choice: &&KernelChoice| {
                        language.as_ref().is_some_and(|language| choice.kernelspec.is_of(language))
                    };
                    let other = installed.iter().find(same).map(|other| other.clone().in_place_of(name));
                    if other.is_none() {
                        return Err(self.unknown(name, language.as_deref(), query, &installed).await);
                    }
                    return Ok(other);
                }
            }
        }
        let choice = self.choose_python(query, &project, &installed).await?;
        Ok(choice.map(|choice| match missing {
            Some(name) => choice.in_place_of(name),
            None => choice,
        }))
    }

    async fn choose_python(
        &self,
        query: &KernelspecQuery<'_>,
        project: &[Environment],
        installed: &[KernelChoice],
    ) -> Result<Option<KernelChoice>, Error> {
        let own = self.in_project(project);
        let is_own = own.is_some();
        let other = match own {
            Some(own) => Some(own),
            None => self.outside_project(installed).await,
        };
        let mut choice = match other {
            Some(choice) => choice,
            None => match self.make(query).await? {
                Some(choice) => choice,
                None => return Ok(None),
            },
        };
        // Imports of the project's packages will fail, which the person can prevent.
        let used = choice.environment.as_ref().map(|environment| &*environment.prefix);
        let mut notices: Vec<String> = passed_over(query.folder, &self.root, &self.process_env, used)
            .into_iter()
            .map(|(prefix, defect)| format!("{} is not used: {defect}.", prefix.display()))
            .collect();
        notices.extend(project.first().filter(|_| !is_own).map(|environment| {
            format!(
                "{} has no ipykernel, so the notebook runs in {}; to use it, install ipykernel there.",
                environment.prefix.display(),
                choice.program.display()
            )
        }));
        choice.notices.extend(notices);
        Ok(Some(choice))
    }

    /// What a Python notebook gets if nothing has to be made for it.
    pub(super) async fn existing_python(&self, folder: &Path) -> Option<KernelChoice> {
        let project = self.project(folder);
        match self.in_project(&project) {
            Some(choice) => Some(choice),
            None => self.outside_project(&self.installed(&project).await).await,
        }
    }

    fn in_project(&self, project: &[Environment]) -> Option<KernelChoice> {
        project.iter().find(|environment| environment.runs_kernel(&self.process_env)).map(in_environment)
    }

    /// The Python kernel for notebooks whose project has none; `None` if one must be made.
    async fn outside_project(&self, installed: &[KernelChoice]) -> Option<KernelChoice> {
        // Jupyter itself would choose `python3`, so notebooks run where people expect it.
        let generic = installed.iter().find(|choice| choice.kernelspec.name == GENERIC);
        let choice = generic.or_else(|| installed.iter().find(|choice| choice.kernelspec.is_of("python")));
        if let Some(choice) = choice {
            return Some(choice.clone());
        }
        for path in self.on_path().into_iter().chain(registered::pythons(&self.process_env)) {
            if let Some(python) = self.interpreters.info(&path).await.filter(|python| python.has_kernel) {
                return Some(python_at(&python.executable));
            }
        }
        None
    }

    async fn make(&self, query: &KernelspecQuery<'_>) -> Result<Option<KernelChoice>, Error> {
        let is_made = self.managed.made().is_some();
        let is_inside = !is_made && self.makes_inside(&self.root).await;
        if !is_made && (query.purpose == Purpose::Preview || is_inside && query.purpose == Purpose::Opening) {
            return Ok(None);
        }
        // Even a run starts what lies in the folder only if there is nothing else.
        let spared = Some(&*self.root).filter(|_| !is_inside);
        Ok(Some(in_environment(&self.managed.make(query.progress, spared).await?)))
    }

    /// Whether making the managed environment would start something that lies in the folder: what makes it, its Pythons, which uv
    /// has in the home folder, or its own.
    async fn makes_inside(&self, root: &Path) -> bool {
        let own = [self.managed.folder(), self.process_env.home.as_deref()];
        if own.into_iter().flatten().any(|folder| lies_in(root, folder)) {
            return true;
        }
        let outside = self.process_env.outside(root);
        let has_other = find_uv(&self.process_env, None).is_some()
            || candidates(&self.process_env).any(|python| lies_in(root, &python));
        has_other
            && find_uv(&outside, Some(root)).is_none()
            && find_python(&outside, Some(root)).await.is_err()
    }

    /// The kernelspecs that are installed and whose program exists.
    async fn installed(&self, project: &[Environment]) -> Vec<KernelChoice> {
        let prefixes: Vec<PathBuf> = project.iter().map(|environment| environment.prefix.clone()).collect();
        let folders = kernelspec::data_folders(&self.process_env, &prefixes);
        let specs = tokio::task::spawn_blocking(move || kernelspec::list(&folders)).await.unwrap_or_default();
        let mut choices = Vec::new();
        for spec in specs {
            let Some(program) = program(&spec, &self.process_env) else {
                tracing::debug!(
                    "kernelspec {} runs {:?}, which does not exist",
                    spec.name,
                    spec.argv.first()
                );
                continue;
            };
            let own = spec.resources.ancestors().nth(4).and_then(Environment::at);
            // A bare `python` runs what is first on `PATH`, which may lack what the kernelspec was installed with.
            if own.is_none() && self.lacks_kernel(&spec).await {
                tracing::debug!(
                    "kernelspec {} needs ipykernel, which {} lacks",
                    spec.name,
                    program.display()
                );
                continue;
            }
            choices.push(KernelChoice { kernelspec: spec, program, environment: own, notices: Vec::new() });
        }
        choices
    }

    /// Whether a kernelspec needs ipykernel in the Python on `PATH`, which has none.
    pub(super) async fn lacks_kernel(&self, spec: &InstalledKernelspec) -> bool {
        let takes_any = spec.argv.first().is_some_and(|name| is_bare_python(name));
        if !takes_any || !spec.needs_ipykernel() {
            return false;
        }
        let Some(path) = self.on_path() else { return true };
        !self.interpreters.info(&path).await.is_some_and(|python| python.has_kernel)
    }

    /// The Python on `PATH`.
    fn on_path(&self) -> Option<PathBuf> {
        ON_PATH.iter().find_map(|name| self.process_env.find_program(name))
    }

    pub(super) fn project(&self, folder: &Path) -> Vec<Environment> {
        environments(folder, &self.root, &self.process_env)
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

    /// The names of the kernelspecs that an agent can choose. No kernelspec describes the Python of a project or on `PATH`.
    async fn names(&self, folder: &Path, installed: &[KernelChoice]) -> Vec<String> {
        let mut names: Vec<String> = installed.iter().map(|choice| choice.kernelspec.name.clone()).collect();
        if !names.iter().any(|name| name == GENERIC)
            && self.existing_python(folder).await.is_some_and(|choice| choice.kernelspec.name == GENERIC)
        {
            names.push(GENERIC.to_owned());
        }
        names.extend(self.managed.folder().map(|_| MANAGED.to_owned()));
        names
    }

    /// The name of the only kernelspec that is shown under this one and has another.
    fn displayed_as(&self, shown: &str, installed: &[KernelChoice]) -> Option<String> {
        let specs =
            || installed.iter().map(|choice| (&*choice.kernelspec.name, &*choice.kernelspec.display_name));
        if specs().any(|(name, _)| name.eq_ignore_ascii_case(shown)) {
            return None;
        }
        let generic = (!specs().any(|(name, _)| name == GENERIC)).then_some((GENERIC, GENERIC_DISPLAYED));
        let managed = self.managed_info();
        let managed = managed.as_ref().map(|info| (&*info.name, &*info.display_name));
        let same =
            specs().chain(generic).chain(managed).filter(|(_, display)| display.eq_ignore_ascii_case(shown));
        match same.map(|(name, _)| name.to_owned()).collect::<Vec<_>>().as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        }
    }

    async fn unknown(
        &self,
        name: &str,
        language: Option<&str>,
        query: &KernelspecQuery<'_>,
        installed: &[KernelChoice],
    ) -> Error {
        let origin = if query.name.is_some() { "" } else { ", named in the notebook," };
        let language =
            language.map(|language| format!(" (language {})", one_line(language))).unwrap_or_default();
        let names = self.names(query.folder, installed).await;
        let displayed = installed.iter().map(|choice| &*choice.kernelspec.display_name);
        let nearest = match place::nearest(name, names.iter().map(String::as_str)) {
            Some(near) => near.sentence(),
            None => place::nearest(name, displayed).map_or(String::new(), |near| {
                let is_near = |choice: &&KernelChoice| near.names.contains(&&*choice.kernelspec.display_name);
                let names = installed.iter().filter(is_near).map(|choice| &*choice.kernelspec.name).collect();
                Near { names, is_same_text: false }.sentence()
            }),
        };
        Error::new(
            ErrorKind::NotFound,
            format!("The kernel {name:?}{language}{origin} is not installed.{nearest}"),
            NextStep::ChooseKernelspec { available: names },
        )
    }
}

fn no_kernel_of(language: &str, available: Vec<String>) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!(
            "The notebook is written in {}, and no kernel of that language is installed.",
            one_line(language)
        ),
        NextStep::ChooseKernelspec { available },
    )
}

/// The language of a notebook, in lower case. Python notebooks often name an environment that exists on one machine
/// only, and no language.
fn language_of(preferred: &Kernelspec) -> Option<String> {
    let stated = preferred.language.as_ref().filter(|language| !language.is_empty());
    stated.map(|language| language.to_lowercase()).or_else(|| {
        let texts = [Some(&preferred.name), preferred.display_name.as_ref()];
        let hints = texts.into_iter().flatten().map(|text| text.to_lowercase());
        let is_python =
            |text: &String| ["python", "conda", "venv", "-py"].iter().any(|hint| text.contains(hint));
        hints.into_iter().any(|text| is_python(&text)).then(|| "python".to_owned())
    })
}

#[cfg(test)]
mod tests;

//! The kernels of a server, and which of them a notebook gets.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use futures_util::future::{join, join_all};
use rest::{KernelModel, Kernelspecs, NewSession, SessionChange, SessionKernel, SessionModel};
use workspace::{Choice, Error, Kernel as _, KernelRequest, Side};

use crate::kernel::ServerKernel;
use crate::kernelspecs::Wish;
use crate::link::{Link, tell};
use crate::paths::Prefix;
use crate::specs::Specs;

/// The kernels of one server; for one id there is one kernel.
pub(crate) struct Kernels {
    link: Arc<Link>,
    prefix: Prefix,
    /// The kernel for whatever names no other.
    standing: Option<String>,
    known: Mutex<BTreeMap<String, Arc<ServerKernel>>>,
    specs: Specs,
}

impl Kernels {
    pub(crate) fn new(link: Arc<Link>, prefix: Prefix, standing: Option<String>) -> Self {
        let specs = Specs::new(link.clone());
        Self { link, prefix, standing, known: Mutex::default(), specs }
    }

    /// What the server could start.
    pub(crate) async fn specs(&self) -> Result<Arc<Kernelspecs>, Error> {
        self.specs.get().await
    }

    /// The kernels that run.
    pub(crate) async fn list(&self) -> Result<Vec<Arc<ServerKernel>>, Error> {
        let start = Instant::now();
        let asked = self.link.call(None, |server| async move { server.kernels().await });
        let (models, ()) = join(asked, self.specs.learn()).await;
        let models = models?;
        self.specs.learn_of(&models, start).await;
        let listed: HashSet<&str> = models.iter().map(|model| model.id.as_str()).collect();
        let lost: Vec<_> = {
            let mut known = self.known();
            let lost: Vec<String> =
                known.keys().filter(|id| !listed.contains(id.as_str())).cloned().collect();
            lost.iter().filter_map(|id| known.remove(id)).collect()
        };
        for kernel in lost {
            kernel.vanish("the server has shut it down");
        }
        Ok(models.into_iter().map(|model| self.adopt(model)).collect())
    }

    /// Chooses the kernel for a request.
    pub(crate) async fn choose(&self, request: KernelRequest) -> Result<Choice, Error> {
        let notebook = request.notebook.as_deref().map(|path| self.prefix.strip(path)).transpose()?;
        let names_none = request.id.is_none() && request.name.is_none() && !request.is_new;
        let id = request.id.clone().or_else(|| self.standing.clone().filter(|_| names_none));
        match (notebook, id) {
            (notebook, Some(id)) => self.join(notebook, &id, &request).await,
            (Some(notebook), None) => self.for_notebook(notebook, &request).await,
            (None, None) => self.scratch(&request).await,
        }
    }

    /// A kernel that is there.
    async fn join(
        &self,
        notebook: Option<String>,
        id: &str,
        request: &KernelRequest,
    ) -> Result<Choice, Error> {
        let found =
            self.link.call(request.progress.as_ref(), |server| async move { server.kernel(id).await });
        let model = found.await?.ok_or_else(|| Error::no_kernel(id))?;
        self.specs.learn_of(std::slice::from_ref(&model), Instant::now()).await;
        let kernel = self.adopt(model);
        if let Some(notebook) = notebook {
            // It works all the same if the server does not note it.
            if let Err(error) = self.register(&notebook, id).await {
                tracing::warn!(%error, "the kernel could not be registered as the notebook's");
            }
        }
        Ok(Choice::Kernel { kernel, is_new: false })
    }

    /// Notes at the server that a notebook runs on a kernel, so that people see it. A notebook that has another kernel
    /// keeps it, unless that is only ours: to change a session's kernel ends the one before, with everything that a person
    /// has computed there.
    async fn register(&self, notebook: &str, id: &str) -> Result<(), Error> {
        if let Some(session) = self.session(notebook, None).await? {
            let is_other = session.kernel.as_ref().is_none_or(|model| model.id != id && self.is_free(model));
            if is_other {
                self.change(&session.id, SessionKernel::Running(id.to_owned())).await?;
            }
            return Ok(());
        }
        let new = NewSession { path: notebook.to_owned(), kernel: SessionKernel::Running(id.to_owned()) };
        let made = self.link.call(None, |server| {
            let new = new.clone();
            async move { server.create_session(new).await }
        });
        made.await.map(drop)
    }

    async fn for_notebook(&self, notebook: String, request: &KernelRequest) -> Result<Choice, Error> {
        let progress = request.progress.as_ref();
        let session = self.session(&notebook, progress).await?;
        let present = session.as_ref().and_then(|session| session.kernel.clone());
        if let Some(model) = present.clone()
            && !request.is_new
            && request.name.as_ref().is_none_or(|name| *name == model.name)
        {
            self.specs.learn_of(std::slice::from_ref(&model), Instant::now()).await;
            return Ok(Choice::Kernel { kernel: self.adopt(model), is_new: false });
        }
        let wish = Wish { name: request.name.as_deref(), preferred: request.preferred.as_ref() };
        let spec = self.specs.choose(&wish).await?;
        if !request.is_needed && !request.is_new {
            return Ok(Choice::OnFirstRun(format!("{} ({})", spec.name, spec.display_name)));
        }
        tell(progress, format!("starting the kernel {} ({})", spec.name, spec.display_name));
        let model = match (session, present) {
            // What it runs was ours, or died: the notebook's session gets the new one, and the server ends the old.
            (Some(session), present) if present.as_ref().is_none_or(|model| self.is_free(model)) => {
                self.change(&session.id, SessionKernel::Named(spec.name.clone())).await?
            }
            (None, _) => self.begin(&notebook, &spec.name, progress).await?,
            // A person's kernel goes on, and stays the one of the notebook's session. Nobody else would find the new one
            // again, so it ends with us.
            (Some(_), _) => {
                let kernel = self.adopt(self.start(&spec.name, Some(folder(&notebook)), progress).await?);
                kernel.make_scratch();
                return Ok(Choice::Kernel { kernel, is_new: true });
            }
        };
        let kernel = self.adopt(model);
        kernel.make_ours();
        Ok(Choice::Kernel { kernel, is_new: true })
    }

    /// A kernel for code of no notebook. It ends with us.
    async fn scratch(&self, request: &KernelRequest) -> Result<Choice, Error> {
        let wish = Wish { name: request.name.as_deref(), preferred: request.preferred.as_ref() };
        let spec = self.specs.choose(&wish).await?;
        if !request.is_needed {
            return Ok(Choice::OnFirstRun(format!("{} ({})", spec.name, spec.display_name)));
        }
        let model = self.start(&spec.name, None, request.progress.as_ref()).await?;
        let kernel = self.adopt(model);
        kernel.make_scratch();
        Ok(Choice::Kernel { kernel, is_new: true })
    }

    /// The session of a notebook.
    async fn session(
        &self,
        notebook: &str,
        progress: Option<&crate::Lines>,
    ) -> Result<Option<SessionModel>, Error> {
        let sessions = self.link.call(progress, |server| async move { server.sessions().await }).await?;
        Ok(sessions.into_iter().find(|session| session.path.trim_matches('/') == notebook))
    }

    async fn begin(
        &self,
        notebook: &str,
        spec: &str,
        progress: Option<&crate::Lines>,
    ) -> Result<KernelModel, Error> {
        let new = NewSession { path: notebook.to_owned(), kernel: SessionKernel::Named(spec.to_owned()) };
        let made = self.link.call(progress, |server| {
            let new = new.clone();
            async move { server.create_session(new).await }
        });
        kernel_of(made.await?)
    }

    async fn change(&self, session: &str, kernel: SessionKernel) -> Result<KernelModel, Error> {
        let change = SessionChange { path: None, kernel: Some(kernel) };
        let changed = self.link.call(None, |server| {
            let change = change.clone();
            async move { server.change_session(session, change).await }
        });
        kernel_of(changed.await?)
    }

    async fn start(
        &self,
        spec: &str,
        folder: Option<&str>,
        progress: Option<&crate::Lines>,
    ) -> Result<KernelModel, Error> {
        let started =
            self.link.call(progress, |server| async move { server.start_kernel(Some(spec), folder).await });
        started.await
    }

    /// Whether nobody but us can miss the kernel.
    fn is_free(&self, model: &KernelModel) -> bool {
        if model.execution_state.as_deref() == Some("dead") {
            return true;
        }
        let Some(kernel) = self.known().get(&model.id).cloned() else { return false };
        kernel.update(model.clone(), None);
        kernel.is_scratch() || kernel.is_only_ours()
    }

    /// Ends the kernels of no notebook that we started, and lets the others go on without us.
    pub(crate) async fn leave(&self) {
        let known: Vec<_> = self.known().values().cloned().collect();
        let ending = known.iter().filter(|kernel| kernel.is_scratch()).map(|kernel| kernel.shutdown());
        for error in join_all(ending).await.into_iter().filter_map(Result::err) {
            tracing::warn!(%error, "a kernel goes on that we started");
        }
        for kernel in known {
            kernel.let_go();
        }
    }

    /// The kernel of a model; the same for the same id.
    fn adopt(&self, model: KernelModel) -> Arc<ServerKernel> {
        let spec = self.specs.named(&model.name);
        let mut known = self.known();
        if let Some(kernel) = known.get(&model.id) {
            kernel.update(model, spec);
            return kernel.clone();
        }
        let id = model.id.clone();
        let kernel = ServerKernel::new(self.link.clone(), model, spec);
        known.insert(id, kernel.clone());
        kernel
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Arc<ServerKernel>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn kernel_of(session: SessionModel) -> Result<KernelModel, Error> {
    session.kernel.ok_or_else(|| {
        Error::new(
            Side::Place,
            format!("The server made a session for {:?} without a kernel.", session.path),
            "The server's log says why; try again.",
        )
    })
}

fn folder(notebook: &str) -> &str {
    notebook.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests;

//! The kernels of a server, and the choice of one for a notebook.

mod channels;
mod kernel;
mod kernelspec_cache;
mod kernelspec_choice;
mod monitor;
mod runs;
mod sessions;

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use parking_lot::Mutex;
use place::{
    EarlierRuns, Error, FoundRun, Future, Kernel, KernelChoice, KernelRequest, KernelSelector, Leftovers,
    NotebookPath, RunId, RunState, progress,
};
use rest::{KernelModel, SessionKernel, SessionModel};
use run_logs::RunLogs;
use tokio::time::timeout;

use crate::paths::Prefix;
use crate::server_handle::ServerHandle;
use kernel::{Owner, ServerKernel};
use kernelspec_cache::KernelspecCache;
use kernelspec_choice::KernelspecQuery;
use runs::RunLogging;
use sessions::{Sessions, has_kernel, is_of};

/// How long the first reply of a server may wait for the logs of earlier ones.
const LEFT_TIMEOUT: Duration = Duration::from_secs(1);

/// There is one [`ServerKernel`] for each id.
pub(crate) struct Kernels {
    handle: Arc<ServerHandle>,
    prefix: Prefix,
    /// The kernel that the operator has configured.
    pinned: Mutex<Option<PinnedKernel>>,
    known: Mutex<BTreeMap<String, Arc<ServerKernel>>>,
    /// The kernelspecs that the server can start.
    pub(crate) specs: KernelspecCache,
    sessions: Sessions,
    /// `None` if runs end with this program.
    run_logging: Option<RunLogging>,
}

/// It is used for code without a notebook, and for the first notebook that has no kernel.
#[derive(Clone)]
struct PinnedKernel {
    id: String,
    /// The notebook that uses it.
    notebook: Option<String>,
}

impl EarlierRuns for Kernels {
    /// If the address of the server is known.
    fn leftovers(&self) -> BoxFuture<'_, Leftovers> {
        async {
            let Some((logging, server)) = self.run_logging.clone().zip(self.handle.base()) else {
                return Leftovers::default();
            };
            let read = tokio::task::spawn_blocking(move || logging.left(&server));
            match timeout(LEFT_TIMEOUT, read).await {
                Ok(Ok(runs)) => Leftovers { runs, ..Leftovers::default() },
                _ => Leftovers::default(),
            }
        }
        .boxed()
    }

    /// If its notebook has a session. What its kernel's log and the server's messages say comes when it is taken over.
    fn find(&self, run: &RunId) -> Future<'_, Option<FoundRun>> {
        let run = run.clone();
        async move {
            let left = self.leftovers().await.runs.into_iter().find(|left| left.details.run == run);
            let Some(path) = left.and_then(|left| left.details.notebook) else { return Ok(None) };
            let session = self.sessions.of(&self.prefix.strip(&path)?).await?;
            let Some(model) = session.and_then(|session| session.kernel) else { return Ok(None) };
            let kernel: Arc<dyn Kernel> = self.adopt(model);
            let (text, state) = (String::new(), RunState::Running);
            Ok(Some(FoundRun { kernel: Some(kernel), notebook: Some(path), text, state }))
        }
        .boxed()
    }

    fn has_running_kernel(&self, notebook: &NotebookPath) -> Future<'_, bool> {
        let notebook = self.prefix.strip(notebook);
        async move {
            let session = self.sessions.of(&notebook?).await?;
            Ok(session.is_some_and(|session| session.kernel.is_some()))
        }
        .boxed()
    }
}

impl Kernels {
    /// `run_logs` is the folder in which runs are logged, so that a later server finds them again.
    pub(crate) fn new(
        handle: Arc<ServerHandle>,
        prefix: Prefix,
        pinned: Option<String>,
        run_logs: Option<PathBuf>,
    ) -> Self {
        let specs = KernelspecCache::new(handle.clone());
        let pinned = Mutex::new(pinned.map(|id| PinnedKernel { id, notebook: None }));
        let run_logging =
            run_logs.map(|folder| RunLogging { logs: RunLogs::new(folder), prefix: prefix.clone() });
        let sessions = Sessions { handle: handle.clone() };
        Self { handle, prefix, pinned, known: Mutex::default(), specs, sessions, run_logging }
    }

    /// The running kernels.
    pub(crate) async fn list(&self) -> Result<Vec<Arc<ServerKernel>>, Error> {
        let start = Instant::now();
        let models = self.handle.kernels().await?;
        self.specs.fetch_missing(&models, start).await;
        let listed: HashSet<&str> = models.iter().map(|model| model.id.as_str()).collect();
        let lost: Vec<_> = {
            let mut known = self.known.lock();
            let lost: Vec<String> =
                known.keys().filter(|id| !listed.contains(id.as_str())).cloned().collect();
            lost.iter().filter_map(|id| known.remove(id)).collect()
        };
        for kernel in lost {
            kernel.set_gone("the server has shut it down");
        }
        Ok(models.into_iter().map(|model| self.adopt(model)).collect())
    }

    /// Chooses the kernel for a request.
    pub(crate) async fn choose(&self, request: KernelRequest) -> Result<KernelChoice, Error> {
        let notebook = request.notebook.as_deref().map(|path| self.prefix.strip(path)).transpose()?;
        if let KernelSelector::Existing(id) = &request.kernel {
            let joined = self.join(notebook, id).await?;
            return joined.ok_or_else(|| Error::no_kernel(id));
        }
        if request.kernel == KernelSelector::Any
            && let Some(choice) = self.pinned(notebook.as_deref()).await?
        {
            return Ok(choice);
        }
        match notebook {
            Some(notebook) if matches!(request.kernel, KernelSelector::Scratch(_)) => {
                self.unattached(Some(folder(&notebook)), &request).await
            }
            Some(notebook) => self.for_notebook(notebook, &request).await,
            None => self.unattached(self.prefix.root(), &request).await,
        }
    }

    /// The pinned kernel, if it exists and fits the request.
    async fn pinned(&self, notebook: Option<&str>) -> Result<Option<KernelChoice>, Error> {
        let is_for = |pinned: &PinnedKernel| match (notebook, &pinned.notebook) {
            (Some(notebook), Some(other)) => notebook == other,
            _ => true,
        };
        let Some(PinnedKernel { id, .. }) = self.pinned.lock().clone().filter(is_for) else {
            return Ok(None);
        };
        if let Some(notebook) = notebook
            && let Some(session) = self.sessions.of(notebook).await?
            && session.kernel.is_some()
        {
            return Ok(None);
        }
        let joined = self.join(notebook.map(str::to_owned), &id).await?;
        let mut pinned = self.pinned.lock();
        if joined.is_none() {
            tracing::warn!(id, "the configured kernel no longer exists; it is ignored from now on");
            *pinned = None;
        } else if let (Some(pinned), Some(notebook)) = (&mut *pinned, notebook) {
            pinned.notebook = Some(notebook.to_owned());
        }
        Ok(joined)
    }

    /// A kernel that is running; `None` if it does not exist.
    async fn join(&self, notebook: Option<String>, id: &str) -> Result<Option<KernelChoice>, Error> {
        let found = self.handle.call(|server| async move { server.kernel(id).await });
        let Some(model) = found.await? else { return Ok(None) };
        self.specs.fetch_missing(std::slice::from_ref(&model), Instant::now()).await;
        let kernel = self.adopt(model);
        if let Some(notebook) = notebook {
            match self.register(&notebook, id).await {
                // Others can find it there from now on, so it does not end with us.
                Ok(true) => kernel.attach(),
                Ok(false) => {}
                // It can be used all the same.
                Err(error) => tracing::warn!(%error, "the kernel could not be registered as the notebook's"),
            }
        }
        Ok(Some(KernelChoice::Kernel { kernel, is_new: false }))
    }

    /// Makes a kernel the one of a notebook's session, so that people see it. A session keeps another kernel, unless only we
    /// use that: changing the kernel of a session ends the previous one, with everything that a person has computed there.
    ///
    /// Returns whether it is the session's kernel now.
    async fn register(&self, notebook: &str, id: &str) -> Result<bool, Error> {
        let sessions = self.sessions.all().await?;
        if let Some(session) = sessions.iter().find(|session| is_of(session, notebook)) {
            if session.kernel.as_ref().is_some_and(|model| model.id == id) {
                return Ok(true);
            }
            let is_free = session.kernel.as_ref().is_none_or(|model| self.is_free(model, &sessions));
            if is_free {
                self.sessions.change(&session.id, SessionKernel::Running(id.to_owned())).await?;
            }
            return Ok(is_free);
        }
        let made = self.sessions.create(notebook, SessionKernel::Running(id.to_owned())).await?;
        Ok(made.kernel.is_some_and(|model| model.id == id))
    }

    async fn for_notebook(&self, notebook: String, request: &KernelRequest) -> Result<KernelChoice, Error> {
        let sessions = self.sessions.all().await?;
        let session = sessions.iter().find(|session| is_of(session, &notebook));
        let present = session.and_then(|session| session.kernel.clone());
        if let Some(model) = present.clone()
            && request.kernel.fits(&model.name)
        {
            self.specs.fetch_missing(std::slice::from_ref(&model), Instant::now()).await;
            return Ok(KernelChoice::Kernel { kernel: self.adopt(model), is_new: false });
        }
        let query = KernelspecQuery::of(request);
        let spec = self.specs.choose(&query).await?;
        if request.can_wait() {
            return Ok(KernelChoice::OnFirstRun(query.on_first_run(&spec)));
        }
        progress::report(format!("starting the kernel {}", kernelspec_choice::shown(&spec)));
        let (model, owner) = match (session, present) {
            // Only we use its kernel, or that is dead: the session gets the new one, and the server ends the old one.
            (Some(session), present)
                if present.as_ref().is_none_or(|model| self.is_free(model, &sessions)) =>
            {
                let kernel = SessionKernel::Named(spec.name.clone());
                (self.sessions.change(&session.id, kernel).await?, Owner::Notebook)
            }
            (None, _) => match self.sessions.start(&notebook, &spec.name).await? {
                (model, true) => (model, Owner::Notebook),
                (model, false) => {
                    return Ok(KernelChoice::Kernel { kernel: self.adopt(model), is_new: false });
                }
            },
            // A person's kernel continues, and stays the one of the session. Nobody else could find the new one, so it ends
            // with us.
            (Some(_), _) => (self.start(&spec.name, Some(folder(&notebook))).await?, Owner::Unattached),
        };
        let kernel = self.adopt(model);
        kernel.set_owner(owner);
        query.replacement(&spec).into_iter().for_each(|notice| kernel.add_notice(notice));
        Ok(KernelChoice::Kernel { kernel, is_new: true })
    }

    /// A new kernel in a folder, which is no notebook's. It ends with us.
    async fn unattached(&self, folder: Option<&str>, request: &KernelRequest) -> Result<KernelChoice, Error> {
        let query = KernelspecQuery::of(request);
        let spec = self.specs.choose(&query).await?;
        if request.can_wait() {
            return Ok(KernelChoice::OnFirstRun(query.on_first_run(&spec)));
        }
        let kernel = self.adopt(self.start(&spec.name, folder).await?);
        kernel.set_owner(Owner::Unattached);
        Ok(KernelChoice::Kernel { kernel, is_new: true })
    }

    async fn start(&self, spec: &str, folder: Option<&str>) -> Result<KernelModel, Error> {
        self.handle.call(|server| async move { server.start_kernel(Some(spec), folder).await }).await
    }

    /// Whether nobody but us uses the kernel of a session.
    fn is_free(&self, model: &KernelModel, sessions: &[SessionModel]) -> bool {
        if sessions.iter().filter(|session| has_kernel(session, &model.id)).count() > 1 {
            return false;
        }
        if model.execution_state.as_deref() == Some("dead") {
            return true;
        }
        let Some(kernel) = self.known.lock().get(&model.id).cloned() else { return false };
        kernel.update(model.clone(), None);
        kernel.is_unattached() || kernel.is_only_ours()
    }

    /// Ends the kernels that we started for no notebook, and disconnects from the others.
    pub(crate) async fn shutdown(&self) {
        let known: Vec<_> = self.known.lock().values().cloned().collect();
        let ending = known.iter().filter(|kernel| kernel.is_unattached()).map(|kernel| kernel.shutdown());
        for error in join_all(ending).await.into_iter().filter_map(Result::err) {
            tracing::warn!(%error, "a kernel started by Cellbridge could not be stopped");
        }
        for kernel in known {
            kernel.disconnect();
        }
    }

    /// The kernel of a model: the known one of this id, or a new one.
    fn adopt(&self, model: KernelModel) -> Arc<ServerKernel> {
        let spec = self.specs.named(&model.name);
        let mut known = self.known.lock();
        if let Some(kernel) = known.get(&model.id) {
            kernel.update(model, spec);
            return kernel.clone();
        }
        let id = model.id.clone();
        let kernel = ServerKernel::new(self.handle.clone(), model, spec, self.run_logging.clone());
        known.insert(id, kernel.clone());
        kernel
    }
}

fn folder(notebook: &str) -> &str {
    notebook.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests;

//! A folder of this machine as a [`Place`].

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use parking_lot::Mutex;
#[cfg(unix)]
use place::EarlierRuns;
use place::{
    Document, Error, ErrorKind, Existing, FileContent, FileEntry, Files, FolderCopy, FoundNotebooks,
    Frontend, Future, Kernel, KernelChoice, KernelId, KernelRequest, KernelSelector, KernelspecInfo, Mode,
    NotebookPath, Place,
};
#[cfg(unix)]
use run_logs::{RunLog, RunLogs};

use crate::foreign::ForeignKernels;
use crate::launch::{KernelKeeping, KernelLauncher, LocalKernel};
use environments::{KernelspecChooser, KernelspecQuery, ProcessEnv, Purpose};
use files::{FileStore, Root, lies_in};

#[cfg(unix)]
mod earlier_runs;
#[cfg(unix)]
mod keepers;
#[cfg(test)]
#[cfg(unix)]
mod tests;

/// How long a kernel may take until it answers. The first import from a cold disk is slow.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// How long all kernels together may take to shut down.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(4);

/// What the first run starts if an environment has to be made for it.
const MADE: &str = "a new Python environment";

/// The prefix of paths that mean the folder, wherever an agent works.
const NAME: &str = "local:";

/// A folder with notebooks, which run on kernels of this machine. Paths cannot lead out of it.
pub struct Folder {
    root: Root,
    process_env: Arc<ProcessEnv>,
    store: FileStore,
    chooser: KernelspecChooser,
    /// `None` if kernels end with this program.
    keeping: Option<Arc<KernelKeeping>>,
    /// `None` once the place has shut down.
    kernels: Mutex<Option<Vec<Arc<LocalKernel>>>>,
    foreign: ForeignKernels,
    /// Shows its notebooks to the person, if anything does.
    frontend: OnceLock<Arc<dyn Frontend>>,
    #[cfg(unix)]
    waiting: Option<(RunLogs, RunLog)>,
}

impl Folder {
    /// Uses the folder `root`, which should exist. Starts nothing.
    pub fn new(root: PathBuf, process_env: ProcessEnv, keeping: Option<KernelKeeping>) -> Arc<Self> {
        Self::at(Root::new(root), process_env, keeping)
    }

    /// The same beside another place, whose paths are shown without a prefix: those of the folder start with `local:`.
    pub fn beside_another(
        root: PathBuf,
        process_env: ProcessEnv,
        keeping: Option<KernelKeeping>,
    ) -> Arc<Self> {
        Self::at(Root::new(root).with_prefix(NAME), process_env, keeping)
    }

    fn at(root: Root, process_env: ProcessEnv, keeping: Option<KernelKeeping>) -> Arc<Self> {
        let process_env = Arc::new(process_env);
        let chooser = KernelspecChooser::new(root.real().to_path_buf(), process_env.clone());
        let kernels = Mutex::new(Some(Vec::new()));
        let (store, keeping) = (FileStore::new(root.clone()), keeping.map(Arc::new));
        let foreign = ForeignKernels::new(process_env.clone());
        #[cfg(unix)]
        let waiting = process_env.own_state_dir().map(|state| {
            let logs = RunLogs::of_waiting_runs(&state);
            let own = logs.begin("", "");
            (logs, own)
        });
        Arc::new(Self {
            root,
            process_env,
            store,
            chooser,
            keeping,
            kernels,
            foreign,
            frontend: OnceLock::new(),
            #[cfg(unix)]
            waiting,
        })
    }

    /// Shows notebooks with this from now on, unless something does already.
    pub fn shown_by(&self, frontend: Arc<dyn Frontend>) {
        let _ = self.frontend.set(frontend);
    }

    fn live_kernels(&self) -> Vec<Arc<LocalKernel>> {
        let mut kernels = self.kernels.lock();
        let Some(kernels) = &mut *kernels else { return Vec::new() };
        kernels.retain(|kernel| !kernel.is_shut_down());
        kernels.clone()
    }

    /// The kernels of this program, and those that other servers have left to keepers.
    async fn all_kernels(&self) -> Vec<Arc<LocalKernel>> {
        let kernels = self.live_kernels();
        #[cfg(unix)]
        let kernels = self.with_kept(kernels).await;
        kernels
    }

    /// Work with files, where it may block.
    fn on_disk<T: Send + 'static>(
        &self,
        path: &str,
        work: impl FnOnce(&Root, &str) -> Result<T, Error> + Send + 'static,
    ) -> Future<'_, T> {
        let (root, path) = (self.root.clone(), path.to_owned());
        files::on_disk(move || work(&root, &path)).boxed()
    }

    async fn choose(&self, request: KernelRequest) -> Result<KernelChoice, Error> {
        if let KernelSelector::Existing(id) = &request.kernel {
            let known = self.all_kernels().await.into_iter().find(|kernel| kernel.id() == id);
            let Some(kernel) = known else {
                let kernel = self.foreign.join(id).await?;
                return Ok(KernelChoice::Kernel { kernel, is_new: false });
            };
            #[cfg(unix)]
            keepers::join(&kernel).await;
            return Ok(KernelChoice::Kernel { kernel, is_new: false });
        }
        let notebook = request.notebook.as_deref().map(|path| self.root.resolve(path)).transpose()?;
        let folder = notebook.as_deref().and_then(Path::parent).unwrap_or(self.root.real());
        let progress = place::progress::sender();
        let query = KernelspecQuery {
            folder,
            name: request.kernel.kernelspec(),
            preferred: request.preferred.as_ref(),
            purpose: if request.is_for_run { Purpose::Run } else { Purpose::Opening },
            progress: progress.as_ref(),
        };
        let Some(choice) = self.chooser.choose(&query).await? else {
            return if request.can_wait() {
                Ok(KernelChoice::OnFirstRun(MADE.to_owned()))
            } else {
                Err(not_made())
            };
        };
        let is_scratch = matches!(request.kernel, KernelSelector::Scratch(_));
        let is_to_be_new = is_scratch || matches!(request.kernel, KernelSelector::New(_));
        // A scratch kernel is not the notebook's, and ends with this program.
        let notebook = notebook.clone().filter(|_| !is_scratch);
        let keeping = self.keeping.clone().filter(|_| !is_scratch);
        #[cfg(unix)]
        let unused = match self.earlier_kernel(notebook.as_deref(), &choice, is_to_be_new).await {
            Ok(kernel) => {
                choice.notices.into_iter().for_each(|notice| kernel.add_notice(notice));
                return Ok(KernelChoice::Kernel { kernel, is_new: false });
            }
            Err(unused) => unused,
        };
        #[cfg(not(unix))]
        let unused = Vec::new();
        let notices = choice.notices.clone();
        let launcher = KernelLauncher {
            id: KernelId::new(uuid::Uuid::new_v4().to_string()),
            choice,
            folder: request.folder.clone().unwrap_or_else(|| folder.to_path_buf()),
            notebook: notebook.clone(),
            process_env: self.process_env.clone(),
            start_timeout: START_TIMEOUT,
        };
        let kernel = LocalKernel::new(launcher, keeping, self.root.clone(), is_to_be_new);
        for notice in unused.into_iter().chain(notices) {
            kernel.add_notice(notice);
        }
        let mut kernels = self.kernels.lock();
        let Some(kernels) = &mut *kernels else {
            return Err(Error::new(
                ErrorKind::Internal,
                "The server is shutting down and no longer starts kernels.",
                "Start the server again.",
            ));
        };
        kernels.push(kernel.clone());
        Ok(KernelChoice::Kernel { kernel, is_new: true })
    }
}

/// An environment is made with programs that lie in the folder.
fn not_made() -> Error {
    Error::new(
        ErrorKind::Unavailable,
        "There is no Python kernel yet. Creating an environment needs programs in this folder, which are started \
         only for a run.",
        "Open the notebook without choosing a kernel, and run a cell.",
    )
}

impl Place for Folder {
    fn description(&self) -> String {
        format!("the folder {}", self.root.real().display())
    }

    fn prefix(&self) -> &str {
        self.root.prefix()
    }

    fn scheme(&self) -> &'static str {
        "local"
    }

    fn strip_name<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_prefix(NAME)
    }

    /// The path of the file, which is the same whatever the root is.
    fn identity(&self, path: &NotebookPath) -> String {
        let file = self.root.real().join(path.strip_prefix(NAME).unwrap_or(path));
        format!("{NAME}{}", file.display())
    }

    fn folder(&self) -> Option<PathBuf> {
        Some(self.root.real().to_path_buf())
    }

    fn list_files(&self, path: &str, max_depth: usize) -> Future<'_, Vec<FileEntry>> {
        self.on_disk(path, move |root, path| files::list(root, path, max_depth))
    }

    fn notebooks(&self, limit: usize) -> Future<'_, FoundNotebooks> {
        self.on_disk("", move |root, _| Ok(files::notebooks(root, limit)))
    }

    fn open(&self, path: &NotebookPath, mode: Mode) -> Future<'_, Arc<dyn Document>> {
        let path = path.clone();
        async move { Ok(self.store.open(&path, mode).await? as Arc<dyn Document>) }.boxed()
    }

    fn files(&self) -> Option<&dyn Files> {
        Some(self)
    }

    fn kernelspecs(&self) -> Future<'_, Vec<KernelspecInfo>> {
        async { Ok(self.chooser.list(self.root.real()).await) }.boxed()
    }

    fn kernels(&self) -> Future<'_, Vec<Arc<dyn Kernel>>> {
        async {
            let ours = self.all_kernels().await;
            let foreign =
                self.foreign.list(ours.iter().map(|kernel| kernel.id().to_string()).collect()).await;
            let ours = ours.into_iter().map(|kernel| kernel as Arc<dyn Kernel>);
            Ok(ours.chain(foreign.into_iter().map(|kernel| kernel as Arc<dyn Kernel>)).collect())
        }
        .boxed()
    }

    fn unknown_kernel(&self, id: &str) -> Error {
        self.foreign.unknown(id)
    }

    #[cfg(unix)]
    fn earlier_runs(&self) -> Option<&dyn EarlierRuns> {
        Some(self)
    }

    fn copy_folder(&self, notebook: &NotebookPath) -> Future<'_, FolderCopy> {
        let temp_dir = self.process_env.temp_dir();
        self.on_disk(notebook, move |root, notebook| {
            let notebook = root.resolve(notebook)?;
            files::copy_folder(notebook.parent().unwrap_or(root.real()), root.real(), &temp_dir)
        })
    }

    fn first_kernel(&self, request: KernelRequest) -> Future<'_, Option<String>> {
        async move {
            let notebook = request.notebook.as_deref().map(|path| self.root.resolve(path)).transpose()?;
            let query = KernelspecQuery {
                folder: notebook.as_deref().and_then(Path::parent).unwrap_or(self.root.real()),
                name: request.kernel.kernelspec(),
                preferred: request.preferred.as_ref(),
                purpose: Purpose::Preview,
                progress: None,
            };
            let Some(choice) = self.chooser.choose(&query).await? else { return Ok(Some(MADE.to_owned())) };
            let is_inside = lies_in(self.root.real(), &choice.program);
            let place = if is_inside { ", which lies in the folder" } else { "" };
            Ok(Some(format!("{} ({}){place}", choice.kernelspec.name, choice.program.display())))
        }
        .boxed()
    }

    fn kernel(&self, request: KernelRequest) -> Future<'_, KernelChoice> {
        self.choose(request).boxed()
    }

    fn frontend(&self) -> Option<Arc<dyn Frontend>> {
        self.frontend.get().cloned()
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        async {
            self.chooser.stop();
            self.foreign.leave();
            let kernels = self.kernels.lock().take().unwrap_or_default();
            // After the timeout, the watchdogs end what is left.
            let _ =
                tokio::time::timeout(SHUTDOWN_TIMEOUT, join_all(kernels.iter().map(|kernel| kernel.leave())))
                    .await;
        }
        .boxed()
    }
}

impl Files for Folder {
    fn read(&self, path: &str) -> Future<'_, FileContent> {
        files::read(self.root.clone(), path.to_owned()).boxed()
    }

    fn write(&self, path: &str, content: FileContent, existing: Existing) -> Future<'_, String> {
        files::write(self.root.clone(), path.to_owned(), content, existing).boxed()
    }

    fn check_write(&self, path: &str, existing: Existing) -> Future<'_, (String, bool)> {
        self.on_disk(path, move |root, path| files::check(root, path, existing))
    }

    fn is_program(&self, path: &str) -> Future<'_, bool> {
        self.on_disk(path, |root, path| Ok(files::is_program(&root.resolve(path)?)))
    }

    fn mode_of(&self, path: &str) -> Future<'_, Option<u32>> {
        self.on_disk(path, |root, path| Ok(files::mode_of(&root.resolve(path)?)))
    }
}

//! A Jupyter server as a place.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::{BoxFuture, join3, ready};
use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use place::{
    Discovered, Document, EarlierRuns, Error, ErrorKind, Existing, FileContent, FileEntry, Files,
    FoundNotebooks, Frontend, Future, Kernel, KernelChoice, KernelRequest, KernelspecInfo, Mode, Near,
    NotebookPath, Place, nearest,
};
use rest::{ContentsQuery, Download, EntryKind, Kind};
use tokio::sync::watch;

use crate::documents::{Documents, ServerDocument};
use crate::failure;
use crate::jupyterlab::JupyterLab;
use crate::kernels::Kernels;
use crate::listing::{self, NotebookSearch};
use crate::paths::{Prefix, SCHEME, is_notebook, strip_address};
use crate::server_handle::ServerHandle;
use crate::settings::Settings;
use crate::viewer::{LabOrViewer, Viewer};

/// Time limit for ending our kernels and uploads, and leaving all rooms.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(4);

/// How many notebooks of a server are looked at for one that has nearly the asked name.
const MAX_SEARCHED: usize = 1000;

/// A Jupyter server: its notebooks, edited together with people where the server allows it, and its kernels. They may be
/// on two servers.
pub struct Jupyter {
    prefix: Prefix,
    handle: Arc<ServerHandle>,
    /// The server of the kernels.
    kernel_handle: Arc<ServerHandle>,
    documents: Documents,
    notebook_search: NotebookSearch,
    kernels: Kernels,
    jupyterlab: Arc<JupyterLab>,
    viewer: OnceLock<Arc<dyn Viewer>>,
    /// The configured one, or the one that the server's address leads to.
    notebook: Option<String>,
}

impl Jupyter {
    /// Does not contact the servers yet.
    pub fn new(settings: Settings) -> Arc<Self> {
        let root = settings.machine.as_ref().map_or("", |machine| machine.root);
        let prefix = Prefix::new(settings.prefix, root);
        let (options, in_process) = (settings.options, settings.in_process);
        let mut handle = ServerHandle::new(settings.documents, options.clone());
        handle.reconnect_pause = settings.reconnect;
        (handle.capabilities, handle.machine) = (settings.capabilities, settings.machine);
        let handle = Arc::new(handle.with_in_process(in_process.clone()));
        // One handle, if it is one server: a login and the detection of its features happen once.
        let kernel_handle = settings
            .kernels
            .map(|source| Arc::new(ServerHandle::new(source, options).with_in_process(in_process)));
        let kernel_handle = kernel_handle.unwrap_or_else(|| handle.clone());
        Arc::new(Self {
            documents: Documents::new(handle.clone(), prefix.clone()),
            notebook_search: NotebookSearch::new(handle.clone(), prefix.clone()),
            kernels: Kernels::new(kernel_handle.clone(), prefix.clone(), settings.kernel, settings.run_logs),
            jupyterlab: JupyterLab::new(handle.clone(), prefix.clone()),
            viewer: OnceLock::new(),
            notebook: settings.notebook.or_else(|| handle.notebook()),
            prefix,
            handle,
            kernel_handle,
        })
    }

    /// Shows its notebooks where no open `JupyterLab` does, from now on.
    pub fn shown_by(&self, viewer: Arc<dyn Viewer>) {
        let _ = self.viewer.set(viewer);
    }

    /// The pause between two attempts to connect, if it was set.
    pub(crate) fn reconnect_pause(&self) -> Option<Duration> {
        self.handle.reconnect_pause
    }

    /// Its base URL and token, if its address is known.
    pub fn address(&self) -> Option<(String, Option<rest::Secret>)> {
        self.handle.address()
    }

    /// Contacts the server of the documents.
    pub async fn status(&self) -> Result<(), Error> {
        let status = self.handle.call(|server| async move { server.status().await }).await;
        self.detect_after(status).map(drop)
    }

    /// Contacts the server of the kernels.
    pub async fn kernel_status(&self) -> Result<(), Error> {
        self.kernel_handle.call(|server| async move { server.status().await }).await.map(drop)
    }

    /// Fails unless a file may be written at `path`. Returns whether there is one.
    async fn check_target(&self, path: &str, existing: Existing) -> Result<bool, Error> {
        let kind = match self.handle.contents(path, ContentsQuery::Attributes).await {
            Ok(entry) => Ok(Some(entry.kind)),
            Err(error) if error.kind == Kind::NotFound => Ok(None),
            Err(error) => Err(failure::of(error)),
        };
        let shown = self.prefix.shown(path);
        match self.detect_after(kind)? {
            Some(EntryKind::Directory) => Err(Error::is_folder(&shown)),
            Some(_) if existing == Existing::Keep => Err(Error::file_exists(&shown)),
            Some(EntryKind::Notebook) => Err(Error::is_notebook_file(&shown)),
            Some(EntryKind::File) => Ok(true),
            None => Ok(false),
        }
    }

    /// Opens the notebook whose path differs in its Unicode form only. Otherwise fails with `error`, or names the nearest notebooks
    /// if that says that there is none.
    async fn open_nearest(&self, path: &NotebookPath, error: Error) -> Result<Arc<ServerDocument>, Error> {
        let is_missing = error.kind == ErrorKind::NotFound;
        let Ok(asked) = self.prefix.strip(path) else { return Err(error) };
        if !is_missing && is_notebook(&asked) {
            return Err(error);
        }
        // One request for the folder comes before the search, which may take hundreds.
        let folder = asked.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut paths = listing::notebooks_in(&self.handle, folder).await;
        if nearest(&asked, paths.iter().map(String::as_str)).is_none()
            && let Ok(found) = self.notebook_search.find(MAX_SEARCHED).await
        {
            paths = found.paths.iter().filter_map(|path| self.prefix.strip(path).ok()).collect();
        }
        let Some(near) = nearest(&asked, paths.iter().map(String::as_str)) else { return Err(error) };
        let shown: Vec<_> = near.names.iter().map(|path| self.prefix.shown(path)).collect();
        if let ([same], true) = (shown.as_slice(), near.is_same_text) {
            return self.documents.open(&same.as_str().into(), Mode::Connect).await;
        }
        let near = Near { names: shown.iter().map(String::as_str).collect(), ..near };
        let missing = failure::no_notebook(path, &self.handle.title());
        Err(Error { cause: format!("{}{}", missing.cause, near.sentence()), ..missing })
    }

    /// Once the server of the documents has answered, its extensions can be detected.
    fn detect_after<T>(&self, answer: Result<T, Error>) -> Result<T, Error> {
        if answer.is_ok() {
            self.jupyterlab.detect();
        }
        answer
    }
}

impl Place for Jupyter {
    fn description(&self) -> String {
        let mut documents = self.handle.title();
        if let Some(Discovered { root, others }) = self.handle.discovered() {
            let root = root.display();
            documents.push_str(&match others {
                0 => format!(" (root {root})"),
                1 => format!(" (root {root}; 1 other is running)"),
                _ => format!(" (root {root}; {others} others are running)"),
            });
        }
        if Arc::ptr_eq(&self.handle, &self.kernel_handle) {
            documents
        } else {
            format!("{documents}, with kernels of {}", self.kernel_handle.title())
        }
    }

    /// A machine that has ended is not.
    fn is_present(&self) -> bool {
        self.handle.ended().is_none()
    }

    fn prefix(&self) -> &str {
        self.prefix.as_str()
    }

    fn scheme(&self) -> &'static str {
        self.handle.machine.as_ref().map_or(SCHEME, |machine| machine.scheme)
    }

    /// Its address, also where its paths are shown without a prefix. A machine's is another each time that it is started.
    fn name(&self) -> String {
        match &self.handle.machine {
            Some(_) => self.prefix.as_str().to_owned(),
            None => self.handle.base().unwrap_or_else(|| format!("{SCHEME}:")),
        }
    }

    fn strip_name<'p>(&self, path: &'p str) -> Option<&'p str> {
        match &self.handle.machine {
            // Its root may be named without the slash.
            Some(_) if path == self.prefix.as_str().trim_end_matches('/') => Some(""),
            Some(_) => path.strip_prefix(self.prefix.as_str()),
            None => strip_address(&self.handle.base()?, path),
        }
    }

    fn first_notebook(&self) -> Option<NotebookPath> {
        self.notebook.as_deref().map(|path| self.prefix.shown(path.trim_matches('/')).into())
    }

    fn earlier_runs(&self) -> Option<&dyn EarlierRuns> {
        Some(&self.kernels)
    }

    fn list_files(&self, path: &str, max_depth: usize) -> Future<'_, Vec<FileEntry>> {
        let path = path.to_owned();
        async move { self.detect_after(listing::list(&self.handle, &self.prefix, &path, max_depth).await) }
            .boxed()
    }

    fn notebooks(&self, limit: usize) -> Future<'_, FoundNotebooks> {
        async move { self.detect_after(self.notebook_search.find(limit).await) }.boxed()
    }

    fn open(&self, path: &NotebookPath, mode: Mode) -> Future<'_, Arc<dyn Document>> {
        let path = path.clone();
        async move {
            let opened = match self.documents.open(&path, mode).await {
                Err(error) if mode == Mode::Connect => self.open_nearest(&path, error).await,
                opened => opened,
            };
            let document = self.detect_after(opened)?;
            if mode == Mode::Create {
                self.notebook_search.add(document.path());
            }
            Ok(document as Arc<dyn Document>)
        }
        .boxed()
    }

    fn files(&self) -> Option<&dyn Files> {
        Some(self)
    }

    fn kernelspecs(&self) -> Future<'_, Vec<KernelspecInfo>> {
        async {
            let specs = self.kernels.specs.get().await?;
            let specs = specs.specs.iter().map(|spec| KernelspecInfo {
                name: spec.name.clone(),
                display_name: notebook::one_line(&spec.display_name).into_owned(),
                language: spec.language.clone(),
                environment: String::new(),
            });
            Ok(specs.collect())
        }
        .boxed()
    }

    fn kernels(&self) -> Future<'_, Vec<Arc<dyn Kernel>>> {
        async {
            let kernels = self.kernels.list().await?;
            Ok(kernels.into_iter().map(|kernel| kernel as Arc<dyn Kernel>).collect())
        }
        .boxed()
    }

    fn kernel(&self, request: KernelRequest) -> Future<'_, KernelChoice> {
        self.kernels.choose(request).boxed()
    }

    fn frontend(&self) -> Option<Arc<dyn Frontend>> {
        let lab = self.jupyterlab.frontend();
        let Some(viewer) = self.viewer.get().cloned() else { return lab };
        let (handle, prefix) = (self.handle.clone(), self.prefix.clone());
        Some(Arc::new(LabOrViewer { lab, viewer, handle, prefix }))
    }

    fn frontend_changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.jupyterlab.changes())
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        async {
            let uploads = async {
                if let Some(server) = self.handle.known() {
                    server.end_uploads().await;
                }
            };
            let ended = join3(self.documents.leave(), self.kernels.shutdown(), uploads);
            let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, ended).await;
        }
        .boxed()
    }
}

impl Files for Jupyter {
    fn read(&self, path: &str) -> Future<'_, FileContent> {
        let path = self.prefix.strip(path);
        async move {
            let path = &*path?;
            let mut expected = None;
            if self.handle.machine.is_some() {
                // A proxy may answer a request for any file with a page of its own, which has another size.
                let asked = self.handle.contents(path, ContentsQuery::Attributes).await;
                expected = asked.map_err(failure::of)?.size;
            }
            let download = self.handle.call(|server| async move { server.download(path).await }).await;
            let Download { size, pieces } = self.detect_after(download)?;
            let pieces = pieces.map_err(failure::of).boxed();
            Ok(FileContent { size: expected.or(size), mode: None, pieces })
        }
        .boxed()
    }

    fn write(&self, path: &str, mut content: FileContent, existing: Existing) -> Future<'_, String> {
        let path = self.prefix.strip(path);
        async move {
            let path = path?;
            // The upload itself would also refuse, but only after all pieces were sent.
            self.check_target(&path, existing).await?;
            let start = self.handle.call(|server| ready(server.upload(&path))).await;
            let mut upload = self.detect_after(start)?;
            let of = |error| failure::of(self.handle.named(error));
            while let Some(piece) = content.pieces.next().await {
                upload.append(&piece?).await.map_err(of)?;
            }
            let finished = upload.finish(existing == Existing::Replace).await;
            finished.map_err(|error| match error.kind {
                Kind::Conflict => Error::file_exists(&self.prefix.shown(&path)),
                _ => of(error),
            })?;
            let shown = self.prefix.shown(&path);
            if is_notebook(&path) {
                self.notebook_search.add(&shown.as_str().into());
            }
            Ok(shown)
        }
        .boxed()
    }

    fn check_write(&self, path: &str, existing: Existing) -> Future<'_, (String, bool)> {
        let path = self.prefix.strip(path);
        async move {
            let path = path?;
            let is_there = self.check_target(&path, existing).await?;
            Ok((self.prefix.shown(&path), is_there))
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;

//! A Jupyter server as a place.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join};
use rest::Status;
use tokio::sync::watch;
use workspace::{
    Document, Error, FileEntry, FoundNotebooks, Frontend, Future, Kernel, KernelChoice, KernelRequest,
    KernelspecInfo, Mode, Place,
};

use crate::commands::Commands;
use crate::documents::Documents;
use crate::kernels::Kernels;
use crate::link::Link;
use crate::listing::{self, NotebookSearch};
use crate::paths::Prefix;
use crate::settings::Settings;

/// How long saying goodbye may take.
const END: Duration = Duration::from_secs(4);

/// A Jupyter server: its notebooks, edited together with people where the server allows it, and its kernels. They may be
/// on two servers.
pub struct Jupyter {
    prefix: Prefix,
    link: Arc<Link>,
    /// The server of the kernels.
    kernel_link: Arc<Link>,
    documents: Documents,
    notebook_search: NotebookSearch,
    kernels: Kernels,
    commands: Arc<Commands>,
    /// The one that was set, or that the server's address shows.
    notebook: Option<String>,
}

impl Jupyter {
    /// Contacts nothing.
    pub fn new(settings: Settings) -> Arc<Self> {
        let Settings { documents, kernels, reconnect, options, prefix, notebook, kernel, direct, lacks } =
            settings;
        let prefix = Prefix::new(prefix);
        let link = Link::new(documents, options.clone()).reconnecting(reconnect).lacking(lacks);
        let link = Arc::new(link.beside(direct.clone()));
        let kernel_link = kernels.map(|source| Arc::new(Link::new(source, options).beside(direct)));
        let kernel_link = kernel_link.unwrap_or_else(|| link.clone());
        Arc::new(Self {
            documents: Documents::new(link.clone(), prefix.clone()),
            notebook_search: NotebookSearch::new(link.clone(), prefix.clone()),
            kernels: Kernels::new(kernel_link.clone(), prefix.clone(), kernel),
            commands: Commands::new(link.clone(), prefix.clone()),
            notebook: notebook.or_else(|| link.notebook()),
            prefix,
            link,
            kernel_link,
        })
    }

    /// The pause between two attempts to reach the server, if it was set.
    pub(crate) fn reconnect(&self) -> Option<std::time::Duration> {
        self.link.reconnect
    }

    /// Its base URL and token, if it was named.
    pub(crate) fn address(&self) -> Option<(String, Option<String>)> {
        self.link.address()
    }

    /// Contacts the server. Fails if it cannot be used, and says what is wrong.
    pub async fn status(&self) -> Result<Status, Error> {
        let status = self.link.call(None, |server| async move { server.status().await }).await;
        self.answered(status)
    }

    /// Whether the server of the kernels answers.
    pub async fn kernel_status(&self) -> Result<Status, Error> {
        self.kernel_link.call(None, |server| async move { server.status().await }).await
    }

    /// An answer of the server of the documents: if there is one, the server can be asked more.
    fn answered<T>(&self, answer: Result<T, Error>) -> Result<T, Error> {
        if answer.is_ok() {
            self.commands.look();
        }
        answer
    }
}

impl Place for Jupyter {
    fn description(&self) -> String {
        let documents = self.link.title();
        if Arc::ptr_eq(&self.link, &self.kernel_link) {
            documents
        } else {
            format!("{documents}, with kernels of {}", self.kernel_link.title())
        }
    }

    fn prefix(&self) -> &str {
        self.prefix.as_str()
    }

    fn first_notebook(&self) -> Option<String> {
        self.notebook.as_deref().map(|path| self.prefix.shown(path.trim_matches('/')))
    }

    fn list_files(&self, path: &str, max_depth: usize) -> Future<'_, Vec<FileEntry>> {
        let path = path.to_owned();
        async move { self.answered(listing::list(&self.link, &self.prefix, &path, max_depth).await) }.boxed()
    }

    fn notebooks(&self, limit: usize) -> Future<'_, FoundNotebooks> {
        async move { self.answered(self.notebook_search.find(limit).await) }.boxed()
    }

    fn open(&self, path: &str, mode: Mode) -> Future<'_, Arc<dyn Document>> {
        let path = path.to_owned();
        async move {
            let document = self.answered(self.documents.open(&path, mode).await)?;
            if mode == Mode::Create {
                self.notebook_search.add(document.path());
            }
            Ok(document as Arc<dyn Document>)
        }
        .boxed()
    }

    fn kernelspecs(&self) -> Future<'_, Vec<KernelspecInfo>> {
        async {
            let specs = self.kernels.specs().await?;
            let specs = specs.specs.iter().map(|spec| KernelspecInfo {
                name: spec.name.clone(),
                display_name: spec.display_name.clone(),
                language: spec.language.to_lowercase(),
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
        self.commands.frontend()
    }

    fn frontend_changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.commands.changes())
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        async {
            let _ = tokio::time::timeout(END, join(self.documents.leave(), self.kernels.leave())).await;
        }
        .boxed()
    }
}

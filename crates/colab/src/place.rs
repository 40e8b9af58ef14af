//! Colab as a place: each tab shows one notebook.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use place::{
    Document, Error, ErrorKind, Fault, FileEntry, FoundNotebooks, Future, Kernel, KernelChoice,
    KernelRequest, KernelSelector, KernelspecInfo, Mode, NextStep, NotebookPath, Place, progress,
};

use crate::notebook_url::NotebookUrl;
use crate::seen_tabs::{SeenDocuments, SeenTab};
use crate::tabs::{PREFIX, TabNotebook, Tabs};

pub struct ColabPlace {
    tabs: Arc<Tabs>,
    /// For the person's page, which only looks: it opens no tab.
    seen: Option<SeenDocuments>,
}

impl ColabPlace {
    pub(crate) fn new(tabs: Arc<Tabs>) -> Arc<Self> {
        Arc::new(Self { tabs, seen: None })
    }

    pub(crate) fn for_page(tabs: Arc<Tabs>) -> Arc<Self> {
        Arc::new(Self { tabs, seen: Some(SeenDocuments::default()) })
    }

    /// The tab with this path, if a page has read its notebook.
    pub fn seen(&self, path: &NotebookPath) -> Option<SeenTab> {
        let read_at = self.seen.as_ref()?.read_at(path)?;
        let is_connected =
            self.tabs.at(path).is_some_and(|notebook| notebook.tab.connection.page().is_some());
        Some(SeenTab { read_at, is_connected })
    }

    /// The paths of the tabs that are connected.
    pub fn connected(&self) -> Vec<NotebookPath> {
        self.tabs.connected().iter().map(|notebook| notebook.tab.path().clone()).collect()
    }

    /// Joins the tab that `path` names, or opens one.
    async fn join(&self, path: &str, mode: Mode) -> Result<Arc<dyn Document>, Error> {
        if mode == Mode::Reopen {
            // The first use shows whether the tab is connected.
            return Ok(self.tabs.at(path).ok_or_else(|| no_tab(path))?.document);
        }
        let (TabNotebook { tab, document, .. }, is_new) = self.choose(path, mode)?;
        let tool = &tab.connect_tool;
        let url = tool.url().map_or_else(|| NotebookUrl::new(None, None), Ok)?;
        let report = |_, message| progress::report(message);
        match tool.join(&url, tool.timeout(is_new), report).await {
            Ok(()) => Ok(document),
            Err(failure) => Err(Error::new(
                ErrorKind::Unavailable,
                tool.explain(failure, &url, "open the notebook again").join("\n"),
                tab.reopen(),
            )),
        }
    }

    /// The tab for a path: `colab:`, `colab:2`, or the URL of a notebook on Colab. Returns whether the person cannot have opened it yet.
    fn choose(&self, path: &str, mode: Mode) -> Result<(TabNotebook, bool), Error> {
        let named = path.strip_prefix(PREFIX).unwrap_or(path).trim();
        let url = || NotebookUrl::new(Some(named).filter(|named| !named.is_empty()), None);
        match self.tabs.at(path) {
            Some(other) if mode == Mode::Create && !other.tab.is_first => Err(Error::new(
                ErrorKind::Conflict,
                format!("{path} belongs to a tab from an earlier connection."),
                NextStep::OpenExisting,
            )),
            None if named.parse::<usize>().is_ok() => Err(no_tab(path)),
            Some(notebook) if mode != Mode::Create => {
                let is_new = notebook.tab.connect_tool.claim(&NotebookUrl::new(None, None)?);
                Ok((notebook, is_new))
            }
            _ => self.tabs.open(&url()?, mode),
        }
    }
}

pub(crate) fn no_tab(path: &str) -> Error {
    let cause = format!("There is no Colab tab {path}, or it no longer exists.");
    Error::new(ErrorKind::NotFound, cause, NextStep::ListNotebooks)
}

impl Place for ColabPlace {
    fn description(&self) -> String {
        "the Colab tab".to_owned()
    }

    fn is_present(&self) -> bool {
        // A page shows what it has read.
        self.seen.is_some() || !self.tabs.connected().is_empty()
    }

    fn prefix(&self) -> &str {
        PREFIX
    }

    fn scheme(&self) -> &'static str {
        "colab"
    }

    /// The URL of a notebook on Colab names the tab too.
    fn strip_name<'p>(&self, path: &'p str) -> Option<&'p str> {
        let is_url = || NotebookUrl::new(Some(path), None).is_ok();
        path.strip_prefix(PREFIX).or_else(|| is_url().then_some(path))
    }

    /// All servers have a tab with the path `colab:`, and no page reports which notebook it shows.
    fn identity(&self, path: &NotebookPath) -> String {
        let rest = path.strip_prefix(PREFIX).unwrap_or(path);
        format!("{PREFIX}{}/{rest}", self.tabs.id)
    }

    fn list_files(&self, _: &str, _: usize) -> Future<'_, Vec<FileEntry>> {
        ready(Err(self.no_files())).boxed()
    }

    fn notebooks(&self, _: usize) -> Future<'_, FoundNotebooks> {
        ready(Ok(FoundNotebooks { paths: self.connected(), ..FoundNotebooks::default() })).boxed()
    }

    fn open(&self, path: &NotebookPath, mode: Mode) -> Future<'_, Arc<dyn Document>> {
        if let Some(seen) = &self.seen {
            return ready(seen.of(path, &self.tabs)).boxed();
        }
        let path = path.clone();
        async move { self.join(&path, mode).await }.boxed()
    }

    fn kernelspecs(&self) -> Future<'_, Vec<KernelspecInfo>> {
        ready(Ok(Vec::new())).boxed()
    }

    fn kernels(&self) -> Future<'_, Vec<Arc<dyn Kernel>>> {
        let kernel = |notebook: TabNotebook| notebook.kernel as Arc<dyn Kernel>;
        ready(Ok(self.tabs.connected().into_iter().map(kernel).collect())).boxed()
    }

    fn kernel(&self, request: KernelRequest) -> Future<'_, KernelChoice> {
        let path = request.notebook.as_deref().unwrap_or(PREFIX);
        let Some(TabNotebook { kernel, .. }) = self.tabs.at(path) else {
            return ready(Err(no_tab(path))).boxed();
        };
        let other = match &request.kernel {
            KernelSelector::Existing(id) if id != kernel.id() => Some("Change runtime type"),
            KernelSelector::Any | KernelSelector::Existing(_) => None,
            KernelSelector::Kernelspec(_) | KernelSelector::New(_) => Some("Change runtime type"),
            // There is no second one beside it.
            KernelSelector::Scratch(_) => Some("Restart session and run all"),
        };
        let kernel = match other {
            None => Ok(KernelChoice::Kernel { kernel, is_new: false }),
            Some(item) => Err(Error::new(
                ErrorKind::Unsupported,
                "A Colab tab has one kernel, chosen by the person in the tab.",
                format!("The person can choose Runtime > {item} in the tab."),
            )
            .with_fault(Fault::Person)),
        };
        ready(kernel).boxed()
    }

    /// The runtime belongs to the person, and stays.
    fn shutdown(&self) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }
}

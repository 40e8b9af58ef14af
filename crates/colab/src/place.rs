//! The Colab tab as a place with one notebook: the one that the tab shows.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use workspace::{
    Document, Error, ErrorKind, Fault, FileEntry, FoundNotebooks, Future, Kernel, KernelChoice,
    KernelRequest, KernelSelector, KernelspecInfo, Mode, NotebookPath, Place, progress,
};

use crate::connect_tool::NotJoined;
use crate::document::TabDocument;
use crate::notebook_url::NotebookUrl;
use crate::tab::Tab;
use crate::tab_kernel::TabKernel;
use crate::tools::CONNECT;

/// The path of the tab's notebook, and the beginning of all paths that mean the tab.
const PREFIX: &str = "colab:";

pub(crate) struct ColabPlace {
    tab: Arc<Tab>,
    document: Arc<TabDocument>,
    kernel: Arc<TabKernel>,
}

impl ColabPlace {
    pub(crate) fn new(tab: Arc<Tab>) -> Arc<Self> {
        let document = Arc::new(TabDocument::new(tab.clone(), NotebookPath::from(PREFIX)));
        let kernel = Arc::new(TabKernel::new(tab.clone(), document.clone()));
        Arc::new(Self { tab, document, kernel })
    }

    /// Joins the connected tab, or opens one with the notebook that `path` names.
    async fn join(&self, path: &str, mode: Mode) -> Result<Arc<dyn Document>, Error> {
        if mode == Mode::Reopen {
            // Whether a tab is connected shows with the first use.
            return Ok(self.document.clone());
        }
        let named = path.strip_prefix(PREFIX).unwrap_or(path).trim();
        let url = NotebookUrl::new(Some(named).filter(|named| !named.is_empty()), None)?;
        if mode == Mode::Create && self.tab.bridge.page().is_some() {
            return Err(Error::new(
                ErrorKind::Conflict,
                "A Colab tab is connected, and the server has no other: its notebook is open as \"colab:\".",
                "Open that one, or let the person close the tab first.",
            ));
        }
        let timeout = self.tab.connect_tool.default_timeout;
        let report = |_, message| progress::report(message);
        match self.tab.connect_tool.join(&url, timeout, report).await {
            Ok(()) => Ok(self.document.clone()),
            Err(NotJoined { seen, .. }) => Err(Error::new(
                ErrorKind::Unavailable,
                seen.join(" "),
                format!("Call {CONNECT}: it returns the address that the person can open."),
            )),
        }
    }
}

impl Place for ColabPlace {
    fn description(&self) -> String {
        "the Colab tab".to_owned()
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

    fn list_files(&self, _: &str, _: usize) -> Future<'_, Vec<FileEntry>> {
        ready(Err(self.no_files())).boxed()
    }

    fn notebooks(&self, _: usize) -> Future<'_, FoundNotebooks> {
        let paths = self.tab.bridge.page().map(|_| NotebookPath::from(PREFIX)).into_iter().collect();
        ready(Ok(FoundNotebooks { paths, ..FoundNotebooks::default() })).boxed()
    }

    fn open(&self, path: &NotebookPath, mode: Mode) -> Future<'_, Arc<dyn Document>> {
        let path = path.clone();
        async move { self.join(&path, mode).await }.boxed()
    }

    fn kernelspecs(&self) -> Future<'_, Vec<KernelspecInfo>> {
        ready(Ok(Vec::new())).boxed()
    }

    fn kernels(&self) -> Future<'_, Vec<Arc<dyn Kernel>>> {
        let kernel = self.tab.bridge.page().map(|_| self.kernel.clone() as Arc<dyn Kernel>);
        ready(Ok(kernel.into_iter().collect())).boxed()
    }

    fn kernel(&self, request: KernelRequest) -> Future<'_, KernelChoice> {
        let is_this = match &request.kernel {
            KernelSelector::Any => true,
            KernelSelector::Existing(id) => id == self.kernel.id(),
            KernelSelector::Kernelspec(_) | KernelSelector::New(_) => false,
        };
        let kernel = if is_this {
            Ok(KernelChoice::Kernel { kernel: self.kernel.clone(), is_new: false })
        } else {
            Err(Error::new(
                ErrorKind::Unsupported,
                "A Colab tab has one kernel, which its person chooses.",
                "The person can choose Runtime > Change runtime type in the tab.",
            )
            .with_fault(Fault::Person))
        };
        ready(kernel).boxed()
    }

    /// The runtime belongs to the person, and stays.
    fn shutdown(&self) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }
}

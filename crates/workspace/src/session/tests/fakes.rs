//! A place in memory, with its documents and kernels.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use notebook::{CellType, Edit, NewCell, Notebook};
use place::{
    Applied, Document, Expected, FileEntry, FoundNotebooks, Frontend, Future, Kernel, KernelChoice,
    KernelDescription, KernelRequest, KernelSelector, KernelState, KernelspecInfo, Place, SaveStatus,
};
use tokio::sync::watch;

use super::*;
use crate::workspace::Settings;

/// A document in memory.
pub(super) struct Page {
    pub(super) path: NotebookPath,
    pub(super) notebook: Mutex<Notebook>,
    pub(super) version: watch::Sender<u64>,
    pub(super) is_live: AtomicBool,
    /// The cell with the person's cursor.
    pub(super) selected: Mutex<Option<CellId>>,
    /// How often it was suspended.
    pub(super) rests: watch::Sender<usize>,
    /// Why it cannot be written.
    pub(super) refusal: Mutex<Option<Error>>,
}

impl Document for Page {
    fn path(&self) -> &NotebookPath {
        &self.path
    }

    fn snapshot(&self) -> Future<'_, Notebook> {
        let notebook = self.notebook.lock().unwrap().clone();
        async { Ok(notebook) }.boxed()
    }

    fn apply(&self, edits: Vec<Edit>, expected: Vec<Expected>) -> Future<'_, Applied> {
        let mut notebook = self.notebook.lock().unwrap();
        let refusal = self.refusal.lock().unwrap().clone();
        let refused = || expected.iter().find_map(|expected| expected.check(&notebook).err());
        if let Some(error) = refusal.or_else(refused) {
            return async { Err(error) }.boxed();
        }
        let mut changed = notebook.clone();
        for edit in edits {
            if let Err(error) = changed.apply(&edit) {
                let error = Error::new(ErrorKind::Conflict, error.to_string(), "Look at it again.");
                return async { Err(error) }.boxed();
            }
        }
        *notebook = changed;
        let notebook = notebook.clone();
        async { Ok(Applied { notebook, saved: SaveStatus::OnDisk }) }.boxed()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    fn is_live(&self) -> bool {
        self.is_live.load(Ordering::Relaxed)
    }

    fn selected(&self) -> Option<CellId> {
        self.selected.lock().unwrap().clone()
    }

    fn suspend(&self) -> BoxFuture<'_, ()> {
        self.rests.send_modify(|rests| *rests += 1);
        async {}.boxed()
    }
}

/// A kernel that cannot be started, unless it has an executor.
pub(super) struct Idle {
    pub(super) id: place::KernelId,
    pub(super) executor: Option<Arc<dyn place::Executor>>,
    pub(super) is_shut_down: Mutex<bool>,
    pub(super) foreign: Option<place::Foreign>,
    /// What a start waits for, and whether the kernel is shut down during it.
    pub(super) start: tokio::sync::Semaphore,
    pub(super) is_shut_down_at_start: AtomicBool,
    /// The runs that were announced and not retracted, and whether it is left to them when this program ends.
    pub(super) announced: Mutex<Vec<place::RunId>>,
    pub(super) outlives_us: AtomicBool,
    /// The process that it is now.
    pub(super) instance: Mutex<Option<String>>,
    /// The process that it was, and the one that a connection finds.
    pub(super) ended_instance: Mutex<Option<String>>,
    pub(super) unidentified: Mutex<Option<String>>,
    pub(super) language: &'static str,
    /// The runs of earlier servers.
    pub(super) orphans: Mutex<Vec<place::Orphan>>,
    /// The runs of other servers that it has.
    pub(super) others: Mutex<Vec<place::RunDetails>>,
}

impl Idle {
    pub(super) fn new(id: &str) -> Self {
        Self {
            id: id.into(),
            executor: None,
            is_shut_down: Mutex::new(false),
            foreign: None,
            start: tokio::sync::Semaphore::new(1),
            is_shut_down_at_start: AtomicBool::new(false),
            announced: Mutex::default(),
            outlives_us: AtomicBool::new(false),
            instance: Mutex::default(),
            ended_instance: Mutex::default(),
            unidentified: Mutex::default(),
            language: "none",
            orphans: Mutex::default(),
            others: Mutex::default(),
        }
    }
}

impl Kernel for Idle {
    fn id(&self) -> &place::KernelId {
        &self.id
    }

    fn description(&self) -> KernelDescription {
        KernelDescription {
            name: "idle".into(),
            display_name: "Idle".into(),
            language: self.language.into(),
            environment: "/bin/false".into(),
            state: if self.executor.is_some() { KernelState::Idle } else { KernelState::NotStarted },
            last_activity: None,
            connections: None,
            keeping: None,
            foreign: self.foreign.clone(),
        }
    }

    fn is_gone(&self) -> bool {
        *self.is_shut_down.lock().unwrap()
    }

    fn executor(&self) -> Future<'_, Arc<dyn place::Executor>> {
        async {
            let _one_at_a_time = self.start.acquire().await;
            if self.is_shut_down_at_start.load(Ordering::Relaxed) {
                *self.is_shut_down.lock().unwrap() = true;
            }
            self.executor
                .clone()
                .ok_or_else(|| Error::new(ErrorKind::RemoteFailure, "It does not start.", "Nothing helps."))
        }
        .boxed()
    }

    fn outlives_us(&self) -> bool {
        self.outlives_us.load(Ordering::Relaxed)
    }

    fn earlier_runs(&self) -> Option<&dyn place::EarlierKernelRuns> {
        Some(self)
    }

    fn instance(&self) -> Option<String> {
        self.instance.lock().unwrap().clone()
    }

    fn ended_instance(&self) -> Option<String> {
        self.ended_instance.lock().unwrap().clone()
    }

    fn identify(&self) -> BoxFuture<'_, ()> {
        async {
            if let Some(found) = self.unidentified.lock().unwrap().take() {
                *self.instance.lock().unwrap() = Some(found);
            }
        }
        .boxed()
    }

    fn interrupt(&self) -> Future<'_, ()> {
        async { Ok(()) }.boxed()
    }

    fn restart(&self) -> Future<'_, ()> {
        async { Ok(()) }.boxed()
    }

    fn shutdown(&self) -> Future<'_, ()> {
        *self.is_shut_down.lock().unwrap() = true;
        async { Ok(()) }.boxed()
    }
}

impl place::EarlierKernelRuns for Idle {
    fn runs_of_others(&self) -> BoxFuture<'_, Vec<place::RunDetails>> {
        let others = self.others.lock().unwrap().clone();
        async { others }.boxed()
    }

    fn take_orphans(&self) -> BoxFuture<'_, Vec<place::Orphan>> {
        let orphans = std::mem::take(&mut *self.orphans.lock().unwrap());
        async { orphans }.boxed()
    }

    fn announce(&self, details: &place::RunDetails) -> bool {
        let mut announced = self.announced.lock().unwrap();
        if !announced.contains(&details.run) {
            announced.push(details.run.clone());
        }
        true
    }

    fn retract(&self, run: &place::RunId) {
        self.announced.lock().unwrap().retain(|announced| announced != run);
    }
}

/// Notebooks in memory, a new kernel for each request.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) pages: Mutex<BTreeMap<NotebookPath, Arc<Page>>>,
    pub(super) kernels: Mutex<Vec<Arc<Idle>>>,
    /// Whether there is a screen: not 0.
    pub(super) screens: watch::Sender<u64>,
    pub(super) prefix: &'static str,
    pub(super) scheme: &'static str,
    /// The cells that another program runs.
    pub(super) running: Mutex<Vec<CellId>>,
    /// That of new kernels.
    pub(super) executor: Mutex<Option<Arc<dyn place::Executor>>>,
    pub(super) has_no_kernelspecs: AtomicBool,
    /// Only notebooks that are there can be opened.
    pub(super) is_strict: Mutex<bool>,
    /// Happens when it is asked what runs.
    pub(super) in_between: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// Where the notebooks are if they are files.
    pub(super) files: Mutex<Option<Arc<files::FileStore>>>,
}

/// It shows nothing.
pub(super) struct Screen;

impl Frontend for Screen {
    fn open(&self, _: &NotebookPath) -> Future<'_, place::Showing> {
        async { Ok(place::Showing::Seen) }.boxed()
    }
}

impl place::EarlierRuns for Memory {
    fn leftovers(&self) -> BoxFuture<'_, place::Leftovers> {
        async { place::Leftovers::default() }.boxed()
    }

    fn cells_to_run(&self, _: &NotebookPath) -> Future<'_, Vec<CellId>> {
        let running = self.running.lock().unwrap().clone();
        if let Some(in_between) = self.in_between.lock().unwrap().take() {
            in_between();
        }
        async { Ok(running) }.boxed()
    }
}

impl Place for Memory {
    fn description(&self) -> String {
        "memory".into()
    }

    fn prefix(&self) -> &str {
        self.prefix
    }

    fn scheme(&self) -> &'static str {
        self.scheme
    }

    fn strip_name<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_prefix(&self.name())
    }

    fn list_files(&self, _: &str, _: usize) -> Future<'_, Vec<FileEntry>> {
        let entry = |path: &NotebookPath| FileEntry {
            path: path.to_string(),
            kind: place::FileKind::Notebook,
            size: None,
            modified: None,
        };
        let entries = self.pages.lock().unwrap().keys().map(entry).collect();
        async { Ok(entries) }.boxed()
    }

    fn notebooks(&self, _: usize) -> Future<'_, FoundNotebooks> {
        let paths = self.pages.lock().unwrap().keys().cloned().collect();
        async { Ok(FoundNotebooks { paths, ..FoundNotebooks::default() }) }.boxed()
    }

    fn open(&self, path: &NotebookPath, mode: Mode) -> Future<'_, Arc<dyn Document>> {
        if let Some(files) = self.files.lock().unwrap().clone() {
            let path = path.clone();
            return async move { Ok(files.open(&path, mode).await? as Arc<dyn Document>) }.boxed();
        }
        let path: NotebookPath =
            format!("{}{}", self.prefix, path.strip_prefix(self.prefix).unwrap_or(path)).into();
        let page = || Page {
            path: path.clone(),
            notebook: Mutex::new(Notebook::new()),
            version: watch::Sender::new(0),
            is_live: AtomicBool::new(false),
            selected: Mutex::default(),
            rests: watch::Sender::default(),
            refusal: Mutex::default(),
        };
        if *self.is_strict.lock().unwrap() && !self.pages.lock().unwrap().contains_key(&path) {
            return async move { Err(Error::no_notebook(&path)) }.boxed();
        }
        let page = self.pages.lock().unwrap().entry(path.clone()).or_insert_with(|| Arc::new(page())).clone();
        async { Ok(page as Arc<dyn Document>) }.boxed()
    }

    fn kernelspecs(&self) -> Future<'_, Vec<KernelspecInfo>> {
        let fails = self.has_no_kernelspecs.load(Ordering::Relaxed);
        let error = || Error::new(ErrorKind::RemoteFailure, "They cannot be read.", "Nothing helps.");
        async move { if fails { Err(error()) } else { Ok(Vec::new()) } }.boxed()
    }

    fn kernels(&self) -> Future<'_, Vec<Arc<dyn Kernel>>> {
        let kernels = self.kernels.lock().unwrap();
        let kernels = kernels.iter().map(|kernel| kernel.clone() as Arc<dyn Kernel>).collect();
        async { Ok(kernels) }.boxed()
    }

    fn earlier_runs(&self) -> Option<&dyn place::EarlierRuns> {
        Some(self)
    }

    fn unknown_kernel(&self, id: &str) -> Error {
        let has_ended = id == "ended" && self.scheme == "local";
        let gone = || Error::new(ErrorKind::KernelGone, "It has ended.", NextStep::ListKernels);
        if has_ended { gone() } else { Error::no_kernel(id) }
    }

    fn kernel(&self, request: KernelRequest) -> Future<'_, KernelChoice> {
        let mut kernels = self.kernels.lock().unwrap();
        if let Some(known) =
            kernels.iter().find(|kernel| request.kernel == KernelSelector::Existing(kernel.id.clone()))
        {
            let kernel = known.clone();
            return async { Ok(KernelChoice::Kernel { kernel, is_new: false }) }.boxed();
        }
        let executor = self.executor.lock().unwrap().clone();
        let kernel = Arc::new(Idle { executor, ..Idle::new(&format!("k{}", kernels.len())) });
        kernels.push(kernel.clone());
        async { Ok(KernelChoice::Kernel { kernel, is_new: true }) }.boxed()
    }

    fn frontend(&self) -> Option<Arc<dyn Frontend>> {
        if *self.screens.borrow() == 0 { None } else { Some(Arc::new(Screen)) }
    }

    fn frontend_changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.screens.subscribe())
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}

pub(super) fn memory() -> (Arc<Memory>, Arc<Workspace>) {
    let memory = Arc::new(Memory::default());
    (memory.clone(), Workspace::new(memory, Settings::default()))
}

pub(super) async fn with_cells(session: &Session, path: &str, count: usize) -> (Arc<OpenNotebook>, Notebook) {
    let opened = session.use_notebook(path, &path.into(), Mode::Connect).await.unwrap();
    let edits = (0..count).map(|index| {
        let cell = NewCell::new(CellType::Code, format!("{index}"));
        Edit::Insert { index, cell }
    });
    let applied = opened.document().apply(edits.collect(), Vec::new()).await.unwrap();
    (opened, applied.notebook)
}

//! What a place with documents and kernels can do. The tools know nothing but these traits.

use std::sync::Arc;
use std::time::SystemTime;

use futures_util::future::BoxFuture;
use notebook::{Edit, Kernelspec, Notebook};
use tokio::sync::{mpsc, watch};

use crate::Error;

/// What every request to a place gives.
pub type Future<'a, T> = BoxFuture<'a, Result<T, Error>>;

/// A place where notebooks and kernels live: a folder, a server.
pub trait Place: Send + Sync + 'static {
    /// One line for agents: what the place is, for example `the folder /home/ada/work`.
    fn description(&self) -> String;

    /// What lies below the folder `path` (empty: the root), sorted by path. `max_depth` 0 looks at the folder
    /// alone. A folder that cannot be read is an entry that says so.
    fn list_files(&self, path: &str, max_depth: usize) -> Future<'_, Vec<FileEntry>>;

    /// The paths of at most `limit` notebooks of the place. Hidden folders and those of environments are left out.
    fn notebooks(&self, limit: usize) -> Future<'_, Vec<String>>;

    /// Opens a notebook. The same notebook opened twice is the same document.
    fn open(&self, path: &str, mode: Mode) -> Future<'_, Arc<dyn Document>>;

    /// The kernels that could be started.
    fn kernelspecs(&self) -> Future<'_, Vec<KernelspecInfo>>;

    /// The kernels that there are, started or not.
    fn kernels(&self) -> Vec<Arc<dyn Kernel>>;

    /// Chooses a kernel, and prepares what it needs, without starting its process.
    fn kernel(&self, request: KernelRequest) -> Future<'_, Arc<dyn Kernel>>;

    /// Stops the kernels that this place started. Bounded.
    fn shutdown(&self) -> BoxFuture<'_, ()>;
}

/// How a notebook is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It must exist.
    Connect,
    /// It must not exist.
    Create,
}

/// One row of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// The path from the root, with `/`.
    pub path: String,
    /// What it is.
    pub kind: FileKind,
    /// The size in bytes, for files.
    pub size: Option<u64>,
    /// The last change.
    pub modified: Option<SystemTime>,
}

/// What a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileKind {
    /// Any file but a notebook.
    File,
    /// A notebook.
    Notebook,
    /// A folder.
    Directory,
    /// What cannot be read, and why.
    Unreadable(String),
}

/// A kernel that could be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelspecInfo {
    /// The name by which it is asked for.
    pub name: String,
    /// The name for people.
    pub display_name: String,
    /// The language, in lower case.
    pub language: String,
    /// The interpreter or program that it runs.
    pub environment: String,
}

/// Which kernel is wanted.
#[derive(Debug, Clone, Default)]
pub struct KernelRequest {
    /// The path of the notebook that it is for.
    pub notebook: Option<String>,
    /// A kernelspec asked for by name.
    pub name: Option<String>,
    /// What the notebook says that it wants.
    pub preferred: Option<Kernelspec>,
    /// Lines for people while something is prepared. Those that find the channel full are dropped.
    pub progress: Option<mpsc::Sender<String>>,
}

/// A notebook, however it is stored.
pub trait Document: Send + Sync + 'static {
    /// The path from the root of the place, with `/`.
    fn path(&self) -> &str;

    /// The notebook as it is now, with the changes of others.
    fn snapshot(&self) -> Future<'_, Notebook>;

    /// Makes all of `edits` or none, on the newest state, one caller at a time. Answers when they are stored.
    ///
    /// It fails, and stores nothing, if a cell of `expected` is gone or has another revision; the error's cause
    /// then holds the new source.
    fn apply(&self, edits: Vec<Edit>, expected: Vec<Expected>) -> Future<'_, Notebook>;

    /// A counter that moves when somebody else has changed the notebook.
    fn changes(&self) -> watch::Receiver<u64>;
}

/// What a caller believes of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The cell's id.
    pub id: String,
    /// Its revision; `None` if it only has to exist.
    pub revision: Option<String>,
}

/// A kernel, started or not.
pub trait Kernel: Send + Sync + 'static {
    /// The id, unique within the place.
    fn id(&self) -> &str;

    /// What is known of it now. Never waits.
    fn description(&self) -> KernelDescription;

    /// A connection; starts the kernel if it does not run, and waits until it answers.
    fn client(&self) -> Future<'_, kernel::Client>;

    /// Interrupts what it runs, by message or signal.
    fn interrupt(&self) -> Future<'_, ()>;

    /// Starts it anew and waits until it answers.
    fn restart(&self) -> Future<'_, ()>;

    /// Ends it.
    fn shutdown(&self) -> Future<'_, ()>;
}

/// A kernel as agents are told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelDescription {
    /// The kernelspec's name.
    pub name: String,
    /// The name for people.
    pub display_name: String,
    /// The language, in lower case.
    pub language: String,
    /// The interpreter or program that it runs.
    pub environment: String,
    /// What it does.
    pub state: KernelState,
    /// When it was last used.
    pub last_activity: Option<SystemTime>,
}

/// What a kernel does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelState {
    /// It has not been started; the first run starts it.
    NotStarted,
    /// Its process is there and does not answer yet.
    Starting,
    /// It waits for work.
    Idle,
    /// It works.
    Busy,
    /// It ended without being asked to; how.
    Dead(String),
}

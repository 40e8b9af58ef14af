//! What a place with documents and kernels can do. The tools know nothing but these traits.

use std::fmt;
use std::future::ready;
use std::sync::Arc;
use std::time::SystemTime;

use futures_util::future::BoxFuture;
use notebook::{Edit, Kernelspec, Notebook};
use tokio::sync::{mpsc, watch};

use crate::{Error, ErrorKind, KernelId, NextStep, SessionId, Token};

/// What every request to a place gives.
pub type Future<'a, T> = BoxFuture<'a, Result<T, Error>>;

/// A place where notebooks and kernels live: a folder, a server.
pub trait Place: Send + Sync + 'static {
    /// One line for agents: what the place is, for example `the folder /home/ada/work`.
    fn description(&self) -> String;

    /// What its paths begin with where they are shown, so that they differ from those of other places of the same
    /// server. Paths are taken with and without it.
    #[expect(clippy::unnecessary_literal_bound, reason = "other places give what they own")]
    fn prefix(&self) -> &str {
        ""
    }

    /// The notebook that is meant where an agent names none and has opened none.
    fn first_notebook(&self) -> Option<String> {
        None
    }

    /// What lies below the folder `path` (empty: the root), sorted by path. `max_depth` 0 looks at the folder
    /// alone. A folder that cannot be read is an entry that says so.
    fn list_files(&self, path: &str, max_depth: usize) -> Future<'_, Vec<FileEntry>>;

    /// Searches the place for notebooks, at most `limit` of them. Hidden folders and those of environments are left out.
    /// Bounded: a search that takes longer goes on in the background.
    fn notebooks(&self, limit: usize) -> Future<'_, FoundNotebooks>;

    /// Opens a notebook. The same notebook opened twice is the same document.
    fn open(&self, path: &str, mode: Mode) -> Future<'_, Arc<dyn Document>>;

    /// The kernels that could be started.
    fn kernelspecs(&self) -> Future<'_, Vec<KernelspecInfo>>;

    /// The kernels that there are, started or not.
    fn kernels(&self) -> Future<'_, Vec<Arc<dyn Kernel>>>;

    /// Chooses a kernel and prepares what it needs.
    fn kernel(&self, request: KernelRequest) -> Future<'_, KernelChoice>;

    /// What shows the place's notebooks to its person, if it is known to take requests. Never waits.
    fn frontend(&self) -> Option<Arc<dyn Frontend>> {
        None
    }

    /// A counter that moves whenever [`Place::frontend`] may answer differently; `None` where it never does.
    fn frontend_changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }

    /// Stops the kernels that this place started. Bounded.
    fn shutdown(&self) -> BoxFuture<'_, ()>;
}

/// What shows a place's notebooks to its person.
pub trait Frontend: Send + Sync + 'static {
    /// Shows the person the notebook at `path`. Fails if nobody looks. Bounded.
    fn open(&self, path: &str) -> Future<'_, ()>;
}

/// How a notebook is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It must exist.
    Connect,
    /// It must not exist.
    Create,
}

/// The notebooks that a search of a place has found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundNotebooks {
    /// Their paths, sorted.
    pub paths: Vec<String>,
    pub extent: SearchExtent,
}

/// How much of a place a search has covered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SearchExtent {
    /// All of it: there are no other notebooks.
    #[default]
    Complete,
    /// The search ended at its limit, so there may be more notebooks.
    Truncated,
    /// The search goes on in the background; a later call returns more.
    InProgress,
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
    /// The id of a kernel that is there, which the notebook is to run on.
    pub id: Option<KernelId>,
    /// Whether it must be a new one, even if the notebook has one.
    pub is_new: bool,
    /// Whether it was asked for by name, or a run waits for it. Otherwise a place that cannot name a kernel before its
    /// process runs starts none.
    pub is_needed: bool,
    /// A kernelspec asked for by name.
    pub name: Option<String>,
    /// What the notebook says that it wants.
    pub preferred: Option<Kernelspec>,
    /// Lines for people while something is prepared. Those that find the channel full are dropped.
    pub progress: Option<mpsc::Sender<String>>,
}

/// The kernel that a place has chosen.
pub enum KernelChoice {
    /// This one.
    Kernel {
        /// The kernel.
        kernel: Arc<dyn Kernel>,
        /// Whether it is there because of this request.
        is_new: bool,
    },
    /// None yet; the first run starts one: which, for people.
    OnFirstRun(String),
}

/// A notebook, however it is stored.
pub trait Document: Send + Sync + 'static {
    /// The path from the root of the place, with `/`.
    fn path(&self) -> &str;

    /// The notebook as it is now, with the changes of others.
    fn snapshot(&self) -> Future<'_, Notebook>;

    /// Makes all of `edits` or none, on the newest state, one caller at a time. Answers when they are stored, or when
    /// it is clear that this takes longer.
    ///
    /// It fails, and stores nothing, if a cell of `expected` is gone or has another revision; the error's cause
    /// then holds the new source.
    fn apply(&self, edits: Vec<Edit>, expected: Vec<Expected>) -> Future<'_, Applied>;

    /// A counter that moves when somebody else has changed the notebook.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Whether people watch the notebook while it changes, so that outputs are worth showing as they come.
    fn is_live(&self) -> bool {
        false
    }

    /// Makes edits that others should see and that a later [`Document::apply`] stores: outputs of a run that goes on.
    fn show(&self, edits: Vec<Edit>) -> Future<'_, ()> {
        Box::pin(async { self.apply(edits, Vec::new()).await.map(drop) })
    }

    /// Tells others that a cell runs, or does so no more.
    fn set_running(&self, _cell: &str, _is_running: bool) -> Future<'_, ()> {
        Box::pin(ready(Ok(())))
    }

    /// Shows others that the agent of a session is here, and at which cell; `None`: it has left.
    fn set_presence(&self, _session: SessionId, _presence: Option<Presence>) {}

    /// The id of the cell with the cursor of the person who moved last, where people are seen. Never waits.
    fn selected(&self) -> Option<String> {
        None
    }

    /// Nobody uses it for now: lets go of what is kept for them. It can be used again at any time.
    fn suspend(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    /// What an agent should know of the way in which this notebook is stored.
    fn notice(&self) -> Option<String> {
        None
    }
}

/// Where an agent is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presence {
    /// What the agent is called.
    pub name: String,
    /// The id of the cell that it works on.
    pub cell: Option<String>,
}

/// A notebook after an edit.
#[derive(Debug, Clone)]
pub struct Applied {
    /// With the edit.
    pub notebook: Notebook,
    /// Whether the edit is stored.
    pub saved: SaveStatus,
}

/// Whether a change is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaveStatus {
    /// It is in the file.
    OnDisk,
    /// It is in the file, which is at this path now.
    OnDiskAt(String),
    /// Others see it, but it is not known to be in the file; why.
    NotYet(String),
}

impl fmt::Display for SaveStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnDisk => f.write_str("saved to disk"),
            Self::OnDiskAt(path) => write!(f, "saved to disk as {path}, to which the notebook was renamed"),
            Self::NotYet(why) => write!(f, "NOT yet on disk: {why}"),
        }
    }
}

/// What a caller believes of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The cell's id.
    pub id: String,
    /// Its revision; `None` if it only has to exist.
    pub revision: Option<String>,
}

impl Expected {
    /// Fails if the cell is gone or has another revision; the cause then holds its source.
    pub fn check(&self, notebook: &Notebook) -> Result<(), Error> {
        let Self { id, revision } = self;
        let Some((_, cell)) = notebook.cell(id) else {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!(
                    "there is no cell {id} any more: it was deleted since you read it. Nothing was changed."
                ),
                NextStep::ReadNotebook,
            ));
        };
        match revision {
            Some(revision) if revision != cell.revision() => Err(Error::new(
                ErrorKind::Conflict,
                format!(
                    "cell {id} changed since you read it (revision {revision}); nothing was changed. It is now \
                     (revision {}):\n{}",
                    cell.revision(),
                    cell.source()
                ),
                NextStep::EditRevision { revision: cell.revision().to_owned() },
            )),
            _ => Ok(()),
        }
    }
}

/// A kernel, started or not.
pub trait Kernel: Send + Sync + 'static {
    fn id(&self) -> &KernelId;

    /// What is known of it now. Never waits.
    fn description(&self) -> KernelDescription;

    /// Whether it was ended on purpose, or is known to be no more: nothing will run on it again. Never waits.
    fn is_gone(&self) -> bool;

    /// Whether somebody else uses it at this moment, so that ending it would take it from them.
    fn is_shared(&self) -> BoxFuture<'_, bool> {
        Box::pin(ready(false))
    }

    /// Whether it keeps running when this program ends, as the kernel of a notebook on a server does. Never waits.
    fn outlives_us(&self) -> bool {
        false
    }

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
    /// How many clients are connected to it, where that is known.
    pub connections: Option<u64>,
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
    /// It ended without being asked to.
    Dead { how: String },
}

/// What can reach servers while the program runs.
pub trait Connector: Send + Sync + 'static {
    /// Reaches a server, and gives the place that it is. The same server reached twice is the same place.
    fn connect(&self, wish: ServerSpec) -> Future<'_, Arc<dyn Place>>;
}

/// A server that is to be reached.
#[derive(Debug, Clone)]
pub struct ServerSpec {
    /// Its address, as people paste it.
    pub url: String,
    /// What it wants to know; `None` if the address holds it, or none is needed.
    pub token: Option<Token>,
    /// The kind of server, where the caller names one; each connector knows its own.
    pub provider: Option<String>,
    /// The address and the token of another server that runs the kernels.
    pub kernels: Option<(String, Option<Token>)>,
}
